import type { JsonRpc } from "@effect-mcp/protocol"
import type { MemoryBudget } from "@effect-mcp/session/MemoryBudget"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Socket from "effect/socket/Socket"
import { OutgoingCharge } from "../shared/OutgoingCharge.ts"
import * as OutgoingFrame from "../shared/OutgoingFrame.ts"
import type { SocketControl } from "./SocketControl.ts"
import * as WebSocketFraming from "./WebSocketFraming.ts"

/** How many bytes may wait before `send` suspends: 1 MiB. */
const highWaterBytes = 1024 * 1024

interface Waiter {
  readonly text: string
  readonly resume: (taken: Effect.Effect<void, TransportError.TransportError>) => void
}

/**
 * The outgoing half of a WebSocket: each message is a text frame of its own. It takes messages at once while there is room, without
 * a fiber, and what one turn of the event loop brings goes out together.
 */
export class WebSocketWriter {
  readonly #writer: Socket.Writer
  readonly #wire: SocketControl
  readonly #charge: OutgoingCharge
  #ready: Array<string> = []
  #readyBytes = 0
  /** In order of arrival; a `Set` so that one that is interrupted leaves at no cost. */
  readonly #waiters = new Set<Waiter>()
  #callOff: (() => void) | undefined
  #ended: TransportError.TransportError | undefined

  constructor(writer: Socket.Writer, wire: SocketControl, budget: MemoryBudget) {
    this.#writer = writer
    this.#wire = wire
    this.#charge = new OutgoingCharge(budget, highWaterBytes)
  }

  send(message: JsonRpc.Frame): Effect.Effect<void, TransportError.TransportError> {
    if (this.#ended !== undefined) return Effect.fail(this.#ended)
    const text = OutgoingFrame.encode(message)
    if (typeof text !== "string") return Effect.fail(text)
    if (this.#waiters.size === 0 && this.#isOpen() && this.#hasRoom()) {
      this.#take(text)
      return Effect.void
    }
    return Effect.callback((resume) => {
      const waiter = { text, resume }
      this.#waiters.add(waiter)
      // A fiber may yield on its way here: there may be room by now, or nobody who takes it.
      this.#admit()
      return Effect.sync(() => this.#waiters.delete(waiter))
    })
  }

  /** Hands over what was taken, and takes no more, which is what those are told who wait. */
  end(error: TransportError.TransportError): void {
    this.#write()
    this.#fail(error)
  }

  /** What has closed takes nothing, and whoever reads finds out soon why, which is what those are told who wait. */
  #isOpen(): boolean {
    return this.#ended === undefined && this.#wire.isOpen()
  }

  #waiting(): number {
    return this.#readyBytes + this.#wire.waiting()
  }

  #hasRoom(): boolean {
    return this.#charge.hasRoom(this.#waiting())
  }

  #take(text: string): void {
    this.#readyBytes += WebSocketFraming.byteLength(text)
    // Not at once: what the same turn still sends shall go out in the same piece.
    if (this.#ready.push(text) === 1) queueMicrotask(() => this.#flush())
  }

  #flush(): void {
    this.#write()
    this.#admit()
  }

  #write(): void {
    const ready = this.#ready
    if (!Arr.isArrayNonEmpty(ready)) return
    this.#ready = []
    this.#readyBytes = 0
    if (!this.#isOpen()) return
    const write = () => {
      const exit = Effect.runSyncExit(this.#writer.writeAll(ready))
      if (Exit.isFailure(exit)) {
        this.#fail(TransportError.make({ _tag: "WriteFailed", cause: Cause.squash(exit.cause) }))
      }
    }
    if (ready.length === 1) write()
    else this.#wire.together(write)
  }

  /** Lets in who waits, as far as there is room, and has itself called when there is more, or less to be charged. */
  #admit(): void {
    if (this.#ended !== undefined) return this.#fail(this.#ended)
    for (const waiter of this.#waiters) {
      if (!this.#isOpen() || !this.#hasRoom()) break
      this.#waiters.delete(waiter)
      this.#take(waiter.text)
      waiter.resume(Effect.void)
    }
    if (!this.#isOpen()) return this.#charge.update(0)
    this.#charge.update(this.#waiting())
    if ((this.#waiters.size === 0 && !this.#charge.isCharged) || this.#callOff !== undefined) return
    this.#callOff = this.#wire.onRoom(() => {
      this.#callOff = undefined
      this.#admit()
    })
  }

  #fail(error: TransportError.TransportError): void {
    this.#ended ??= error
    this.#charge.update(0)
    this.#callOff?.()
    this.#callOff = undefined
    for (const waiter of this.#waiters) {
      this.#waiters.delete(waiter)
      waiter.resume(Effect.fail(this.#ended))
    }
  }
}
