/** A seal of states whose texts are the same in each run of a program. */

import type { RequestStateSeal } from "@effect-mcp/session"
import * as Effect from "effect/Effect"

/** A state that was sealed. */
interface Sealed {
  readonly text: string
  readonly context: string
}

/**
 * Creates a seal that keeps the states in a table and sends their numbers. A cipher would not do: its nonces are
 * random, and so are the ids in the states.
 */
export const make = (): RequestStateSeal.RequestStateSeal => {
  const states = new Map<string, Sealed>()
  const digests = new Map<string, string>()
  return {
    seal: (text, context) =>
      Effect.sync(() => {
        const name = `state-${states.size + 1}`
        states.set(name, { text, context })
        return name
      }),
    open: (name, context) =>
      Effect.sync(() => {
        const sealed = states.get(name)
        return sealed?.context === context ? sealed.text : undefined
      }),
    digest: (text) =>
      Effect.sync(() => {
        const digest = digests.get(text) ?? `question-${digests.size + 1}`
        digests.set(text, digest)
        return digest
      })
  }
}
