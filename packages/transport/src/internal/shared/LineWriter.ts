/**
 * The outgoing half of a connection that is one stream of lines.
 *
 * It takes messages at once while there is room, and one fiber writes all that are ready in one chunk.
 */
import type { JsonRpc } from "@effect-mcp/protocol"
import { MemoryBudget } from "@effect-mcp/session/MemoryBudget"
import type { Outbound } from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Pull from "effect/Pull"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type * as Sink from "effect/Sink"
import * as Stream from "effect/Stream"
import { HighWaterQueue, sizeOf } from "./HighWaterQueue.ts"
import * as OutgoingFrame from "./OutgoingFrame.ts"

export interface LineWriter {
  /**
   * Takes a message as it is now. It succeeds at once below the high-water mark, so one message of any size always
   * passes, and suspends above it. A message whose sender is interrupted while it waits is not written.
   */
  readonly send: (outbound: Outbound) => Effect.Effect<void, TransportError.TransportError>
  /** Fails when writing fails, also for messages that were taken before. */
  readonly failed: Effect.Effect<never, TransportError.TransportError>
  /**
   * Takes no more messages, and waits until all that were taken are written or cannot be. The caller sets the bound.
   */
  readonly close: Effect.Effect<void>
}

/** Makes some messages wait, while later ones are written. */
export interface Pacing {
  /**
   * Called with each message, in order. Returns a function that returns the milliseconds that the message still has to
   * wait, and `undefined` if it does not wait.
   */
  readonly waitBefore: (message: JsonRpc.Frame) => (() => number) | undefined
  /** Called when the sink has taken all that was ready at the call before. */
  readonly onWritten: () => void
}

export interface LineWriterOptions {
  /** The destination of the bytes. Its back-pressure holds the writer back, and its end or failure ends the writer. */
  readonly sink: Sink.Sink<void, Uint8Array, unknown, unknown>
  /** The most bytes that wait, those being written included, before `send` suspends. Default 1 MiB. */
  readonly highWaterBytes?: number | undefined
  /** Returns the error for a failure of the sink. */
  readonly explain: (cause: unknown) => Effect.Effect<TransportError.TransportError>
  /** Default: no message waits. */
  readonly pacing?: Pacing | undefined
}

const closed = (): TransportError.TransportError =>
  TransportError.make({ _tag: "WriteFailed", cause: new Error("the connection is closed") })

type Chunks = readonly [Uint8Array, ...ReadonlyArray<Uint8Array>]

/** Returns the bytes of messages. Texts that follow each other become one chunk. */
const chunksOf = (messages: ReadonlyArray<OutgoingFrame.Encoded>): Chunks => {
  const chunks: Array<Uint8Array> = []
  let text = ""
  const endText = () => {
    if (text !== "") chunks.push(Buffer.from(text))
    text = ""
  }
  for (const message of messages) {
    if (typeof message === "string") text += message
    else {
      endText()
      for (const part of message) chunks.push(part)
    }
  }
  endText()
  const [first = new Uint8Array(), ...others] = chunks
  return [first, ...others]
}

/** Creates a writer whose fiber lives in the scope. */
export const make = Effect.fnUntraced(function*(
  options: LineWriterOptions
): Effect.fn.Return<LineWriter, never, Scope.Scope> {
  let writingBytes = 0
  let heldBytes = 0
  let wakeWriter: (() => void) | undefined
  const queue = new HighWaterQueue<OutgoingFrame.Encoded>(
    {
      unsentBytes: () => writingBytes + heldBytes,
      isOpen: () => true,
      onReady: () => {
        if (wakeWriter === undefined) return
        // Not at once, so that later messages of the same turn of the event loop go out in the same write.
        queueMicrotask(wakeWriter)
        wakeWriter = undefined
      },
      // The sink pulls when it has written the chunk before.
      onBlocked: () => {}
    },
    yield* MemoryBudget,
    options.highWaterBytes
  )

  const failed = Deferred.makeUnsafe<never, TransportError.TransportError>()
  let closing = false

  /** The messages that wait before they are ready, each as the function that ends its wait. */
  const held = new Set<() => void>()
  const releaseHeld = (): void => {
    for (const release of held) release()
  }

  const hold = (item: OutgoingFrame.Encoded, wait: () => number): void => {
    const bytes = sizeOf(item)
    heldBytes += bytes
    let timer: ReturnType<typeof setTimeout> | undefined
    const release = (): void => {
      clearTimeout(timer)
      held.delete(release)
      heldBytes -= bytes
      queue.takeHeld(item)
    }
    // A timer that fires late may find that the wait has become longer.
    const check = (): void => {
      const millis = wait()
      if (millis > 0) timer = setTimeout(check, millis)
      else release()
    }
    held.add(release)
    check()
    queue.admit()
  }

  const end = (reason: TransportError.TransportError): void => {
    queue.fail(reason)
    releaseHeld()
    if (!closing) Deferred.doneUnsafe(failed, Exit.fail(queue.ended ?? reason))
  }

  const woken = Effect.callback<void>((resume) => {
    // The fiber may have yielded since the check. A message that was taken meanwhile has woken no writer.
    if (!queue.isEmpty || queue.ended !== undefined) return resume(Effect.void)
    wakeWriter = () => resume(Effect.void)
    return Effect.sync(() => {
      wakeWriter = undefined
    })
  })

  const pull: Pull.Pull<Chunks, never, void> = Effect.suspend(() => {
    writingBytes = 0
    options.pacing?.onWritten()
    queue.admit()
    if (queue.isEmpty) {
      return queue.ended === undefined ? Effect.flatMap(woken, () => pull) : Cause.done()
    }
    writingBytes = queue.readyBytes
    return Effect.succeed(chunksOf(queue.takeReady()))
  })

  const writer = yield* Stream.fromPull(Effect.succeed(pull)).pipe(
    Stream.run(options.sink),
    Effect.matchEffect({
      onFailure: options.explain,
      onSuccess: () =>
        queue.ended === undefined ? options.explain(new Error("the output has ended")) : Effect.succeed(queue.ended)
    }),
    Effect.map(end),
    Effect.onExit(() => Effect.sync(() => end(closed()))),
    // A fiber that is interrupted before its start would end without failing the waiting senders.
    Effect.forkScoped({ startImmediately: true })
  )

  return {
    send: (outbound) =>
      Effect.suspend(() => {
        if (queue.ended !== undefined) return Effect.fail(queue.ended)
        const encoded = OutgoingFrame.encodeForBytes(outbound.message, "\n")
        if (Result.isFailure(encoded)) return Effect.fail(encoded.failure)
        const wait = options.pacing?.waitBefore(outbound.message)
        if (wait === undefined || !queue.hasRoom) return queue.send(encoded.success)
        return Effect.sync(() => hold(encoded.success, wait))
      }),
    failed: Deferred.await(failed),
    close: Effect.suspend(() => {
      closing = true
      releaseHeld()
      end(closed())
      wakeWriter?.()
      return Effect.asVoid(Fiber.await(writer))
    })
  }
})
