/** The person who decides whether a tool runs. */
import { PlainText } from "@effect-mcp/client"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { createInterface } from "node:readline"

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
      if (process.stdin.isTTY) return Consent.of({ ask: askInTerminal })
      yield* Effect.logWarning("there is no terminal, so each call that needs a consent is refused")
      return Consent.of({ ask: () => Effect.succeed(false) })
    })
  )
}

const askInTerminal = ({ input, name }: Call): Effect.Effect<boolean> =>
  Effect.callback((resume) => {
    const lines = createInterface({ input: process.stdin, output: process.stderr })
    // Ctrl-C ends the program, and the end of the input is a refusal.
    lines.on("SIGINT", () => process.kill(process.pid, "SIGINT"))
    lines.on("close", () => resume(Effect.succeed(false)))
    // The arguments are text of a model, which must not control the terminal.
    lines.question(`Run ${PlainText.line(name)} with ${PlainText.json(input)}? (y/N) `, (answer) => {
      resume(Effect.succeed(/^y(es)?$/i.test(answer.trim())))
      lines.close()
    })
    return Effect.sync(() => lines.close())
  })
