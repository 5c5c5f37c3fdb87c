/**
 * A listener for sockets, at a path or on a port.
 *
 * In addition to `NodeSocketServer.make`, it supports half-open sockets, and closes without waiting for clients. It
 * loads neither `ws` nor HTTP.
 */
import * as NodeSocket from "@effect/platform-node/NodeSocket"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import type * as Socket from "effect/socket/Socket"
import type { SocketServer } from "effect/socket/SocketServer"
import * as Net from "node:net"
import { socketOfNode } from "./socketOfNode.ts"

/** A path, or a port of a host. */
export type Address = { readonly path: string } | { readonly host: string; readonly port: number }

/** A listener that is open. */
export interface Listening {
  /** The port, if it listens on one. */
  readonly port: number | undefined
  readonly run: SocketServer["Service"]["run"]
}

/** The most connections that wait to be accepted. The operating system may have a lower limit, and rejects more. */
const backlog = 4096

/** A listener that ignores errors. Reads and writes report them; without a listener, an error ends the process. */
const ignoreError = () => {}

/** A listener and its connections. */
class Listener {
  readonly #server: Net.Server
  readonly #open = new Set<Net.Socket>()
  /** The connections that wait for a handler. */
  readonly #waiting = new Set<Net.Socket>()
  #take: ((socket: Net.Socket) => void) | undefined

  constructor() {
    this.#server = Net.createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => this.#arrived(socket))
  }

  #arrived(socket: Net.Socket): void {
    this.#open.add(socket)
    socket.on("error", ignoreError)
    socket.once("close", () => {
      this.#open.delete(socket)
      this.#waiting.delete(socket)
    })
    if (this.#take === undefined) this.#waiting.add(socket)
    else this.#take(socket)
  }

  /** Listens at an address, and returns the port if it has one. */
  listen(at: Address): Effect.Effect<number | undefined, Error> {
    return Effect.callback<number | undefined, Error>((resume) => {
      this.#server.once("error", (cause) => resume(Effect.fail(cause))).on("error", ignoreError)
      this.#server.listen({ ...at, backlog }, () => {
        const address = this.#server.address()
        resume(Effect.succeed(address !== null && typeof address === "object" ? address.port : undefined))
      })
    })
  }

  /** Calls the handler with every connection. Returns a function that removes it. */
  take(each: (socket: Net.Socket) => void): () => void {
    this.#take = each
    this.#waiting.forEach(each)
    this.#waiting.clear()
    return () => {
      this.#take = undefined
    }
  }

  /** Stops listening, and destroys the open connections. */
  readonly close: Effect.Effect<void> = Effect.callback<void>((resume) => {
    this.#server.close(() => resume(Effect.void))
    for (const socket of this.#open) socket.destroy()
  })
}

const runOf = (listener: Listener): SocketServer["Service"]["run"] =>
  Effect.fnUntraced(function*<R, E, A>(handler: (socket: Socket.Socket) => Effect.Effect<A, E, R>) {
    const context = yield* Effect.context<R>()
    const scope = yield* Effect.scope
    yield* Effect.acquireRelease(
      Effect.sync(() =>
        listener.take((socket) => {
          const handled = Effect.flatMap(socketOfNode(socket), handler).pipe(
            Effect.ignoreCause({ log: "Error", message: "a connection could not be served" })
          )
          const fiber = Effect.runForkWith(Context.add(context, NodeSocket.NetSocket, socket))(handled)
          Fiber.runIn(fiber, scope)
        })
      ),
      (release) => Effect.sync(release)
    )
    return yield* Effect.never
  }, Effect.scoped)

/** Listens at an address until the scope closes. */
export const make = (at: Address): Effect.Effect<Listening, Error, Scope.Scope> =>
  Effect.gen(function*() {
    const listener = yield* Effect.acquireRelease(Effect.sync(() => new Listener()), ({ close }) => close)
    return { port: yield* listener.listen(at), run: runOf(listener) }
  })
