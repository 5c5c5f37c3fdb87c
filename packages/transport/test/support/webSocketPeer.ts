/** The other end of a WebSocket, on a bare TCP socket: it does what a test tells it to, and nothing of itself. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { createHash } from "node:crypto"
import * as net from "node:net"
import { until } from "../fixtures/process.ts"
import * as Frames from "./webSocketFrames.ts"

/** What a close frame said. */
export interface Farewell {
  readonly code: number | undefined
  readonly reason: string
}

/** One end of a TCP connection on which there is, or may be, a WebSocket. */
export class Peer {
  readonly socket: net.Socket
  readonly #masked: boolean
  readonly #reader = new Frames.FrameReader()
  /** All up to the first empty line. */
  head = ""
  /** What came behind the head, where that is no upgrade. */
  body = ""
  isOpen = false
  /** The other side has ended its half. */
  ended = false
  /** Nothing is left of the connection. */
  gone = false
  /** Bytes that came. */
  received = 0

  constructor(socket: net.Socket, role: "client" | "server") {
    this.socket = socket
    this.#masked = role === "client"
    let head = Buffer.alloc(0)
    socket.on("error", () => {})
    socket.on("end", () => {
      this.ended = true
    })
    socket.on("close", () => {
      this.gone = true
    })
    socket.on("data", (chunk) => {
      this.received += chunk.length
      if (this.isOpen) return this.#reader.push(chunk)
      head = Buffer.concat([head, chunk])
      const end = head.indexOf("\r\n\r\n")
      if (end < 0) return
      this.head = head.subarray(0, end).toString("latin1")
      const rest = head.subarray(end + 4)
      if (role === "client" && this.status !== 101) {
        this.body = rest.toString("utf8")
        return
      }
      this.isOpen = true
      this.#reader.push(rest)
    })
  }

  get status(): number {
    return Number(/^HTTP\/1\.1 (\d+)/.exec(this.head)?.[1] ?? 0)
  }

  header(name: string): string | undefined {
    return new RegExp(`^${name}: *(.*)$`, "im").exec(this.head)?.[1]
  }

  /** The error that a refusal says in its body. */
  get problem(): string {
    return JSON.parse(this.body === "" ? "{}" : this.body)?.error?.message ?? ""
  }

  get frames(): ReadonlyArray<Frames.Frame> {
    return this.#reader.frames
  }

  of(opcode: number): ReadonlyArray<Frames.Frame> {
    return this.frames.filter((frame) => frame.opcode === opcode)
  }

  /** What was said in whole text frames. */
  get messages(): ReadonlyArray<Message> {
    return this.of(Frames.opcodes.text).map(({ payload }) => JSON.parse(payload.toString("utf8")))
  }

  get farewell(): Farewell | undefined {
    const frame = this.of(Frames.opcodes.close)[0]
    if (frame === undefined) return undefined
    const { payload } = frame
    return {
      code: payload.length < 2 ? undefined : payload.readUInt16BE(),
      reason: payload.subarray(2).toString("utf8")
    }
  }

  write(bytes: string | Uint8Array): void {
    this.socket.write(bytes)
  }

