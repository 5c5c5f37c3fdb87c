import { EventStore, RequestContext, type SessionEvent, SessionHost } from "@effect-mcp/session"
import { Authentication, StreamableHttpServer } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpEffect from "effect/http/HttpEffect"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Layer from "effect/Layer"
import * as Scheduler from "effect/Scheduler"
import { initialize } from "../../../support/httpClient.ts"
import { until } from "../../../support/process.ts"
import { collectLogs, hostOf, text, tools } from "../../../support/server.ts"

const counts = { started: 0, interrupted: 0 }

const handlers = tools({
  now: Effect.succeed(text("now")),
  reports: Effect.as(RequestContext.progress({ progress: 1 }), text("reported")),
  forever: ({ reports }) =>
    Effect.gen(function*() {
      counts.started++
      if (reports === true) yield* RequestContext.progress({ progress: 1 })
      return yield* Effect.never
    }).pipe(Effect.onInterrupt(() =>
      Effect.sync(() => {
        counts.interrupted++
      })
    ))
})

/** Creates the handler, and records the events of its sessions. Closing the scope disposes of it. */
const make = Effect.fnUntraced(function*(options?: StreamableHttpServer.Options) {
  const events: Array<SessionEvent.SessionEvent> = []
  const logs: Array<string> = []
  const { dispose, handler } = yield* Effect.acquireRelease(
    Effect.sync(() =>
      StreamableHttpServer.toWebHandler(
        Layer.mergeAll(
          hostOf(handlers, {}, events),
          Authentication.anonymous,
          EventStore.layerMemory(),
          collectLogs(logs)
        ),
        options
      )
    ),
    ({ dispose }) => Effect.promise(dispose)
  )
  let id: string | null = null
  const send = (init: {
    readonly method?: string
    readonly body?: unknown
    readonly headers?: Readonly<Record<string, string>>
    readonly signal?: AbortSignal
  }) =>
    handler(
      new Request("https://example.com/any/path", {
        method: init.method ?? "POST",
        ...(init.body === undefined ? undefined : { body: JSON.stringify(init.body) }),
        ...(init.signal === undefined ? undefined : { signal: init.signal }),
        headers: {
          host: "example.com",
          accept: "application/json, text/event-stream",
          "content-type": "application/json",
          ...(id === null ? undefined : { "mcp-session-id": id }),
          ...init.headers
        }
      })
    )
  const opened = yield* Effect.promise(() => send({ body: initialize("2025-11-25") }))
  id = opened.headers.get("mcp-session-id")
  assert.strictEqual(opened.status, 200)
  yield* Effect.promise(() => send({ body: { jsonrpc: "2.0", method: "notifications/initialized" } }))
  return { dispose, events, logs, send }
})

const call = (id: number, name: string, args: object = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: args, _meta: { progressToken: id } }
})

