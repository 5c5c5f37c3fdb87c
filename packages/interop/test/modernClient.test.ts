/** The client at revision 2026-07-28 against servers of official v2, and its fallback at servers of both SDKs. */
import { Revision, type Tool } from "@effect-mcp/protocol"
import { ClientSession, type SessionEvent } from "@effect-mcp/session"
import { HttpFallbackClient, StdioClient, StreamableHttpClient } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Child from "./fixtures/child.ts"
import { serve } from "./fixtures/dualHttpServerV2.ts"

const info = { name: "effect-mcp", version: "0.1.0" }

const textOf = ({ content }: Tool.CallToolResult): string =>
  content.map((block) => block.type === "text" ? block.text : "").join()

const handlers = ClientSession.handlers({
  "elicitation/create": () => Effect.succeed({ action: "accept", content: { name: "Ada" } }),
  "roots/list": () => Effect.succeed({ roots: [{ uri: "file:///home/ada" }] })
})

/** Connects over a transport. */
const connect = Effect.fnUntraced(function*(
  transport: ReturnType<typeof StreamableHttpClient.layerNode>,
  revisions: readonly [Revision.Revision, ...ReadonlyArray<Revision.Revision>] = Revision.supported
) {
  const events: Array<SessionEvent.SessionEvent> = []
  const session = ClientSession.layer({ info, handlers, revisions, observe: (event) => void events.push(event) })
  const context = yield* Layer.build(Layer.provide(session, transport))
  return { session: Context.get(context, ClientSession.ClientSession), events }
})

const overStdio = (...args: ReadonlyArray<string>) =>
  StdioClient.layerNode({
    command: process.execPath,
    args: [Child.file("dualStdioServerV2.ts"), ...args],
    env: Child.environment
  })

/** Uses every feature that both eras have. */
const useTools = Effect.fnUntraced(function*(session: ClientSession.ClientSessionShape) {
  const { tools } = yield* session.listTools()
  assert.includeMembers(tools.map(({ name }) => name), ["add", "greet", "region"])
  assert.strictEqual(textOf(yield* session.callTool("add", { a: 1, b: 2 })), "3")
  assert.strictEqual(textOf(yield* session.callTool("region", { region: "Zürich " })), "Zürich ")
  const steps: Array<number> = []
  yield* session.callTool("count", { to: 3, delayMs: 1 }, {
    onProgress: ({ progress }) => Effect.sync(() => void steps.push(progress))
  })
  assert.deepStrictEqual(steps, [1, 2, 3])
  const error = yield* Effect.flip(session.callTool("error"))
  assert.strictEqual(error.reason._tag === "ErrorResponse" ? error.reason.error.code : 0, -32000)
})

describe("official v2 at 2026-07-28", () => {
  for (const legacy of ["stateless", "reject"] as const) {
    it.live(`over HTTP (${legacy === "reject" ? "of this revision only" : "of both eras"})`, () =>
      Effect.gen(function*() {
        const { methods, url } = yield* serve(legacy)
        for (const client of [StreamableHttpClient, HttpFallbackClient]) {
          const { session } = yield* connect(client.layerNode({ url }))
          assert.strictEqual(session.profile.revision, "2026-07-28")
          assert.deepInclude(session.profile.info, { name: "official-v2" })
          assert.strictEqual(session.profile.instructions, "Be kind.")
          yield* useTools(session)
          assert.strictEqual(textOf(yield* session.callTool("greet")), "Hello, Ada; opaque {} state")
          yield* session.close
        }
        assert.notInclude(methods, "GET")
        assert.notInclude(methods, "DELETE")
        assert.notInclude(methods, "POST")
      }))
  }

  it.live("over HTTP aborts a call whose caller is interrupted", () =>
    Effect.gen(function*() {
      const { methods, url } = yield* serve("reject")
      const { session } = yield* connect(StreamableHttpClient.layerNode({ url }))
      const before = Number(textOf(yield* session.callTool("aborted")))
      const calling = yield* Effect.forkChild(session.callTool("count", { to: 100, delayMs: 50 }))
      yield* Child.until(() => methods.length === 3)
      yield* Effect.sleep("200 millis")
      yield* Fiber.interrupt(calling)
      yield* Effect.sleep("200 millis")
      assert.strictEqual(Number(textOf(yield* session.callTool("aborted"))), before + 1)
    }))

  for (const args of [[], ["reject"]]) {
    it.live(`over stdio (${args.length === 0 ? "of both eras" : "of this revision only"})`, () =>
      Effect.gen(function*() {
        const { session } = yield* connect(overStdio(...args))
        assert.strictEqual(session.profile.revision, "2026-07-28")
        yield* useTools(session)
        assert.strictEqual(textOf(yield* session.callTool("greet")), "Hello, Ada; opaque {} state")
        const calling = yield* Effect.forkChild(session.callTool("count", { to: 100, delayMs: 50 }))
        yield* Effect.sleep("200 millis")
        yield* Fiber.interrupt(calling)
        assert.strictEqual(textOf(yield* session.callTool("aborted")), "1")
      }))
  }
})

describe("the fallback", () => {
  for (const file of ["serverV1.ts", "serverV2.ts"]) {
    it.live(`at ${file} over stdio leads to a handshake in the same process`, () =>
      Effect.gen(function*() {
        const { events, session } = yield* connect(
          StdioClient.layerNode({ command: process.execPath, args: [Child.file(file)], env: Child.environment })
        )
        assert.strictEqual(session.profile.revision, "2025-11-25")
        assert.strictEqual(textOf(yield* session.callTool("add", { a: 1, b: 2 })), "3")
        assert.lengthOf(events.filter(({ _tag }) => _tag === "FellBack"), 1)
      }))
  }

  it.live("a client of older revisions speaks with official v2 of both eras", () =>
    Effect.gen(function*() {
      const { url } = yield* serve("stateless")
      for (const transport of [StreamableHttpClient.layerNode({ url }), overStdio()]) {
        const { session } = yield* connect(transport, Revision.legacy)
        assert.strictEqual(session.profile.revision, "2025-11-25")
        assert.strictEqual(textOf(yield* session.callTool("add", { a: 1, b: 2 })), "3")
      }
    }))
})
