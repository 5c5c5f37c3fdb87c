/** The person who decides whether a tool runs. */
import { PlainText } from "@effect-mcp/client"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { createInterface } from "node:readline/promises"

/** A call that a model wants to make. */
export interface Call {
  readonly name: string
  readonly input: unknown
}

export class Consent extends Context.Service<Consent, {
  /** Returns whether the person permits this call. */
  readonly ask: (call: Call) => Effect.Effect<boolean>
}>()("app/Consent") {
  /** Asks in the terminal. Without a terminal, each call is refused. */
  static readonly layerTerminal = Layer.effect(
    Consent,
    Effect.gen(function*() {
      if (!process.stdin.isTTY) {
        yield* Effect.logWarning("there is no terminal, so each call that needs a consent is refused")
        return Consent.of({ ask: () => Effect.succeed(false) })
      }
      const lines = yield* Effect.acquireRelease(
        Effect.sync(() => createInterface({ input: process.stdin, output: process.stderr })),
        (lines) => Effect.sync(() => lines.close())
      )
      return Consent.of({
        // The arguments are text of a model, which must not control the terminal.
        ask: ({ input, name }) =>
          Effect.map(
            Effect.promise((signal) =>
              lines.question(`Run ${PlainText.line(name)} with ${PlainText.json(input)}? (y/N) `, { signal })
            ),
            (answer) => /^y(es)?$/i.test(answer.trim())
          )
      })
    })
  )
}
