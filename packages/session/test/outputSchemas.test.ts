import { Content, JsonRpc, Meta, MethodDefinition, Revision, type Tool } from "@effect-mcp/protocol"
import { type ClientSession, Middleware, type RequestError } from "@effect-mcp/session"
import * as AjvValidator from "@effect-mcp/session/AjvValidator"
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

/** A server whose tools and results can be changed, and which counts what it is asked. */
interface Changeable {
  tools: ReadonlyArray<Tool.Tool>
  result: Tool.CallToolResult
  readonly asked: Array<string>
  /** Calls wait for it, if there is one. */
  gate: Deferred.Deferred<void> | undefined
}

const changeable = (tools: ReadonlyArray<Tool.Tool>, result: Tool.CallToolResult) => {
  const server: Changeable = { tools, result, asked: [], gate: undefined }
  const handlers: ServerHandlers = {
    "tools/list": () =>
      Effect.sync(() => {
        server.asked.push("tools/list")
        return { tools: server.tools }
      }),
    "tools/call": () =>
      Effect.gen(function*() {
        server.asked.push("tools/call")
        if (server.gate !== undefined) yield* Deferred.await(server.gate)
        return server.result
      })
  }
  return { server, handlers, options: { capabilities: { tools: { listChanged: true } } } }
}

const problemOf = (call: Effect.Effect<Tool.CallToolResult, RequestError.RequestError>) =>
  Effect.map(Effect.flip(call), ({ reason }) => reason._tag === "InvalidResult" ? reason.problem : reason)

const doesNotFit =
  `the structured content of the tool "weather" does not fit its output schema: must be number at ["temperature"]`

