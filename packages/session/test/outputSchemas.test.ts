import { AjvValidator } from "@effect-mcp/json-schema"
import { Content, JsonRpc, Meta, MethodDefinition, Revision, type Tool } from "@effect-mcp/protocol"
import { type ClientSession, Middleware, type RequestError } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as RawServer from "./support/RawServer.ts"
import { connected, forms, type ServerHandlers, settled, withRawServer } from "./support/sessions.ts"

const validator = AjvValidator.make()

const weather: Tool.ObjectSchema = {
  type: "object",
  properties: { temperature: { type: "number" } },
  required: ["temperature"]
}

const tool = (name: string, outputSchema?: Tool.ObjectSchema): Tool.Tool => ({
  name,
  inputSchema: { type: "object" },
  ...(outputSchema === undefined ? undefined : { outputSchema })
})

const structured = (structuredContent: { readonly [name: string]: unknown }): Tool.CallToolResult => ({
  content: [Content.text(JSON.stringify(structuredContent))],
  structuredContent
})

const fit = structured({ temperature: 22.5 })
const misfit = structured({ temperature: "hot" })

/** A server with replaceable tools and results, which records the methods of its requests. */
interface MutableServer {
  tools: ReadonlyArray<Tool.Tool>
  result: Tool.CallToolResult
  readonly received: Array<string>
  /** Calls wait for it if it is set. */
  gate: Deferred.Deferred<void> | undefined
}

const makeMutableServer = (tools: ReadonlyArray<Tool.Tool>, result: Tool.CallToolResult) => {
  const server: MutableServer = { tools, result, received: [], gate: undefined }
  const handlers: ServerHandlers = {
    "tools/list": () =>
      Effect.sync(() => {
        server.received.push("tools/list")
        return { tools: server.tools }
      }),
    "tools/call": () =>
      Effect.gen(function*() {
        server.received.push("tools/call")
        if (server.gate !== undefined) yield* Deferred.await(server.gate)
        return server.result
      })
  }
  return { server, handlers, options: { capabilities: { tools: { listChanged: true } } } }
}

const problemOf = (call: Effect.Effect<Tool.CallToolResult, RequestError.RequestError>) =>
  Effect.map(Effect.flip(call), ({ reason }) => reason._tag === "InvalidResult" ? reason.problem : reason)

const misfitProblem =
  `the structured content of the tool "weather" does not fit its output schema: must be number at ["temperature"]`

