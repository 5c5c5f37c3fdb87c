import { ErrorCode, JsonRpc, McpError, Meta, MethodDefinition } from "@effect-mcp/protocol"
import { Extension, Middleware, RequestContext, Tracing } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Tracer from "effect/Tracer"
import {
  call,
  connected,
  performHandshake,
  settled,
  start,
  text,
  tools,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

/** Creates a tracer that collects all spans. */
const collector = () => {
  const spans: Array<Tracer.NativeSpan> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      spans.push(span)
      return span
    }
  })
  return { spans, traced: Effect.provideService(Tracer.Tracer, tracer) }
}

const attributesOf = (span: Tracer.NativeSpan | undefined) => Object.fromEntries(span?.attributes ?? [])
const parentOf = (span: Tracer.NativeSpan | undefined) =>
  span === undefined ? undefined : Option.getOrUndefined(span.parent)?.spanId

const middleware = Tracing.make({ attributes: { "network.transport": "pipe" } })

const metaOf = (message: JsonRpc.Message | undefined): unknown =>
  message !== undefined && "method" in message ? message.params?.["_meta"] : undefined

describe("tracing", () => {
  it.effect("[MSG-31] the span of a caller is the parent of the handler's, also for nested requests", () => {
    const { spans, traced } = collector()
    return Effect.gen(function*() {
      const { client } = yield* connected({
        handlers: tools({
          ask: Effect.as(Effect.withSpan(Effect.orDie(RequestContext.listRoots()), "in the tool"), text("x"))
        }),
        client: { middleware, handlers: { "roots/list": () => Effect.succeed({ roots: [] }) } },
        server: { middleware }
      })
      yield* Effect.withSpan(client.callTool("ask"), "in the program")
      assert.deepStrictEqual(spans.map(({ kind, name }) => [name, kind]), [
        ["in the program", "internal"],
        ["tools/call", "client"],
        ["tools/call", "server"],
        ["in the tool", "internal"],
        ["roots/list", "client"],
        ["roots/list", "server"]
      ])
      for (const [index, span] of spans.entries()) {
        assert.strictEqual(parentOf(span), spans[index - 1]?.spanId)
        assert.strictEqual(span.traceId, spans[0]?.traceId)
        assert.strictEqual(span.status._tag, "Ended")
      }
    }).pipe(traced)
  })

  it.effect("a span has the attributes of the semantic conventions", () => {
    const { spans, traced } = collector()
    return Effect.gen(function*() {
      const { client } = yield* connected({
        handlers: {
          ...tools({ x: Effect.succeed(text("x")) }),
          "prompts/get": () => Effect.succeed({ messages: [] }),
          "resources/read": () => Effect.succeed({ contents: [] })
        },
        client: { middleware },
        server: { middleware }
      })
      yield* client.callTool("x")
      yield* client.getPrompt("p")
      yield* client.readResource("file:///a")
      yield* client.ping()
      const common = (method: string, id: number) => ({
        "network.transport": "pipe",
        "mcp.method.name": method,
        "mcp.protocol.version": "2025-11-25",
        "jsonrpc.request.id": String(id)
      })
      const tool = { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "x" }
      const expected = [
        ["tools/call", { ...common("tools/call", 1), ...tool }],
        ["prompts/get", { ...common("prompts/get", 2), "gen_ai.prompt.name": "p" }],
        ["resources/read", { ...common("resources/read", 3), "mcp.resource.uri": "file:///a" }]
      ]
      // Ping is answered without a handler, so it has one span and not two.
      assert.deepStrictEqual(spans.map((span) => [span.name, attributesOf(span)]), [
        ...expected.flatMap((one) => [one, one]),
        ["ping", common("ping", 4)]
      ])
    }).pipe(traced)
  })

  it.effect("a span has the error of its request, and an invalid request is no error of the server", () => {
    const { spans, traced } = collector()
    return Effect.gen(function*() {
      const { client } = yield* connected({
        handlers: tools({
          wrong: Effect.succeed({ content: [], isError: true }),
          dies: Effect.die(new Error("secret")),
          overloaded: Effect.fail(new McpError.McpError({ code: -31010, message: "too much" })),
          slow: Effect.never
        }),
        client: { middleware },
        server: { middleware }
      })
      yield* client.callTool("wrong")
      yield* Effect.flip(client.callTool("none"))
      yield* Effect.flip(client.callTool("dies"))
      yield* Effect.flip(client.callTool("overloaded"))
      yield* Fiber.interrupt(yield* start(client.callTool("slow")))
      yield* settled
      yield* Effect.flip(client.callTool("slow", {}, { timeout: 0 }))
      const ended = spans.map((span) => {
        const { "error.type": error, "rpc.response.status_code": code } = attributesOf(span)
        return [span.kind, error, code]
      })
      assert.deepStrictEqual(ended, [
        ["client", "tool_error", undefined],
        ["server", "tool_error", undefined],
        ["client", "-32602", "-32602"],
        // An error of the caller does not count as a failure of the server.
        ["server", undefined, "-32602"],
        ["client", "-32603", "-32603"],
        ["server", "-32603", "-32603"],
        ["client", "-31010", "-31010"],
        ["server", "-31010", "-31010"],
        ["client", "cancelled", undefined],
        ["server", "cancelled", undefined],
        ["client", "Timeout", undefined]
      ])
    }).pipe(traced)
  })

  it.effect("a span has the name of a method of the method table or _OTHER, and long names are cut", () => {
    const { spans, traced } = collector()
    const row = MethodDefinition.request("acme/invented", {
      from: "client",
      params: Meta.RequestParams,
      result: Schema.Struct({})
    })
    return Effect.gen(function*() {
      const { client } = yield* connected({
        handlers: {
          "tools/call": () => Effect.succeed(text("x")),
          "resources/read": () => Effect.succeed({ contents: [] })
        },
        server: { middleware, extensions: [Extension.request(row, () => Effect.succeed({}))] }
      })
      yield* client.callTool("t".repeat(300))
      yield* client.readResource(`file:///${"r".repeat(3000)}`)
      yield* client.extension(row, {})
      assert.deepStrictEqual(spans.map(({ name }) => name), ["tools/call", "resources/read", "_OTHER"])
      const [call, read, extension] = spans.map(attributesOf)
      assert.strictEqual(call?.["gen_ai.tool.name"], `${"t".repeat(256)}…`)
      assert.strictEqual(read?.["mcp.resource.uri"], `file:///${"r".repeat(2040)}…`)
      assert.strictEqual(extension?.["mcp.method.name"], "acme/invented")
    }).pipe(traced)
  })

  it.effect("an earlier piece of middleware receives the id of the exchange", () =>
    Effect.gen(function*() {
      const opened: Array<unknown> = []
      const { client } = yield* connected({
        handlers: tools({ x: Effect.succeed(text("x")) }),
        client: {
          middleware: Middleware.all(
            { outbound: (request, next) => next({ ...request, onOpen: (id) => opened.push(id) }) },
            middleware
          )
        }
      })
      yield* client.callTool("x")
      assert.deepStrictEqual(opened, [1])
    }))

  it.effect("isError false and ResourceNotFound are no errors of the server", () => {
    const { spans, traced } = collector()
    return Effect.gen(function*() {
      const { client } = yield* connected({
        handlers: {
          ...tools({ x: Effect.succeed({ ...text("x"), isError: false }) }),
          "resources/read": ({ uri }) =>
            Effect.fail(new McpError.McpError({ code: ErrorCode.ResourceNotFound, message: uri }))
        },
        server: { middleware }
      })
      // A `uri` in the params of another method is not an attribute.
      const withUri = { name: "x", uri: "file:///a" }
      yield* client.request("tools/call", withUri)
      yield* Effect.flip(client.readResource("file:///a"))
      const ended = spans.map((span) => {
        const { "error.type": error, "mcp.resource.uri": uri, "rpc.response.status_code": code } = attributesOf(span)
        return [error, code, uri]
      })
      assert.deepStrictEqual(ended, [[undefined, undefined, undefined], [undefined, "-32002", "file:///a"]])
    }).pipe(traced)
  })

  it.effect("[MSG-31] a server continues the received trace, and links the span that made the session", () => {
    const { spans, traced } = collector()
    return Effect.gen(function*() {
      const { raw } = yield* withRawClient({
        handlers: tools({ x: Effect.succeed(text("x")) }),
        server: { middleware }
      })
      yield* performHandshake(raw)
      const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
      yield* raw.send(call(1, "x", { _meta: { traceparent } }))
      yield* raw.response
      yield* raw.send(call(2, "x", { _meta: { traceparent: "nonsense" } }))
      yield* raw.response
      const [ambient, one, two] = spans
      assert.deepStrictEqual([one?.traceId, parentOf(one), one?.sampled], [
        "4bf92f3577b34da6a3ce929d0e0e4736",
        "00f067aa0ba902b7",
        false
      ])
      assert.deepStrictEqual(one?.links.map(({ span }) => span.spanId), [ambient?.spanId])
      assert.strictEqual(parentOf(two), undefined)
      assert.notStrictEqual(two?.traceId, ambient?.traceId)
      assert.deepStrictEqual(two?.links.map(({ span }) => span.spanId), [ambient?.spanId])
    }).pipe(Effect.withSpan("around the session"), traced)
  })

  it.effect("[MSG-31] a caller without a span starts a trace, and does not continue that of its session", () => {
    const { spans, traced } = collector()
    return Effect.gen(function*() {
      const { client } = yield* Effect.withSpan(
        connected({ handlers: tools({ x: Effect.succeed(text("x")) }), client: { middleware } }),
        "while starting"
      )
      yield* client.callTool("x")
      yield* Effect.withSpan(client.callTool("x"), "in the program")
      const [starting, alone, within, called] = spans
      assert.deepStrictEqual([parentOf(alone), parentOf(called)], [undefined, within?.spanId])
      assert.notStrictEqual(alone?.traceId, starting?.traceId)
    }).pipe(traced)
  })

  it.effect("[MSG-31] law 10: baggage from the construction of the session is not sent with requests", () => {
    const { traced } = collector()
    return Effect.gen(function*() {
      const { raw, session } = yield* Effect.provideService(
        withRawServer({ client: { middleware } }),
        Tracing.Baggage,
        { baggage: "userId=alice" }
      )
      const calling = yield* start(session.callTool("x"))
      yield* settled
      assert.sameMembers(Object.keys(Object(metaOf(raw.received.at(-1)))), ["traceparent"])
      yield* Fiber.interrupt(calling)
    }).pipe(traced)
  })

  it.effect("[MSG-28] other members of _meta are sent with the trace", () => {
    const { traced } = collector()
    return Effect.gen(function*() {
      const { raw, session } = yield* withRawServer({ client: { middleware } })
      const calling = yield* start(session.request("tools/call", { name: "x", _meta: { acme: [1] } }))
      yield* settled
      const meta = metaOf(raw.received.at(-1))
      assert.containSubset(meta, { acme: [1] })
      assert.sameMembers(Object.keys(Object(meta)), ["acme", "traceparent"])
      yield* Fiber.interrupt(calling)
    }).pipe(traced)
  })

  it.effect("[MSG-31] a request of a handler carries the received tracestate and baggage if they are valid", () => {
    const { traced } = collector()
    return Effect.gen(function*() {
      const { raw, session } = yield* withRawClient({
        handlers: tools({
          ask: Effect.as(Effect.orDie(RequestContext.listRoots()), text("x"))
        }),
        server: { middleware }
      })
      yield* raw.send(JsonRpc.request(0, "initialize", {
        protocolVersion: "2025-11-25",
        capabilities: { roots: {} },
        clientInfo: { name: "test", version: "1" }
      }))
      yield* raw.response
      const metaOfNested = Effect.fnUntraced(function*(meta: object) {
        yield* raw.send(call(1, "ask", { _meta: meta }))
        const nested = yield* raw.receive
        if ("id" in nested && nested.id !== undefined && nested.id !== null) {
          yield* raw.send(JsonRpc.success(nested.id, { roots: [] }))
        }
        yield* raw.response
        return metaOf(nested)
      })
      const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
      const propagated = { tracestate: "rojo=00f067aa0ba902b7", baggage: "userId=alice,isProduction=false" }
      const meta = yield* metaOfNested({ traceparent, ...propagated, acme: 1 })
      assert.containSubset(meta, propagated)
      assert.match(JSON.stringify(meta), /"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-(?!00f067aa0ba902b7)/)
      assert.notProperty(meta, "acme")
      const bad = yield* metaOfNested({ traceparent, tracestate: 1, baggage: `a=${"x".repeat(8192)}` })
      assert.sameMembers(Object.keys(Object(bad)), ["traceparent"])
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }).pipe(traced)
  })

  it.effect("[MSG-31] a traceparent in the options of a call takes precedence", () => {
    const { traced } = collector()
    return Effect.gen(function*() {
      const { raw, session } = yield* withRawServer({ client: { middleware } })
      const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
      const pinging = yield* start(
        Effect.provideService(session.ping({ meta: { traceparent } }), Tracing.Baggage, { baggage: "a=1" })
      )
      yield* settled
      assert.deepStrictEqual(metaOf(raw.received.at(-1)), { baggage: "a=1", traceparent })
      yield* Fiber.interrupt(pinging)
    }).pipe(traced)
  })

  it.effect("no trace is sent while tracing is disabled", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer({ client: { middleware } })
      const pinging = yield* start(Effect.withTracerEnabled(session.ping(), false))
      yield* settled
      assert.deepStrictEqual(metaOf(raw.received.at(-1)), {})
      yield* Fiber.interrupt(pinging)
    }))

  it.effect("the span of a request that dies has the cause, which the peer does not receive", () => {
    const { spans, traced } = collector()
    return Effect.gen(function*() {
      const { client } = yield* connected({
        handlers: tools({ dies: Effect.die(new Error("secret")) }),
        server: { middleware }
      })
      const error = yield* Effect.flip(client.callTool("dies"))
      assert.notInclude(error.message, "secret")
      const status = spans[0]?.status
      assert.isTrue(
        status?._tag === "Ended" && Exit.isFailure(status.exit) && String(status.exit.cause).includes("secret")
      )
    }).pipe(traced)
  })
})
