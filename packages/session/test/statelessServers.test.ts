/** The common behaviour of `StatelessServer` and of `ServerSession` with the option `stateless`. */
import {
  Content,
  ErrorCode,
  JsonRpc,
  McpError,
  Meta,
  MethodDefinition,
  RequestMetadata,
  Revision
} from "@effect-mcp/protocol"
import { Extension, RequestContext, RequestError } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { call, codeOf, initialize, initialized, names, text, tools, traced } from "./support/sessions.ts"
import { servers } from "./support/statelessServers.ts"

const batched: Revision.LegacyRevision = "2025-03-26"
const token = { _meta: { progressToken: "t" } }

describe.each(servers)("a server without sessions ($server)", ({ make }) => {
  const serving = (
    byName: Parameters<typeof tools>[0] = {},
    revision: Revision.LegacyRevision = Revision.latestLegacy,
    options: Parameters<typeof make>[2] = {}
  ) => make(tools(byName), revision, { capabilities: { logging: {} }, ...options })

  it.effect("serves any first message", () =>
    Effect.gen(function*() {
      const { send } = yield* serving({ x: Effect.succeed(text("x")) })
      assert.deepStrictEqual(yield* send(call("a", "x")), [JsonRpc.success("a", text("x"))])
      assert.deepStrictEqual(yield* send(JsonRpc.request(2, "ping", undefined)), [JsonRpc.success(2, {})])
    }))

  it.effect("has only the revision of its client", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const { send } = yield* serving({
        x: Effect.map(RequestContext.RequestContext, ({ id, method, profile }) => {
          seen.push(profile, id, method)
          return text("x")
        })
      }, "2025-06-18")
      yield* send(initialize("2025-11-25"))
      yield* send(call(1, "x"))
      assert.deepStrictEqual(seen, [
        { revision: "2025-06-18", capabilities: {}, info: undefined },
        1,
        "tools/call"
      ])
    }))

  it.effect("[INIT-07] answers every initialize with its description", () =>
    Effect.gen(function*() {
      const { send } = yield* serving({}, "2025-06-18", { instructions: "Call add.", revisions: ["2025-06-18"] })
      const answer = {
        protocolVersion: "2025-06-18",
        capabilities: { tools: {}, logging: {} },
        serverInfo: { name: "test", version: "1.0.0" },
        instructions: "Call add."
      }
      for (const requested of ["2025-06-18", "2025-11-25", "1999-01-01"]) {
        assert.deepStrictEqual(yield* send(initialize(requested)), [JsonRpc.success(0, answer)])
        assert.deepStrictEqual(yield* send(initialized), [])
      }
    }))

  it.effect("rejects invalid requests with the code of their problem", () =>
    Effect.gen(function*() {
      const { events, send } = yield* serving({ x: Effect.succeed(text("x")) }, batched)
      const codes = [
        [JsonRpc.request(1, "initialize", {}), -32602],
        [JsonRpc.request(1, "resources/list", {}), -32601],
        [JsonRpc.request(1, "no/such", {}), -32601],
        // This revision has no tasks.
        [JsonRpc.request(1, "tasks/list", {}), -32601],
        [JsonRpc.request(1, "tools/call", { name: 1 }), -32602],
        [JsonRpc.request(1, "ping", { _meta: 1 }), -32602],
        [call(1, "unknown"), -32602]
      ] as const
      for (const [request, code] of codes) {
        const answers = yield* send(request)
        assert.deepStrictEqual(
          answers.map((answer) => [names([answer])[0], codeOf(answer)]),
          [[1, code]],
          request.method
        )
      }
      // The handler itself rejects the last request.
      assert.strictEqual(events.filter(({ _tag }) => _tag === "Rejected").length, codes.length - 1)
    }))

  it.effect("[MSG-17] rejects a malformed message that may be a request", () =>
    Effect.gen(function*() {
      const { events, send } = yield* serving()
      assert.deepStrictEqual((yield* send({ jsonrpc: "2.0", id: 7, method: 1 })).map(codeOf), [-32600])
      assert.deepStrictEqual((yield* send([initialized])).map(codeOf), [-32600])
      assert.deepStrictEqual(yield* send({ jsonrpc: "2.0", id: 7, result: {}, error: {} }), [])
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "Malformed" ? [event.problem] : []),
        ["a method is a string", "a batch is not allowed here", "a response has a result or an error, not both"]
      )
    }))

  it.effect("law 5: rejects ids and tokens of more than 4,096 bytes with -32600 and no id", () =>
    Effect.gen(function*() {
      const long = "i".repeat(4097)
      const { send } = yield* serving({ x: Effect.succeed(text("x")) }, batched)
      const frames = [
        JsonRpc.request(long, "ping", undefined),
        call(1, "x", { _meta: { progressToken: long } }),
        JsonRpc.notification("notifications/cancelled", { requestId: long }),
        [JsonRpc.request(long, "ping", undefined)]
      ]
      for (const frame of frames) {
        const [reply, ...others] = yield* send(frame)
        assert.isDefined(reply)
        assert.deepStrictEqual([codeOf(reply), "id" in reply && reply.id, others], [-32600, null, []])
      }
    }))

  it.effect("[MSG-12] reports responses, cancellations and progress, and replies to none", () =>
    Effect.gen(function*() {
      const { events, send } = yield* serving()
      assert.deepStrictEqual(yield* send(JsonRpc.success(1, {})), [])
      assert.deepStrictEqual(yield* send(JsonRpc.notification("notifications/cancelled", { requestId: 1 })), [])
      assert.deepStrictEqual(
        yield* send(JsonRpc.notification("notifications/progress", { progressToken: 1, progress: 1 })),
        []
      )
      assert.deepStrictEqual(events.map(({ _tag }) => _tag), ["UnmatchedResponse", "CancelIgnored", "ProgressDropped"])
    }))

  it.effect("[PRG-03] [LOG-01] sends progress, logs and notifications in order, and none after the reply", () =>
    Effect.gen(function*() {
      const { events, send } = yield* serving(
        {
          report: Effect.gen(function*() {
            const context = yield* RequestContext.RequestContext
            yield* context.progress({ progress: 1 })
            yield* context.log({ level: "debug", data: "here" })
            yield* context.progress({ progress: 1 })
            yield* context.progress({ progress: 2 })
            yield* context.notify("notifications/tools/list_changed", {}).pipe(Effect.orDie)
            yield* Effect.forkDetach(Effect.andThen(Effect.yieldNow, context.log({ level: "error", data: "late" })))
            return text("done")
          })
        },
        Revision.latestLegacy,
        { capabilities: { logging: {}, tools: { listChanged: true } } }
      )
      const messages = yield* send(call(1, "report", token))
      assert.deepStrictEqual(names(messages), [
        "notifications/progress",
        "notifications/message",
        "notifications/progress",
        "notifications/tools/list_changed",
        1
      ])
      assert.deepStrictEqual(
        events.map((event) => event._tag === "ProgressDropped" ? event.reason : event._tag),
        ["NotIncreasing", "NotificationIgnored"]
      )
    }))

  it.effect("stores no log level", () =>
    Effect.gen(function*() {
      const { send } = yield* serving({ x: Effect.as(RequestContext.log({ level: "info", data: 1 }), text("x")) })
      assert.deepStrictEqual(
        yield* send(JsonRpc.request(1, "logging/setLevel", { level: "error" })),
        [JsonRpc.success(1, {})]
      )
      assert.deepStrictEqual(names(yield* send(call(2, "x"))), ["notifications/message", 2])
    }))

  it.effect("[LOG-01] logs unless logging is false; a handler that logs dies then", () =>
    Effect.gen(function*() {
      const logs = { x: Effect.as(RequestContext.log({ level: "info", data: 1 }), text("x")) }
      const on = yield* serving(logs, Revision.latestLegacy, { capabilities: {} })
      assert.deepStrictEqual(names(yield* on.send(call(1, "x"))), ["notifications/message", 1])
      const off = yield* serving(logs, Revision.latestLegacy, { capabilities: { logging: false } })
      assert.deepStrictEqual((yield* off.send(call(1, "x"))).map(codeOf), [ErrorCode.InternalError])
      assert.deepStrictEqual(
        off.events.map((event) => event._tag === "HandlerFailed" ? Cause.squash(event.cause) : event._tag),
        [RequestError.make("notifications/message", {
          _tag: "UndeclaredCapability",
          capability: "logging",
          option: "capabilities: { logging: {} }"
        })]
      )
    }).pipe(Effect.provide(Logger.layer([]))))

  it.effect("a log message without data makes its handler die", () =>
    Effect.gen(function*() {
      const { events, send } = yield* serving({
        x: Effect.as(RequestContext.log({ level: "info", data: undefined }), text("x"))
      })
      assert.deepStrictEqual((yield* send(call(1, "x"))).map(codeOf), [ErrorCode.InternalError])
      const [event] = events
      assert.include(
        event?._tag === "HandlerFailed" ? String(Cause.squash(event.cause)) : event?._tag,
        "data: expected"
      )
    }).pipe(Effect.provide(Logger.layer([]))))

  it.effect("fails requests to the client, and releases no stream", () =>
    Effect.gen(function*() {
      const { send } = yield* serving({
        request: Effect.gen(function*() {
          const context = yield* RequestContext.RequestContext
          const message = { role: "user" as const, content: Content.text("hi") }
          const results = yield* Effect.forEach([
            RequestContext.listRoots(),
            context.request("ping", {}),
            RequestContext.createMessage({ messages: [message], maxTokens: 1 }),
            RequestContext.elicit({ message: "Name?", requestedSchema: { type: "object", properties: {} } })
          ], (request) =>
            Effect.result<unknown, { readonly reason: { readonly _tag: string } }, RequestContext.RequestContext>(
              request
            ))
          const released = yield* context.releaseStream
          return text(
            [
              ...results.map((one) =>
                Result.isFailure(one) ? one.failure.reason._tag : "sent"
              ),
              released
            ].join(" ")
          )
        })
      })
      const reason = "StatelessModeNotSupported"
      assert.deepStrictEqual(yield* send(call(1, "request")), [
        JsonRpc.success(1, text(`${reason} ${reason} ${reason} ${reason} false`))
      ])
    }))

  it.effect("replies with an internal error if a handler dies", () =>
    Effect.gen(function*() {
      const { events, send } = yield* serving({
        die: Effect.die(new Error("secret")),
        interrupt: Effect.interrupt,
        nothing: Effect.as(Effect.addFinalizer(() => Effect.die("broken")), text("x")).pipe(Effect.scoped)
      })
      for (const tool of ["die", "interrupt", "nothing"]) {
        assert.deepStrictEqual(yield* send(call(1, tool)), [JsonRpc.failure(1, McpError.internalError)], tool)
      }
      assert.deepStrictEqual(events.map(({ _tag }) => _tag), ["HandlerFailed", "HandlerFailed", "HandlerFailed"])
    }))

  it.effect("projects results to its revision", () =>
    Effect.gen(function*() {
      const { send } = yield* serving({
        x: Effect.succeed({ content: [], structuredContent: { sum: 42 } })
      }, batched)
      assert.deepStrictEqual(
        yield* send(call(1, "x")),
        [JsonRpc.success(1, { content: [{ type: "text", text: "{\"sum\":42}" }], structuredContent: { sum: 42 } })]
      )
    }))

  it.effect("[MSG-15] [MSG-16] answers a batch in one frame, and rejects initialize in it", () =>
    Effect.gen(function*() {
      const { events, send } = yield* serving({
        now: Effect.succeed(text("now")),
        soon: Effect.as(Effect.yieldNow, text("soon"))
      }, batched)
      const answers = yield* send([call(1, "soon"), initialized, initialize(), 5, call(2, "now"), [call(3, "now")]])
      assert.deepStrictEqual(
        new Map(answers.map((answer) => [names([answer])[0], codeOf(answer)])),
        new Map<unknown, unknown>([[0, -32600], [null, -32600], [2, undefined], [1, undefined]])
      )
      assert.strictEqual(answers.length, 5)
      assert.deepStrictEqual(yield* send([initialized]), [])
      assert.strictEqual(events.filter(({ _tag }) => _tag === "Malformed").length, 2)
    }))

  it.effect("[MSG-17] rejects a request of 2026-07-28 in a batch, and serves the others", () =>
    Effect.gen(function*() {
      const work = traced(Effect.void)
      const { send } = yield* serving({ now: Effect.succeed(text("now")), modern: work.effect }, batched)
      const _meta = { [RequestMetadata.keys.protocolVersion]: "2026-07-28" }
      const modern = JsonRpc.request(1, "tools/call", { name: "modern", _meta })
      const answers = yield* send([modern, call(2, "now")])
      assert.deepStrictEqual(
        new Map(answers.map((answer) => [names([answer])[0], codeOf(answer)])),
        new Map<unknown, unknown>([[1, -32600], [2, undefined]])
      )
      assert.deepStrictEqual(work.seen, [])
    }))

  it.effect("rejects a batch of more than 100 messages with one error, and serves no message of it", () =>
    Effect.gen(function*() {
      const work = traced(Effect.void)
      const { events, send } = yield* make(tools({ now: work.effect }), batched, {})
      const one = (id: number) => call(id, "now")
      assert.deepStrictEqual((yield* send(Array.from({ length: 101 }, (_, id) => one(id)))).map(codeOf), [-32600])
      assert.deepStrictEqual([work.seen, events.map(({ _tag }) => _tag)], [[], ["Malformed"]])
      assert.lengthOf(yield* send(Array.from({ length: 100 }, (_, id) => one(id))), 100)
    }))

  it.effect("law 5: [MSG-05] an id is in flight until its reply is sent", () =>
    Effect.gen(function*() {
      const work = traced(Effect.void)
      const { send } = yield* serving({ now: work.effect, soon: Effect.as(Effect.yieldNow, text("soon")) }, batched)
      // The first reply is decided at once, and waits for the rest of the batch.
      const answers = yield* send([call(1, "now"), call(1, "now"), call(2, "soon")])
      assert.deepStrictEqual(
        answers.map((answer) => [names([answer])[0], codeOf(answer)]),
        [[1, undefined], [1, -32600], [2, undefined]]
      )
      assert.deepStrictEqual(work.seen, ["started", "finished"])
    }))

  it.effect("law 5: [MSG-05] [CAN-04] [CAN-07] rejects a duplicate id in a batch, and cancels its request", () =>
    Effect.gen(function*() {
      const work = traced(Effect.never)
      const { events, send } = yield* serving({ wait: work.effect, now: Effect.succeed(text("now")) }, batched)
      const answers = yield* send([
        call(1, "wait"),
        call(1, "now"),
        call(2, "now"),
        JsonRpc.request(1, "ping", {}),
        JsonRpc.notification("notifications/cancelled", { requestId: 1 })
      ])
      assert.deepStrictEqual(
        answers.map((answer) => [names([answer])[0], codeOf(answer)]),
        [[1, -32600], [2, undefined], [1, -32600]]
      )
      assert.deepStrictEqual(work.seen, ["started", "interrupted"])
      assert.deepStrictEqual(events.map(({ _tag }) => _tag), ["Rejected", "Rejected", "Cancelled"])
    }))

  it.effect("runs middleware, extensions and handlers of notifications", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const echo = MethodDefinition.request("acme/echo", {
        from: "client",
        params: Schema.Struct({ text: Schema.String }),
        result: Schema.Struct({ text: Schema.String })
      })
      const pinged = MethodDefinition.notification("acme/pinged", { from: "client", params: Meta.NotificationParams })
      const note = (text: string) => Effect.sync(() => void seen.push(text))
      const { events, send } = yield* make(
        { "notifications/roots/list_changed": () => note("roots") },
        Revision.latestLegacy,
        {
          extensions: [
            Extension.request(echo, (params) => Effect.succeed(params)),
            Extension.notification(pinged, () => Effect.andThen(note("poked"), Effect.die("broken")))
          ],
          middleware: {
            inbound: (request, next) => Effect.andThen(note(request.method), next(request))
          }
        }
      )
      assert.deepStrictEqual(yield* send(JsonRpc.request(1, "acme/echo", { text: "a" })), [
        JsonRpc.success(1, { text: "a" })
      ])
      assert.deepStrictEqual(yield* send(JsonRpc.notification("notifications/roots/list_changed")), [])
      assert.deepStrictEqual(yield* send(JsonRpc.notification("acme/pinged")), [])
      assert.deepStrictEqual(yield* send(JsonRpc.notification("acme/other")), [])
      assert.deepStrictEqual(seen, ["acme/echo", "roots", "poked"])
      assert.deepStrictEqual(events.map(({ _tag }) => _tag), ["HandlerFailed", "NotificationIgnored"])
    }))
})
