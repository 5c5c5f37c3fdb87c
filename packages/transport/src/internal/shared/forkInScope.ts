/** Work that ends with its connection. */
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"

type Work = Effect.Effect<void, TransportError.TransportError>

const peerEnded = Effect.fail(TransportError.make({ _tag: "PeerEnded", exit: undefined }))

/** Runs work in a scope. If the scope closes first, the work is interrupted, and its caller fails with `PeerEnded`. */
export const forkInScope = (scope: Scope.Scope) => (work: Work): Work =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(
      Effect.forkIn(Effect.interruptible(work), scope, { startImmediately: true }),
      (fiber) =>
        restore(Fiber.await(fiber)).pipe(
          Effect.onInterrupt(() => Fiber.interrupt(fiber)),
          Effect.flatMap((exit): Work => Exit.hasInterrupts(exit) ? peerEnded : exit)
        )
    )
  )
