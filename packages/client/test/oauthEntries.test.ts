/** The clients of OAuth that entries of a configuration describe. */
import { McpServersConfig } from "@effect-mcp/client/node"
import type { ClientAuthorization } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { execFileSync } from "node:child_process"
import { fileURLToPath } from "node:url"

const url = "https://notes.example/mcp"

/** Returns the client that an authorization learns from an entry. */
const clientOf = (entry: object, options: McpServersConfig.Options = {}) =>
  Effect.gen(function*() {
    const asked: Array<readonly [server: string, client: ClientAuthorization.ConfiguredClient | undefined]> = []
    const targets = yield* McpServersConfig.decode({ mcpServers: { notes: { url, ...entry } } }, options)
    yield* targets["notes"]?.account?.({
      of: (server, client) =>
        Effect.sync(() => {
          asked.push([server.href, client])
          return { headers: () => Effect.succeed({}), rejected: () => Effect.succeed("Final") }
        })
    }) ?? Effect.void
    return asked
  })

/** Returns the problems of an entry. */
const problemsOf = (entry: object, options: McpServersConfig.Options = {}) =>
  Effect.map(
    Effect.flip(McpServersConfig.decode({ mcpServers: { notes: { url, ...entry } } }, options)),
    ({ problems }) => problems.map(({ path, problem }) => `${path}: ${problem}`)
  )

describe("the client of OAuth in an entry", () => {
  it.effect("is given to the authorization, with the values of references; unknown members are ignored", () =>
    Effect.gen(function*() {
      const [[server, client] = []] = yield* clientOf({
        oauth: {
          clientId: "${ID}",
          clientSecret: "${SECRET}",
          issuer: "https://${HOST}/tenant",
          scopes: " read  write ",
          callbackPort: 8123,
          xaa: true
        }
      }, { env: { ID: "known", SECRET: "secret", HOST: "auth.example" } })
      assert.strictEqual(server, url)
      assert.deepInclude(client, {
        clientId: "known",
        issuer: "https://auth.example/tenant",
        scopes: ["read", "write"],
        redirectUri: "http://localhost:8123/callback"
      })
      assert.strictEqual(client?.clientSecret && Redacted.value(client.clientSecret), "secret")
      assert.notInclude(JSON.stringify(client), "secret\"")
    }))

  it.effect("may have no members, and an entry without one describes none", () =>
    Effect.gen(function*() {
      const empty = {
        clientId: undefined,
        clientSecret: undefined,
        issuer: undefined,
        scopes: undefined,
        redirectUri: undefined
      }
      assert.deepStrictEqual(yield* clientOf({ oauth: {} }), [[url, empty]])
      assert.deepStrictEqual(yield* clientOf({ auth: "oauth" }), [[url, {}]])
      assert.deepStrictEqual(yield* clientOf({}), [[url, undefined]])
      assert.deepStrictEqual(yield* clientOf({ oauth: null, auth: null }), [[url, undefined]])
      assert.deepStrictEqual(yield* clientOf({ url: "wss://notes.example/mcp", auth: "oauth" }), [[url, {}]])
    }))

  for (
    const [entry, problems] of [
      [{ oauth: {}, auth: {} }, ["auth: there is oauth, too"]],
      [{ oauth: [] }, ["oauth: it is not an object"]],
      [{ auth: "Bearer abc" }, ["auth: it is not an object"]],
      [{ oauth: { clientId: 1 } }, ["oauth.clientId: it is not a text"]],
      [{ oauth: { clientId: "" } }, ["oauth.clientId: it is empty"]],
      [{ auth: { CLIENT_ID: "a", clientId: "b" } }, ["auth.CLIENT_ID: there is clientId, too"]],
      [{ auth: { CLIENT_SECRET: "a" } }, ["auth.clientId: it is missing"]],
      [{ oauth: { issuer: "https://auth.example" } }, ["oauth.clientId: it is missing"]],
      [{ oauth: { clientId: "a", issuer: "auth.example" } }, ["oauth.issuer: it is no URL"]],
      [{ oauth: { clientId: "a", issuer: "javascript:0" } }, ["oauth.issuer: it is no URL"]],
      [{ oauth: { scopes: [1, {}] } }, ["oauth.scopes[1]: it is not a text"]],
      [{ oauth: { scopes: ["a b"] } }, ["oauth.scopes: one of them is no scope"]],
      [{ oauth: { callbackPort: 0 } }, ["oauth.callbackPort: it is no port"]],
      [{ oauth: { callbackPort: 65_536 } }, ["oauth.callbackPort: it is no port"]],
      [{ oauth: { callbackPort: 1.5 } }, ["oauth.callbackPort: it is no integer"]],
      [{ oauth: { callbackPort: true } }, ["oauth.callbackPort: it is not a text"]],
      [{ oauth: { authServerMetadataUrl: "https://other.example" } }, [
        "oauth.authServerMetadataUrl: it is not supported"
      ]],
      [{ url: "unix:///run/notes.sock", oauth: {} }, ["oauth: a Unix socket has no authorization"]],
      [{ oauth: { clientId: "${ABSENT}", clientSecret: "${ABSENT}" } }, [
        "oauth.clientId: the environment variable ABSENT is not set",
        "oauth.clientSecret: the environment variable ABSENT is not set"
      ]]
    ] as const
  ) {
    it.effect(`with ${JSON.stringify(entry)} is a problem that names the entry`, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(
          yield* problemsOf(entry, { env: {} }),
          problems.map((problem) => `mcpServers.notes.${problem}`)
        )
      }))
  }
})

it("a program whose configuration describes a client loads no package of OAuth", () => {
  const program = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
  const loaded: ReadonlyArray<string> = JSON.parse(
    execFileSync(process.execPath, [
      program("../../transport/test/fixtures/loadedModules.mjs"),
      program("fixtures/configured.ts")
    ], { encoding: "utf8" })
  )
  assert.isTrue(loaded.some((file) => file.endsWith("/client/src/node/McpServersConfig.ts")))
  assert.deepStrictEqual(loaded.filter((file) => /\/packages\/auth\/|\/(?:jose|oauth4webapi)\//.test(file)), [])
})
