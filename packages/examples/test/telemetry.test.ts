/** Spans, metrics and logs of the observed programs (`telemetry`), as a collector receives them. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { joinedProgram } from "../../../scripts/joinedProgram.ts"
import * as Child from "./fixtures/child.ts"
import * as OtlpReceiver from "./fixtures/otlpReceiver.ts"

const joined = (name: string) => joinedProgram(Child.file(`../../src/telemetry/${name}.ts`))
const [httpServer, stdioServer, client] = await Promise.all([
  joined("httpServer"),
  joined("stdioServer"),
  joined("client")
])

const secret = "adas-secret-0f3c"

type Variables = Readonly<Record<string, string>>

/** Runs the client to its end. */
const runClient = Effect.fnUntraced(function*(variables: Variables, ...args: ReadonlyArray<string>) {
  const program = yield* Child.program(process.execPath, [client, ...args], { ...variables, TOKEN: secret })
  const run = yield* program.exited
  assert.deepInclude(run, { exitCode: 0, signal: null }, run.stderr)
  assert.include(run.stdout, "{\"rain\":0.6}\n")
})

/** Starts the server over HTTP. Returns its process and its URL. */
const startServer = Effect.fnUntraced(function*(variables: Variables) {
  const program = yield* Child.program(process.execPath, [httpServer, "0"], { ...variables, TOKEN: secret })
  yield* Child.until(() => /serving \S+\n/.test(program.stdout()))
  const [, url = ""] = /serving (\S+)\n/.exec(program.stdout()) ?? []
  return { program, url }
})

/** Runs the client with a server over HTTP, which is stopped afterwards. */
const overHttp = Effect.fnUntraced(function*(variables: Variables, ...options: ReadonlyArray<string>) {
  const { program, url } = yield* startServer(variables)
  yield* runClient(variables, url, ...options)
  program.kill("SIGTERM")
  yield* program.exited
})

/** Returns the chain of spans from the root to a span of the handler, as services and names. */
const traceOf = ({ spans }: OtlpReceiver.Received) => {
  const chain: Array<OtlpReceiver.Received["spans"][number]> = []
  let span = spans.find(({ name }) => name === "rainIn")
  while (span !== undefined) {
    chain.unshift(span)
    const parent = span.parentSpanId
    span = spans.find(({ spanId }) => spanId === parent)
  }
  return chain
}

const names = (records: ReadonlyArray<{ readonly service: string | undefined; readonly name: string }>) =>
  Array.from(new Set(records.map(({ name, service }) => `${service}: ${name}`))).toSorted()

const trace = ["traveller: plan a trip", "traveller: tools/call", "forecasts: tools/call", "forecasts: rainIn"]

/** Checks that the spans of a call in both processes are one trace, and that the logs belong to it. */
const isOneTrace = (received: OtlpReceiver.Received) => {
  const chain = traceOf(received)
  assert.deepStrictEqual(chain.map(({ name, service }) => `${service}: ${name}`), trace)
  assert.deepStrictEqual(chain.map(({ kind }) => kind), [1, 3, 2, 1])
  const [root, , , handler] = chain
  assert.isTrue(chain.every(({ traceId }) => traceId === root?.traceId))
  const logs = received.logs.map(({ body, service, spanId, traceId }) => [service, body.stringValue, traceId, spanId])
  assert.sameDeepMembers(logs, [
    ["traveller", "the trip is planned", root?.traceId, root?.spanId],
    ["forecasts", "the rain is looked up", root?.traceId, handler?.spanId]
  ])
}

