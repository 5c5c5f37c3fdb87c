/** `McpServer` and `McpClient` of `effect/ai`, each with this library on the other side. */
import { Content, Revision } from "@effect-mcp/protocol"
import { McpServer } from "@effect-mcp/server"
import { ClientSession, type SessionEvent } from "@effect-mcp/session"
import { HttpFallbackClient, StdioClient, StreamableHttpClient } from "@effect-mcp/transport/node"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { McpClient, type McpClientError, McpProtocol, McpSchema } from "effect/ai"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ChildProcess from "effect/process/ChildProcess"
import type * as Scope from "effect/Scope"
import { joinedProgram } from "../../../scripts/joinedProgram.ts"
import * as Child from "./fixtures/child.ts"
import { addressOf } from "./fixtures/httpServers.ts"
import * as LocalServer from "./fixtures/localServer.ts"
import * as Workshop from "./fixtures/workshop.ts"

type Revisions = readonly [Revision.Revision, ...ReadonlyArray<Revision.Revision>]

const modern: Revisions = ["2026-07-28"]
const legacy: Revisions = Revision.legacy
const dual: Revisions = Revision.supported

// =====================================================================================================================
// The server of effect/ai
// =====================================================================================================================

const program = await joinedProgram(Child.file("effectAiServer.ts"))
const workshop = await joinedProgram(Child.file("workshopAtRevision.ts"))

const urlOf = (revisions: Revisions) =>
  Effect.map(
    Effect.flatMap(Child.program(process.execPath, [program, "http", ...revisions]), addressOf),
    (address) => `${address}/mcp`
  )

/** Starts the server with these revisions, and makes the transport of this library to it. */
const transports = {
  stdio: (revisions: Revisions) =>
    Effect.succeed(
      StdioClient.layerNode({
        command: process.execPath,
        args: [program, "stdio", ...revisions],
        env: Child.environment
      })
    ),
  "Streamable HTTP": (revisions: Revisions) =>
    Effect.map(urlOf(revisions), (url) => StreamableHttpClient.layerNode({ url })),
  "HTTP with a fallback": (revisions: Revisions) =>
    Effect.map(urlOf(revisions), (url) => HttpFallbackClient.layerNode({ url }))
}

/** The modes of the client of this library. */
const modes: ReadonlyArray<readonly [name: string, revisions: Revisions | undefined]> = [
  ["auto", undefined],
  ["2026-07-28", modern],
  ["older revisions", legacy]
]

/** Connects a client that answers questions, and counts the changes of the list of tools. */
const connect = Effect.fnUntraced(function*(
  transport: ReturnType<typeof StdioClient.layerNode> | ReturnType<typeof StreamableHttpClient.layerNode>,
  revisions: Revisions | undefined
) {
  const events: Array<SessionEvent.SessionEvent> = []
  let changes = 0
  const session = ClientSession.layer({
    info: { name: "effect-mcp", version: "0.1.0" },
    handlers: {
      "elicitation/create": () => Effect.succeed({ action: "accept" as const, content: { name: "Ada" } }),
      "notifications/tools/list_changed": () => Effect.sync(() => void changes++)
    },
    observe: (event) => void events.push(event),
    ...(revisions === undefined ? undefined : { revisions })
  })
  const context = yield* Layer.build(Layer.provide(Layer.fresh(session), transport))
  return { session: Context.get(context, ClientSession.ClientSession), events, changes: () => changes }
})

const codeOf = <A, R>(
  call: Effect.Effect<A, { readonly reason: { readonly _tag: string; readonly error?: unknown } }, R>
) =>
  Effect.map(
    Effect.flip(call),
    ({ reason: { error } }) => typeof error === "object" && error !== null && "code" in error ? error.code : undefined
  )

const texts = (text: string) => [Content.text(text)]

