import { Revision } from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
import { ClientSession, Transport } from "@effect-mcp/session"
import { HttpFallbackClient, StreamableHttpClient } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as zlib from "node:zlib"
import {
  connect,
  forkNow,
  notification,
  profile,
  quickReconnect,
  reasonOf,
  request,
  until
} from "../../support/httpClientConnection.ts"
import {
  type EventReply,
  type Handler,
  idOf,
  type Reply,
  response,
  serve,
  withHandshake
} from "../../support/scriptedHttpServer.ts"
import * as sse from "../../support/scriptedSseServer.ts"

const encoders: Readonly<Record<string, (text: string) => Uint8Array>> = {
  gzip: zlib.gzipSync,
  "x-gzip": zlib.gzipSync,
  deflate: zlib.deflateSync,
  br: zlib.brotliCompressSync
}

const streams: Readonly<Record<string, () => zlib.Gzip | zlib.Deflate | zlib.BrotliCompress>> = {
  gzip: zlib.createGzip,
  deflate: zlib.createDeflate,
  br: zlib.createBrotliCompress
}

const encoded = (coding: string, text: string): Uint8Array => encoders[coding]?.(text) ?? Buffer.from(text)

/** Sends a body with a content coding. */
const sendEncoded = (reply: Reply, coding: string, text: string, type = "application/json"): void =>
  reply.raw(200, { "content-type": type, "content-encoding": coding }, encoded(coding, text))

const eventOf = (data: unknown, id?: string) =>
  `${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`

/** Starts a compressed SSE stream, which sends each event at once. */
const compressedStream = (reply: Reply, coding: string) => {
  const stream: EventReply = reply.stream({ "content-encoding": coding })
  const encoder = streams[coding]?.()
  if (encoder === undefined) throw new Error(`no encoder for ${coding}`)
  encoder.on("data", (chunk: Uint8Array) => stream.raw(chunk))
  encoder.on("end", () => stream.end())
  return {
    event: (text: string) => {
      encoder.write(text)
      encoder.flush()
    },
    end: () => encoder.end()
  }
}

const connected = Effect.fnUntraced(function*(rest: Handler, options?: Parameters<typeof connect>[1]) {
  const peer = yield* serve(withHandshake(rest))
  const client = yield* connect(peer, { standalone: false, ...options })
  yield* client.handshake
  return { peer, ...client }
})

const response1 = { jsonrpc: "2.0", id: 1, result: {} }

