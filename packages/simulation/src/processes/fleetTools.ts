/** The server of a fleet: its tools, and the resource that they change. */
import { Content, McpError, type Tool } from "@effect-mcp/protocol"
import { RequestContext, ServerSession } from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"

/** The resource that `touch` changes. */
export const resource = "memory://touched"

/** The time that a question waits for its answer, in milliseconds. */
export const questionMillis = 20_000

const form = { type: "object" as const, properties: { answer: { type: "string" as const } } }

type Session = NonNullable<RequestContext.RequestContext["Service"]["session"]>

/** The record of a process about its handlers. */
export interface Observer {
  readonly started: (nonce: number) => void
  readonly ended: (nonce: number, exit: Exit.Exit<unknown, unknown>) => void
  /** The step of a call that happens once has run. */
  readonly charged: (nonce: number) => void
  /** The handler of a call has the result of the step. */
  readonly settled: (nonce: number) => void
}

const textResult = (text: string): Tool.CallToolResult => ({ content: [Content.text(text)] })

/** Returns the answer of the user. */
const ask = (nonce: number, options?: RequestContext.QuestionOptions) =>
  Effect.map(
    RequestContext.elicit({ message: `question of ${nonce}`, requestedSchema: form }, options),
    ({ content }) => String(content?.["answer"])
  )

/** Charges once, and asks a question for as long as it takes. A process that takes the session over goes on with it. */
const book = (nonce: number, { charged, settled }: Observer) =>
  Effect.gen(function*() {
    yield* RequestContext.progress({ progress: 1 })
    yield* RequestContext.once(
      "charge",
      { success: Schema.Number },
      Effect.sync(() => {
        charged(nonce)
        return nonce
      })
    )
    settled(nonce)
    yield* RequestContext.progress({ progress: 2 })
    const answer = yield* ask(nonce)
    yield* RequestContext.progress({ progress: 3 })
    return answer
  })

/** Reports progress eight times in 2.4 s. */
const slow = Effect.gen(function*() {
  for (let progress = 1; progress <= 8; progress++) {
    yield* Effect.sleep(300)
    yield* RequestContext.progress({ progress, total: 8 })
  }
})

/** Makes the handlers of a process. It keeps the subscriptions of a session as long as its live copy exists. */
export const make = (observer: Observer) => {
  const subscriptions = new WeakMap<Session, Set<string>>()
  const subscriptionsOf = (session: Session | undefined): Set<string> => {
    if (session === undefined) return new Set()
    const known = subscriptions.get(session) ?? new Set()
    subscriptions.set(session, known)
    return known
  }
  const touch = (nonce: number) =>
    Effect.gen(function*() {
      const { session } = yield* RequestContext.RequestContext
      yield* RequestContext.log({ level: "info", data: `touched by ${nonce}` })
      if (subscriptionsOf(session).has(resource)) {
        yield* RequestContext.notify("notifications/resources/updated", { uri: `${resource}/${nonce}` })
      }
    })
  const run = (name: string, nonce: number) => {
    switch (name) {
      case "slow":
        return Effect.as(slow, "done")
      case "ask":
        return ask(nonce, { timeout: questionMillis })
      case "book":
        return book(nonce, observer)
      case "touch":
        return Effect.as(touch(nonce), "done")
      case "wait":
        return Effect.as(Effect.sleep(600), "done")
      default:
        return Effect.succeed("done")
    }
  }
  return ServerSession.handlers({
    "tools/call": ({ arguments: values, name }) => {
      const nonce = Number(values?.["nonce"])
      return Effect.suspend(() => {
        observer.started(nonce)
        return run(name, nonce)
      }).pipe(
        Effect.onExit((exit) => Effect.sync(() => observer.ended(nonce, exit))),
        Effect.map(textResult),
        Effect.mapError(({ message }) => McpError.invalidRequest(message))
      )
    },
    "resources/subscribe": ({ uri }) =>
      Effect.map(RequestContext.RequestContext, ({ session }) => {
        subscriptionsOf(session).add(uri)
        return {}
      }),
    "resources/unsubscribe": ({ uri }) =>
      Effect.map(RequestContext.RequestContext, ({ session }) => {
        subscriptionsOf(session).delete(uri)
        return {}
      })
  })
}
