/** The handler of a script, and the journal of what it does. */

import { McpError } from "@effect-mcp/protocol"
import { RequestContext, type RequestError } from "@effect-mcp/session"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Hash from "effect/Hash"
import * as Schema from "effect/Schema"
import { isConcurrent, type Script, type Step } from "./Script.ts"
import * as User from "./User.ts"

/** An answer that a handler has received. */
export interface Received {
  readonly call: string
  readonly question: string
  readonly answer: string
  readonly expected: string
}

/** The work of all handlers of a conversation. */
export interface Journal {
  /** The number of times that the handler of each call has started. */
  readonly runs: Map<string, number>
  /** The number of times that each step of `once` has started, by its call and path. */
  readonly steps: Map<string, number>
  /** The steps of `once` whose end is not sealed, because they fail without a schema for it. */
  readonly unsealed: Set<string>
  readonly received: Array<Received>
  acquired: number
  released: number
}

/** Creates an empty journal. */
export const makeJournal = (): Journal => ({
  runs: new Map(),
  steps: new Map(),
  unsealed: new Set(),
  received: [],
  acquired: 0,
  released: 0
})

/** One run of a handler. */
interface Run {
  readonly call: string
  readonly number: number
  readonly journal: Journal
  /** The way in which a step waits for promises. A virtual runtime cannot wait for them, so it yields instead. */
  readonly microtasks: "Promises" | "Yields"
}

type Performing<A> = Effect.Effect<A, string, RequestContext.RequestContext>

const increment = (counts: Map<string, number>, key: string): number => {
  const count = (counts.get(key) ?? 0) + 1
  counts.set(key, count)
  return count
}

const yields = (times: number): Effect.Effect<void> =>
  Effect.forEach(Array.from({ length: times }), () => Effect.yieldNow, { discard: true })

/** Returns a number from 0 to a limit, which differs from run to run. */
const varied = ({ number }: Run, path: string, most: number): number =>
  Math.abs(Hash.string(`${path} ${number}`)) % (most + 1)

const reasonOf = ({ reason }: RequestError.RequestError): string => reason._tag

/** The longest text of a result that a question quotes. */
const quotedCharacters = 80

/** Describes the end of steps, as a part of a result. */
const describeExit = (exit: Exit.Exit<unknown, string>): unknown =>
  Exit.isSuccess(exit) ? exit.value : exit.cause.reasons.map((reason) => {
    if (Cause.isFailReason(reason)) return `failed: ${reason.error}`
    return Cause.isDieReason(reason) ? `died: ${String(reason.defect)}` : "was interrupted"
  })

const requestedSchema = { type: "object" as const, properties: { value: { type: "string" as const } } }

const ask = (
  run: Run,
  { hasKey, method, quotes, topic }: Extract<Step, { readonly _tag: "Ask" }>,
  path: string,
  last: unknown
): Performing<string> => {
  const quoted = quotes ? ` after ${(JSON.stringify(last) ?? "nothing").slice(0, quotedCharacters)}` : ""
  const text = `${run.call}: ${topic}?${quoted}`
  const options = hasKey ? { key: path } : {}
  const answered = (answer: string) => {
    const question = User.questionText(method, text)
    run.journal.received.push({ call: run.call, question, answer, expected: User.answerTo(method, text) })
    return answer
  }
  switch (method) {
    case "elicitation/create":
      return Effect.mapBoth(RequestContext.elicit({ message: text, requestedSchema }, options), {
        onSuccess: ({ action, content }) => answered(action === "accept" ? String(content?.["value"]) : action),
        onFailure: reasonOf
      })
    case "sampling/createMessage":
      return Effect.mapBoth(
        RequestContext.createMessage(
          { messages: [{ role: "user", content: { type: "text", text } }], maxTokens: 10 },
          options
        ),
        {
          onSuccess: ({ content }) => answered(content.type === "text" ? content.text : content.type),
          onFailure: reasonOf
        }
      )
    case "roots/list":
      return Effect.mapBoth(RequestContext.listRoots(options), {
        onSuccess: ({ roots }) => answered(roots.map(({ uri }) => uri).join()),
        onFailure: reasonOf
      })
  }
}

