/**
 * Programs of a group whose server is killed, stalled, removed and changed in virtual time, and the laws that hold for
 * them.
 */
import { type McpCall, type McpClient, McpClients } from "@effect-mcp/client"
import { Revision } from "@effect-mcp/protocol"
import { Faults, VirtualRuntime } from "@effect-mcp/testing"
import * as Arbitrary from "effect/Arbitrary"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as RecordedServer from "../fixtures/RecordedServer.ts"
import * as SimulatedServer from "./SimulatedServer.ts"

/** An action of a program. Each is possible after any other. */
const Action = Schema.Union([
  Schema.TaggedStruct("Call", {
    tool: Schema.Literals(["quick", "slow", "once", "run"]),
    repeat: Schema.Boolean,
    /** The time that the tool `slow` takes. It may be longer than the call waits for its server. */
    millis: Schema.Literals([500, 20_000]),
    waitForMillis: Schema.Literals([0, 300, 10_000])
  }),
  Schema.TaggedStruct("List", {}),
  Schema.TaggedStruct("Watch", {}),
  Schema.TaggedStruct("Change", { count: Schema.Literals([1, 50]) }),
  Schema.TaggedStruct("Update", {}),
  Schema.TaggedStruct("Kill", {}),
  Schema.TaggedStruct("Remove", {}),
  Schema.TaggedStruct("Install", {}),
  Schema.TaggedStruct("Stall", {}),
  Schema.TaggedStruct("Recover", {}),
  Schema.TaggedStruct("Wait", { millis: Schema.Literals([1, 20, 700, 15_000, 60_000]) })
])

/** A step of a program: some milliseconds, and then an action. */
const Step = Schema.Struct({ after: Schema.Literals([0, 1, 10, 100]), action: Action })

type Step = typeof Step.Type

const Program = Schema.Struct({
  era: Schema.Literals(["Handshake", "Modern"]),
  form: Schema.Literals(["OneStream", "StreamPerRequest"]),
  interleaving: Schema.Literals(["Fair", "Random"]),
  delay: Schema.Literals([0, 3, 40]),
  split: Schema.Boolean,
  merge: Schema.Boolean,
  trusted: Schema.Boolean,
  /** Whether the scope of the client closes while calls are in flight. */
  closes: Schema.Boolean,
  seed: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 999_999 })),
  steps: Schema.Array(Step)
})

/** A program, its connection and its seed. */
export type Program = typeof Program.Type

const { steps: _, ...settings } = Program.fields

/** Generates programs of up to 30 steps. */
export const programs: Arbitrary.Arbitrary<Program> = Arbitrary.map(
  Arbitrary.all({
    settings: Arbitrary.schema(Schema.Struct(settings)),
    steps: Arbitrary.array(Arbitrary.schema(Step), { minLength: 1, maxLength: 30 })
  }),
  ({ settings, steps }) => ({ ...settings, steps })
)

/** A call, and what became of it. */
interface Call {
  readonly line: string
  readonly isRepeatable: boolean
  readonly fiber: Fiber.Fiber<unknown, McpCall.CallError>
}

/** The number of times that a repeated call may be carried out. */
const maxTimes = 4

/** The time in which each call ends, in milliseconds: its waits, and four requests of a minute. */
const longestCall = 300_000

const textIn = (contents: ReadonlyArray<object>): string =>
  contents.map((content) => "text" in content ? String(content.text) : "").join()

/** Returns whether an error says that the server has not got the call. */
const isUnsent = (error: McpCall.CallError): boolean =>
  error._tag === "ServerUnavailableError" || error.reason._tag === "SendFailed" ||
  (error.reason._tag === "Closed" && !error.reason.isSent)

/** Returns what is wrong with a call that has ended. */
const problemOf = ({ fiber, isRepeatable, line }: Call, times: number): string | undefined => {
  const exit = fiber.pollUnsafe()
  if (exit === undefined) return "has not ended"
  if (times > (isRepeatable ? maxTimes : 1)) return `was carried out ${times} times`
  if (Exit.isSuccess(exit)) return times === 0 ? "has a result, and was not carried out" : undefined
  const [reason] = exit.cause.reasons
  if (reason === undefined || !Cause.isFailReason(reason)) return `ended with ${Cause.pretty(exit.cause)}`
  return isUnsent(reason.error) && times > 0
    ? `was carried out ${times} times, and failed as unsent: ${reason.error.message} (${line})`
    : undefined
}

