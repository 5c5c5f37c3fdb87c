/** The order of the transports for a client of every revision: 2026-07-28, Streamable HTTP, and then HTTP+SSE. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { fallbackTo, requestFailure, sessionOver, withDiscovery } from "../../../support/modernClient.ts"
import {
  type EventReply,
  type Handler,
  initializeResult,
  response,
  serve,
  withHandshake
} from "../../../support/scriptedHttpServer.ts"
import { endpointEvent, messageEvent } from "../../../support/scriptedSseServer.ts"

/** Serves HTTP+SSE. `reject` handles a POST to the path of the stream. */
const httpSse = (reject: Handler): Handler => {
  const streams: Array<EventReply> = []
  return (received, reply) => {
    if (received.method === "GET") {
      streams.push(reply.stream().raw(endpointEvent(streams.length + 1)))
    } else if (received.path.startsWith("/in?")) {
      reply.status(202)
      const result = received.kind === "initialize" ? initializeResult("2024-11-05") : { content: [] }
      if (received.kind !== "notifications/initialized") {
        streams.at(-1)?.raw(messageEvent(response(received, result)))
      }
    } else reject(received, reply)
  }
}

const streamable = withHandshake((received, reply) => reply.json(response(received, { content: [] })))

describe.concurrent("a client of every revision that detects the transport", () => {
  it.live("stays with 2026-07-28, and then with Streamable HTTP for the next session", () =>
    Effect.gen(function*() {
      const peer = yield* serve(withDiscovery((received, reply) => reply.json(response(received, { content: [] }))))
      const transport = yield* fallbackTo(peer)
      for (let n = 0; n < 2; n++) {
        const { session } = yield* sessionOver(transport)
        yield* session.callTool("x")
        assert.strictEqual(session.profile.revision, "2026-07-28")
      }
      assert.deepStrictEqual(peer.kinds(), ["server/discover", "tools/call", "server/discover", "tools/call"])
    }))

  it.live("continues with a handshake over Streamable HTTP", () =>
    Effect.gen(function*() {
      const peer = yield* serve((received, reply) =>
        received.kind === "server/discover"
          ? reply.status(400, requestFailure(received, -32000))
          : streamable(received, reply)
      )
      const { session } = yield* sessionOver(yield* fallbackTo(peer))
      yield* session.callTool("x")
      assert.strictEqual(session.profile.revision, "2025-11-25")
      assert.notInclude(peer.kinds(), "GET")
    }))

  const rejections: ReadonlyArray<readonly [name: string, reject: Handler]> = [
    ["400", (_, reply) => reply.status(400)],
    ["405", (_, reply) => reply.status(405)],
    ["404 with HTML", (_, reply) => reply.raw(404, {}, "<p>Cannot POST</p>")]
  ]
  for (const [name, reject] of rejections) {
    it.live(`[SSE-08] continues with HTTP+SSE if initialize is rejected with ${name}, and probes no more`, () =>
      Effect.gen(function*() {
        const peer = yield* serve(httpSse(reject))
        const transport = yield* fallbackTo(peer)
        const { session } = yield* sessionOver(transport)
        yield* session.callTool("x")
        assert.strictEqual(session.profile.revision, "2024-11-05")
        const next = yield* sessionOver(transport)
        yield* next.session.callTool("x")
        const opening = ["initialize", "notifications/initialized", "tools/call"]
        assert.deepStrictEqual(
          peer.kinds(),
          ["server/discover", "initialize", "GET", ...opening, "GET", ...opening]
        )
      }))
  }

  for (const status of [406, 409, 410, 411, 415, 422, 426, 501]) {
    it.live(`continues with HTTP+SSE after ${status} of initialize, unless it is 409, however it was probed`, () =>
      Effect.gen(function*() {
        for (const probe of [status, 405, 400]) {
          const peer = yield* serve(
            httpSse(({ kind }, reply) => reply.raw(kind === "initialize" ? status : probe, {}, "no"))
          )
          const connecting = Effect.flatMap(fallbackTo(peer), sessionOver)
          if (status === 409) assert.include((yield* Effect.flip(connecting)).message, "409")
          else assert.strictEqual((yield* connecting).session.profile.revision, "2024-11-05")
          assert.strictEqual(peer.kinds().includes("GET"), status !== 409)
        }
      }))
  }

  for (const status of [401, 403, 407, 429, 500, 503]) {
    it.live(`does not continue with HTTP+SSE after ${status}, of the probe or of initialize`, () =>
      Effect.gen(function*() {
        for (const rejected of ["server/discover", "initialize"]) {
          const peer = yield* serve(httpSse(({ kind }, reply) => reply.raw(kind === rejected ? status : 405, {}, "no")))
          yield* Effect.flip(Effect.flatMap(fallbackTo(peer), sessionOver))
          assert.notInclude(peer.kinds(), "GET", rejected)
        }
      }))
  }

  it.live("[SSE-08] does not continue after a body that is an error of 2026-07-28", () =>
    Effect.gen(function*() {
      for (const status of [400, 404, 405]) {
        const peer = yield* serve(
          httpSse((received, reply) => reply.status(status, requestFailure(received, -32020)))
        )
        const error = yield* Effect.flip(Effect.flatMap(fallbackTo(peer), sessionOver))
        assert.include(error.message, "rejected server/discover with error -32020")
        assert.deepStrictEqual(peer.kinds(), ["server/discover"])
      }
    }))

  it.live("a client of 2026-07-28 only fails at a server of HTTP+SSE, also after its detection", () =>
    Effect.gen(function*() {
      const peer = yield* serve(httpSse((_, reply) => reply.status(405)))
      const transport = yield* fallbackTo(peer)
      const modern = Effect.flip(sessionOver(transport, { revisions: ["2026-07-28"] }))
      const first = yield* modern
      yield* sessionOver(transport)
      const second = yield* modern
      assert.deepStrictEqual([first, second].map(({ reason }) => reason._tag), ["LegacyServer", "LegacyServer"])
      assert.include(first.message, "add an older revision to the option `revisions`")
    }))
})
