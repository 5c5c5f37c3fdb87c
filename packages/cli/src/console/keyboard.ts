/**
 * The keyboard. It is read from the beginning to the end of the program, so that the terminal stays in raw mode, and
 * each key goes to the prompt that is open. Keys that no prompt has asked for are dropped: they must not answer a
 * question that the person has not read.
 */
import * as NodeTerminal from "@effect/platform-node/NodeTerminal"
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import type * as Terminal from "effect/Terminal"

type Keys = Queue.Queue<Terminal.UserInput, Cause.Done>

export interface Keyboard {
  /** Opens a prompt, until its scope closes. Ctrl-C leaves it, and so may the escape key. */
  readonly keys: (canEscape: boolean) => Terminal.Terminal["readInput"]
  /** Calls a function when Ctrl-C is pressed and no prompt is open, or when the terminal is closed. */
  readonly onCancel: (cancel: (() => void) | undefined) => void
}

const isCancel = ({ key }: Terminal.UserInput): boolean => key.ctrl && (key.name === "c" || key.name === "d")

export const make: Effect.Effect<Keyboard, never, Scope.Scope> = Effect.gen(function*() {
  const terminal = yield* NodeTerminal.make(() => false)
  const pressed = yield* terminal.readInput
  let open: { readonly keys: Keys; readonly canEscape: boolean } | undefined
  let cancel: (() => void) | undefined
  let isEnded = false

  const route = (input: Terminal.UserInput): void => {
    if (open === undefined) {
      if (isCancel(input)) cancel?.()
    } else if (isCancel(input)) {
      Queue.endUnsafe(open.keys)
    } else if (input.key.name === "escape") {
      if (open.canEscape) Queue.endUnsafe(open.keys)
    } else {
      Queue.offerUnsafe(open.keys, input)
    }
  }
  yield* Queue.take(pressed).pipe(
    Effect.map(route),
    Effect.forever,
    Effect.catch(() =>
      Effect.sync(() => {
        isEnded = true
        if (open !== undefined) Queue.endUnsafe(open.keys)
        cancel?.()
      })
    ),
    Effect.forkScoped
  )
  return {
    keys: (canEscape) =>
      Effect.acquireRelease(
        Effect.map(Queue.make<Terminal.UserInput, Cause.Done>(), (keys) => {
          open = { keys, canEscape }
          if (isEnded) Queue.endUnsafe(keys)
          return keys
        }),
        () =>
          Effect.sync(() => {
            open = undefined
          })
      ),
    onCancel: (next) => {
      cancel = next
    }
  }
})
