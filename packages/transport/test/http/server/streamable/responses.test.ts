import { RequestContext } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { connect } from "../../../support/httpClient.ts"
import { MapEventStore } from "../../../support/mapEventStore.ts"
import { until } from "../../../support/process.ts"
import { serve, text, tools } from "../../../support/server.ts"

const progress = (step: number) => RequestContext.progress({ progress: step })

const elicitName = RequestContext.elicit({
  message: "Name?",
  requestedSchema: { type: "object", properties: { name: { type: "string" } } }
})

/** Returns the elicited name, or the reason of the failure. */
const elicitedName = Effect.match(elicitName, {
  onSuccess: ({ content }) => text(String(content?.["name"])),
  onFailure: ({ reason }) => text(reason._tag === "SendFailed" ? `SendFailed ${reason.error.reason._tag}` : reason._tag)
})

const elicitation = { elicitation: {} }

describe.concurrent("the response to a POST", () => {
  it.live("[HTTP-09] is JSON in adaptive mode if the reply is the first message, and otherwise a stream", () =>
    Effect.gen(function*() {
      const server = yield* serve(tools({
        quiet: Effect.succeed(text("quiet")),
        reports: Effect.as(Effect.andThen(progress(1), progress(2)), text("reported"))
      }))
      const client = yield* connect(server)
      const quiet = yield* client.call(1, "quiet")
      yield* quiet.awaitEnd
      assert.strictEqual(quiet.headers["content-type"], "application/json")
      const stream = yield* client.call(2, "reports")
      yield* stream.awaitEnd
      assert.strictEqual(stream.headers["content-type"], "text/event-stream")
      assert.include(stream.headers["cache-control"] ?? "", "no-cache")
      assert.strictEqual(stream.headers["x-accel-buffering"], "no")
      assert.deepStrictEqual(stream.messages.map(({ id, params }) => id ?? params?.["progress"]), [1, 2, 2])
      assert.isTrue(stream.ended)
    }))

  it.live("becomes a stream in adaptive mode after adaptiveTimeout, before there is a message", () =>
    Effect.gen(function*() {
      const released = yield* Deferred.make<void>()
      const server = yield* serve(tools({ wait: Effect.as(Deferred.await(released), text("done")) }), {
        http: { adaptiveTimeout: "20 millis" }
      })
      const client = yield* connect(server)
      const call = yield* client.call(1, "wait")
      yield* call.awaitHeaders
      assert.deepInclude({ stream: call.isStream, status: call.status }, { stream: true, status: 200 })
      assert.deepStrictEqual(call.messages, [])
      yield* Deferred.succeed(released, undefined)
      yield* call.awaitEnd
      assert.deepStrictEqual(call.messages.map(({ id, result }) => ({ id, result })), [
        { id: 1, result: { ...text("done") } }
      ])
    }))

  it.live("is always a stream in stream mode", () =>
    Effect.gen(function*() {
      const server = yield* serve(tools({ quiet: Effect.succeed(text("quiet")) }), { http: { responseMode: "stream" } })
      const client = yield* connect(server)
      for (
        const response of [yield* client.ping(1), yield* client.call(2, "quiet"), yield* client.call(3, "unknown")]
      ) {
        yield* response.awaitEnd
        assert.isTrue(response.isStream)
        assert.strictEqual(response.messages.length, 1)
      }
      assert.strictEqual((yield* client.notify("notifications/x")).status, 202)
    }))

  it.live("[SHS-08] [SHS-14] [SHS-16] carries all messages of its request, and no others", () =>
    Effect.gen(function*() {
      for (const responseMode of ["adaptive", "stream"] as const) {
        const server = yield* serve(tools({ elicit: Effect.andThen(progress(1), elicitedName) }), {
          http: { responseMode }
        })
        const client = yield* connect(server, { capabilities: elicitation })
        const standalone = yield* client.get()
        const calls = [yield* client.call("a", "elicit"), yield* client.call("b", "elicit")]
        for (const call of calls) yield* call.awaitMessages(2)
        const hosted = server.host.find(client.id) ?? (yield* Effect.die("no session"))
        yield* Effect.forkChild(hosted.session.ping(), { startImmediately: true })
        yield* until(() => [standalone, ...calls].some(({ messages }) => messages.at(-1)?.method === "ping"))
        for (const [index, call] of calls.entries()) {
          const [step, elicitation] = call.messages
          assert.strictEqual(step?.params?.["progressToken"], "ab"[index])
          assert.strictEqual(elicitation?.method, "elicitation/create")
          yield* client.respond(elicitation?.id, { action: "accept", content: { name: `name ${index}` } })
          yield* call.awaitEnd
          assert.deepStrictEqual(call.messages.at(-1)?.result, { ...text(`name ${index}`) })
          assert.strictEqual(call.messages.length, 3)
        }
        assert.deepStrictEqual(standalone.messages.map(({ method }) => method), ["ping"])
      }
    }))

  it.live("carries only the reply in json mode, and other messages of its request fail at once", () =>
    Effect.gen(function*() {
      const store = new MapEventStore()
      for (const eventStore of [undefined, store.service]) {
        const server = yield* serve(
          tools({
            elicit: Effect.andThen(progress(1), elicitedName),
            release: Effect.map(
              Effect.flatMap(RequestContext.RequestContext, ({ releaseStream }) => releaseStream),
              (released) => text(String(released))
            )
          }),
          { http: { responseMode: "json", adaptiveTimeout: 1 }, store: eventStore }
        )
        const client = yield* connect(server, { capabilities: elicitation })
        const standalone = yield* client.get()
        const call = yield* client.call(1, "elicit")
        yield* call.awaitEnd
        assert.strictEqual(call.headers["content-type"], "application/json")
        assert.deepStrictEqual(call.messages[0]?.result, { ...text("SendFailed NoRoute") })
        const failed = server.events.flatMap((event) =>
          event._tag === "SendFailed" ? [`${event.method} ${event.error.reason._tag}`] : []
        )
        assert.deepStrictEqual(failed, ["notifications/progress NoRoute", "elicitation/create NoRoute"])
        const release = yield* client.call(2, "release")
        yield* release.awaitEnd
        assert.deepStrictEqual(release.messages[0]?.result, { ...text("false") })
        assert.deepStrictEqual(standalone.messages, [])
        assert.deepStrictEqual(server.logs, [])
      }
    }))

  it.live("[SHS-14] [SHS-15] never carries messages outside of requests, which need the standalone stream", () =>
    Effect.gen(function*() {
      const server = yield* serve(tools({ quiet: Effect.succeed(text("quiet")) }))
      const client = yield* connect(server)
      const hosted = server.host.find(client.id)
      assert.isDefined(hosted)
      if (hosted === undefined) return
      const pinged = yield* Effect.flip(hosted.session.ping())
      assert.strictEqual(pinged.reason._tag, "SendFailed")
      const standalone = yield* client.get()
      const call = yield* client.call(1, "quiet")
      yield* call.awaitEnd
      const pong = yield* Effect.forkChild(hosted.session.ping(), { startImmediately: true })
      yield* standalone.awaitMessages(1)
      assert.deepStrictEqual(standalone.messages.map(({ method }) => method), ["ping"])
      yield* client.respond(standalone.messages[0]?.id, {})
      yield* until(() => pong.pollUnsafe() !== undefined)
      assert.isFalse(standalone.ended)
    }))

  it.live("contains a comment after keepAliveInterval without a message", () =>
    Effect.gen(function*() {
      const released = yield* Deferred.make<void>()
      const server = yield* serve(tools({ wait: Effect.as(Deferred.await(released), text("done")) }), {
        http: { responseMode: "stream", keepAliveInterval: "20 millis" }
      })
      const client = yield* connect(server)
      const standalone = yield* client.get()
      const call = yield* client.call(1, "wait")
      yield* until(() => call.comments.length >= 4 && standalone.comments.length >= 4)
      assert.deepStrictEqual([call.messages, standalone.messages], [[], []])
      yield* Deferred.succeed(released, undefined)
      yield* call.awaitEnd
      assert.strictEqual(call.messages.length, 1)
    }))
})