/** Uses all that both sides have. */
const useServer = Effect.fnUntraced(function*({ changes, session }: Effect.Success<ReturnType<typeof connect>>) {
  const isModern = Revision.isModern(session.profile.revision)
  assert.deepStrictEqual(session.profile.info, { name: "effect-ai", version: "1.0.0" })
  assert.strictEqual(session.profile.instructions, "Be kind.")
  const listed = Effect.map(session.listTools(), ({ tools }) => tools.map(({ name }) => name))
  const names = ["add", "pay", "word", "greet", "count", "region", "grow"]
  assert.deepStrictEqual(yield* listed, names)
  const sum = yield* session.callTool("add", { a: 1, b: 2 })
  assert.deepStrictEqual(sum.structuredContent, { sum: 3 })
  assert.deepInclude(yield* session.callTool("pay"), { content: texts("the account is overdrawn"), isError: true })
  assert.isTrue((yield* session.callTool("add", { a: "1" })).isError)
  assert.strictEqual(yield* codeOf(session.callTool("none")), -32602)
  assert.deepStrictEqual((yield* session.callTool("region", { region: "Zürich " })).content, texts("Zürich "))
  const steps: Array<number> = []
  yield* session.callTool("count", {}, { onProgress: ({ progress }) => Effect.sync(() => void steps.push(progress)) })
  assert.deepStrictEqual(steps, [1, 2, 3])
  const motto = yield* session.readResource("test://motto")
  assert.deepInclude(motto.contents[0], { uri: "test://motto", text: "be kind" })
  assert.strictEqual(yield* codeOf(session.readResource("test://none")), isModern ? -32602 : -32002)
  const { messages } = yield* session.getPrompt("write", { topic: "tea" })
  assert.deepStrictEqual(messages[0]?.content, Content.text("Write about tea"))
  assert.deepStrictEqual(
    (yield* session.callTool("greet")).content,
    texts(isModern ? "Hello, Ada; opaque {} state" : "Hello, Ada")
  )
  const before = changes()
  yield* session.callTool("grow")
  yield* Child.until(() => changes() > before)
  assert.deepStrictEqual(yield* listed, [...names, "grown"])
})

describe("the server of effect/ai", () => {
  const servers: ReadonlyArray<readonly [name: string, revisions: Revisions]> = [
    ["of both eras", dual],
    ["of 2026-07-28", modern],
    ["of older revisions", legacy]
  ]
  for (const [serverName, served] of servers) {
    for (const [transportName, start] of Object.entries(transports)) {
      for (const [modeName, revisions] of modes) {
        const common = (revisions ?? dual).findLast((revision) => served.includes(revision))
        const name = `${serverName} over ${transportName} (${modeName})`
        if (common !== undefined) {
          it.live(`${name} speaks ${common} with our client`, () =>
            Effect.gen(function*() {
              const connected = yield* connect(yield* start(served), revisions)
              assert.strictEqual(connected.session.profile.revision, common)
              yield* useServer(connected)
              assert.lengthOf(
                connected.events.filter(({ _tag }) => _tag === "FellBack"),
                revisions === undefined && Revision.isLegacy(common) ? 1 : 0
              )
            }))
        } else {
          // In 4.1.0, the server does not name its revisions when it rejects `initialize`, and over HTTP it rejects the
          // missing header instead (VER-20). The codes show what it is.
          it.live(`${name} has no revision in common with our client, which says what to change`, () =>
            Effect.gen(function*() {
              const { message, reason } = yield* Effect.flip(connect(yield* start(served), revisions))
              const isStdio = transportName === "stdio"
              const [tag, remedy] = served === modern
                ? ["ModernServer", "add 2026-07-28 to the option `revisions`"]
                : isStdio
                ? ["LegacyServer", "add an older revision to the option `revisions`"]
                : ["NoCommonRevision", "add 2025-11-25 to the option `revisions`"]
              assert.strictEqual(reason._tag, tag)
              assert.isTrue(message.endsWith(remedy), message)
            }))
        }
      }
    }
  }

  it.live("has tools whose output is no object, at 2026-07-28, which our client lists and calls", () =>
    Effect.gen(function*() {
      const { session } = yield* connect(yield* transports.stdio(modern), undefined)
      const { tools } = yield* session.listTools()
      assert.deepStrictEqual(tools.find(({ name }) => name === "pay")?.outputSchema, { type: "string" })
      assert.property(tools.find(({ name }) => name === "add"), "outputSchema")
      const { content, structuredContent } = yield* session.callTool("word")
      assert.deepStrictEqual([content, structuredContent], [texts("\"beans\""), "beans"])
    }))
})

// =====================================================================================================================
// The client of effect/ai
// =====================================================================================================================

const info = { name: "effect-ai", version: "1.0.0" }

type Protocol = McpProtocol.ProtocolAdapter<McpClient.ProtocolVersion>

type Connected = Effect.Effect<McpClient.McpClient, McpClientError.McpClientError, Scope.Scope>

const clientIn = (layer: Layer.Layer<McpClient.McpClient, McpClientError.McpClientError>): Connected =>
  Effect.map(Layer.build(layer), (context) => Context.get(context, McpClient.McpClient))

