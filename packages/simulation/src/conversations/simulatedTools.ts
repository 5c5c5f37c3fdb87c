/** The tools of the simulated server. */

import { Content, type Elicitation, McpError, type RequestId, type Tool } from "@effect-mcp/protocol"
import { RequestContext, type ServerSession } from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Command from "./Command.ts"
import type { Era } from "./Conversation.ts"

type Serving = Effect.Effect<Tool.CallToolResult, McpError.McpError, RequestContext.RequestContext>

/** Returns a result that names its call. */
export const resultFor = (nonce: unknown): Tool.CallToolResult => ({
  content: [Content.text(JSON.stringify({ nonce }))]
})

/** Returns the number of the call that a result names. */
export const nonceOf = (result: Tool.CallToolResult): unknown => {
  const [first] = result.content
  if (first?.type !== "text") return undefined
  const parsed: unknown = JSON.parse(first.text)
  return typeof parsed === "object" && parsed !== null && "nonce" in parsed ? parsed.nonce : undefined
}

/** The deadline of a handler's request to the client, in milliseconds. */
const requestTimeout = 1000

const form = { type: "object" as const, properties: { answer: { type: "string" as const } } }

/** The program of the server, as far as its tools depend on it. */
export interface Program {
  readonly era: Era
  readonly session: Effect.Effect<ServerSession.ServerSessionShape, unknown>
  /** Runs the step that must not run again, and returns its number. */
  readonly step: (id: RequestId.RequestId, nonce: unknown) => Effect.Effect<number>
}

/** A question to the client's user. */
export interface Question {
  /** The behaviour of the user. */
  readonly behaviour: string
  /** The number of the call that asks. */
  readonly nonce: unknown
  /** The answer of the user. */
  readonly answer: string
}

const answerOf = ({ action, content }: Elicitation.ElicitResult): unknown =>
  action === "accept" ? content?.["answer"] : undefined

/** Asks the client's user. The message determines the behaviour of the client. */
const ask = (message: string): Effect.Effect<unknown, McpError.McpError, RequestContext.RequestContext> =>
  RequestContext.elicit({ message, requestedSchema: form }, { timeout: requestTimeout }).pipe(
    Effect.map(answerOf),
    Effect.mapError(({ message }) => McpError.invalidRequest(message))
  )

/** Asks a question that names its call, and fails unless its answer arrives. */
const askFor = (behaviour: string, nonce: unknown, answer: string) =>
  Effect.flatMap(ask(JSON.stringify({ behaviour, nonce, answer })), (received) =>
    received === answer
      ? Effect.void
      : Effect.die(new Error(`the answer to ${answer} is ${JSON.stringify(received)}`)))

/** Returns the question of a message. */
export const questionIn = (message: string): Question => {
  if (!message.startsWith("{")) return { behaviour: message, nonce: undefined, answer: "yes" }
  const { answer, behaviour, nonce } = Schema.decodeUnknownSync(Question)(JSON.parse(message))
  return { behaviour, nonce, answer }
}

const Question = Schema.Struct({ behaviour: Schema.String, nonce: Schema.Unknown, answer: Schema.String })

/** Sends an elicitation. In a session the message need not name its call. */
const elicit = (behaviour: string, nonce: unknown, era: Era): Serving =>
  Effect.as(era === "Modern" ? askFor(behaviour, nonce, "yes") : ask(behaviour), resultFor(nonce))

/** Asks a second question after the answer to the first. */
const elicitTwice = (nonce: unknown): Serving =>
  Effect.gen(function*() {
    yield* askFor("elicitTwice", nonce, "first")
    yield* askFor("elicitTwice", nonce, "second")
    return resultFor(nonce)
  })

/** Asks two questions at once. */
const elicitBoth = (nonce: unknown): Serving =>
  Effect.as(
    Effect.all([askFor("elicitBoth", nonce, "left"), askFor("elicitBoth", nonce, "right")], {
      concurrency: "unbounded"
    }),
    resultFor(nonce)
  )

/** Runs a step that must not run again, and asks two questions that name its result. */
const elicitOnce = (nonce: unknown, { step }: Program): Serving =>
  Effect.gen(function*() {
    const { id } = yield* RequestContext.RequestContext
    const number = yield* RequestContext.once("number", { success: Schema.Number }, step(id, nonce))
    yield* askFor("elicitOnce", nonce, `first ${number}`)
    yield* askFor("elicitOnce", nonce, `second ${number}`)
    return resultFor(nonce)
  })

