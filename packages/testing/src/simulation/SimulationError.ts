/**
 * Errors of a simulation: a conversation in which something does not hold, and programs that cannot be simulated.
 *
 * @stability unstable
 */
import * as Data from "effect/Data"

/**
 * A failing conversation, as short as shrinking could make it. `message` is a report: the violation, the steps, all
 * messages, and the call that reproduces it.
 *
 * @example
 * ```ts
 * import { Simulation } from "@effect-mcp/testing/simulation"
 * import * as Effect from "effect/Effect"
 *
 * const forgotten = Simulation.make({
 *   server: { "tools/call": () => Effect.die(new Error("forgotten")) },
 *   faults: [],
 *   commands: (command) => ({ call: command({ run: ({ client }) => client.callTool("call") }) })
 * })
 *
 * export const steps = Simulation.check(forgotten).pipe(
 *   Effect.as([""]),
 *   Effect.catchTag("ConversationFailedError", ({ steps }) => Effect.succeed(steps))
 * ) // => ["client 0: call"]
 * ```
 *
 * @category errors
 */
export class ConversationFailedError extends Data.TaggedError("ConversationFailedError")<{
  /** The law that does not hold, or `"the model explains every result"`. */
  readonly law: string
  readonly problem: string
  /** The seed that reproduces the conversation. */
  readonly seed: number
  /** The steps of the conversation. */
  readonly steps: ReadonlyArray<string>
  readonly report: string
}> {
  override get message(): string {
    return this.report
  }
}

/**
 * A program of a simulation that waits for the real world: something outside resumed it while virtual time stood still.
 *
 * @example
 * ```ts
 * import { Simulation } from "@effect-mcp/testing/simulation"
 * import * as Effect from "effect/Effect"
 *
 * const waiting = Simulation.make({
 *   server: { "tools/call": () => Effect.as(Effect.promise(() => fetch("data:,")), { content: [] }) },
 *   faults: [],
 *   commands: (command) => ({ call: command({ run: ({ client }) => client.callTool("call") }) })
 * })
 *
 * export const activity = Simulation.check(waiting).pipe(
 *   Effect.as(""),
 *   Effect.catchTag("RealIoUsedError", ({ activity }) => Effect.succeed(activity))
 * ) // => "call"
 * ```
 *
 * @category errors
 */
export class RealIoUsedError extends Data.TaggedError("RealIoUsedError")<{
  /** The command, the handshake or the services that were waiting. */
  readonly activity: string
}> {
  override get message(): string {
    return `${this.activity}: used real I/O, which cannot be simulated: a timer of the platform, a promise, a file ` +
      "or a socket resumed it while virtual time stood still. Use Effect.sleep and Effect's Clock for time, and " +
      "provide everything else by a Layer for tests that needs no I/O"
  }
}
