/** A TCP relay whose connections can be cut and stalled. */
import { once } from "node:events"
import * as net from "node:net"

export class Relay {
  readonly port: number
  readonly #target: number
  readonly #sockets = new Set<net.Socket>()
  readonly #waiting = new Set<net.Socket>()
  /** The connections to the port, which responses come from. */
  readonly #servers = new Set<net.Socket>()
  #server: net.Server | undefined
  #isStalled = false
  #isMute = false

  private constructor(target: number, port: number) {
    this.#target = target
    this.port = port
  }

  /** Starts a relay to a port of this machine. */
  static async to(target: number, port: number): Promise<Relay> {
    const relay = new Relay(target, port)
    await relay.#listen()
    return relay
  }

  async #listen(): Promise<void> {
    const server = net.createServer({ allowHalfOpen: true }, (socket) => this.#accept(socket))
    this.#server = server
    server.listen(this.port, "127.0.0.1")
    await once(server, "listening")
  }

  #keep(socket: net.Socket): void {
    this.#sockets.add(socket)
    // Broken connections are what the relay is for.
    socket.on("error", () => {}).on("close", () => this.#sockets.delete(socket))
    if (this.#isStalled) socket.pause()
  }

  #accept(client: net.Socket): void {
    this.#keep(client)
    if (this.#isStalled) {
      this.#waiting.add(client)
      client.on("close", () => this.#waiting.delete(client))
    } else this.#join(client)
  }

  #join(client: net.Socket): void {
    const server = net.connect({ host: "127.0.0.1", port: this.#target, allowHalfOpen: true })
    this.#keep(server)
    if (this.#isMute) server.pause()
    this.#servers.add(server)
    server.on("close", () => this.#servers.delete(server))
    for (const [from, to] of [[client, server], [server, client]] as const) {
      from.on("data", (bytes) => {
        if (!to.write(bytes)) from.pause()
      })
      to.on("drain", () => {
        if (!this.#isStalled && !(this.#isMute && from === server)) from.resume()
      })
      from.on("end", () => to.end()).on("close", () => to.destroy())
    }
  }

  /** Resets all connections, and refuses new ones. */
  cut(): void {
    this.#server?.close()
    this.#server = undefined
    for (const socket of this.#sockets) socket.resetAndDestroy()
  }

  /** Passes requests on, and no responses: a cut afterwards loses the responses to requests that were processed. */
  mute(): void {
    this.#isMute = true
    for (const socket of this.#servers) socket.pause()
  }

  /** Passes nothing on. New connections are accepted, and wait. */
  stall(): void {
    this.#isStalled = true
    for (const socket of this.#sockets) socket.pause()
  }

  /** Passes everything on again. */
  async heal(): Promise<void> {
    this.#isStalled = false
    this.#isMute = false
    for (const client of this.#waiting) this.#join(client)
    this.#waiting.clear()
    for (const socket of this.#sockets) socket.resume()
    if (this.#server === undefined) await this.#listen()
  }

  /** Ends the relay. */
  close(): void {
    this.cut()
  }
}