describe.concurrent("a compressed response", () => {
  it.live("is accepted for each POST, unless the program sets Accept-Encoding, and never for a GET", () =>
    Effect.gen(function*() {
      const { close, peer, request: sendRequest } = yield* connected(
        (received, reply) => reply.json(response(received)),
        {
          standalone: true
        }
      )
      yield* sendRequest(request(1))
      yield* until(() => peer.kinds().includes("GET"))
      yield* close
      for (const { headers, method } of peer.received) {
        assert.strictEqual(headers["accept-encoding"], method === "POST" ? "gzip, deflate, br" : undefined)
      }
      const plain = yield* connected((received, reply) => reply.json(response(received)), {
        headers: { "Accept-Encoding": "identity" }
      })
      assert.strictEqual(plain.peer.received[0]?.headers["accept-encoding"], "identity")
    }))

  for (
    const [name, layer] of [
      ["undici", StreamableHttpClient.layerNode],
      ["fetch", StreamableHttpClient.layerFetch],
      ["the fallback client", HttpFallbackClient.layerNode]
    ] as const
  ) {
    for (const coding of ["gzip", "GZIP", "deflate", "br", "identity"]) {
      it.live(`of coding ${coding} is read, as JSON and as an SSE stream (${name})`, () =>
        Effect.gen(function*() {
          const peer = yield* serve((received, reply) => {
            const base = withHandshake(() => {})
            if (received.kind === "tools/call") {
              const text = eventOf(notification("漢")) +
                eventOf(response(received, { content: [{ type: "text", text: "漢".repeat(100_000) }] }))
              return sendEncoded(reply, coding.toLowerCase(), text, "text/event-stream")
            }
            if (received.kind !== "initialize") return base(received, reply)
            const result = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: profile.info }
            reply.raw(
              200,
              { "content-type": "application/json", "content-encoding": coding, "mcp-session-id": "s1" },
              encoded(coding.toLowerCase(), JSON.stringify(response(received, result)))
            )
          })
          const context = yield* Layer.build(
            Layer.provide(
              ClientSession.layer({ info: profile.info, revisions: Revision.legacy }),
              layer({ url: peer.url, standalone: false })
            )
          )
          const { content } = yield* Context.get(context, ClientSession.ClientSession).callTool("x")
          assert.deepStrictEqual(content, [{ type: "text", text: "漢".repeat(100_000) }])
        }))
    }
  }

  for (const coding of ["gzip", "deflate", "br"]) {
    it.live(`of coding ${coding} is read event by event`, () =>
      Effect.gen(function*() {
        let stream: ReturnType<typeof compressedStream> | undefined
        const { messages, request: sendRequest } = yield* connected((_, reply) => {
          stream = compressedStream(reply, coding)
          stream.event(eventOf(notification(1)))
        })
        const requesting = yield* forkNow(sendRequest(request(1)))
        yield* until(() => messages().length === 1)
        stream?.event(eventOf(notification(2)))
        yield* until(() => messages().length === 2)
        stream?.event(eventOf(response1))
        yield* Fiber.join(requesting)
        assert.deepStrictEqual(messages(), [notification(1), notification(2), response1])
        stream?.end()
      }))
  }

  it.live("is read without the zlib header of deflate, and without the trailer of gzip", () =>
    Effect.gen(function*() {
      const text = JSON.stringify(response1)
      const whole = zlib.gzipSync(text)
      const { messages, request: sendRequest } = yield* connected((received, reply) =>
        idOf(received) === 1
          ? reply.raw(
            200,
            { "content-type": "application/json", "content-encoding": "deflate" },
            zlib.deflateRawSync(text)
          )
          : reply.raw(
            200,
            { "content-type": "application/json", "content-encoding": "gzip" },
            whole.subarray(0, whole.length - 8)
          )
      )
      yield* sendRequest(request(1))
      yield* sendRequest(request(2))
      assert.deepStrictEqual(messages(), [response1, response1])
    }))

  it.live("that is an error is read", () =>
    Effect.gen(function*() {
      const error = { jsonrpc: "2.0", id: 1, error: { code: -32602, message: "no such tool" } }
      const { messages, request: sendRequest } = yield* connected((_, reply) =>
        reply.raw(
          400,
          { "content-type": "application/json", "content-encoding": "gzip" },
          zlib.gzipSync(JSON.stringify(error))
        )
      )
      yield* sendRequest(request(1))
      assert.deepStrictEqual(messages(), [error])
    }))

  for (
    const [name, layer] of [["undici", StreamableHttpClient.layerNode], [
      "fetch",
      StreamableHttpClient.layerFetch
    ]] as const
  ) {
    it.live(`of an unknown coding fails with its Content-Encoding (${name})`, () =>
      Effect.gen(function*() {
        for (const coding of ["compress", "gzip, aes128gcm", "x".repeat(300)]) {
          const peer = yield* serve((_, reply) => sendEncoded(reply, coding, "{}"))
          const context = yield* Layer.build(layer({ url: peer.url }))
          const connection = yield* Context.get(context, Transport.Transport).connect
          const reason = yield* reasonOf(connection.request?.(request(0, "initialize")) ?? Effect.void)
          const cause = reason._tag === "ExchangeEnded" ? String(reason.cause) : ""
          assert.include(cause, `Content-Encoding "${Excerpt.of(coding, 100)}"`)
        }
      }))
  }

  it.live("that is corrupt fails", () =>
    Effect.gen(function*() {
      const { request: sendRequest } = yield* connected((_, reply) =>
        reply.raw(200, { "content-type": "application/json", "content-encoding": "gzip" }, JSON.stringify(response1))
      )
      const reason = yield* reasonOf(sendRequest(request(1)))
      assert.isTrue(reason._tag === "ExchangeEnded" && String(reason.cause).includes("could not be decoded as gzip"))
    }))

  it.live("of JSON is read up to maxMessageBytes", () =>
    Effect.gen(function*() {
      // 64 MiB of spaces in 64 KiB.
      const bomb = zlib.gzipSync(Buffer.alloc(64 * 1024 * 1024, " "))
      const { frameErrors, peer, request: sendRequest } = yield* connected(
        (_, reply) => reply.raw(200, { "content-type": "application/json", "content-encoding": "gzip" }, bomb),
        { maxMessageBytes: 100_000 }
      )
      const reason = yield* reasonOf(sendRequest(request(1)))
      assert.isTrue(reason._tag === "ExchangeEnded" && String(reason.cause).includes("larger than 100000 bytes"))
      assert.deepStrictEqual(frameErrors(), [{ _tag: "TooLarge", limitBytes: 100_000 }])
      yield* until(() => peer.openResponses() === 0)
    }))

  for (const line of ["data: ", ": ", "", "event: ", "data"]) {
    it.live(`of many bytes without an event fails, such as of ${JSON.stringify(line)}`, () =>
      Effect.gen(function*() {
        let written = () => 0
        const piece = zlib.gzipSync(line.repeat(1) + "x".repeat(1024 * 1024))
        const more = zlib.gzipSync("x".repeat(16 * 1024 * 1024))
        const { events, peer, request: sendRequest } = yield* connected(
          (_, reply) => {
            written = reply.stream({ "content-encoding": "gzip" }).raw(piece).writeRepeatedly(more, 100_000)
          },
          { maxMessageBytes: 1024 * 1024, reconnect: quickReconnect }
        )
        const reason = yield* reasonOf(sendRequest(request(1)))
        assert.isTrue(
          reason._tag === "ExchangeEnded" && String(reason.cause).includes("more than 2097152 bytes without an event"),
          JSON.stringify(reason)
        )
        assert.isBelow(written(), 100_000)
        assert.deepStrictEqual(events.map(({ _tag }) => _tag), ["StreamLost"])
        yield* until(() => peer.openResponses() === 0)
      }))
  }

  it.live("of many bytes is read while it contains events", () =>
    Effect.gen(function*() {
      const text = "x".repeat(900_000)
      const { messages, request: sendRequest } = yield* connected((_, reply) => {
        const stream = compressedStream(reply, "gzip")
        for (let event = 0; event < 10; event++) stream.event(eventOf(notification(text)))
        stream.event(eventOf(response1))
        stream.end()
      }, { maxMessageBytes: 1024 * 1024 })
      yield* sendRequest(request(1))
      assert.lengthOf(messages(), 11)
    }))

  it.live("of HTTP+SSE is read, and fails in the same way", () =>
    Effect.gen(function*() {
      const opened: Array<ReturnType<typeof compressedStream>> = []
      const peer = yield* serve((received, reply) => {
        if (received.method !== "GET") return reply.status(202)
        const stream = compressedStream(reply, "br")
        opened.push(stream)
        stream.event("event: endpoint\ndata: /in\n\n")
      })
      const client = yield* sse.connect(peer, { maxMessageBytes: 1024 * 1024 })
      opened[0]?.event(sse.messageEvent(notification(1)))
      yield* until(() => client.messages().length === 1)
      for (let times = 0; times < 4; times++) opened[0]?.event("x".repeat(1024 * 1024))
      const exit = yield* Fiber.join(client.running)
      assert.include(String(exit), "2097152")
      yield* until(() => peer.openResponses() === 0)
    }))

  it.live("of an interrupted request leaves no connection", () =>
    Effect.gen(function*() {
      const { closeAll, peer, request: sendRequest } = yield* connected((_, reply) => {
        compressedStream(reply, "gzip").event(eventOf(notification(1)))
      })
      const requesting = yield* forkNow(sendRequest(request(1)))
      yield* until(() => peer.openResponses() === 1)
      yield* Fiber.interrupt(requesting)
      yield* until(() => peer.openResponses() === 0)
      yield* closeAll
    }))
})

describe.concurrent("a byte order mark", () => {
  const mark = "\uFEFF"

  it.live("is ignored at the beginning of JSON, of an error, and of an SSE stream", () =>
    Effect.gen(function*() {
      const error = { jsonrpc: "2.0", id: 3, error: { code: -32602, message: "no" } }
      const { messages, request: sendRequest } = yield* connected((received, reply) => {
        const id = idOf(received)
        if (id === 1) return reply.raw(200, { "content-type": "application/json" }, mark + JSON.stringify(response1))
        if (id === 3) return reply.raw(400, { "content-type": "application/json" }, mark + JSON.stringify(error))
        reply.raw(200, { "content-type": "text/event-stream" }, mark + eventOf({ ...response1, id: 2 }))
      })
      for (const id of [1, 2, 3]) yield* sendRequest(request(id))
      assert.deepStrictEqual(messages(), [response1, { ...response1, id: 2 }, error])
    }))

  it.live("is ignored at the beginning of a stream of HTTP+SSE", () =>
    Effect.gen(function*() {
      const peer = yield* sse.serveStream(sse.respondOnStream, `${mark}event: endpoint\ndata: /in?session=1\n\n`)
      const client = yield* sse.connect(peer)
      yield* client.send(request(1))
      yield* until(() => client.messages().length === 1)
    }))

  it.live("is not JSON anywhere else", () =>
    Effect.gen(function*() {
      const { frameErrors, request: sendRequest } = yield* connected((_, reply) =>
        reply.raw(200, { "content-type": "application/json" }, mark + mark + JSON.stringify(response1))
      )
      yield* reasonOf(sendRequest(request(1)))
      assert.lengthOf(frameErrors(), 1)
    }))
})