for (const { form, pair } of forms) {
  const connect = Effect.fnUntraced(function*(
    tools: ReadonlyArray<Tool.Tool>,
    result: Tool.CallToolResult,
    client: Partial<ClientSession.Options> = { validator }
  ) {
    const { handlers, options, server: remote } = makeMutableServer(tools, result)
    const sessions = yield* connected({ pair, handlers, server: options, client })
    return { ...sessions, remote }
  })

  describe(`output schemas (${form})`, () => {
    it.effect("[TOOL-08] content that does not match the schema is an InvalidResult for all ways of listing", () =>
      Effect.gen(function*() {
        const listings: ReadonlyArray<
          (session: ClientSession.ClientSessionShape) => Effect.Effect<unknown, RequestError.RequestError>
        > = [
          (session) => session.listTools(),
          (session) => session.request("tools/list", {}),
          (session) => Stream.runDrain(session.tools)
        ]
        for (const listing of listings) {
          const { client, remote } = yield* connect([tool("weather", weather)], fit)
          yield* listing(client)
          assert.deepStrictEqual(yield* client.callTool("weather"), fit)
          remote.result = misfit
          assert.strictEqual(yield* problemOf(client.callTool("weather")), misfitProblem)
          assert.strictEqual(yield* problemOf(client.request("tools/call", { name: "weather" })), misfitProblem)
        }
      }).pipe(Effect.scoped))

    it.effect("[TOOL-08] a tool with an output schema needs structured content, unless its result is an error", () =>
      Effect.gen(function*() {
        const content = [Content.text("no data")]
        const { client, remote } = yield* connect([tool("weather", weather)], { content })
        yield* client.listTools()
        assert.strictEqual(
          yield* problemOf(client.callTool("weather")),
          `the tool "weather" has an output schema and returned no structured content`
        )
        for (const failed of [{ content, isError: true }, { ...misfit, isError: true }]) {
          remote.result = failed
          assert.deepStrictEqual(yield* client.callTool("weather"), failed)
        }
      }).pipe(Effect.scoped))

    it.effect("the client neither lists nor checks a tool that the program has not listed", () =>
      Effect.gen(function*() {
        const { client, remote } = yield* connect([tool("weather", weather)], misfit)
        assert.deepStrictEqual(yield* client.callTool("weather"), misfit)
        assert.deepStrictEqual(remote.received, ["tools/call"])
      }).pipe(Effect.scoped))

    it.effect("a client without a validator checks no result", () =>
      Effect.gen(function*() {
        const { client } = yield* connect([tool("weather", weather)], misfit, {})
        yield* client.listTools()
        assert.deepStrictEqual(yield* client.callTool("weather"), misfit)
      }).pipe(Effect.scoped))

    it.effect("[MSG-33] a tool with an unusable schema is not called", () =>
      Effect.gen(function*() {
        const dialect = "http://json-schema.org/draft-03/schema#"
        const { client, remote } = yield* connect([tool("weather", { ...weather, $schema: dialect })], fit)
        yield* client.listTools()
        const error = yield* Effect.flip(client.callTool("weather"))
        const { reason } = error
        assert.deepStrictEqual(reason._tag === "UnusableSchema" ? [reason.tool, reason.error.reason._tag] : reason, [
          "weather",
          "UnknownDialect"
        ])
        assert.include(error.message, `tools/call: the tool "weather" was not called because of its output schema: `)
        assert.include(error.message, dialect)
        assert.deepStrictEqual(remote.received, ["tools/list"])
      }).pipe(Effect.scoped))

    it.effect("[TOOL-08] a pattern that the validator does not support is left out of the check, with one event", () =>
      Effect.gen(function*() {
        const partial = { ...weather, allOf: [{ properties: { at: { pattern: "(?i)^abc$" } } }] }
        const { client, records, remote } = yield* connect([tool("weather", partial)], fit)
        yield* client.listTools()
        assert.deepStrictEqual(yield* client.callTool("weather"), fit)
        yield* client.listTools()
        remote.result = misfit
        assert.strictEqual(yield* problemOf(client.callTool("weather")), misfitProblem)
        const events = records.client.of("OutputSchemaPartlyChecked")
        assert.deepStrictEqual(events.map(({ error, tool }) => [tool, error.message]), [[
          "weather",
          "unsupported schema: the pattern \"(?i)^abc$\" has a syntax that is not that of ECMA-262, " +
          "which is not supported"
        ]])
      }).pipe(Effect.scoped))

    it.effect("[TOOL-08] results are checked under the server's names if middleware renames tools", () =>
      Effect.gen(function*() {
        const serverName = (name: string) => name.replace("home/", "")
        const { client } = yield* connect([tool("weather", weather)], misfit, {
          validator,
          middleware: Middleware.all(
            Middleware.outbound("tools/list", (request, next) =>
              Effect.map(next(request), ({ tools }) => ({
                tools: tools.map((tool) => ({ ...tool, name: `home/${tool.name}` }))
              }))),
            Middleware.outbound("tools/call", (request, next) =>
              request.params.name === "home/cached"
                ? Effect.succeed(misfit)
                : next({ ...request, params: { ...request.params, name: serverName(request.params.name) } }))
          )
        })
        assert.deepStrictEqual((yield* client.listTools()).tools.map(({ name }) => name), ["home/weather"])
        assert.strictEqual(yield* problemOf(client.callTool("home/weather")), misfitProblem)
        // A result of middleware does not come from the server, so it is not checked.
        assert.deepStrictEqual(yield* client.callTool("home/cached"), misfit)
      }).pipe(Effect.scoped))

    it.effect("[TOOL-02] list_changed deletes the schemas of the tools", () =>
      Effect.gen(function*() {
        const { client, remote, server } = yield* connect([tool("weather", weather)], misfit)
        yield* client.listTools()
        yield* server.toolListChanged
        yield* settled
        assert.deepStrictEqual(yield* client.callTool("weather"), misfit)
        assert.deepStrictEqual(remote.received, ["tools/list", "tools/call"])
        yield* client.listTools()
        assert.strictEqual(yield* problemOf(client.callTool("weather")), misfitProblem)
      }).pipe(Effect.scoped))

    it.effect("a later listing replaces the schemas of its tools, and keeps the others", () =>
      Effect.gen(function*() {
        const { client, remote } = yield* connect([tool("weather", weather), tool("climate", weather)], misfit)
        yield* client.listTools()
        remote.tools = [tool("weather", { type: "object", properties: { temperature: { type: "string" } } })]
        yield* client.listTools()
        assert.deepStrictEqual(yield* client.callTool("weather"), misfit)
        assert.strictEqual(yield* problemOf(client.callTool("climate")), misfitProblem.replace("weather", "climate"))
        remote.tools = [tool("climate")]
        yield* client.listTools()
        assert.deepStrictEqual(yield* client.callTool("climate"), misfit)
      }).pipe(Effect.scoped))

    it.effect("a result is not checked if the schema changed while the call was in flight", () =>
      Effect.gen(function*() {
        const { client, remote } = yield* connect([tool("weather", { type: "object" })], misfit)
        const during = Effect.fnUntraced(function*(tools: ReadonlyArray<Tool.Tool>) {
          const gate = yield* Deferred.make<void>()
          remote.gate = gate
          const calling = yield* Effect.forkChild(client.callTool("weather"))
          yield* settled
          remote.tools = tools
          yield* client.listTools()
          yield* Deferred.succeed(gate, undefined)
          return yield* Fiber.join(calling)
        })
        // The tool is first without a schema, then with one that matches, then with one that does not match.
        assert.deepStrictEqual(yield* during([tool("weather", { type: "object" })]), misfit)
        assert.deepStrictEqual(yield* during([tool("weather", weather)]), misfit)
        // An equal schema counts as the same one.
        assert.strictEqual(yield* problemOf(during([tool("weather", { ...weather })])), misfitProblem)
        // The server has replaced the schema that does not match.
        assert.deepStrictEqual(yield* during([tool("weather", { type: "object" })]), misfit)
        assert.deepStrictEqual(yield* during([tool("weather", weather)]), misfit)
        assert.deepStrictEqual(yield* during([tool("weather")]), misfit)
      }).pipe(Effect.scoped))

    it.effect("tools can be listed and called concurrently", () =>
      Effect.gen(function*() {
        const { client, remote } = yield* connect([tool("weather", weather)], misfit)
        yield* client.listTools()
        const outcomes = yield* Effect.forEach(
          Array.from({ length: 40 }, (_, index) => index),
          Effect.fnUntraced(function*(index) {
            if (index % 2 === 1) return yield* problemOf(client.callTool("weather"))
            yield* client.listTools()
            return "listed"
          }),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(outcomes, outcomes.map((_, index) => index % 2 === 0 ? "listed" : misfitProblem))
        assert.strictEqual(remote.received.length, 41)
      }).pipe(Effect.scoped))

    it.effect("the client stores at most maxOutputSchemas schemas, and drops others with an event", () =>
      Effect.gen(function*() {
        const tools = ["a", "b", "c"].map((name) => tool(name, weather))
        const { client, records, remote } = yield* connect(tools, misfit, {
          validator,
          limits: { maxOutputSchemas: 2 }
        })
        yield* client.listTools()
        assert.deepStrictEqual(records.client.of("OutputSchemaDropped"), [{ _tag: "OutputSchemaDropped", tool: "a" }])
        assert.deepStrictEqual(yield* client.callTool("a"), misfit)
        // A call counts as use, so `c` is now the least recently used tool.
        assert.isString(yield* problemOf(client.callTool("b")))
        remote.tools = [tool("d", weather)]
        yield* client.listTools()
        assert.deepStrictEqual(records.client.of("OutputSchemaDropped").map(({ tool }) => tool), ["a", "c"])
        assert.isString(yield* problemOf(client.callTool("b")))
        assert.isString(yield* problemOf(client.callTool("d")))
      }).pipe(Effect.scoped))

    it.effect("a tool can have the name of a member of Object.prototype", () =>
      Effect.gen(function*() {
        const { client } = yield* connect([tool("__proto__", weather)], misfit)
        yield* client.listTools()
        assert.deepStrictEqual(yield* client.callTool("toString"), misfit)
        assert.isString(yield* problemOf(client.callTool("__proto__")))
      }).pipe(Effect.scoped))

    it.effect("an extension method is not checked, even if it is named tools/call", () =>
      Effect.gen(function*() {
        const { client } = yield* connect([tool("weather", weather)], misfit)
        yield* client.listTools()
        const row = MethodDefinition.request("tools/call", { from: "client", params: Meta.Meta, result: Meta.Meta })
        assert.deepStrictEqual(yield* client.extension(row, { name: "weather" }), { ...misfit })
      }).pipe(Effect.scoped))
  })
}

describe("output schemas of a scripted server", () => {
  const page = { tools: [tool("weather", weather)] }
  const changed = JsonRpc.notification("notifications/tools/list_changed")

  const script = (replies: {
    readonly list?: (id: JsonRpc.Request["id"]) => ReadonlyArray<unknown>
  } = {}): RawServer.Script =>
  (message) => {
    if (!JsonRpc.isRequest(message)) return []
    const { id, method } = message
    return method === "tools/list"
      ? replies.list?.(id) ?? [JsonRpc.success(id, page)]
      : [JsonRpc.success(id, misfit)]
  }

  for (const revision of Revision.legacy) {
    const checked = Revision.isAtLeast(revision, "2025-06-18")
    it.effect(`[INIT-13] [TOOL-08] at ${revision} results are ${checked ? "checked" : "passed on"}`, () =>
      Effect.gen(function*() {
        const { session } = yield* withRawServer({
          client: { validator },
          script: script(),
          result: RawServer.initializeResult({ protocolVersion: revision })
        })
        yield* session.listTools()
        if (checked) assert.strictEqual(yield* problemOf(session.callTool("weather")), misfitProblem)
        else assert.deepStrictEqual(yield* session.callTool("weather"), misfit)
      }).pipe(Effect.scoped))
  }

  it.effect("the schemas of a page whose cursor is null are stored", () =>
    Effect.gen(function*() {
      const { session } = yield* withRawServer({
        client: { validator },
        script: script({ list: (id) => [JsonRpc.success(id, { ...page, nextCursor: null })] })
      })
      yield* session.listTools()
      assert.strictEqual(yield* problemOf(session.callTool("weather")), misfitProblem)
    }).pipe(Effect.scoped))

  it.effect("[TOOL-02] list_changed deletes the schemas of the previous listing, and not of the next one", () =>
    Effect.gen(function*() {
      let change: "after" | "before" = "after"
      const { session } = yield* withRawServer({
        client: { validator },
        script: script({
          list: (id) => change === "after" ? [JsonRpc.success(id, page), changed] : [changed, JsonRpc.success(id, page)]
        })
      })
      yield* session.listTools()
      assert.deepStrictEqual(yield* session.callTool("weather"), misfit)
      change = "before"
      yield* session.listTools()
      assert.strictEqual(yield* problemOf(session.callTool("weather")), misfitProblem)
    }).pipe(Effect.scoped))

  it.effect("law 12: schemas of at most 32 MiB are stored, and none that JSON cannot represent", () =>
    Effect.gen(function*() {
      const half = (name: string) => tool(name, { ...weather, description: name.repeat(9_000_000) })
      const { link, record, session } = yield* withRawServer({
        client: { validator },
        script: script({ list: () => [] })
      })
      const listing = yield* Effect.forkChild(session.listTools())
      yield* settled
      const sent = link.sent.findLast((message) => "method" in message && message.method === "tools/list")
      // A byte stream can deliver this value, but the in-memory transport cannot serialize such deep nesting.
      const deep: unknown = JSON.parse(`{"type":"object","not":${"{\"not\":".repeat(100_000)}{}${"}".repeat(100_000)}}`)
      const tools = [tool("small", weather), half("a"), half("b"), { ...tool("deep"), outputSchema: deep }]
      link.deliver({ jsonrpc: "2.0", id: sent !== undefined && "id" in sent ? sent.id : undefined, result: { tools } })
      yield* Fiber.join(listing)
      assert.deepStrictEqual(record.of("OutputSchemaDropped").map(({ tool }) => tool), ["small", "a", "deep"])
      assert.deepStrictEqual(yield* session.callTool("deep"), misfit)
      const { reason } = yield* Effect.flip(session.callTool("b"))
      assert.strictEqual(reason._tag === "UnusableSchema" ? reason.error.reason._tag : reason, "TooLarge")
    }).pipe(Effect.scoped))

  it.effect("schemas of an invalid page and of a late page are not stored", () =>
    Effect.gen(function*() {
      let reply: "wrong" | "none" = "wrong"
      const { raw, session } = yield* withRawServer({
        client: { validator },
        script: script({
          list: (id) =>
            reply === "wrong" ? [JsonRpc.success(id, { tools: [...page.tools, { name: "no input schema" }] })] : []
        })
      })
      const { reason } = yield* Effect.flip(session.listTools())
      assert.strictEqual(reason._tag, "InvalidResult")
      assert.deepStrictEqual(yield* session.callTool("weather"), misfit)
      reply = "none"
      const listing = yield* Effect.forkChild(session.listTools())
      yield* settled
      yield* Fiber.interrupt(listing)
      const request = raw.received.findLast((message) => "method" in message && message.method === "tools/list")
      yield* raw.send(JsonRpc.success(request !== undefined && "id" in request ? request.id ?? 0 : 0, page))
      yield* settled
      assert.deepStrictEqual(yield* session.callTool("weather"), misfit)
    }).pipe(Effect.scoped))
})