/** Reports progress before, between and after its questions. */
const elicitSteps = (nonce: unknown): Serving =>
  Effect.gen(function*() {
    yield* RequestContext.progress({ progress: 1, total: 4 })
    yield* RequestContext.progress({ progress: 2, total: 4 })
    yield* askFor("elicitSteps", nonce, "first")
    yield* RequestContext.progress({ progress: 3, total: 4 })
    yield* askFor("elicitSteps", nonce, "second")
    yield* RequestContext.progress({ progress: 4, total: 4 })
    return resultFor(nonce)
  })

const steps = (nonce: unknown): Serving =>
  Effect.gen(function*() {
    for (let step = 1; step <= 4; step++) {
      yield* RequestContext.progress({ progress: step, total: 4 })
      if (step % 2 === 0) yield* Effect.sleep(5)
    }
    return resultFor(nonce)
  })

/** Takes time, and reports progress. */
const walk = (nonce: unknown): Serving =>
  Effect.gen(function*() {
    for (let step = 1; step <= 8; step++) {
      yield* RequestContext.progress({ progress: step })
      yield* Effect.sleep(10)
    }
    return resultFor(nonce)
  })

/**
 * Reports progress and logs by the session instead of the request, if there is one. Each log message names its request.
 */
const report = (nonce: unknown, { era, session }: Program): Serving =>
  Effect.gen(function*() {
    const { id: relatedRequestId, log, meta, progress } = yield* RequestContext.RequestContext
    const message = { level: "info", data: { of: relatedRequestId } } as const
    if (era === "Modern") {
      for (let step = 1; step <= 4; step++) yield* progress({ progress: step, total: 4 })
      yield* log(message)
      return resultFor(nonce)
    }
    const server = yield* session
    for (let step = 1; step <= 4 && meta?.progressToken !== undefined; step++) {
      yield* server.progress(meta.progressToken, { progress: step, total: 4 }, { relatedRequestId })
    }
    yield* server.log(message, { relatedRequestId })
    return resultFor(nonce)
  }).pipe(Effect.mapError((error) => McpError.invalidRequest(String(error))))

/** Continues after its result. */
const linger = (nonce: unknown): Serving =>
  Effect.gen(function*() {
    const context = yield* RequestContext.RequestContext
    yield* Effect.forkDetach(Effect.andThen(Effect.sleep(5), context.progress({ progress: 1 })))
    return resultFor(nonce)
  })

/** Calls a tool that needs nothing but its request. */
export const call = (
  tool: Exclude<Command.Tool, "throwNull" | "close">,
  nonce: unknown,
  program: Program
): Serving => {
  switch (tool) {
    case "echo":
      return Effect.succeed(resultFor(nonce))
    case "later":
      return Effect.as(Effect.sleep(20), resultFor(nonce))
    case "never":
      return Effect.never
    case "steps":
      return steps(nonce)
    case "walk":
      return walk(nonce)
    case "report":
      return report(nonce, program)
    case "refuse":
      return Effect.fail(McpError.invalidParams("refused"))
    case "die":
      return Effect.die(new Error("a secret"))
    case "unserializable":
      // A value that JSON cannot represent.
      return Effect.succeed({ content: [], structuredContent: { much: 10n } })
    case "stubborn":
      return Effect.as(Effect.uninterruptible(Effect.sleep(30)), resultFor(nonce))
    case "linger":
      return linger(nonce)
    case "ping":
      return Effect.flatMap(
        RequestContext.RequestContext,
        ({ request }) =>
          request("ping", {}, { timeout: requestTimeout }).pipe(
            Effect.as(resultFor(nonce)),
            Effect.mapError(({ message }) => McpError.invalidRequest(message))
          )
      )
    case "elicit":
    case "elicitNested":
    case "elicitDie":
    case "elicitNever":
    case "elicitClose":
      return elicit(tool, nonce, program.era)
    case "elicitTwice":
      return elicitTwice(nonce)
    case "elicitBoth":
      return elicitBoth(nonce)
    case "elicitOnce":
      return elicitOnce(nonce, program)
    case "elicitSteps":
      return elicitSteps(nonce)
  }
}
