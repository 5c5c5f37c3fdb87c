/** Tokens of other APIs, in exchange for those of clients. */
import { type OAuthError, TokenExchange } from "@effect-mcp/auth"
import type { Principal } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as jose from "jose"
import { inspect } from "node:util"
import { connect } from "../support/constantTokenClient.ts"
import * as Issuer from "../support/issuer.ts"
import { resource, serve } from "../support/resourceServer.ts"
import * as ShiftedClock from "../support/shiftedClock.ts"

const calendar = { resource: "https://calendar.example" }

/** A server whose tool returns the subject of its token for another API, or the failure. */
const start = Effect.fnUntraced(function*(
  options: Partial<TokenExchange.Options> = {},
  upstream: TokenExchange.Upstream = calendar
) {
  const issuer = yield* Issuer.start
  const clock = yield* ShiftedClock.make
  const layer = TokenExchange.layer({
    issuer: issuer.url,
    client: { clientId: "notes-server", secret: Redacted.make(Issuer.secret) },
    ...options
  })
  const context = yield* Layer.build(Layer.provide(layer, Layer.succeed(Clock.Clock, clock)))
  const exchange = Context.get(context, TokenExchange.TokenExchange)
  const failures: Array<OAuthError.OAuthError> = []
  const tokens: Array<TokenExchange.ExchangedToken> = []
  const server = yield* serve({ resource, issuers: [issuer.url] }, {
    onCall: (principal) =>
      exchange.token(principal, upstream).pipe(
        Effect.map((exchanged) => {
          tokens.push(exchanged)
          const { act, aud, sub } = jose.decodeJwt(Redacted.value(exchanged.token))
          return JSON.stringify({ act, aud, sub })
        }),
        Effect.catch((error) =>
          Effect.sync(() => {
            failures.push(error)
            return error.reason._tag
          })
        )
      )
  })
  const call = Effect.fnUntraced(function*(token: string) {
    const client = yield* connect(server.url, token)
    const [content] = (yield* client.callTool("any")).content
    return content?.type === "text" ? content.text : ""
  })
  return { call, clock, exchange, failures, issuer, server, tokens }
})

describe("the exchange of a token", () => {
  it.live("[AUT-43] gives a handler a token for another API, and never that of its client", () =>
    Effect.gen(function*() {
      const { call, issuer, server, tokens } = yield* start({}, { ...calendar, scopes: ["read", "write"] })
      const token = yield* issuer.sign({ aud: resource, sub: "ada" })
      assert.deepStrictEqual(JSON.parse(yield* call(token)), {
        act: { sub: "notes-server" },
        aud: "https://calendar.example",
        sub: "ada"
      })
      assert.deepInclude(issuer.exchanges[0], {
        resource: "https://calendar.example",
        scope: "read write",
        subject: token,
        type: "urn:ietf:params:oauth:token-type:access_token",
        client: "notes-server"
      })
      assert.deepStrictEqual(tokens[0]?.scopes, ["read", "write"])
      assert.match(Redacted.value(tokens[0]?.authorization ?? Redacted.make("")), /^Bearer ey/)
      assert.notInclude(inspect([server.principals, tokens], { depth: null, showHidden: true }), token)
    }))

  it.live(
    "happens once for calls at the same time, and again when the new token expires",
    () =>
      Effect.gen(function*() {
        const { call, clock, issuer } = yield* start()
        const [ada, again] = [yield* issuer.sign({ aud: resource }), yield* issuer.sign({ aud: resource })]
        const all = yield* Effect.forEach([ada, again, ada, again, ada], call, { concurrency: "unbounded" })
        assert.strictEqual(new Set(all).size, 1)
        assert.strictEqual(issuer.exchanges.length, 1)
        clock.shift(300_000)
        yield* call(ada)
        assert.strictEqual(issuer.exchanges.length, 2)
        // Another person, and the same one with other rights, have tokens of their own.
        yield* call(yield* issuer.sign({ aud: resource, sub: "bob" }))
        yield* call(yield* issuer.sign({ aud: resource, scope: "notes:read" }))
        assert.strictEqual(issuer.exchanges.length, 4)
        issuer.lifetime = 31
        yield* call(yield* issuer.sign({ aud: resource, sub: "eve" }))
        clock.shift(2_000)
        yield* call(yield* issuer.sign({ aud: resource, sub: "eve" }))
        assert.strictEqual(issuer.exchanges.length, 6)
      }),
    20_000
  )

  it.live("fails for a principal that no resource server has identified, and sends nothing", () =>
    Effect.gen(function*() {
      const { exchange, issuer, server, call } = yield* start()
      yield* call(yield* issuer.sign({ aud: resource }))
      const [principal] = server.principals
      const others: ReadonlyArray<Principal.Principal | undefined> = [undefined, { id: "ada" }, {
        ...principal,
        id: principal?.id ?? ""
      }]
      for (const other of others) {
        const error = yield* Effect.flip(exchange.token(other, { audience: "calendar" }))
        assert.strictEqual(error.reason._tag, "NoSubjectToken")
      }
      assert.strictEqual(issuer.exchanges.length, 1)
    }))

  it.live("[AUT-34] sends the token of another issuer to no other", () =>
    Effect.gen(function*() {
      const other = yield* Issuer.start
      const { call, failures, issuer } = yield* start({ issuer: other.url })
      assert.strictEqual(yield* call(yield* issuer.sign({ aud: resource })), "NoSubjectToken")
      assert.include(failures[0]?.message, other.url)
      assert.deepStrictEqual(other.requests, [])
    }))

  it.live(
    "fails with the refusal of the issuer, and with its outage, within the deadline",
    () =>
      Effect.gen(function*() {
        const refused = yield* start({}, { resource: "https://forbidden.example" })
        const token = yield* refused.issuer.sign({ aud: resource })
        assert.strictEqual(yield* refused.call(token), "TokenRequestFailed")
        assert.include(refused.failures[0]?.message, "invalid_target")
        assert.notInclude(inspect(refused.failures, { depth: null }), token)

        const silent = yield* start({ timeout: "2 seconds" })
        const ada = yield* silent.issuer.sign({ aud: resource })
        const client = yield* connect(silent.server.url, ada)
        silent.issuer.state = "silent"
        assert.deepInclude((yield* client.callTool("any")).content[0], { text: "Unavailable" })
        silent.issuer.state = "up"
        assert.include(yield* silent.call(ada), "calendar.example")
      }),
    20_000
  )
})