/** Starts a server of this library with these revisions, and connects the client of `effect/ai` to it. */
const foreignClients: {
  readonly [name: string]: (protocol: Protocol, revisions: Revisions) => Connected
} = {
  stdio: (protocol, revisions) =>
    clientIn(
      McpClient.layerStdio({
        ...info,
        protocol,
        command: ChildProcess.make(process.execPath, [workshop, ...revisions])
      }).pipe(Layer.provide(NodeServices.layer))
    ),
  "Streamable HTTP": (protocol, revisions) =>
    Effect.flatMap(
      Effect.orDie(LocalServer.listen(McpServer.layerHost(Workshop.layer, { ...Workshop.options, revisions }))),
      ({ url }) =>
        clientIn(McpClient.layerHttp({ ...info, protocol, url }).pipe(Layer.provide(NodeHttpClient.layerUndici)))
    )
}

const tool = (name: string) => new McpSchema.Tool({ name, inputSchema: { type: "object" } })

const textOf = ({ content: [block] }: McpSchema.CallToolResult) => block?.type === "text" ? block.text : ""

describe("the client of effect/ai", () => {
  for (const [transportName, start] of Object.entries(foreignClients)) {
    for (const protocol of [McpProtocol.v2026_07_28, McpProtocol.v2025_11_25] as const) {
      const revision = protocol.protocolVersion
      const own: Revisions = [revision]
      for (const [serverName, revisions] of [["both eras", dual], ["its own revision", own]] as const) {
        it.live(`at ${revision} over ${transportName} uses our server of ${serverName}`, () =>
          Effect.gen(function*() {
            const client = yield* start(protocol, revisions)
            assert.deepInclude(client.serverInfo, { name: "workshop", version: "1.0.0" })
            assert.strictEqual(client.instructions, "Saw, then paint.")
            const tools = yield* client.listTools()
            assert.includeMembers(tools.map(({ name }) => name), ["saw", "dynamic", "elicit", "progress"])
            const saw = tools.find(({ name }) => name === "saw") ?? tool("none")
            const sawn = yield* client.callTool({ tool: saw, arguments: { pieces: 2 } })
            assert.deepStrictEqual<unknown>(sawn.structuredContent, { pieces: 2, due: "1970-01-01T00:00:00.000Z" })
            const failed = yield* client.callTool({ tool: saw, arguments: { pieces: 12 } })
            assert.deepStrictEqual([failed.isError, textOf(failed)], [true, "out of wood: 2 more needed"])
            assert.isTrue((yield* client.callTool({ tool: saw, arguments: { pieces: "two" } })).isError)
            assert.strictEqual(textOf(yield* client.callTool({ tool: tool("progress") })), "done")
            const unknown = yield* Effect.flip(client.callTool({ tool: tool("none") }))
            assert.strictEqual(unknown.reason._tag === "ProtocolError" ? unknown.reason.code : 0, -32602)
            const resources = yield* client.listResources()
            assert.includeMembers(resources.map(({ uri }) => uri), ["workshop://bench", "workshop://photo"])
            const bench = yield* client.readResource({ uri: "workshop://bench" })
            assert.deepInclude(bench.contents[0], { uri: "workshop://bench", text: "a bench" })
            const [plan] = yield* client.listPrompts()
            assert.isDefined(plan)
            if (plan === undefined) return
            const { messages } = yield* client.getPrompt({ prompt: plan, arguments: { wood: "oak", size: "table" } })
            assert.deepInclude(messages[0]?.content, { type: "text", text: "Plan a table of oak." })
          }))
      }

      it.live(`at ${revision} over ${transportName} has no capabilities, so a tool of ours that asks it fails`, () =>
        Effect.gen(function*() {
          const client = yield* start(protocol, dual)
          const call = client.callTool({ tool: tool("elicit") })
          if (Revision.isLegacy(revision)) {
            const result = yield* call
            assert.isTrue(result.isError)
            assert.include(textOf(result), "the peer has not declared the capability \"elicitation.form\"")
          } else {
            assert.deepInclude((yield* Effect.flip(call)).reason, {
              code: -32021,
              data: { requiredCapabilities: { elicitation: { form: {} } } }
            })
          }
        }))

      it.live(`at ${revision} over ${transportName} fails at our server of the other era`, () =>
        Effect.gen(function*() {
          const other = revision === "2026-07-28" ? legacy : modern
          const { reason } = yield* Effect.flip(start(protocol, other))
          assert.deepInclude(
            reason,
            revision === "2026-07-28"
              ? { code: -32600 }
              : { code: -32022, data: { supported: ["2026-07-28"], requested: revision } }
          )
        }))
    }
  }
})
