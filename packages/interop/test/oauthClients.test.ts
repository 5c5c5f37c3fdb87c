/** Clients of others at the protected notes: they sign in, renew their tokens, and step up, as far as they can. */
import { OAuth, TokenVerifier } from "@effect-mcp/auth"
import * as NodeUserAgent from "@effect-mcp/auth/NodeUserAgent"
import * as ProtectedNotes from "@effect-mcp/examples/src/protectedNotes.ts"
import { Browser } from "@effect-mcp/examples/test/fixtures/person.ts"
import * as Protection from "@effect-mcp/examples/test/fixtures/protection.ts"
import { Revision } from "@effect-mcp/protocol"
import { ClientSession } from "@effect-mcp/session"
import { StdioClient, StreamableHttpClient } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { fileURLToPath } from "node:url"
import { freePort } from "../../../scripts/freePort.ts"
import { environment } from "./fixtures/child.ts"
import { clients, redirectUri, register } from "./fixtures/oauthClients.ts"

/** Serves the notes in this process, for an issuer whose clock is the same: tokens expire to the second. */
const serve = Effect.fnUntraced(function*({ url }: Protection.Issuer, initialScopes?: ReadonlyArray<string>) {
  const port = yield* freePort
  yield* Layer.build(ProtectedNotes.layer(port, TokenVerifier.jwt(url, { clockSkew: 0 }), initialScopes))
  return `http://127.0.0.1:${port}/mcp`
})

const note = { text: "Water the plants." }

const notesOf = (content: unknown): unknown =>
  typeof content === "object" && content !== null && "notes" in content ? content.notes : content

/** The time of a test, in milliseconds. It starts several processes, and a busy machine starts them slowly. */
const timeout = 180_000

const count = ({ grants }: Protection.Issuer, grant: string): number =>
  grants().filter((one) => one === `${grant} 200`).length

describe.each(Object.entries(clients))("the client of %s at the protected notes", (name, connect) => {
  it.live("signs a person in, and renews an expired token once", () =>
    Effect.gen(function*() {
      const issuer = yield* Protection.issuer("--seconds", "5")
      const client = yield* connect(yield* serve(issuer))
      assert.include(yield* Effect.flip(client.call("read")), "Unauthorized")
      yield* client.signIn
      assert.deepStrictEqual(notesOf(yield* client.call("read")), [])
      yield* Effect.sleep("6 seconds")
      assert.deepStrictEqual(notesOf(yield* client.call("read")), [])
      assert.strictEqual(count(issuer, "authorization_code"), 1)
      assert.isAtLeast(count(issuer, "refresh_token"), 1)
      assert.strictEqual(client.pages(), 1)
    }), timeout)

  it.live(
    name === "official v2"
      ? "asks the person for the scope of a tool, and keeps those it has"
      : "renews its token instead of asking the person for the scope of a tool: the call is rejected, and reads go on",
    () =>
      Effect.gen(function*() {
        const issuer = yield* Protection.issuer()
        const client = yield* connect(yield* serve(issuer), yield* register(issuer.url, redirectUri))
        yield* Effect.flip(client.call("read"))
        yield* client.signIn
        yield* client.call("read")
        const rejected = yield* Effect.flip(client.call("write", note))
        if (name === "official v2") {
          assert.strictEqual(client.pages(), 2)
          yield* client.signIn
          yield* client.call("write", note)
          assert.deepStrictEqual(notesOf(yield* client.call("read")), [note.text])
        } else {
          assert.include(rejected, "403")
          assert.strictEqual(client.pages(), 1)
          assert.deepStrictEqual(notesOf(yield* client.call("read")), [])
        }
      }),
    timeout
  )
})

describe("the client of official v2, which registers for the scopes of the first challenge only", () => {
  const connect = clients["official v2"]

  it.live(
    "cannot step up at an issuer that holds it to these scopes; the person sees that, and reads go on",
    () =>
      Effect.gen(function*() {
        const issuer = yield* Protection.issuer()
        const client = yield* connect(yield* serve(issuer))
        yield* Effect.flip(client.call("read"))
        yield* client.signIn
        yield* client.call("read")
        yield* Effect.flip(client.call("write", note))
        assert.include(yield* Effect.flip(client.signIn), "requested scope is not allowed")
        assert.deepStrictEqual(notesOf(yield* client.call("read")), [])
      }),
    timeout
  )

  it.live("needs no step-up if the first challenge names all scopes", () =>
    Effect.gen(function*() {
      const issuer = yield* Protection.issuer()
      const client = yield* connect(yield* serve(issuer, ProtectedNotes.scopes))
      yield* Effect.flip(client.call("write", note))
      yield* client.signIn
      yield* client.call("write", note)
      assert.deepStrictEqual(notesOf(yield* client.call("read")), [note.text])
      assert.strictEqual(client.pages(), 1)
    }), timeout)
})

