import { ClientSession, Transport } from "@effect-mcp/session"
import { HttpFallbackClient, StreamableHttpClient } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as zlib from "node:zlib"
import {
  beside,
  connect,
  notification,
  profile,
  quick,
  reasonOf,
  request,
  until
} from "../../fixtures/httpConnection.ts"
import { type EventReply, type Handler, idOf, mcp, type Reply, response, serve } from "../../fixtures/httpPeer.ts"
import * as sse from "../../fixtures/ssePeer.ts"

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

/** Sends a body, encoded so. */
const send = (reply: Reply, coding: string, text: string, type = "application/json"): void =>
  reply.raw(200, { "content-type": type, "content-encoding": coding }, encoded(coding, text))

const eventOf = (data: unknown, id?: string) =>
  `${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`

/** A stream of events that is compressed, and gives out each as soon as it is there. */
const compressed = (reply: Reply, coding: string) => {
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
  const peer = yield* serve(mcp(rest))
  const client = yield* connect(peer, { standalone: false, ...options })
  yield* client.shake
  return { peer, ...client }
})

const answer = { jsonrpc: "2.0", id: 1, result: {} }

describe.concurrent("a compressed answer", () => {
  it.live("is asked for with each message, unless the program says otherwise, and not with streams", () =>
    Effect.gen(function*() {
      const { close, peer, request: ask } = yield* connected((received, reply) => reply.json(response(received)), {
        standalone: true
      })
      yield* ask(request(1))
      yield* until(() => peer.asked().includes("GET"))
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
      ["a client that may fall back", HttpFallbackClient.layerNode]
    ] as const
  ) {
    for (const coding of ["gzip", "GZIP", "deflate", "br", "identity"]) {
      it.live(`is read, in ${coding}, as JSON and as a stream (${name})`, () =>
        Effect.gen(function*() {
          const peer = yield* serve((received, reply) => {
            const base = mcp(() => {})
            if (received.what === "tools/call") {
              const text = eventOf(notification("漢")) +
                eventOf(response(received, { content: [{ type: "text", text: "漢".repeat(100_000) }] }))
              return send(reply, coding.toLowerCase(), text, "text/event-stream")
            }
            if (received.what !== "initialize") return base(received, reply)
            const result = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: profile.info }
            reply.raw(
              200,
              { "content-type": "application/json", "content-encoding": coding, "mcp-session-id": "s1" },
              encoded(coding.toLowerCase(), JSON.stringify(response(received, result)))
            )
          })
          const context = yield* Layer.build(
            Layer.provide(ClientSession.layer({ info: profile.info }), layer({ url: peer.url, standalone: false }))
          )
          const { content } = yield* Context.get(context, ClientSession.ClientSession).callTool("x")
          assert.deepStrictEqual(content, [{ type: "text", text: "漢".repeat(100_000) }])
        }))
    }
  }

  for (const coding of ["gzip", "deflate", "br"]) {
    it.live(`is read as it comes, event for event, in ${coding}`, () =>
      Effect.gen(function*() {
        let stream: ReturnType<typeof compressed> | undefined
        const { messages, request: ask } = yield* connected((_, reply) => {
          stream = compressed(reply, coding)
          stream.event(eventOf(notification(1)))
        })
        const asking = yield* beside(ask(request(1)))
        yield* until(() => messages().length === 1)
        stream?.event(eventOf(notification(2)))
        yield* until(() => messages().length === 2)
        stream?.event(eventOf(answer))
        yield* Fiber.join(asking)
        assert.deepStrictEqual(messages(), [notification(1), notification(2), answer])
        stream?.end()
      }))
  }

  it.live("is read without the wrapper that some servers leave out of deflate, and without the trailer of gzip", () =>
    Effect.gen(function*() {
      const text = JSON.stringify(answer)
      const whole = zlib.gzipSync(text)
      const { messages, request: ask } = yield* connected((received, reply) =>
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
      yield* ask(request(1))
      yield* ask(request(2))
      assert.deepStrictEqual(messages(), [answer, answer])
    }))

  it.live("that refuses a request is read, too", () =>
    Effect.gen(function*() {
      const error = { jsonrpc: "2.0", id: 1, error: { code: -32602, message: "no such tool" } }
      const { messages, request: ask } = yield* connected((_, reply) =>
        reply.raw(
          400,
          { "content-type": "application/json", "content-encoding": "gzip" },
          zlib.gzipSync(JSON.stringify(error))
        )
      )
      yield* ask(request(1))
      assert.deepStrictEqual(messages(), [error])
    }))

  for (
    const [name, layer] of [["undici", StreamableHttpClient.layerNode], [
      "fetch",
      StreamableHttpClient.layerFetch
    ]] as const
  ) {
    it.live(`fails by the name of its header, where it is of an encoding that is not known (${name})`, () =>
      Effect.gen(function*() {
        for (const coding of ["compress", "gzip, aes128gcm", "x".repeat(300)]) {
          const peer = yield* serve((_, reply) => send(reply, coding, "{}"))
          const context = yield* Layer.build(layer({ url: peer.url }))
          const connection = yield* Context.get(context, Transport.Transport).connect
          const reason = yield* reasonOf(connection.request?.(request(0, "initialize")) ?? Effect.void)
          const cause = reason._tag === "ExchangeEnded" ? String(reason.cause) : ""
          assert.include(cause, `Content-Encoding "${coding.slice(0, 100)}"`)
        }
      }))
  }

  it.live("fails where it is damaged", () =>
    Effect.gen(function*() {
      const { request: ask } = yield* connected((_, reply) =>
        reply.raw(200, { "content-type": "application/json", "content-encoding": "gzip" }, JSON.stringify(answer))
      )
      const reason = yield* reasonOf(ask(request(1)))
      assert.isTrue(reason._tag === "ExchangeEnded" && String(reason.cause).includes("could not be decoded as gzip"))
    }))

  it.live("in JSON is cut at the limit, however much would come out", () =>
    Effect.gen(function*() {
      // 64 MiB of spaces in 64 KiB.
      const bomb = zlib.gzipSync(Buffer.alloc(64 * 1024 * 1024, " "))
      const { faults, peer, request: ask } = yield* connected(
        (_, reply) => reply.raw(200, { "content-type": "application/json", "content-encoding": "gzip" }, bomb),
        { maxMessageBytes: 100_000 }
      )
      const reason = yield* reasonOf(ask(request(1)))
      assert.isTrue(reason._tag === "ExchangeEnded" && String(reason.cause).includes("larger than 100000 bytes"))
      assert.deepStrictEqual(faults(), [{ _tag: "TooLarge", limitBytes: 100_000 }])
      yield* until(() => peer.open() === 0)
    }))

  for (const line of ["data: ", ": ", "", "event: ", "data"]) {
    it.live(`in events is cut where it brings none, as of ${JSON.stringify(line)}`, () =>
      Effect.gen(function*() {
        let poured = () => 0
        const piece = zlib.gzipSync(line.repeat(1) + "x".repeat(1024 * 1024))
        const more = zlib.gzipSync("x".repeat(16 * 1024 * 1024))
        const { events, peer, request: ask } = yield* connected(
          (_, reply) => {
            poured = reply.stream({ "content-encoding": "gzip" }).raw(piece).pour(more, 100_000)
          },
          { maxMessageBytes: 1024 * 1024, reconnect: quick }
        )
        const reason = yield* reasonOf(ask(request(1)))
        assert.isTrue(
          reason._tag === "ExchangeEnded" && String(reason.cause).includes("more than 2097152 bytes came out"),
          JSON.stringify(reason)
        )
        assert.isBelow(poured(), 100_000)
        assert.deepStrictEqual(events.map(({ _tag }) => _tag), ["StreamLost"])
        yield* until(() => peer.open() === 0)
      }))
  }

  it.live("that goes on for long is not cut, as long as it brings events", () =>
    Effect.gen(function*() {
      const text = "x".repeat(900_000)
      const { messages, request: ask } = yield* connected((_, reply) => {
        const stream = compressed(reply, "gzip")
        for (let event = 0; event < 10; event++) stream.event(eventOf(notification(text)))
        stream.event(eventOf(answer))
        stream.end()
      }, { maxMessageBytes: 1024 * 1024 })
      yield* ask(request(1))
      assert.lengthOf(messages(), 11)
    }))

  it.live("of HTTP+SSE is read, and cut likewise", () =>
    Effect.gen(function*() {
      const opened: Array<ReturnType<typeof compressed>> = []
      const peer = yield* serve((received, reply) => {
        if (received.method !== "GET") return reply.status(202)
        const stream = compressed(reply, "br")
        opened.push(stream)
        stream.event("event: endpoint\ndata: /in\n\n")
      })
      const client = yield* sse.connect(peer, { maxMessageBytes: 1024 * 1024 })
      opened[0]?.event(sse.message(notification(1)))
      yield* until(() => client.messages().length === 1)
      for (let times = 0; times < 4; times++) opened[0]?.event("x".repeat(1024 * 1024))
      const exit = yield* Fiber.join(client.running)
      assert.include(String(exit), "2097152")
      yield* until(() => peer.open() === 0)
    }))

  it.live("leaves nothing when it is given up", () =>
    Effect.gen(function*() {
      const { leave, peer, request: ask } = yield* connected((_, reply) => {
        compressed(reply, "gzip").event(eventOf(notification(1)))
      })
      const asking = yield* beside(ask(request(1)))
      yield* until(() => peer.open() === 1)
      yield* Fiber.interrupt(asking)
      yield* until(() => peer.open() === 0)
      yield* leave
    }))
})

describe.concurrent("a byte order mark", () => {
  const mark = "\uFEFF"

  it.live("at the beginning of an answer in JSON, of a refusal, or of a stream is passed over", () =>
    Effect.gen(function*() {
      const error = { jsonrpc: "2.0", id: 3, error: { code: -32602, message: "no" } }
      const { messages, request: ask } = yield* connected((received, reply) => {
        const id = idOf(received)
        if (id === 1) return reply.raw(200, { "content-type": "application/json" }, mark + JSON.stringify(answer))
        if (id === 3) return reply.raw(400, { "content-type": "application/json" }, mark + JSON.stringify(error))
        reply.raw(200, { "content-type": "text/event-stream" }, mark + eventOf({ ...answer, id: 2 }))
      })
      for (const id of [1, 2, 3]) yield* ask(request(id))
      assert.deepStrictEqual(messages(), [answer, { ...answer, id: 2 }, error])
    }))

  it.live("at the beginning of a stream of HTTP+SSE is passed over", () =>
    Effect.gen(function*() {
      const peer = yield* sse.serveStream(sse.answering, `${mark}event: endpoint\ndata: /in?session=1\n\n`)
      const client = yield* sse.connect(peer)
      yield* client.send(request(1))
      yield* until(() => client.messages().length === 1)
    }))

  it.live("anywhere else is no JSON", () =>
    Effect.gen(function*() {
      const { faults, request: ask } = yield* connected((_, reply) =>
        reply.raw(200, { "content-type": "application/json" }, mark + mark + JSON.stringify(answer))
      )
      yield* reasonOf(ask(request(1)))
      assert.lengthOf(faults(), 1)
    }))
})
