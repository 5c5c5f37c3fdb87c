/** The peer of a WebSocket, client or server, on a raw TCP socket. It does only what a test scripts. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { createHash } from "node:crypto"
import * as net from "node:net"
import { until } from "./process.ts"
import * as Frames from "./webSocketFrames.ts"

/** The contents of a close frame. */
export interface CloseFrame {
  readonly code: number | undefined
  readonly reason: string
}

/** One end of a TCP connection that becomes a WebSocket, unless the upgrade is rejected. */
export class Peer {
  readonly socket: net.Socket
  readonly #masked: boolean
  readonly #reader = new Frames.FrameReader()
  /** The HTTP message up to the first empty line. */
  head = ""
  /** The body of a response that rejects the upgrade. */
  body = ""
  isOpen = false
  /** Whether the other side has ended its half of the connection. */
  ended = false
  /** Whether the connection is closed. */
  isClosed = false
  /** The number of bytes that have arrived. */
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
      this.isClosed = true
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

  /** The error message in the body of a response that rejects the upgrade. */
  get problem(): string {
    return JSON.parse(this.body === "" ? "{}" : this.body)?.error?.message ?? ""
  }

  get frames(): ReadonlyArray<Frames.Frame> {
    return this.#reader.frames
  }

  framesOf(opcode: number): ReadonlyArray<Frames.Frame> {
    return this.frames.filter((frame) => frame.opcode === opcode)
  }

  /** The messages of the text frames. */
  get messages(): ReadonlyArray<Message> {
    return this.framesOf(Frames.opcodes.text).map(({ payload }) => JSON.parse(payload.toString("utf8")))
  }

  get closeFrame(): CloseFrame | undefined {
    const frame = this.framesOf(Frames.opcodes.close)[0]
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

  send(message: unknown): void {
    this.frame(Frames.opcodes.text, JSON.stringify(message))
  }

  /** Sends a close frame. */
  sendClose(code?: number, reason?: string): void {
    this.frame(Frames.opcodes.close, code === undefined ? "" : Frames.closePayload(code, reason))
  }

  /** Answers each ping from now on, and those that arrived before. */
  answerPings(): void {
    let answered = 0
    const answer = () => {
      const pings = this.framesOf(Frames.opcodes.ping)
      for (const { payload } of pings.slice(answered)) this.frame(Frames.opcodes.pong, payload)
      answered = pings.length
    }
    this.socket.on("data", answer)
    answer()
  }

  /** Waits until this many messages have arrived. */
  awaitMessages(count: number) {
    return until(() => this.messages.length >= count)
  }

  /** Returns the response to the request with this id, if it has arrived. */
  responseTo(id: number | string | undefined): Message | undefined {
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

/** The upgrade request of a client. A header that is `undefined` is left out. */
export interface UpgradeOptions {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string | undefined>>
  /** Bytes that are sent together with the request, after it. */
  readonly trailing?: Uint8Array
}

/** Sends an upgrade request, and waits until it is accepted or rejected. */
export const dial = Effect.fnUntraced(function*(
  { port }: { readonly port: number },
  { headers, method = "GET", path = "/mcp", trailing }: UpgradeOptions = {}
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
  peer.write(trailing === undefined ? request : Buffer.concat([Buffer.from(request), trailing]))
  yield* until(() => peer.isOpen || peer.body !== "" || peer.isClosed)
  return peer
})

/** Returns an `initialize` request. */
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

/** Connects, and opens a session with the whole handshake. */
export const connect = Effect.fnUntraced(function*(
  server: { readonly port: number },
  options?: UpgradeOptions
): Effect.fn.Return<Peer, never, Scope.Scope> {
  const peer = yield* dial(server, options)
  peer.send(initialize())
  yield* peer.awaitMessages(1)
  peer.send({ jsonrpc: "2.0", method: "notifications/initialized" })
  return peer
})

/** The two responses to an upgrade request. */
export interface UpgradeDecision {
  /** Accepts the upgrade, with these headers, and sends bytes together with the response. */
  readonly accept: (headers?: Readonly<Record<string, string | undefined>>, trailing?: Uint8Array) => void
  /** Rejects the upgrade. */
  readonly reject: (status: number, headers?: Readonly<Record<string, string>>, body?: string) => void
}

export interface ServerPeer {
  readonly url: string
  /** The clients that have connected, in order. */
  readonly peers: ReadonlyArray<Peer>
}

const guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

const accepted = (peer: Peer): string =>
  createHash("sha1").update(`${peer.header("sec-websocket-key") ?? ""}${guid}`).digest("base64")

const decisionOf = (peer: Peer): UpgradeDecision => ({
  accept: (headers, trailing) => {
    const all: Readonly<Record<string, string | undefined>> = {
      Upgrade: "websocket",
      Connection: "Upgrade",
      "Sec-WebSocket-Accept": accepted(peer),
      "Sec-WebSocket-Protocol": "mcp",
      ...headers
    }
    const lines = Object.entries(all).flatMap(([name, value]) => value === undefined ? [] : [`${name}: ${value}`])
    const response = Buffer.from(["HTTP/1.1 101 Switching Protocols", ...lines, "", ""].join("\r\n"))
    peer.write(trailing === undefined ? response : Buffer.concat([response, trailing]))
  },
  reject: (status, headers = {}, body = "") => {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    peer.write([`HTTP/1.1 ${status} No`, ...lines, `Content-Length: ${Buffer.byteLength(body)}`, "", body].join("\r\n"))
  }
})

/** Runs a server that decides on each upgrade request with `decide`. By default it accepts all. */
export const listen = (
  decide: (decision: UpgradeDecision, peer: Peer) => void = ({ accept }) => accept()
): Effect.Effect<ServerPeer, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<ServerPeer & { readonly close: () => void }>((resume) => {
      const peers: Array<Peer> = []
      const listener = net.createServer({ allowHalfOpen: true }, (socket) => {
        const peer = new Peer(socket, "server")
        let isDecided = false
        peers.push(peer)
        socket.on("data", () => {
          if (isDecided || peer.head === "") return
          isDecided = true
          decide(decisionOf(peer), peer)
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
