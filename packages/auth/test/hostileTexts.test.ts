/** Texts of a server that would control the terminal of a person, or write lines into a log. */
import { UserAgent } from "@effect-mcp/auth"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { inspect } from "node:util"
import { answering, start } from "./support/hostileServer.ts"

/** Clears a terminal: by ESC, and by the control character that stands for `ESC [`. Then the direction of text. */
const hostile = "\u001b[2J\u001b]0;title\u0007\u009b2J\u202eline\u2028"

const harmful = /[^\P{Cc}\n]|[\u202e\u2028]/u

const isHarmless = (text: string): void => assert.notMatch(text, harmful)

const notFound = { json: { error: `no${hostile}`, error_description: hostile }, status: 400 }

describe("texts of an authorization server do not control the terminal", () => {
  const messageOf = Effect.fnUntraced(function*(login: Effect.Effect<void, Error>) {
    const exit = yield* Effect.exit(login)
    const pretty = exit._tag === "Failure" ? Cause.pretty(exit.cause) : ""
    assert.include(pretty, "\\u009b2J\\u202eline\\u2028")
    isHarmless(pretty)
  })

  it.live("that rejects a registration", () =>
    Effect.gen(function*() {
      const { oauth, routes, url } = yield* start(answering({ code: "code" }))
      routes.set("/register", notFound)
      yield* messageOf(oauth.login(url))
    }))

  it.live("that denies the authorization", () =>
    Effect.gen(function*() {
      const { oauth, url } = yield* start(answering({ error: `no${hostile}`, error_description: hostile }))
      yield* messageOf(oauth.login(url))
    }))

  it.live("that rejects the token request", () =>
    Effect.gen(function*() {
      const { oauth, routes, url } = yield* start(answering({ code: "code" }))
      routes.set("/token", notFound)
      yield* messageOf(oauth.login(url))
    }))

  it.live("that grants scopes which are none", () =>
    Effect.gen(function*() {
      const { oauth, routes, url } = yield* start(answering({ code: "code" }))
      routes.set("/token", { json: { access_token: "token", token_type: "Bearer", scope: `read ${hostile} write` } })
      yield* oauth.login(url)
      assert.deepInclude(yield* oauth.status(url), { scopes: ["read", "write"] })
    }))
})

describe("identifiers of a server are URLs as RFC 3986 writes them, or are not used", () => {
  const suffixes = [hostile, "\nERROR a line of a log", "a b", "\u0456", "x".repeat(2_048)]

  it.live("issuers", () =>
    Effect.forEach(suffixes, (suffix) =>
      Effect.gen(function*() {
        const { oauth, paths, url } = yield* start(answering({ code: "code" }), {
          issuer: (origin) => `${origin}/${suffix}`
        })
        const error = yield* Effect.flip(oauth.login(url))
        assert.deepInclude(error.reason, { _tag: "DiscoveryFailed" })
        isHarmless(error.message)
        assert.notInclude(error.message, "\n")
        assert.lengthOf(paths(), 1)
      }).pipe(Effect.scoped)))

  it.live("resources", () =>
    Effect.forEach(["\n", "\t\n\r", "\u001b", " "], (suffix) =>
      Effect.gen(function*() {
        const { oauth, url } = yield* start(answering({ code: "code" }), {
          resource: (origin) => `${origin}/mcp${suffix}`
        })
        assert.deepInclude((yield* Effect.flip(oauth.login(url))).reason, { _tag: "DiscoveryFailed" })
      }).pipe(Effect.scoped)))
})

describe("a device code", () => {
  const device = {
    device_code: "device",
    user_code: "ABCD",
    verification_uri: "https://issuer.example/activate",
    expires_in: 600
  }

  /** Returns the codes that are shown, and the failure of the sign-in. */
  const shown = Effect.fnUntraced(function*(members: object) {
    const codes: Array<UserAgent.DeviceCode> = []
    const agent = UserAgent.device((code) => Effect.sync(() => void codes.push(code)))
    const { oauth, routes, url } = yield* start(agent)
    routes.set("/device", { json: { ...device, ...members } })
    const login = yield* Effect.forkScoped(Effect.flip(Effect.timeout(oauth.login(url), "500 millis")))
    const error = yield* Fiber.join(login)
    isHarmless(inspect(codes))
    return { codes, error }
  })

  it.live("whose text would control the terminal is not shown", () =>
    Effect.gen(function*() {
      const { codes, error } = yield* shown({ user_code: `AB${hostile}` })
      assert.lengthOf(codes, 0)
      assert.include(error.message, "the user_code of its device codes cannot be shown")
    }))

  it.live("has its addresses as a browser writes them", () =>
    Effect.gen(function*() {
      const { codes } = yield* shown({
        verification_uri: `https://g\u043e\u043egle.example/${hostile}`,
        verification_uri_complete: `https://issuer.example/?${hostile}\nline`
      })
      const [{ completeUrl, url } = { completeUrl: "", url: "" }] = codes
      assert.match(url, /^https:\/\/xn--[\w.-]+\/[\x21-\x7e]+$/)
      assert.match(completeUrl ?? "", /^https:\/\/issuer\.example\/\?[\x21-\x7e]+$/)
    }))
})