/** Runs a program, and returns the laws that it breaks. */
export const problems = (program: Program): ReadonlyArray<string> => {
  const { closes, delay, era, form, interleaving, merge, seed, split, steps, trusted } = program
  const runtime = VirtualRuntime.make({ seed, interleaving })
  const server = SimulatedServer.make({ seed, form, faults: { ...Faults.none, delay, split, merge } })
  const calls: Array<Call> = []
  const found: Array<string> = []

  const act = Effect.fnUntraced(function*(
    client: McpClient.McpClientShape,
    action: Step["action"],
    watched: Array<string>
  ) {
    switch (action._tag) {
      case "Call": {
        const { millis, repeat, tool, waitForMillis } = action
        const key = String(calls.length)
        const fiber = yield* Effect.forkScoped(
          // `repeat: false` would forbid what the annotations of a trusted server permit.
          client.callTool(tool, { key, millis }, { waitTimeout: waitForMillis, ...(repeat ? { repeat } : {}) }),
          { startImmediately: true }
        )
        calls.push({ line: `${tool} ${key}`, isRepeatable: repeat || (trusted && tool === "once"), fiber })
        return
      }
      case "List":
        yield* Effect.forkScoped(Effect.ignore(client.tools), { startImmediately: true })
        return
      case "Watch":
        yield* Effect.forkScoped(
          Stream.runForEach(client.watch(RecordedServer.uri), ({ contents }) =>
            Effect.sync(() => {
              watched[0] = textIn(contents)
            })),
          { startImmediately: true }
        )
        return
      case "Change":
        yield* Effect.forkScoped(Effect.ignore(client.callTool("change", { count: action.count })))
        return
      case "Update":
        yield* Effect.forkScoped(Effect.ignore(client.callTool("update")))
        return
      case "Kill":
        return yield* server.kill
      case "Remove":
        server.isInstalled = false
        return
      case "Install":
        server.isInstalled = true
        return
      case "Stall":
        return server.stall()
      case "Recover":
        return server.recover()
      case "Wait":
        return yield* Effect.sleep(action.millis)
    }
  })

  const main = Effect.gen(function*() {
    const revisions = era === "Modern" ? Revision.modern : Revision.legacy
    const scope = yield* Scope.make()
    const clients = yield* Scope.provide(
      McpClients.make({ server: server.target }, { info: { name: "host", version: "1.0.0" }, revisions, trusted }),
      scope
    )
    const client = clients.client("server")
    /** The tools as a host has them that reads them after each change. */
    let followed: ReadonlyArray<string> = []
    yield* Effect.forkScoped(
      Stream.runForEach(clients.changes, () =>
        Effect.map(clients.tools, (tools) => {
          followed = tools.map(({ definition }) => definition.name)
        })),
      { startImmediately: true }
    )
    const watched: Array<Array<string>> = []
    yield* client.session
    for (const { action, after } of steps) {
      const texts: Array<string> = []
      yield* Effect.sleep(after)
      yield* act(client, action, texts)
      if (action._tag === "Watch") watched.push(texts)
    }
    if (closes) {
      yield* Scope.close(scope, Exit.void)
      // The calls end in the same turn, and their fibers in the next.
      yield* Effect.sleep(1)
    } else {
      server.recover()
      server.isInstalled = true
      yield* Effect.sleep(longestCall)
    }
    for (const call of calls) {
      const problem = problemOf(call, server.count(call.line))
      if (problem !== undefined) found.push(`the call ${call.line} ${problem}`)
    }
    if (closes) return
    const running = server.server()
    const tools = yield* client.tools
    if (running === undefined || !tools.some(({ name }) => name === running.version())) {
      found.push(`the list has ${tools[0]?.name}, and not ${running?.version()}`)
    }
    if (!followed.includes(running?.version() ?? "")) {
      found.push(`the list that follows the changes has ${followed[0]}, and not ${running?.version()}`)
    }
    for (const [text] of watched) {
      if (text !== running?.content()) found.push(`a watched resource has ${text}, and not ${running?.content()}`)
    }
    yield* Scope.close(scope, Exit.void)
  })

  const fiber = runtime.start(Effect.scoped(main))
  runtime.advance(86_400_000)
  const exit = fiber.pollUnsafe()
  if (exit === undefined) found.push("the program does not end")
  else if (Exit.isFailure(exit)) found.push(Cause.pretty(exit.cause))
  if (runtime.living() > 0) found.push(`${runtime.living()} fibers are left`)
  if (runtime.isResumedFromOutside()) found.push("something outside has resumed a fiber")
  return found
}
