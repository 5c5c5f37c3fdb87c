/** The outgoing half of a WebSocket: each message is one text frame. */
import type { JsonRpc } from "@effect-mcp/protocol"
import type { MemoryBudget } from "@effect-mcp/session/MemoryBudget"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import type * as Socket from "effect/socket/Socket"
import { HighWaterQueue } from "../shared/HighWaterQueue.ts"
import * as OutgoingFrame from "../shared/OutgoingFrame.ts"
import type { SocketControl } from "./SocketControl.ts"

/**
 * Takes messages at once while there is room, without a fiber. All messages of one turn of the event loop are written
 * together.
 */
export class WebSocketWriter {
  readonly #writer: Socket.Writer
  readonly #control: SocketControl
  readonly #queue: HighWaterQueue
  #cancelOnRoom: (() => void) | undefined

  constructor(writer: Socket.Writer, control: SocketControl, budget: MemoryBudget) {
    this.#writer = writer
    this.#control = control
    this.#queue = new HighWaterQueue({
      unsentBytes: control.unsentBytes,
      isOpen: control.isOpen,
      // Not at once, so that later messages of the same turn are written in the same chunk.
      onReady: () => queueMicrotask(() => this.#flush()),
      onBlocked: () => {
        this.#cancelOnRoom ??= control.onRoom(() => {
          this.#cancelOnRoom = undefined
          this.#queue.admit()
        })
      }
    }, budget)
  }

  /** Takes a message; see {@link HighWaterQueue.send}. */
  send(message: JsonRpc.Frame): Effect.Effect<void, TransportError.TransportError> {
    if (this.#queue.ended !== undefined) return Effect.fail(this.#queue.ended)
    const encoded = OutgoingFrame.encode(message)
    return Result.isFailure(encoded) ? Effect.fail(encoded.failure) : this.#queue.send(encoded.success)
  }

  /** Writes the messages that were taken, takes no more, and fails waiting senders with this error. */
  end(error: TransportError.TransportError): void {
    this.#write()
    this.#fail(error)
  }

  #flush(): void {
    this.#write()
    this.#queue.admit()
  }

  #write(): void {
    const ready = this.#queue.takeReady()
    // A closed socket accepts no more data. The read loop reports the reason, and waiting senders fail with it.
    if (!Arr.isReadonlyArrayNonEmpty(ready) || this.#queue.ended !== undefined || !this.#control.isOpen()) return
    const write = () => {
      const exit = Effect.runSyncExit(this.#writer.writeAll(ready))
      if (Exit.isFailure(exit)) {
        this.#fail(TransportError.make({ _tag: "WriteFailed", cause: Cause.squash(exit.cause) }))
      }
    }
    if (ready.length === 1) write()
    else this.#control.batch(write)
  }

  #fail(error: TransportError.TransportError): void {
    this.#queue.fail(error)
    this.#cancelOnRoom?.()
    this.#cancelOnRoom = undefined
  }
}
