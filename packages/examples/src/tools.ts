/**
 * The tools of the calculator, independent of its transport.
 */
import * as Logging from "@effect-mcp/protocol/Logging"
import * as McpGroup from "@effect-mcp/server/McpGroup"
import * as McpRequest from "@effect-mcp/server/McpRequest"
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** The annotations of all tools: they use nothing outside, and reject arguments that they do not have. */
const closed = Context.make(Tool.OpenWorld, false).pipe(Context.add(Tool.Strict, true))

const harmless = closed.pipe(Context.add(Tool.Readonly, true), Context.add(Tool.Idempotent, true))

const number = (description: string) => Schema.Finite.annotate({ description })

const integer = (minimum: number, maximum: number, description: string) =>
  Schema.Int.check(Schema.isBetween({ minimum, maximum })).annotate({ description })

const text = (description: string) => Schema.String.annotate({ description })

const Calculator = McpGroup.make(
  "calculator",
  Tool.make("add", {
    description: "Adds two numbers.",
    parameters: Schema.Struct({ a: number("The first number"), b: number("The second number") }),
    success: Schema.Number
  }).annotate(Tool.Title, "Add").annotateMerge(harmless),
  Tool.make("count", {
    description: "Counts from 1 to a number, reports progress at each step, and returns the number.",
    parameters: Schema.Struct({
      to: integer(1, 10_000, "The number to count to"),
      delayMs: integer(0, 60_000, "The duration of each step, in milliseconds")
    }),
    success: Schema.Int
  }).annotate(Tool.Title, "Count").annotateMerge(harmless),
  Tool.make("fail", {
    description: "Fails with a message for the model.",
    parameters: Schema.Struct({ message: text("The message") }),
    failure: Schema.String
  }).annotate(Tool.Title, "Fail").annotateMerge(harmless),
  Tool.make("crash", {
    description: "Dies with a defect. Only the log of the server contains its message."
  }).annotate(Tool.Title, "Crash").annotateMerge(harmless),
  Tool.make("log", {
    description: "Sends the client a log message.",
    parameters: Schema.Struct({
      level: Schema.Literals(Logging.levels).annotate({ description: "The severity" }),
      message: text("The text of the message")
    }),
    success: Schema.String
  }).annotate(Tool.Title, "Log").annotate(Tool.Destructive, false).annotateMerge(closed)
)

const count = Effect.fnUntraced(function*({ delayMs, to }: { readonly delayMs: number; readonly to: number }) {
  let step = 0
  const next = Effect.sleep(delayMs).pipe(
    Effect.andThen(Effect.suspend(() => {
      step++
      return McpRequest.progress({ progress: step, total: to, message: `${step} of ${to}` })
    }))
  )
  yield* Effect.repeat(next, { times: to - 1 }).pipe(
    // When the client cancels the request, the library interrupts the handler.
    Effect.onInterrupt(() => Effect.logInfo(`count was interrupted at ${step} of ${to}`))
  )
  return step
})

/** The group of the calculator. */
export const layer = Calculator.toLayer((handlers) =>
  handlers
    .tool("add", ({ a, b }) => Effect.succeed(a + b))
    .tool("count", count)
    .tool("fail", ({ message }) => Effect.fail(message))
    .tool("crash", () => Effect.die(new Error("the abacus has lost a bead")))
    .tool("log", ({ level, message }) =>
      Effect.as(McpRequest.log({ level, logger: "calculator", data: message }), "logged"))
)

/** The description of the calculator. */
export const options = {
  info: { name: "calculator", title: "Calculator", version: "0.1.0" },
  instructions: "Use `add` for sums. The other tools demonstrate progress, failures and log messages."
}
