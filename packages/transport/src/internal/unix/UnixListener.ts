/**
 * Listens at the path of a socket. It does what `NodeSocketServer.make` does, and besides: the file has its mode before anybody may
 * connect, no other server loses its file, clients may stop sending and still hear their replies, and the end waits for nobody.
 * Neither `ws` nor HTTP is loaded for it.
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

/** How many clients may wait to be let in; the system may have a lower limit. Whoever finds no room there is turned away at once. */
const backlog = 4096

/** Whoever reads or writes tells of an error. One that nobody listened to would end the process. */
const unheard = () => {}

/** A listener, and the connections that it has taken. */
class Listener {
  readonly #server: Net.Server
  readonly #open = new Set<Net.Socket>()
  /** Those that came while nobody took them. */
  readonly #waiting = new Set<Net.Socket>()
  #take: ((socket: Net.Socket) => void) | undefined

  constructor() {
    this.#server = Net.createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => this.#arrived(socket))
  }

  #arrived(socket: Net.Socket): void {
    this.#open.add(socket)
    socket.on("error", unheard)
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
      this.#server.once("error", fail).on("error", unheard)
      this.#server.listen({ path, backlog }, () => resume(Effect.void))
    })
  }

  /** Has every connection taken like this, until what comes back is called. */
  take(each: (socket: Net.Socket) => void): () => void {
    this.#take = each
    this.#waiting.forEach(each)
    this.#waiting.clear()
    return () => {
      this.#take = undefined
    }
  }

  /** Listens no more, and breaks off what is still open. */
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

/** A server of sockets at this path. */
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