describe("the server as a function on web standards", () => {
  it.live("responds with JSON or a stream", () =>
    Effect.gen(function*() {
      const { logs, send } = yield* make()
      const now = yield* Effect.promise(() => send({ body: call(1, "now") }))
      assert.strictEqual(now.headers.get("content-type"), "application/json")
      assert.deepStrictEqual(yield* Effect.promise(() => now.json()), { jsonrpc: "2.0", id: 1, result: text("now") })
      const stream = yield* Effect.promise(() => send({ body: call(2, "reports") }))
      assert.strictEqual(stream.headers.get("content-type"), "text/event-stream")
      const all = yield* Effect.promise(() => stream.text())
      assert.include(all, "notifications/progress")
      assert.include(all, "\"id\":2")
      const unsupported = yield* Effect.promise(() => send({ method: "PUT" }))
      assert.strictEqual(unsupported.status, 405)
      assert.deepStrictEqual(logs, [])
    }))

  it.live("ignores an invalid Content-Length", () =>
    Effect.gen(function*() {
      const { send } = yield* make()
      for (const length of ["many", "-1"]) {
        const headers = { "content-length": length }
        const ping = yield* Effect.promise(() => send({ body: { jsonrpc: "2.0", id: 1, method: "ping" }, headers }))
        assert.strictEqual(ping.status, 200)
      }
    }))

  it.live("[HTTP-11] [HTTP-12] reads the host from the URL if there is no Host header", () =>
    Effect.gen(function*() {
      const { dispose, handler } = StreamableHttpServer.toWebHandler(
        Layer.merge(hostOf(handlers, {}), Authentication.anonymous),
        {
          allowedHosts: ["example.com", "localhost"]
        }
      )
      const statusOf = (url: string, headers: Readonly<Record<string, string>> = {}) =>
        Effect.promise(async () => (await handler(new Request(url, { method: "PUT", headers }))).status)
      assert.strictEqual(yield* statusOf("https://example.com/mcp"), 405)
      assert.strictEqual(yield* statusOf("https://example.com:8443?x"), 405)
      assert.strictEqual(yield* statusOf("https://evil.example/https://example.com"), 403)
      assert.strictEqual(yield* statusOf("https://example.com/mcp", { host: "evil.example" }), 403)
      const origin = "http://localhost:5173"
      assert.strictEqual(yield* statusOf("http://localhost:3000/mcp", { origin }), 405)
      assert.strictEqual(yield* statusOf("https://example.com/mcp", { origin }), 403)
      yield* Effect.promise(dispose)
    }))

  it.live("detaches an aborted request, and interrupts it after detachedRequestTimeout", () =>
    Effect.gen(function*() {
      for (const reports of [false, true]) {
        const { events, logs, send } = yield* make({
          detachedRequestTimeout: "100 millis",
          responseMode: reports ? "adaptive" : "json"
        })
        const { interrupted: before, started } = counts
        const controller = new AbortController()
        const pending = send({ body: call(1, "forever", { reports }), signal: controller.signal })
        pending.catch(() => {})
        if (reports) {
          const response = yield* Effect.promise(() => pending)
          const reader = response.body?.getReader()
          yield* Effect.promise(async () => reader?.read())
        } else yield* until(() => counts.started > started)
        controller.abort()
        assert.strictEqual(counts.interrupted, before)
        yield* until(() => counts.interrupted > before)
        assert.isTrue(events.some(({ _tag }) => _tag === "Abandoned"))
        const ping = yield* Effect.promise(() => send({ body: { jsonrpc: "2.0", id: 2, method: "ping" } }))
        assert.strictEqual(ping.status, 200)
        assert.deepStrictEqual(logs, [])
      }
    }))

  it.live(
    "[law 2] leaves no exchange in the session, at whichever step a request is aborted",
    () =>
      Effect.gen(function*() {
        const turns = (count: number) =>
          Effect.promise(async () => {
            for (let turn = 0; turn < count; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
          })
        for (let steps = 3; steps < 20; steps++) {
          const context = yield* Layer.build(
            Layer.merge(hostOf(tools({ forever: Effect.never }), {}), Authentication.anonymous)
          )
          const host = Context.get(context, SessionHost.SessionHost)
          const handle = yield* Effect.provideContext(
            StreamableHttpServer.makeHandler({ detachedRequestTimeout: "40 millis", writeTimeout: "40 millis" }),
            context
          )
          const handler = HttpEffect.toWebHandler(
            Effect.interruptible(Effect.flatMap(HttpServerRequest, handle)).pipe(
              // The fiber yields so often that an abort may happen between any two steps.
              Effect.provideService(Scheduler.MaxOpsBeforeYield, steps)
            )
          )
          const send = (method: string, body?: unknown, id?: string, signal?: AbortSignal) =>
            handler(
              new Request("https://example.com/mcp", {
                method,
                ...(body === undefined ? undefined : { body: JSON.stringify(body) }),
                ...(signal === undefined ? undefined : { signal }),
                headers: {
                  accept: "application/json, text/event-stream",
                  "content-type": "application/json",
                  ...(id === undefined ? undefined : { "mcp-session-id": id })
                }
              })
            )
          const opened = yield* Effect.promise(() => send("POST", initialize("2025-11-25")))
          const id = opened.headers.get("mcp-session-id") ?? ""
          for (const method of ["POST", "GET"]) {
            for (let after = 0; after < 50; after++) {
              const controller = new AbortController()
              const body = method === "POST" ? call(after, "forever") : undefined
              send(method, body, id, controller.signal).then((response) => response.body?.cancel(), () => {})
              yield* turns(after)
              controller.abort()
              yield* turns(20)
            }
          }
          yield* Effect.repeat(host.sessions, { until: ([one]) => one?.held === 0 && one.inFlight === 0 })
        }
      }),
    30_000
  )

  it.live("opens another standalone stream after the body of the first one was cancelled", () =>
    Effect.gen(function*() {
      const { logs, send } = yield* make()
      const first = yield* Effect.promise(() => send({ method: "GET" }))
      assert.strictEqual(first.status, 200)
      assert.strictEqual((yield* Effect.promise(() => send({ method: "GET" }))).status, 409)
      yield* Effect.promise(async () => first.body?.cancel())
      const again = yield* Effect.repeat(Effect.promise(() => send({ method: "GET" })), {
        until: ({ status }) => status === 200
      })
      const reader = again.body?.getReader()
      assert.isFalse((yield* Effect.promise(async () => reader?.read()))?.done)
      assert.deepStrictEqual(logs, [])
    }))

  it.live("resumes a stream", () =>
    Effect.gen(function*() {
      const { send } = yield* make({ responseMode: "stream" })
      const first = yield* Effect.promise(() => send({ body: call(1, "reports") }))
      const all = yield* Effect.promise(() => first.text())
      const id = /^id: (.*)$/m.exec(all)?.[1] ?? ""
      const rest = yield* Effect.promise(() => send({ method: "GET", headers: { "last-event-id": id } }))
      const events = (text: string) => text.split("\n\n").filter((block) => block.includes("data: {"))
      assert.deepStrictEqual(events(yield* Effect.promise(() => rest.text())), events(all))
      assert.strictEqual(events(all).length, 2)
    }))

  it.live("dispose ends all open responses", () =>
    Effect.gen(function*() {
      const { dispose, logs, send } = yield* make()
      const standalone = yield* Effect.promise(() => send({ method: "GET" }))
      const stream = yield* Effect.promise(() => send({ body: call(1, "forever", { reports: true }) }))
      const { started } = counts
      const waiting = send({ body: call(2, "forever") })
      yield* until(() => counts.started > started)
      yield* Effect.promise(dispose)
      yield* Effect.promise(() => standalone.text())
      assert.include(yield* Effect.promise(() => stream.text()), "\"id\":1,\"error\"")
      assert.strictEqual((yield* Effect.promise(() => waiting)).status, 503)
      assert.deepStrictEqual(logs, [])
    }))
})

it.live("the server is built with the first request, and ended also if there was none", () =>
  Effect.promise(async () => {
    const steps: Array<string> = []
    const observed = (name: string) =>
      Layer.effectDiscard(
        Effect.acquireRelease(Effect.sync(() => steps.push(`${name} built`)), () =>
          Effect.sync(() => steps.push(`${name} ended`)))
      )
    const made = (name: string) =>
      StreamableHttpServer.toWebHandler(Layer.mergeAll(hostOf(handlers, {}), Authentication.anonymous, observed(name)))
    const used = made("used")
    assert.deepStrictEqual(steps, [])
    assert.strictEqual((await used.handler(new Request("https://example.com/mcp", { method: "PUT" }))).status, 405)
    await used.dispose()
    assert.deepStrictEqual(steps, ["used built", "used ended"])
    await made("unused").dispose()
    assert.strictEqual(
      steps.filter((step) => step === "unused built").length,
      steps.filter((step) => step === "unused ended").length
    )
  }))
