/**
 * The outgoing half of a connection that is one stream of lines: it takes messages at once while there is room, and one
 * fiber writes whatever is ready in one go.
 */
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
import * as JsonLines from "../../JsonLines.ts"
import { OutgoingCharge } from "./OutgoingCharge.ts"

/** How many bytes may wait, those being written included, before `send` suspends: 1 MiB. */
const defaultHighWaterBytes: number = 1024 * 1024

export interface LineWriter {
  /**
   * Takes a message as it is now. It succeeds at once while fewer than the high-water mark of bytes wait, so that one
   * message of any size always passes, and suspends above it. A message that was interrupted while it waited is not
   * written.
   */
  readonly send: (outbound: Outbound) => Effect.Effect<void, TransportError.TransportError>
  /** Fails when writing does, also for what was taken before. */
  readonly failed: Effect.Effect<never, TransportError.TransportError>
  /** Takes no more, and waits until all that was taken is written or cannot be. The caller sets the bound. */
  readonly close: Effect.Effect<void>
}

export interface LineWriterOptions {
  /** Where the bytes go. What it holds back is back-pressure; its end or failure ends the writer. */
  readonly sink: Sink.Sink<void, Uint8Array, unknown, unknown>
  readonly highWaterBytes?: number | undefined
  /** What a failure of the sink means. */
  readonly explain: (cause: unknown) => Effect.Effect<TransportError.TransportError>
}

interface Waiter {
  readonly line: string
  readonly resume: (taken: Effect.Effect<void, TransportError.TransportError>) => void
}

const closed = (): TransportError.TransportError =>
  TransportError.make({ _tag: "WriteFailed", cause: new Error("the connection is closed") })

/** A writer whose fiber lives in the scope. */
export const make = Effect.fnUntraced(function*(
  options: LineWriterOptions
): Effect.fn.Return<LineWriter, never, Scope.Scope> {
  const charge = new OutgoingCharge(yield* MemoryBudget, options.highWaterBytes ?? defaultHighWaterBytes)
  let ready: Array<string> = []
  let waitingBytes = 0
  let writingBytes = 0
  // In order of arrival; a `Set` so that an interrupted waiter leaves at no cost.
  const waiters = new Set<Waiter>()
  let ended: TransportError.TransportError | undefined
  let wakeWriter: (() => void) | undefined

  const take = (line: string): void => {
    ready.push(line)
    waitingBytes += Buffer.byteLength(line)
    charge.update(waitingBytes)
    if (wakeWriter === undefined) return
    // Not at once: what the same turn of the event loop still sends shall go out in the same write.
    queueMicrotask(wakeWriter)
    wakeWriter = undefined
  }

  const admitWaiters = (): void => {
    for (const waiter of waiters) {
      if (!charge.hasRoom(waitingBytes)) return
      waiters.delete(waiter)
      take(waiter.line)
      waiter.resume(Effect.void)
    }
  }

  const failed = Deferred.makeUnsafe<never, TransportError.TransportError>()
  let closing = false

  const end = (reason: TransportError.TransportError): void => {
    ended ??= reason
    charge.update(0)
    if (!closing) Deferred.doneUnsafe(failed, Exit.fail(ended))
    for (const waiter of waiters) {
      waiters.delete(waiter)
      waiter.resume(Effect.fail(ended))
    }
  }

  const woken = Effect.callback<void>((resume) => {
    // A fiber may yield on its way here, and what comes meanwhile wakes nobody.
    if (ready.length > 0 || ended !== undefined) return resume(Effect.void)
    wakeWriter = () => resume(Effect.void)
    return Effect.sync(() => {
      wakeWriter = undefined
    })
  })

  // The sink pulls when it has written the batch before.
  const pull: Pull.Pull<readonly [Uint8Array], never, void> = Effect.suspend(() => {
    waitingBytes -= writingBytes
    writingBytes = 0
    admitWaiters()
    if (ended === undefined) charge.update(waitingBytes)
    if (ready.length === 0) {
      return ended === undefined ? Effect.flatMap(woken, () => pull) : Cause.done()
    }
    const batch = ready.join("")
    ready = []
    writingBytes = waitingBytes
    return Effect.succeed([Buffer.from(batch)])
  })

  const writer = yield* Stream.fromPull(Effect.succeed(pull)).pipe(
    Stream.run(options.sink),
    Effect.matchEffect({
      onFailure: options.explain,
      onSuccess: () => ended === undefined ? options.explain(new Error("the output has ended")) : Effect.succeed(ended)
    }),
    Effect.map(end),
    Effect.onExit(() => Effect.sync(() => end(closed()))),
    // A fiber that is interrupted before its start would end without a word to those who wait.
    Effect.forkScoped({ startImmediately: true })
  )

  return {
    send: (outbound) =>
      Effect.suspend(() => {
        if (ended !== undefined) return Effect.fail(ended)
        const encoded = JsonLines.encode(outbound.message)
        if (Result.isFailure(encoded)) return Effect.fail(encoded.failure)
        const line = encoded.success
        if (charge.hasRoom(waitingBytes) && waiters.size === 0) {
          take(line)
          return Effect.void
        }
        return Effect.callback<void, TransportError.TransportError>((resume) => {
          const waiter = { line, resume }
          waiters.add(waiter)
          // Likewise: there may be room by now, or no writer.
          if (ended === undefined) admitWaiters()
          else end(ended)
          return Effect.sync(() => waiters.delete(waiter))
        })
      }),
    failed: Deferred.await(failed),
    close: Effect.suspend(() => {
      closing = true
      end(closed())
      wakeWriter?.()
      return Effect.asVoid(Fiber.await(writer))
    })
  }
})