describe("five calls at once with an expired token", () => {
  // The official clients renew it for each call, and a server that rotates refresh tokens then revokes all of them.
  it.live("[AUT-36] renew it once, and all succeed", () =>
    Effect.gen(function*() {
      const issuer = yield* Protection.issuer("--seconds", "5")
      const url = yield* serve(issuer)
      const userAgent = NodeUserAgent.browser({ command: Protection.browserOf("ada") })
      const context = yield* Layer.build(
        ClientSession.layer({ info: { name: "reader", version: "1.0.0" }, revisions: Revision.legacy }).pipe(
          Layer.provide(StreamableHttpClient.layerNode({ url, standalone: false })),
          Layer.provide(OAuth.layer({ userAgent }))
        )
      )
      const { callTool } = Context.get(context, ClientSession.ClientSession)
      yield* callTool("read")
      yield* Effect.sleep("6 seconds")
      const before = count(issuer, "refresh_token")
      yield* Effect.all(Array.from({ length: 5 }, () => callTool("read")), { concurrency: "unbounded" })
      assert.strictEqual(count(issuer, "refresh_token"), before + 1)
      assert.isTrue(issuer.grants().every((grant) => grant.endsWith(" 200")))
      assert.strictEqual(count(issuer, "authorization_code"), 1)
    }), timeout)
})

describe("mcp-remote in front of the protected notes", () => {
  /** The time that a person needs to read a page. */
  const readingMillis = 2_000

  const mcpRemote = fileURLToPath(import.meta.resolve("mcp-remote/dist/proxy.js"))

  /** Starts the bridge for a client that knows nothing of OAuth. A person visits each page that it prints. */
  const connect = Effect.fnUntraced(function*(url: string, folder: string, ...options: ReadonlyArray<string>) {
    const lines: Array<string> = []
    const pages: Array<string> = []
    const browser = new Browser()
    const transport = StdioClient.layerNode({
      command: process.execPath,
      args: [mcpRemote, url, ...options],
      env: { ...environment, BROWSER: "true", HOME: folder, MCP_REMOTE_CONFIG_DIR: folder },
      stderr: (line) => {
        lines.push(line)
        const page = /^(http\S+\/auth\?\S+)$/.exec(line.trim())?.[1]
        if (page === undefined) return
        pages.push(page)
        // At a step-up, the bridge prints the page before it listens for the redirect. It can also end meanwhile.
        setTimeout(() => browser.visit(page).catch(() => {}), readingMillis)
      }
    })
    const session = ClientSession.layer({
      info: { name: "plain", version: "1.0.0" },
      revisions: Revision.legacy,
      limits: { handshakeTimeout: "1 minute" }
    })
    const context = yield* Layer.build(Layer.provide(session, transport))
    return { ...Context.get(context, ClientSession.ClientSession), lines, pages }
  })

  it.live(
    "signs the person in, renews expired tokens, and needs no person in a later run",
    () =>
      Effect.gen(function*() {
        const issuer = yield* Protection.issuer("--seconds", "8")
        const url = yield* serve(issuer)
        const folder = yield* Protection.folder
        yield* Effect.scoped(Effect.gen(function*() {
          const client = yield* connect(url, folder)
          assert.deepStrictEqual(notesOf((yield* client.callTool("read")).structuredContent), [])
          yield* Effect.sleep("9 seconds")
          assert.deepStrictEqual(notesOf((yield* client.callTool("read")).structuredContent), [])
          assert.lengthOf(client.pages, 1)
        }))
        assert.isAtLeast(count(issuer, "refresh_token"), 1)
        const again = yield* connect(url, folder)
        assert.deepStrictEqual(notesOf((yield* again.callTool("read")).structuredContent), [])
        assert.lengthOf(again.pages, 0)
        assert.strictEqual(count(issuer, "authorization_code"), 1)
      }),
    timeout
  )

  it.live("asks the person for the scope of a tool", () =>
    Effect.gen(function*() {
      const issuer = yield* Protection.issuer()
      const port = yield* freePort
      const clientId = yield* register(issuer.url, `http://localhost:${port}/oauth/callback`)
      const options = [String(port), "--static-oauth-client-info", JSON.stringify({ client_id: clientId })]
      const client = yield* connect(yield* serve(issuer), yield* Protection.folder, ...options)
      yield* client.callTool("read")
      yield* client.callTool("write", note)
      assert.deepStrictEqual(notesOf((yield* client.callTool("read")).structuredContent), [note.text])
      assert.lengthOf(client.pages, 2)
    }), timeout)
})
