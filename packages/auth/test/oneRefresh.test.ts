/** Five calls at the expiry of a token, in one process and in three, at a server that rotates refresh tokens. */
import { TokenStore } from "@effect-mcp/auth"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { spawn } from "node:child_process"
import * as path from "node:path"
import * as readline from "node:readline"
import { fileURLToPath } from "node:url"
import * as StoredTokens from "../src/internal/tokens/StoredTokens.ts"
import * as IdentityServer from "./support/identityServer.ts"
import { client, keyOf, resource, tokensOf } from "./support/refreshing.ts"
import { newFolder, storeAt } from "./support/tokenStores.ts"

const scope = "notes:read"

/** Starts an authorization server whose access tokens live for some seconds. */
const startServer = (accessTokenSeconds: number) =>
  IdentityServer.start({
    accessTokenSeconds,
    scopes: scope,
    clients: [{
      client_id: client,
      token_endpoint_auth_method: "none",
      redirect_uris: ["http://127.0.0.1/callback"],
      application_type: "native",
      grant_types: ["authorization_code", "refresh_token"]
    }]
  })

/** Stores tokens that expire now, with a refresh token of the server. */
const signIn = Effect.fnUntraced(function*(
  store: TokenStore.TokenStore["Service"],
  { issuer, provider }: IdentityServer.IdentityServer
) {
  const refreshToken = yield* Effect.promise(async () => {
    const grant = new provider.Grant({ accountId: "ada", clientId: client })
    grant.addResourceScope(resource, scope)
    return new provider.RefreshToken({
      accountId: "ada",
      client: await provider.Client.find(client),
      grantId: await grant.save(),
      gty: "authorization_code",
      resource,
      scope
    }).save()
  })
  const now = yield* Clock.currentTimeMillis
  const tokens = StoredTokens.ofResponse({
    accessToken: Redacted.make("expired"),
    tokenType: "Bearer",
    refreshToken: Redacted.make(refreshToken),
    scopes: [scope],
    expiresInMillis: 1000
  }, now - 2000)
  yield* store.write(keyOf(issuer), StoredTokens.encode(tokens), undefined)
})

/** Returns the access tokens that the server accepts now. */
const accepted = ({ provider }: IdentityServer.IdentityServer, tokens: ReadonlyArray<string | undefined>) =>
  Effect.promise(async () => {
    const found = await Promise.all(tokens.map((token) => provider.AccessToken.find(token ?? "")))
    return tokens.filter((_, index) => found[index]?.accountId === "ada")
  })

/** Starts a process, and returns the function that lets it make five calls. */
const startProcess = (args: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const fixture = fileURLToPath(new URL("fixtures/refreshingProcess.ts", import.meta.url))
      const child = spawn(process.execPath, [fixture, ...args], {
        stdio: ["pipe", "pipe", "inherit"],
        env: { ...process.env, NODE_NO_WARNINGS: "1" }
      })
      const output = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]()
      await output.next()
      const five = Effect.promise(async (): Promise<ReadonlyArray<string>> => {
        child.stdin.write("\n")
        return JSON.parse((await output.next()).value ?? "[]")
      })
      return { child, five }
    }),
    ({ child }) => Effect.sync(() => child.kill("SIGKILL"))
  )

describe("five calls at the expiry of a token, with rotation", () => {
  it.live("without a common store, the server revokes the tokens of both processes", () =>
    Effect.gen(function*() {
      const server = yield* startServer(60)
      const store = yield* TokenStore.makeMemory()
      yield* signIn(store, server)
      const copy = yield* TokenStore.makeMemory()
      const entry = yield* store.read(keyOf(server.issuer))
      yield* copy.write(keyOf(server.issuer), entry?.text ?? Redacted.make(""), undefined)
      const processes = [yield* tokensOf(store, server.issuer), yield* tokensOf(copy, server.issuer)]
      const tokens = yield* Effect.forEach(processes, ({ refreshIfNeeded }) => refreshIfNeeded)
      assert.isUndefined(tokens[1])
      const [first] = tokens
      assert.lengthOf(yield* accepted(server, [first && Redacted.value(first.accessToken)]), 0)
    }))

  it.live("in one process: five successes and one refresh, again and again", () =>
    Effect.gen(function*() {
      const server = yield* startServer(2)
      const store = yield* TokenStore.makeMemory()
      yield* signIn(store, server)
      const credentials = yield* tokensOf(store, server.issuer)
      for (let round = 1; round <= 3; round++) {
        const calls = Array.from({ length: 5 }, () => credentials.refreshIfNeeded)
        const tokens = (yield* Effect.all(calls, { concurrency: "unbounded" })).map((each) =>
          each && Redacted.value(each.accessToken)
        )
        assert.lengthOf(yield* accepted(server, tokens), 5)
        assert.lengthOf(server.to("/token"), round)
        if (round < 3) yield* Effect.sleep(2000)
      }
    }))

  for (const kind of ["files", "sqlite"]) {
    it.live(`in three processes: fifteen successes and one refresh, again and again: ${kind}`, () =>
      Effect.gen(function*() {
        // Fifteen calls of three processes may take seconds on a busy machine, and no token may expire meanwhile.
        const server = yield* startServer(5)
        const place = path.join(yield* newFolder, "tokens")
        yield* signIn(yield* storeAt(kind, place), server)
        const processes = yield* Effect.all(
          Array.from({ length: 3 }, () => startProcess([kind, place, server.issuer])),
          { concurrency: "unbounded" }
        )
        for (let round = 1; round <= 2; round++) {
          const tokens = yield* Effect.all(processes.map(({ five }) => five), { concurrency: "unbounded" })
          assert.lengthOf(yield* accepted(server, tokens.flat()), 15)
          assert.lengthOf(server.to("/token"), round)
          if (round < 2) yield* Effect.sleep(5000)
        }
      }))
  }
})
