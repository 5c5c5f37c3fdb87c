/** Our client at a protected server of others: the demonstration of the official SDK, version 1. */
import { OAuth, TokenStore } from "@effect-mcp/auth"
import * as NodeUserAgent from "@effect-mcp/auth/NodeUserAgent"
import * as Protection from "@effect-mcp/examples/test/fixtures/protection.ts"
import { Content } from "@effect-mcp/protocol"
import { ClientSession } from "@effect-mcp/session"
import { StreamableHttpClient } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { fileURLToPath } from "node:url"
import { freePort } from "../../../scripts/freePort.ts"
import * as Child from "./fixtures/child.ts"

const program = fileURLToPath(
  import.meta.resolve("@modelcontextprotocol/sdk/examples/server/simpleStreamableHttp.js")
)

/** Starts the server and its authorization server. Strict: only tokens for this server are accepted. */
const run = Effect.fnUntraced(function*(port: number, authPort: number) {
  const server = yield* Child.program(process.execPath, [program, "--oauth", "--oauth-strict"], {
    ...Child.environment,
    MCP_PORT: String(port),
    MCP_AUTH_PORT: String(authPort)
  })
  yield* Child.until(() => server.stdout().split("listening on port").length > 2)
  return server
})

const start = Effect.gen(function*() {
  const [port, authPort] = [yield* freePort, yield* freePort]
  const server = yield* run(port, authPort)
  return { server, url: `http://localhost:${port}/mcp`, issuer: `http://localhost:${authPort}/`, port, authPort }
})

/** Connects a client whose person signs in by a browser. */
const connect = Effect.fnUntraced(function*(url: string, store: TokenStore.TokenStore["Service"], isSignedIn = false) {
  const context = yield* Layer.build(
    ClientSession.layer({ info: { name: "reader", version: "1.0.0" } }).pipe(
      Layer.provide(StreamableHttpClient.layerNode({ url })),
      Layer.provideMerge(Layer.fresh(
        OAuth.layer({
          store,
          ...(isSignedIn ? {} : { userAgent: NodeUserAgent.browser({ command: Protection.browserOf("ada") }) })
        })
      ))
    )
  )
  return { ...Context.get(context, ClientSession.ClientSession), oauth: Context.get(context, OAuth.OAuth) }
})

/** The time of a test, in milliseconds. It starts several processes, and a busy machine starts them slowly. */
const timeout = 180_000

const greet = (client: { readonly callTool: ClientSession.ClientSessionShape["callTool"] }) =>
  Effect.map(client.callTool("greet", { name: "Ada" }), ({ content }) => content)

const greeting = [Content.text("Hello, Ada!")]

describe("the protected server of official v1", () => {
  it.live(
    "[AUT-09] [AUT-23] is used after a sign-in, with the slash of its issuer, by later programs as well",
    () =>
      Effect.gen(function*() {
        const { issuer, url } = yield* start
        const store = yield* TokenStore.makeMemory()
        yield* Effect.scoped(Effect.gen(function*() {
          const client = yield* connect(url, store)
          assert.deepStrictEqual(yield* greet(client), greeting)
          const status = yield* client.oauth.status(url)
          assert(status._tag === "SignedIn")
          assert.strictEqual(status.issuer, issuer)
          assert.deepStrictEqual(status.scopes, ["mcp:tools"])
          // It issues no refresh tokens.
          assert.isFalse(status.isRefreshable)
        }))
        // This program has no person.
        assert.deepStrictEqual(yield* greet(yield* connect(url, store, true)), greeting)
      }),
    timeout
  )

  // It should answer 401: RFC 6750, section 3.1.
  it.live(
    "answers a token that it has forgotten with 500: the call fails, no window opens, and the token stays",
    () =>
      Effect.gen(function*() {
        const { authPort, port, server, url } = yield* start
        const store = yield* TokenStore.makeMemory()
        yield* Effect.scoped(Effect.flatMap(connect(url, store), greet))
        server.kill("SIGKILL")
        yield* server.exited
        const restarted = yield* run(port, authPort)
        const error = yield* Effect.flip(Effect.scoped(connect(url, store, true)))
        assert.include(error.message, "500")
        assert.isNotEmpty(yield* store.keys)
        assert.notInclude(restarted.stdout(), "authorize")
      }),
    timeout
  )
})