for (const { form, pair } of forms) {
  const connect = Effect.fnUntraced(function*(
    tools: ReadonlyArray<Tool.Tool>,
    result: Tool.CallToolResult,
    client: Partial<ClientSession.Options> = { validator }
  ) {
    const { handlers, options, server: remote } = changeable(tools, result)
    const sessions = yield* connected({ pair, handlers, server: options, client })
    return { ...sessions, remote }
  })

  describe(`output schemas (${form})`, () => {
    it.effect("[TOOL-08] content that does not fit is an invalid result, however the tool was listed and called", () =>
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
          assert.strictEqual(yield* problemOf(client.callTool("weather")), doesNotFit)
          assert.strictEqual(yield* problemOf(client.request("tools/call", { name: "weather" })), doesNotFit)
        }
      }).pipe(Effect.scoped))

    it.effect("[TOOL-08] a tool with an output schema owes structured content, unless it failed", () =>
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

    it.effect("what the program has not listed is neither listed for it nor checked", () =>
      Effect.gen(function*() {
        const { client, remote } = yield* connect([tool("weather", weather)], misfit)
        assert.deepStrictEqual(yield* client.callTool("weather"), misfit)
        assert.deepStrictEqual(remote.asked, ["tools/call"])
      }).pipe(Effect.scoped))

    it.effect("without a validator nothing is checked", () =>
      Effect.gen(function*() {
        const { client } = yield* connect([tool("weather", weather)], misfit, {})
        yield* client.listTools()
        assert.deepStrictEqual(yield* client.callTool("weather"), misfit)
      }).pipe(Effect.scoped))

    it.effect("[MSG-33] a tool whose schema cannot be used is not called", () =>
      Effect.gen(function*() {
        const dialect = "http://json-schema.org/draft-04/schema#"
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
        assert.deepStrictEqual(remote.asked, ["tools/list"])
      }).pipe(Effect.scoped))

    it.effect("[TOOL-08] middleware may give tools other names: what the server gave is held against what it listed", () =>
      Effect.gen(function*() {
        const renamed = (name: string) => name.replace("home/", "")
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
                : next({ ...request, params: { ...request.params, name: renamed(request.params.name) } }))
          )
        })
        assert.deepStrictEqual((yield* client.listTools()).tools.map(({ name }) => name), ["home/weather"])
        assert.strictEqual(yield* problemOf(client.callTool("home/weather")), doesNotFit)
        // What never was at the server is the program's own.
        assert.deepStrictEqual(yield* client.callTool("home/cached"), misfit)
      }).pipe(Effect.scoped))

    it.effect("[TOOL-02] that the tools have changed forgets their schemas", () =>
      Effect.gen(function*() {
        const { client, remote, server } = yield* connect([tool("weather", weather)], misfit)
        yield* client.listTools()
        yield* server.toolListChanged
        yield* settled
        assert.deepStrictEqual(yield* client.callTool("weather"), misfit)
        assert.deepStrictEqual(remote.asked, ["tools/list", "tools/call"])
        yield* client.listTools()
        assert.strictEqual(yield* problemOf(client.callTool("weather")), doesNotFit)
      }).pipe(Effect.scoped))

    it.effect("a later listing replaces what an earlier one said of a tool, and leaves the others", () =>
      Effect.gen(function*() {
        const { client, remote } = yield* connect([tool("weather", weather), tool("climate", weather)], misfit)
        yield* client.listTools()
        remote.tools = [tool("weather", { type: "object", properties: { temperature: { type: "string" } } })]
        yield* client.listTools()
        assert.deepStrictEqual(yield* client.callTool("weather"), misfit)
        assert.strictEqual(yield* problemOf(client.callTool("climate")), doesNotFit.replace("weather", "climate"))
        remote.tools = [tool("climate")]
        yield* client.listTools()
        assert.deepStrictEqual(yield* client.callTool("climate"), misfit)
      }).pipe(Effect.scoped))

    it.effect("a result is held against no schema that came or went while the call was in flight", () =>
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
        // Not known at first, then known by a schema which it fits, then by one which it does not.
        assert.deepStrictEqual(yield* during([tool("weather", { type: "object" })]), misfit)
        assert.deepStrictEqual(yield* during([tool("weather", weather)]), misfit)
        // Listed again in the same words it is the same schema.
        assert.strictEqual(yield* problemOf(during([tool("weather", { ...weather })])), doesNotFit)
        // What it does not fit is not the server's word any more.
        assert.deepStrictEqual(yield* during([tool("weather", { type: "object" })]), misfit)
        assert.deepStrictEqual(yield* during([tool("weather", weather)]), misfit)
        assert.deepStrictEqual(yield* during([tool("weather")]), misfit)
      }).pipe(Effect.scoped))

    it.effect("listing and calling may go on at the same time", () =>
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
        assert.deepStrictEqual(outcomes, outcomes.map((_, index) => index % 2 === 0 ? "listed" : doesNotFit))
        assert.strictEqual(remote.asked.length, 41)
      }).pipe(Effect.scoped))

    it.effect("so many schemas are remembered, and one that is dropped is an event", () =>
      Effect.gen(function*() {
        const tools = ["a", "b", "c"].map((name) => tool(name, weather))
        const { client, records, remote } = yield* connect(tools, misfit, {
          validator,
          limits: { maxOutputSchemas: 2 }
        })
        yield* client.listTools()
        assert.deepStrictEqual(records.client.of("OutputSchemaDropped"), [{ _tag: "OutputSchemaDropped", tool: "a" }])
        assert.deepStrictEqual(yield* client.callTool("a"), misfit)
        // Being called is being used: now `c` has not been for longest.
        assert.isString(yield* problemOf(client.callTool("b")))
        remote.tools = [tool("d", weather)]
        yield* client.listTools()
        assert.deepStrictEqual(records.client.of("OutputSchemaDropped").map(({ tool }) => tool), ["a", "c"])
        assert.isString(yield* problemOf(client.callTool("b")))
        assert.isString(yield* problemOf(client.callTool("d")))
      }).pipe(Effect.scoped))

    it.effect("a tool may be named like what every object has", () =>
      Effect.gen(function*() {
        const { client } = yield* connect([tool("__proto__", weather)], misfit)
        yield* client.listTools()
        assert.deepStrictEqual(yield* client.callTool("toString"), misfit)
        assert.isString(yield* problemOf(client.callTool("__proto__")))
      }).pipe(Effect.scoped))

    it.effect("a method of one's own is not checked, whatever it is called", () =>
      Effect.gen(function*() {
        const { client } = yield* connect([tool("weather", weather)], misfit)
        yield* client.listTools()
        const row = MethodDefinition.request("tools/call", { from: "client", params: Meta.Meta, result: Meta.Meta })
        assert.deepStrictEqual(yield* client.extension(row, { name: "weather" }), { ...misfit })
      }).pipe(Effect.scoped))
  })
}