  frame(opcode: number, content: string | Uint8Array = "", options?: Frames.FrameOptions): void {
    this.write(Frames.encode(opcode, content, { masked: this.#masked, ...options }))
  }

  say(message: unknown): void {
    this.frame(Frames.opcodes.text, JSON.stringify(message))
  }

  /** Says that it closes. */
  leave(code?: number, reason?: string): void {
    this.frame(Frames.opcodes.close, code === undefined ? "" : Frames.farewell(code, reason))
  }

  /** Answers each ping from now on, those that came before included. */
  pong(): void {
    let answered = 0
    const answer = () => {
      const pings = this.of(Frames.opcodes.ping)
      for (const { payload } of pings.slice(answered)) this.frame(Frames.opcodes.pong, payload)
      answered = pings.length
    }
    this.socket.on("data", answer)
    answer()
  }

  said(count: number) {
    return until(() => this.messages.length >= count)
  }

  /** A response to the request with this id. */
  answer(id: number | string | undefined): Message | undefined {
    return this.messages.find((message) => message.id === id && message.method === undefined)
  }
}

export interface Message {
  readonly id?: number | string | null
  readonly method?: string
  readonly params?: { readonly [name: string]: unknown }
  readonly result?: { readonly [name: string]: unknown }
  readonly error?: { readonly code: number; readonly message: string }
}

/** What a client asks an HTTP server to become a WebSocket with; `undefined` leaves a header out. */
export interface Offer {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string | undefined>>
  /** Bytes right behind the request. */
  readonly behind?: Uint8Array
}

/** A client that asks for a WebSocket, and waits until it is known what comes of it. */
export const dial = Effect.fnUntraced(function*(
  { port }: { readonly port: number },
  { behind, headers, method = "GET", path = "/mcp" }: Offer = {}
): Effect.fn.Return<Peer, never, Scope.Scope> {
  const socket = yield* Effect.acquireRelease(
    Effect.sync(() => net.connect(port, "127.0.0.1")),
    (opened) => Effect.sync(() => opened.destroy())
  )
  const peer = new Peer(socket, "client")
  const all: Readonly<Record<string, string | undefined>> = {
    Host: `127.0.0.1:${port}`,
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Protocol": "mcp",
    ...headers
  }
  const lines = Object.entries(all).flatMap(([name, value]) => value === undefined ? [] : [`${name}: ${value}`])
  const request = [`${method} ${path} HTTP/1.1`, ...lines, "", ""].join("\r\n")
  peer.write(behind === undefined ? request : Buffer.concat([Buffer.from(request), behind]))
  yield* until(() => peer.isOpen || peer.body !== "" || peer.gone)
  return peer
})

/** `initialize`, as a client says it. */
export const initialize = (id: number | string = 0) => ({
  jsonrpc: "2.0",
  id,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "peer", version: "1.0.0" } }
})

export const call = (id: number | string, name: string, input: object = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: input, _meta: { progressToken: id } }
})

export const ping = (id: number | string) => ({ jsonrpc: "2.0", id, method: "ping" })

/** A client that has a session. */
export const connect = Effect.fnUntraced(function*(
  server: { readonly port: number },
  offer?: Offer
): Effect.fn.Return<Peer, never, Scope.Scope> {
  const peer = yield* dial(server, offer)
  peer.say(initialize())
  yield* peer.said(1)
  peer.say({ jsonrpc: "2.0", method: "notifications/initialized" })
  return peer
})

/** What a server makes of a request for a WebSocket. */
export interface Reception {
  /** Takes the offer. */
  readonly accept: (headers?: Readonly<Record<string, string | undefined>>, behind?: Uint8Array) => void
  readonly refuse: (status: number, headers?: Readonly<Record<string, string>>, body?: string) => void
}

export interface ServerPeer {
  readonly url: string
  /** Those who came, in order. */
  readonly peers: ReadonlyArray<Peer>
}

const guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

const accepted = (peer: Peer): string =>
  createHash("sha1").update(`${peer.header("sec-websocket-key") ?? ""}${guid}`).digest("base64")

const responding = (peer: Peer): Reception => ({
  accept: (headers, behind) => {
    const all: Readonly<Record<string, string | undefined>> = {
      Upgrade: "websocket",
      Connection: "Upgrade",
      "Sec-WebSocket-Accept": accepted(peer),
      "Sec-WebSocket-Protocol": "mcp",
      ...headers
    }
    const lines = Object.entries(all).flatMap(([name, value]) => value === undefined ? [] : [`${name}: ${value}`])
    const response = Buffer.from(["HTTP/1.1 101 Switching Protocols", ...lines, "", ""].join("\r\n"))
    peer.write(behind === undefined ? response : Buffer.concat([response, behind]))
  },
  refuse: (status, headers = {}, body = "") => {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    peer.write([`HTTP/1.1 ${status} No`, ...lines, `Content-Length: ${Buffer.byteLength(body)}`, "", body].join("\r\n"))
  }
})

/** A server that does with each request for a WebSocket what the test says; by itself it takes it. */
export const listen = (
  receive: (reception: Reception, peer: Peer) => void = ({ accept }) => accept()
): Effect.Effect<ServerPeer, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<ServerPeer & { readonly close: () => void }>((resume) => {
      const peers: Array<Peer> = []
      const listener = net.createServer({ allowHalfOpen: true }, (socket) => {
        const peer = new Peer(socket, "server")
        let isReceived = false
        peers.push(peer)
        socket.on("data", () => {
          if (isReceived || peer.head === "") return
          isReceived = true
          receive(responding(peer), peer)
        })
      })
      listener.listen(0, "127.0.0.1", () => {
        const address = listener.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        const close = () => {
          listener.close()
          for (const { socket } of peers) socket.destroy()
        }
        resume(Effect.succeed({ url: `ws://127.0.0.1:${port}/mcp`, peers, close }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )
