/** Program g: a server over HTTP without sessions. */
import type { Content, Revision, Tool } from "@effect-mcp/protocol"
import { ClientSession } from "@effect-mcp/session"
import { StreamableHttpClient } from "@effect-mcp/transport/node"
import { assert } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as http from "node:http"
import { freePort } from "../../../scripts/freePort.ts"
import * as Child from "./fixtures/child.ts"
import { compare } from "./fixtures/comparison.ts"
import { Address, send } from "./fixtures/httpProgram.ts"

/** Starts a program, and waits until it accepts connections. */
const start = (file: string) =>
  Layer.effect(
    Address,
    Effect.gen(function*() {
      const port = yield* freePort
      const child = yield* Child.start([file], { PORT: String(port) })
      const isServing = Effect.promise(() =>
        fetch(`http://127.0.0.1:${port}/mcp`, { method: "POST" }).then(() => true, () => false)
      )
      while (!(yield* isServing)) {
        if (!child.isRunning()) return yield* Effect.die(new Error(`the program ended: ${yield* child.errors}`))
        yield* Effect.sleep("10 millis")
      }
      return Address.of({ port })
    })
  )

const textIn = ({ content }: Tool.CallToolResult) =>
  content.map((block: Content.ContentBlock) => block.type === "text" ? block.text : block.type).join("")

/** Calls the tool as a client of a revision. */
const greets = (revision: Revision.Revision) =>
  Effect.gen(function*() {
    const { port } = yield* Address
    const session = ClientSession.layer({ info: { name: "comparison", version: "1.0.0" }, revisions: [revision] })
    const transport = StreamableHttpClient.layerNode({ url: `http://127.0.0.1:${port}/mcp` })
    const context = yield* Layer.build(Layer.provide(session, transport))
    const { callTool, profile } = Context.get(context, ClientSession.ClientSession)
    assert.strictEqual(profile.revision, revision)
    assert.include(textIn(yield* callTool("greet", { name: "Ada" })), "Hello, Ada!")
  }).pipe(Effect.scoped)

const headers: http.OutgoingHttpHeaders = {
  accept: "application/json, text/event-stream",
  "content-type": "application/json",
  "mcp-protocol-version": "2025-11-25"
}
const call = {
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: "greet", arguments: { name: "Ada" } }
}

const statusWith = (more: http.OutgoingHttpHeaders) =>
  Effect.map(send("POST", "/mcp", { ...headers, ...more }, call), ({ status }) => status)

/** Checks the status of a request with further headers. */
const has = (status: number, more: http.OutgoingHttpHeaders = {}) =>
  Effect.map(statusWith(more), (found) => assert.strictEqual(found, status))

const foreignOrigin = { origin: "https://evil.example" }
const foreignHost = { host: "evil.example" }

/** Checks that a client of a revision is rejected, and why. */
const isRejected = (revision: Revision.Revision, reason: string) =>
  Effect.map(Effect.flip(greets(revision)), ({ message }) => assert.include(message, reason))

compare({
  program: "g",
  start,
  behaviours: {
    "a client of 2025-11-25 calls the tool": greets("2025-11-25"),
    "a client of 2026-07-28 calls the tool": greets("2026-07-28"),
    "a call of 2025-11-25 without a handshake is answered": Effect.map(
      send("POST", "/mcp", headers, call),
      ({ body, status }) => {
        assert.strictEqual(status, 200)
        assert.include(body, "Hello, Ada!")
      }
    ),
    "a foreign origin is rejected": has(403, foreignOrigin),
    "a foreign host is rejected": has(403, foreignHost)
  },
  deviations: {
    fastmcp: {
      "a client of 2026-07-28 calls the tool": {
        instead: "a client of 2026-07-28 is rejected",
        check: isRejected("2026-07-28", "400")
      },
      "a foreign origin is rejected": { instead: "a foreign origin is accepted", check: has(200, foreignOrigin) },
      "a foreign host is rejected": { instead: "a foreign host is accepted", check: has(200, foreignHost) }
    },
    // One server has either sessions or revision 2026-07-28.
    "effect-ai": {
      "a client of 2025-11-25 calls the tool": {
        instead: "a client of 2025-11-25 is rejected",
        check: isRejected("2025-11-25", "-32020")
      },
      "a call of 2025-11-25 without a handshake is answered": {
        instead: "a call of 2025-11-25 is answered with 400",
        check: has(400)
      },
      "a foreign host is rejected": {
        instead: "a foreign host is not what a request is rejected for",
        check: has(400, foreignHost)
      }
    }
  }
})