/** Runs a step of `once`. */
const once = (
  { call, journal }: Run,
  { ending, millis }: Extract<Step, { readonly _tag: "Once" }>,
  path: string
): Performing<string> =>
  RequestContext.once(
    path,
    ending === "FailSealed" ? { success: Schema.String, error: Schema.String } : { success: Schema.String },
    Effect.suspend((): Effect.Effect<string, string> => {
      increment(journal.steps, `${call} ${path}`)
      if (ending === "Fail" || ending === "Die") journal.unsealed.add(`${call} ${path}`)
      const end: Effect.Effect<string, string> = ending === "Succeed"
        ? Effect.succeed(`${call} once ${path}`)
        : ending === "Die"
        ? Effect.die(new Error(`once ${path}`))
        : Effect.fail(`once ${path}`)
      return millis === 0 ? end : Effect.andThen(Effect.sleep(millis), end)
    })
  )

const perform = (run: Run, step: Step, path: string, last: unknown): Performing<unknown> => {
  const { call, journal } = run
  switch (step._tag) {
    case "Ask":
      return ask(run, step, path, last)
    case "Once":
      return once(run, step, path)
    case "Progress":
      return Effect.as(RequestContext.progress({ progress: step.value }), "progress")
    case "Log":
      return Effect.as(RequestContext.log({ level: step.level, data: `${call}: ${step.topic}` }), "log")
    case "Compute":
      return Effect.sync(() => `${call} computes ${path}`)
    case "Yield": {
      return Effect.as(yields(step.varies ? varied(run, path, step.times) : step.times), "yielded")
    }
    case "Microtask": {
      const turns = Effect.promise(async () => {
        for (let turn = 0; turn < step.times; turn++) await Promise.resolve()
      })
      return Effect.as(run.microtasks === "Promises" ? turns : yields(step.times), "waited")
    }
    case "Sleep":
      return Effect.as(Effect.sleep(step.varies ? varied(run, path, step.millis) : step.millis), "slept")
    case "Fail":
      return Effect.fail(`step ${path}`)
    case "Die":
      return Effect.die(new Error(`step ${path}`))
    case "Recover": {
      const body = performAll(run, step.body, path)
      switch (step.by) {
        case "catch":
          return Effect.catch(body, (error) => Effect.succeed(`failed: ${error}`))
        case "catchCause":
          return Effect.catchCause(body, (cause) => Effect.succeed(describeExit(Exit.failCause(cause))))
        case "exit":
          return Effect.map(Effect.exit(body), describeExit)
      }
    }
    case "Ensuring":
      return Effect.ensuring(
        performAll(run, step.body, `${path}.body`),
        Effect.exit(performAll(run, step.finalizer, `${path}.finalizer`))
      )
    case "Acquire":
      return Effect.acquireUseRelease(
        Effect.sync(() => journal.acquired++),
        () => performAll(run, step.body, path),
        () => Effect.sync(() => journal.released++)
      )
    case "Uninterruptible":
      return Effect.uninterruptible(performAll(run, step.body, path))
    case "Timeout":
      return Effect.timeoutOrElse(performAll(run, step.body, path), {
        duration: "1 hour",
        orElse: () => Effect.fail("timed out")
      })
    case "All": {
      const branches = step.branches.map((branch, index) => performAll(run, branch, `${path}.${index}`))
      return isConcurrent(step)
        ? Effect.all(branches.map((branch) => Effect.map(Effect.exit(branch), describeExit)), {
          concurrency: step.concurrency
        })
        : Effect.all(branches)
    }
    case "Fork":
      return Effect.gen(function*() {
        const child = yield* Effect.forkChild(Effect.exit(performAll(run, step.child, `${path}.child`)))
        const meanwhile = yield* Effect.exit(performAll(run, step.meanwhile, `${path}.meanwhile`))
        return [describeExit(meanwhile), describeExit(yield* Fiber.join(child))]
      })
  }
}

const performAll = (run: Run, script: Script, path: string): Performing<ReadonlyArray<unknown>> =>
  Effect.gen(function*() {
    const results: Array<unknown> = []
    for (const [index, step] of script.entries()) {
      results.push(yield* perform(run, step, `${path}.${index}`, results.at(-1)))
    }
    return results
  })

/** Makes the handler of a script, for one call. Its result is that of all steps, as text. */
export const make = (
  script: Script,
  call: string,
  journal: Journal,
  microtasks: Run["microtasks"]
): Effect.Effect<string, McpError.McpError, RequestContext.RequestContext> =>
  Effect.suspend(() => {
    const run: Run = { call, number: increment(journal.runs, call), journal, microtasks }
    return Effect.mapBoth(performAll(run, script, "step"), {
      onSuccess: (results) => JSON.stringify(results),
      onFailure: McpError.invalidRequest
    })
  })
