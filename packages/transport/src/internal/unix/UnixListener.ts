/**
 * The listener at the path of a socket.
 *
 * In addition to `NodeSocketServer.make`, it sets the mode before any client can connect, replaces no file of another
 * server, supports half-open sockets, and closes without waiting for clients. It loads neither `ws` nor HTTP.
 */
import * as NodeSocket from "@effect/platform-node/NodeSocket"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as NetAddress from "effect/net/NetAddress"
import type * as Scope from "effect/Scope"
import type * as Socket from "effect/socket/Socket"
import { type SocketServer } from "effect/socket/SocketServer"
import * as Net from "node:net"
import * as SocketFile from "./SocketFile.ts"
import { socketOfNode } from "./socketOfNode.ts"

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

  listen(path: string): Effect.Effect<void, SocketFile.SocketFileError> {
    return Effect.callback<void, SocketFile.SocketFileError>((resume) => {
      const fail = (cause: Error) => resume(Effect.fail(new SocketFile.SocketFileError({ cause })))
      this.#server.once("error", fail).on("error", ignoreError)
      this.#server.listen({ path, backlog }, () => resume(Effect.void))
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

  /** Stops to listen, and destroys the open connections. */
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

/** Creates a server of sockets at this path. */
export const make = (
  path: string,
  mode: number
): Effect.Effect<SocketServer["Service"], SocketFile.SocketFileError, Scope.Scope> =>
  Effect.map(
    SocketFile.make(path, mode, (at) =>
      Effect.gen(function*() {
        const listener = yield* Effect.acquireRelease(Effect.sync(() => new Listener()), ({ close }) => close)
        yield* listener.listen(at)
        return listener
      })),
    (listener) => ({ address: NetAddress.unixPathAddress(path), run: runOf(listener) })
  )
