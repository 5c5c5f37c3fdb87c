/** Runs the handler of a trial in one era, with real sessions, and observes what the caller and the user see. */

import { Content } from "@effect-mcp/protocol"
import {
  ClientSession,
  MemoryTransport,
  Recording,
  RequestStateSeal,
  ServerSession,
  Transport
} from "@effect-mcp/session"
import { FiberCount, Transcript } from "@effect-mcp/testing"
import { World } from "@effect-mcp/testing/internal"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import * as ScriptHandler from "./ScriptHandler.ts"
import type { Trial } from "./Trial.ts"
import * as User from "./User.ts"

/** The newest revision of each era. */
export const eras = ["2025-11-25", "2026-07-28"] as const

/** An era, by its newest revision. */
export type Era = typeof eras[number]

/** The observable behaviour of the calls of a trial. */
export interface Observation {
  /** The result or the error of each call, as text. */
  readonly ends: ReadonlyArray<string>
  /** The questions that the user was asked, in order. */
  readonly asked: ReadonlyArray<string>
  /** The progress that the client received for each call, before it drops what does not increase. */
  readonly progress: ReadonlyArray<ReadonlyArray<number>>
  /** The log messages that the client received. */
  readonly logs: ReadonlyArray<string>
  readonly journal: ScriptHandler.Journal
  /** The fibers that are alive after both sessions have ended. */
  readonly fibersLeft: number
}

const info = { name: "eras", version: "1.0.0" }

/** More rounds than any script has. */
const limits = { maxRounds: 1_000, maxIncomingRequests: 1_000 }

const seal = RequestStateSeal.make({ secrets: [Redacted.make("the secret of the servers of all trials")] })

const endOf = (
  exit: Exit.Exit<{ readonly content: ReadonlyArray<Content.ContentBlock> }, { readonly message: string }>
) => {
  if (Exit.isSuccess(exit)) return exit.value.content.map((block) => block.type === "text" ? block.text : "").join()
  const error = Cause.squash(exit.cause)
  return `failed: ${error instanceof Error ? error.message : String(error)}`
}

/** The names of the calls of a trial. */
export const callsOf = ({ calls }: Pick<Trial, "calls">): ReadonlyArray<string> => ["first", "second"].slice(0, calls)

/** Makes both sessions over a connection, calls the handler, and observes it. */
export const observe = Effect.fnUntraced(function*(
  trial: Trial,
  era: Era,
  pair: MemoryTransport.Pair,
  microtasks: "Promises" | "Yields",
  /** The time for notifications that follow the last response, in milliseconds. */
  quietMillis: number
) {
  const journal = ScriptHandler.makeJournal()
  const asked: Array<string> = []
  const logs: Array<string> = []
  const answered = <A>(question: string, answer: A): Effect.Effect<A> =>
    Effect.suspend(() => {
      asked.push(question)
      return Effect.as(Effect.sleep(User.delayOf(question)), answer)
    })
  yield* ServerSession.make({
    "tools/call": ({ arguments: input }) =>
      Effect.map(
        ScriptHandler.make(trial.script, String(input?.["call"]), journal, microtasks),
        (text) => ({ content: [Content.text(text)] })
      )
  }, { info, limits }).pipe(
    Effect.provideService(Transport.Transport, pair.server),
    Effect.provideService(RequestStateSeal.RequestStateSeal, seal),
    Effect.provide(Logger.layer([]))
  )
  const handlers = ClientSession.handlers({
    "elicitation/create": ({ message }) =>
      answered(User.questionText("elicitation/create", message), User.fill(message)),
    "roots/list": () => answered(User.questionText("roots/list", ""), User.roots),
    "notifications/message": ({ data, level }) => Effect.sync(() => void logs.push(`${level} ${String(data)}`))
  })
  const model = ClientSession.handlers({
    "sampling/createMessage": ({ messages: [message] }) => {
      const text = promptOf(message?.content)
      return answered(User.questionText("sampling/createMessage", text), User.complete(text))
    }
  })
  const entries: Array<Recording.Entry> = []
  const recording = Layer.provide(
    Recording.layer((entry) => entries.push(entry)),
    MemoryTransport.layer(pair.client)
  )
  const client = yield* ClientSession.make({
    info,
    limits,
    revisions: [era],
    handlers: trial.hasModel ? { ...handlers, ...model } : handlers
  }).pipe(Effect.provide(recording))
  yield* client.setLogLevel("debug")
  const ends = yield* Effect.forEach(
    callsOf(trial),
    (call) => Effect.map(Effect.exit(client.callTool("script", { call }, { onProgress: () => Effect.void })), endOf),
    { concurrency: "unbounded" }
  )
  yield* Effect.sleep(quietMillis)
  const observation: Omit<Observation, "fibersLeft"> = {
    ends,
    asked,
    progress: callsOf(trial).map((call) => progressOf(entries, call)),
    logs,
    journal
  }
  return observation
}, Effect.scoped)

const isMembers = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === "object" && value !== null

/** Returns the progress that the client received for a call, in all of its rounds. */
const progressOf = (entries: ReadonlyArray<Recording.Entry>, call: string): ReadonlyArray<number> => {
  const tokens = new Set(
    Transcript.messages(entries, "Sent").flatMap((message): ReadonlyArray<unknown> => {
      const { _meta: meta, arguments: input } = "params" in message ? message.params ?? {} : {}
      return isMembers(input) && input["call"] === call && isMembers(meta) ? [meta["progressToken"]] : []
    })
  )
  return Transcript.messages(entries, "Received").flatMap((message) => {
    const { progress, progressToken } = "params" in message ? message.params ?? {} : {}
    return tokens.has(progressToken) && typeof progress === "number" ? [progress] : []
  })
}

/** Returns the text of a message. */
const promptOf = (content: unknown): string => {
  const first: unknown = Array.isArray(content) ? content[0] : content
  return isMembers(first) ? String(first["text"]) : ""
}

/** The longest time of a trial, in milliseconds: less than the timeout in a script. */
const longest = 600_000

/** Observes a trial in virtual time. Throws if it does not end. */
export const observeVirtually = (trial: Trial, era: Era): Observation => {
  const world = new World.World(trial)
  const { runtime } = world
  const fiber = runtime.start(observe(trial, era, world.connect().pair, "Yields", 1_000))
  runtime.advance(longest)
  const exit = fiber.pollUnsafe()
  if (exit === undefined) throw new Error(`in revision ${era}, the calls do not end`)
  if (Exit.isFailure(exit)) throw Cause.squash(exit.cause)
  if (runtime.isResumedFromOutside()) throw new Error(`in revision ${era}, something outside of the runtime acts`)
  return { ...exit.value, fibersLeft: runtime.living() }
}

/** Observes a trial on the clock and the scheduler of the program, in memory. Its sessions must connect. */
export const observeLive = (trial: Trial, era: Era): Effect.Effect<Observation> =>
  Effect.gen(function*() {
    const pair = trial.form === "OneStream"
      ? yield* MemoryTransport.make()
      : yield* MemoryTransport.makeMultiStream({ standalone: true })
    const fibers = FiberCount.make()
    const observed = yield* fibers.count(observe(trial, era, pair, "Promises", 5))
    return { ...observed, fibersLeft: fibers.living() }
  }).pipe(Effect.orDie)