describe.concurrent("telemetry", () => {
  it.live("over HTTP, a call is one trace of client and server, with its logs, and the metrics of both arrive", () =>
    Effect.gen(function*() {
      const { received, variables } = yield* OtlpReceiver.make
      yield* overHttp(variables)
      isOneTrace(received)
      assert.includeMembers(names(received.metrics), [
        "forecasts: forecasts",
        "forecasts: mcp.server.active_requests",
        "forecasts: mcp.server.operation.duration",
        "traveller: mcp.client.active_requests",
        "traveller: mcp.client.operation.duration",
        "traveller: mcp.client.session.duration"
      ])
      assert.isTrue(
        received.metrics.filter(({ name }) => name.endsWith(".duration")).every(({ unit }) => unit === "s")
      )
    }).pipe(Effect.scoped))

  it.live("the id of a session is in no export, and its metrics are", () =>
    Effect.gen(function*() {
      const { received, variables } = yield* OtlpReceiver.make
      const { program, url } = yield* startServer(variables)
      const post = (body: unknown, more: Readonly<Record<string, string>> = {}) =>
        Effect.promise(() =>
          fetch(url, {
            method: "POST",
            headers: {
              accept: "application/json, text/event-stream",
              authorization: `Bearer ${secret}`,
              "content-type": "application/json",
              ...more
            },
            body: JSON.stringify(body)
          })
        )
      const opened = yield* post({
        jsonrpc: "2.0",
        id: 1,
        method: "initialize",
        params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "shell", version: "1.0.0" } }
      })
      const id = opened.headers.get("mcp-session-id") ?? ""
      assert.isNotEmpty(id)
      const inSession = { "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" }
      const called = yield* post({
        jsonrpc: "2.0",
        id: 2,
        method: "tools/call",
        params: { name: "forecast", arguments: { city: "Bergen" } }
      }, inSession)
      assert.strictEqual(called.status, 200)
      program.kill("SIGTERM")
      yield* program.exited
      assert.includeMembers(names(received.spans), ["forecasts: tools/call", "forecasts: rainIn"])
      assert.includeMembers(names(received.metrics), [
        "forecasts: mcp.server.session.duration",
        "forecasts: mcp.server.sessions"
      ])
      assert.notInclude(received.bodies.join("\n"), id)
    }).pipe(Effect.scoped))

  it.live("neither the token of the client nor the argument of a tool is in an export", () =>
    Effect.gen(function*() {
      const { received, variables } = yield* OtlpReceiver.make
      yield* overHttp(variables)
      assert.isAtLeast(received.bodies.length, 6)
      const exported = received.bodies.join("\n")
      // The name of the tool is exported, so that this test reads what it means to read.
      assert.include(exported, "forecast")
      for (const hidden of [secret, "Bergen"]) assert.notInclude(exported, hidden)
    }).pipe(Effect.scoped))

  it.live("a trace that the client does not sample is exported by neither side, and is counted all the same", () =>
    Effect.gen(function*() {
      const { received, variables } = yield* OtlpReceiver.make
      yield* overHttp(variables, "--sample", "0")
      assert.deepStrictEqual(received.spans.filter(({ name }) => name === "tools/call" || name === "rainIn"), [])
      assert.includeMembers(names(received.metrics), [
        "forecasts: mcp.server.operation.duration",
        "traveller: mcp.client.operation.duration"
      ])
    }).pipe(Effect.scoped))

  it.live("over stdio, the trace is the same", () =>
    Effect.gen(function*() {
      const { received, variables } = yield* OtlpReceiver.make
      yield* runClient(variables, stdioServer)
      isOneTrace(received)
      assert.includeMembers(names(received.metrics), ["forecasts: mcp.server.operation.duration"])
    }).pipe(Effect.scoped))

  it.live("over stdio, standard output has messages only, and the log is on standard error", () =>
    Effect.gen(function*() {
      const { received, variables } = yield* OtlpReceiver.make
      const program = yield* Child.program(process.execPath, [stdioServer], variables)
      const _meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { name: "shell", version: "1.0.0" },
        "io.modelcontextprotocol/clientCapabilities": {}
      }
      const params = { name: "forecast", arguments: { city: "Bergen" }, _meta }
      program.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params })}\n`)
      yield* Child.until(() => program.stdout().includes("\n"))
      program.end()
      const { exitCode, stderr, stdout } = yield* program.exited
      assert.strictEqual(exitCode, 0, stderr)
      const messages = stdout.trimEnd().split("\n").map((line) => JSON.parse(line))
      assert.deepStrictEqual(messages.map(({ id, jsonrpc }) => [jsonrpc, id]), [["2.0", 1]])
      assert.include(stderr, "the rain is looked up")
      assert.deepStrictEqual(received.logs.map(({ body }) => body.stringValue), ["the rain is looked up"])
    }).pipe(Effect.scoped))

  it.live("a program without the variables exports nothing, and works", () =>
    Effect.gen(function*() {
      const { received } = yield* OtlpReceiver.make
      yield* overHttp(Child.environment)
      assert.deepStrictEqual(received.bodies, [])
    }).pipe(Effect.scoped))

  it.live("a collector that is gone costs no call", () =>
    overHttp({
      ...Child.environment,
      // Port 9 of this machine serves nothing. Each program waits for it at most this long when it ends.
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9",
      OTEL_EXPORTER_OTLP_TIMEOUT: "300",
      OTEL_TRACES_EXPORTER: "otlp",
      OTEL_METRICS_EXPORTER: "otlp",
      OTEL_LOGS_EXPORTER: "otlp"
    }).pipe(Effect.scoped))
})
