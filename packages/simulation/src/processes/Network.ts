/** The network of a fleet: HTTP exchanges between clients and processes, and among processes. */
import type { Lifeline } from "./Lifeline.ts"
import type { NetworkFault, SenderKind, World } from "./World.ts"

/** An HTTP request. */
export interface HttpRequest {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

/** The parts of a response, in the order in which they arrive. */
export interface Receiver {
  /** The connection is made. The request is sent now. */
  readonly connected: () => void
  readonly head: (status: number, headers: Readonly<Record<string, string>>) => void
  readonly data: (bytes: Uint8Array) => void
  readonly end: () => void
  /** The connection broke. `isRefused`: there was none, so the request was not sent. */
  readonly broken: (isRefused: boolean) => void
}

/** A process that serves requests. */
export interface Server {
  readonly id: number
  readonly lifeline: Lifeline
  readonly address: string
  /** Whether it accepts connections. */
  readonly isListening: boolean
  /** Serves a request, and returns a function that ends it because its client has disconnected. */
  readonly serve: (request: HttpRequest, receiver: Receiver) => () => void
}

/** The sender of a request. A process receives nothing while it is paused. */
export interface Sender {
  readonly kind: SenderKind
  readonly process: Server | undefined
}

/** The sender of the requests of all clients. */
export const client: Sender = { kind: "Client", process: undefined }

/** One direction of a connection. Messages arrive in the order in which they were sent. */
class Channel {
  readonly #world: World
  readonly #isCut: () => boolean
  #queue: Array<() => void> = []
  #timers = 0

  constructor(world: World, isCut: () => boolean) {
    this.#world = world
    this.#isCut = isCut
  }

  send(action: () => void): void {
    this.#queue.push(action)
    this.#timers++
    this.#world.after(this.#world.latency(), () => {
      this.#timers--
      this.flush()
    })
  }

  /** Delivers the messages whose time has come. */
  flush(): void {
    while (this.#queue.length > this.#timers && !this.#isCut()) this.#queue.shift()?.()
  }

  close(): void {
    this.#queue = []
  }
}

/** The exchanges of all connections. */
export class Network {
  readonly #world: World
  readonly #servers = new Map<string, Server>()
  readonly #cuts = new Set<string>()
  readonly #exchanges = new Set<Exchange>()

  constructor(world: World) {
    this.#world = world
  }

  /** Adds a process. Its address is its own for ever. */
  add(server: Server): void {
    this.#servers.set(server.address, server)
    server.lifeline.onKilled(() => this.disconnect(server))
  }

  /** Breaks the connections of a process that has ended. */
  disconnect(server: Server): void {
    for (const exchange of this.#exchanges) exchange.ended(server)
  }

  /** Lets nothing pass between two processes. */
  cut(one: Server, other: Server): void {
    if (one !== other) this.#cuts.add(keyOf(one, other))
  }

  mend(): void {
    this.#cuts.clear()
    for (const exchange of this.#exchanges) exchange.flush()
  }

  isCut(one: Server | undefined, other: Server | undefined): boolean {
    return one !== undefined && other !== undefined && this.#cuts.has(keyOf(one, other))
  }

  /** Sends a request to an address, and returns a function that closes its connection. */
  send(sender: Sender, address: string, request: HttpRequest, receiver: Receiver): () => void {
    const exchange = new Exchange(this.#world, this, sender, this.#servers.get(address), receiver, () => {
      this.#exchanges.delete(exchange)
    })
    this.#exchanges.add(exchange)
    exchange.begin(request, this.#world.takeNetworkFault(sender.kind))
    return () => exchange.abort()
  }

  /** The number of exchanges that have not ended. */
  get open(): number {
    return this.#exchanges.size
  }
}

const keyOf = (one: Server, other: Server): string => [one.id, other.id].toSorted((a, b) => a - b).join(" ")

class Exchange {
  readonly #sender: Sender
  readonly #server: Server | undefined
  readonly #receiver: Receiver
  readonly #onEnd: () => void
  readonly #up: Channel
  readonly #down: Channel
  #abortServer: (() => void) | undefined
  #isOver = false

  constructor(
    world: World,
    network: Network,
    sender: Sender,
    server: Server | undefined,
    receiver: Receiver,
    onEnd: () => void
  ) {
    this.#sender = sender
    this.#server = server
    this.#receiver = receiver
    this.#onEnd = onEnd
    const isCut = () => network.isCut(sender.process, server)
    this.#up = new Channel(world, isCut)
    this.#down = new Channel(world, isCut)
  }

  begin(request: HttpRequest, fault: NetworkFault | undefined): void {
    const server = this.#server
    this.#up.send(() => {
      if (server === undefined || !server.isListening || fault === "Refused") return this.#break(true)
      // The system accepts the connection of a paused process, which reads it later.
      this.#send(() => {
        this.#receiver.connected()
        this.#up.send(() => {
          if (fault === "Before") this.#break(false)
          else server.lifeline.enter(() => this.#serve(server, request, fault))
        })
      })
    })
  }

  /** Serves a request that has arrived. */
  #serve(server: Server, request: HttpRequest, fault: NetworkFault | undefined): void {
    if (!server.isListening) return this.#break(false)
    this.#abortServer = server.serve(request, {
      connected: () => {},
      head: (status, headers) => {
        if (fault === "Lost") return this.#break(false)
        this.#send(() => this.#receiver.head(status, headers))
      },
      data: (bytes) => {
        this.#send(() => this.#receiver.data(bytes))
        if (fault === "Midway") this.#break(false)
      },
      end: () => {
        this.#send(() => {
          this.#end()
          this.#receiver.end()
        })
      },
      broken: (isRefused) => this.#break(isRefused)
    })
    if (fault === "After") this.#break(false)
  }

  /** Breaks the connection, on both sides. */
  #break(isRefused: boolean): void {
    if (this.#isOver) return
    const abort = this.#abortServer
    this.#abortServer = undefined
    if (abort !== undefined) this.#server?.lifeline.enter(abort)
    this.#send(() => {
      this.#end()
      this.#receiver.broken(isRefused)
    })
  }

  /** Sends a part of the response. */
  #send(action: () => void): void {
    const { process } = this.#sender
    this.#down.send(() => {
      const deliver = () => {
        if (!this.#isOver) action()
      }
      if (process === undefined) deliver()
      else process.lifeline.enter(deliver)
    })
  }

  /** The sender closes the connection. */
  abort(): void {
    if (this.#isOver) return
    this.#end()
    // A request that is on its way arrives before its end does.
    this.#up.send(() => this.#server?.lifeline.enter(() => this.#abortServer?.()))
  }

  /** A process has ended. */
  ended(server: Server): void {
    if (this.#sender.process === server) this.abort()
    else if (this.#server === server) {
      this.#abortServer = undefined
      this.#break(false)
    }
  }

  flush(): void {
    this.#up.flush()
    this.#down.flush()
  }

  #end(): void {
    this.#isOver = true
    this.#onEnd()
  }
}