describe("output schemas, off the wire", () => {
  const page = { tools: [tool("weather", weather)] }
  const changed = JsonRpc.notification("notifications/tools/list_changed")

  const script = (answers: {
    readonly list?: (id: JsonRpc.Request["id"]) => ReadonlyArray<unknown>
  } = {}): RawServer.Script =>
  (message) => {
    if (!JsonRpc.isRequest(message)) return []
    const { id, method } = message
    return method === "tools/list"
      ? answers.list?.(id) ?? [JsonRpc.success(id, page)]
      : [JsonRpc.success(id, misfit)]
  }

  for (const revision of Revision.supported) {
    const checked = Revision.isAtLeast(revision, "2025-06-18")
    it.effect(`[INIT-13] [TOOL-08] at ${revision} results are ${checked ? "checked" : "passed on"}`, () =>
      Effect.gen(function*() {
        const { session } = yield* withRawServer({
          client: { validator },
          script: script(),
          result: RawServer.initializeResult({ protocolVersion: revision })
        })
        yield* session.listTools()
        if (checked) assert.strictEqual(yield* problemOf(session.callTool("weather")), doesNotFit)
        else assert.deepStrictEqual(yield* session.callTool("weather"), misfit)
      }).pipe(Effect.scoped))
  }

  it.effect("[TOOL-02] a change right behind a listing forgets it, one right before does not", () =>
    Effect.gen(function*() {
      let change: "behind" | "before" = "behind"
      const { session } = yield* withRawServer({
        client: { validator },
        script: script({
          list: (id) =>
            change === "behind" ? [JsonRpc.success(id, page), changed] : [changed, JsonRpc.success(id, page)]
        })
      })
      yield* session.listTools()
      assert.deepStrictEqual(yield* session.callTool("weather"), misfit)
      change = "before"
      yield* session.listTools()
      assert.strictEqual(yield* problemOf(session.callTool("weather")), doesNotFit)
    }).pipe(Effect.scoped))

  it.effect("law 12: 32 MiB of memory are remembered, and nothing that cannot be written", () =>
    Effect.gen(function*() {
      const half = (name: string) => tool(name, { ...weather, description: name.repeat(9_000_000) })
      const { link, record, session } = yield* withRawServer({
        client: { validator },
        script: script({ list: () => [] })
      })
      const listing = yield* Effect.forkChild(session.listTools())
      yield* settled
      const sent = link.sent.findLast((message) => "method" in message && message.method === "tools/list")
      // As a byte stream brings it: the in-memory transport would not carry what is nested that deeply.
      const deep: unknown = JSON.parse(`{"type":"object","not":${"{\"not\":".repeat(100_000)}{}${"}".repeat(100_000)}}`)
      const tools = [tool("small", weather), half("a"), half("b"), { ...tool("deep"), outputSchema: deep }]
      link.deliver({ jsonrpc: "2.0", id: sent !== undefined && "id" in sent ? sent.id : undefined, result: { tools } })
      yield* Fiber.join(listing)
      assert.deepStrictEqual(record.of("OutputSchemaDropped").map(({ tool }) => tool), ["small", "a", "deep"])
      assert.deepStrictEqual(yield* session.callTool("deep"), misfit)
      const { reason } = yield* Effect.flip(session.callTool("b"))
      assert.strictEqual(reason._tag === "UnusableSchema" ? reason.error.reason._tag : reason, "TooLarge")
    }).pipe(Effect.scoped))

  it.effect("a page that is no page, and one that comes too late, teach nothing", () =>
    Effect.gen(function*() {
      let answer: "wrong" | "none" = "wrong"
      const { raw, session } = yield* withRawServer({
        client: { validator },
        script: script({
          list: (id) =>
            answer === "wrong" ? [JsonRpc.success(id, { tools: [...page.tools, { name: "no input schema" }] })] : []
        })
      })
      const { reason } = yield* Effect.flip(session.listTools())
      assert.strictEqual(reason._tag, "InvalidResult")
      assert.deepStrictEqual(yield* session.callTool("weather"), misfit)
      answer = "none"
      const listing = yield* Effect.forkChild(session.listTools())
      yield* settled
      yield* Fiber.interrupt(listing)
      const request = raw.received.findLast((message) => "method" in message && message.method === "tools/list")
      yield* raw.send(JsonRpc.success(request !== undefined && "id" in request ? request.id ?? 0 : 0, page))
      yield* settled
      assert.deepStrictEqual(yield* session.callTool("weather"), misfit)
    }).pipe(Effect.scoped))
})
