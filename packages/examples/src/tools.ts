/**
 * The tools of the calculator, independent of its transport.
 */
import * as Logging from "@effect-mcp/protocol/Logging"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import type * as ServerSession from "@effect-mcp/session/ServerSession"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Tool from "./tool.ts"

const harmless = { readOnlyHint: true, openWorldHint: false }

const number = (description: string) => Schema.Finite.annotate({ description })

const integer = (minimum: number, maximum: number, description: string) =>
  Schema.Int.check(Schema.isBetween({ minimum, maximum })).annotate({ description })

const text = (description: string) => Schema.String.annotate({ description })

const add = Tool.make("add", {
  title: "Add",
  description: "Adds two numbers.",
  annotations: { ...harmless, idempotentHint: true },
  input: Schema.Struct({ a: number("The first number"), b: number("The second number") }),
  run: ({ a, b }) => Effect.succeed(String(a + b))
})

const count = Tool.make("count", {
  title: "Count",
  description: "Counts from 1 to a number, reports progress at each step, and returns the number.",
  annotations: { ...harmless, idempotentHint: true },
  input: Schema.Struct({
    to: integer(1, 10_000, "The number to count to"),
    delayMs: integer(0, 60_000, "The duration of each step, in milliseconds")
  }),
  run: Effect.fnUntraced(function*({ delayMs, to }) {
    let step = 0
    const next = Effect.sleep(delayMs).pipe(
      Effect.andThen(Effect.suspend(() => {
        step++
        return RequestContext.progress({ progress: step, total: to, message: `${step} of ${to}` })
      }))
    )
    yield* Effect.repeat(next, { times: to - 1 }).pipe(
      // When the client cancels the request, the library interrupts the handler.
      Effect.onInterrupt(() => Effect.logInfo(`count was interrupted at ${step} of ${to}`))
    )
    return String(step)
  })
})

const fail = Tool.make("fail", {
  title: "Fail",
  description: "Fails with a message for the model.",
  annotations: { ...harmless, idempotentHint: true },
  input: Schema.Struct({ message: text("The message") }),
  run: ({ message }) => Effect.fail(new Tool.ToolFailure({ message }))
})

const crash = Tool.make("crash", {
  title: "Crash",
  description: "Dies with a defect. Only the log of the server contains its message.",
  annotations: { ...harmless, idempotentHint: true },
  input: Schema.Record(Schema.String, Schema.Never),
  run: () => Effect.die(new Error("the abacus has lost a bead"))
})

const log = Tool.make("log", {
  title: "Log",
  description: "Sends the client a log message.",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  input: Schema.Struct({
    level: Schema.Literals(Logging.levels).annotate({ description: "The severity" }),
    message: text("The text of the message")
  }),
  run: ({ level, message }) => Effect.as(RequestContext.log({ level, logger: "calculator", data: message }), "logged")
})

/** The handlers of the calculator. */
export const handlers = Tool.handlers([add, count, fail, crash, log])

/** The description of the calculator. */
export const options: ServerSession.Options = {
  info: { name: "calculator", title: "Calculator", version: "0.1.0" },
  instructions: "Use `add` for sums. The other tools demonstrate progress, failures and log messages."
}
