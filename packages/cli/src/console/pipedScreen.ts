/**
 * The screen of a script: results go to standard output, notes to standard error, and there is no person to ask.
 */
import * as PlainText from "@effect-mcp/client/PlainText"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { QuitError } from "effect/Terminal"
import { Screen } from "./screen.ts"

const write = (stream: NodeJS.WriteStream) => (text: string) =>
  Effect.callback<void>((resume) => {
    // A script that ends early, such as `head`, is no error of this program.
    stream.write(`${PlainText.text(text)}\n`, () => resume(Effect.void))
  })

export const layer: Layer.Layer<Screen> = Layer.sync(Screen, () => ({
  print: write(process.stdout),
  note: write(process.stderr),
  // Each step of progress is a line of its own.
  setBar: (line) => line === undefined ? Effect.void : write(process.stderr)(line),
  columns: () => 80,
  canAsk: false,
  ask: () => Effect.fail(new QuitError({})),
  exclusively: (effect) => effect,
  askIdle: () => Effect.fail(new QuitError({})),
  untilCancelled: (effect) => Effect.map(effect, Option.some)
}))
