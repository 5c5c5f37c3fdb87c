import { JsonRpc, type MethodTable, Revision } from "@effect-mcp/protocol"
import type { ClientSession, RequestError } from "@effect-mcp/session"
import type { RawPeer } from "@effect-mcp/testing"
import { Hostile, Mutation, NearlyValid, RequestIds, ValidMessages } from "@effect-mcp/testing/arbitrary"
import { describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { slow } from "./support/everything.ts"
import { frames, isUnpolluted, settled, unpaid } from "./support/frames.ts"
import { hold, holds } from "./support/properties.ts"
import { answer, askedRaw, servedRaw } from "./support/session.ts"

/** Sends all frames, and returns the replies. */
const sendAll = (raw: RawPeer.RawPeer, frames: ReadonlyArray<unknown>) =>
  Effect.gen(function*() {
    for (const frame of frames) yield* raw.sendFrame(frame)
    yield* settled
    return yield* raw.pending
  })

/** Returns whether the server still serves requests. */
const serves = (raw: RawPeer.RawPeer) =>
  Effect.gen(function*() {
    yield* raw.sendFrame(JsonRpc.request("ping after all", "ping", undefined))
    yield* raw.sendFrame(JsonRpc.request("call after all", "tools/call", { name: "still here" }))
    yield* settled
    const answers = yield* raw.pending
    const pong = JSON.stringify(JsonRpc.success("ping after all", {}))
    if (JSON.stringify(answers[0]) !== pong) return "a ping is not answered any more"
    const [, result] = answers
    return result !== undefined && "result" in result && result.id === "call after all" &&
        JSON.stringify(result.result).includes("still here")
      ? undefined
      : "a call is not answered any more"
  })

describe.each(Revision.legacy)("a server in %s", (revision) => {
  it.effect("[MSG-03] [MSG-07] [MSG-12] [MSG-15] [MSG-17] a hostile client gets one reply to each request", () =>
    holds(frames("client", revision), (sent) =>
      Effect.gen(function*() {
        const raw = yield* servedRaw(revision)
        const answers = yield* sendAll(raw, sent)
        yield* hold(unpaid(sent, answers, "server", revision))
        yield* hold(isUnpolluted() ? undefined : "Object.prototype is polluted")
        return yield* hold(yield* serves(raw))
      }).pipe(Effect.scoped), 100))

  it.effect("[MSG-01] [MSG-04] nearly valid messages are rejected or tolerated as required", () =>
    holds(
      NearlyValid.rejected("client", revision),
      ({ message, mutation, rejection, valid }) =>
        Effect.gen(function*() {
          const raw = yield* servedRaw(revision)
          const answers = yield* sendAll(raw, [message])
          yield* hold(unpaid([message], answers, "server", revision))
          const [answer] = answers
          // A message gets one reply, whatever its id.
          const code = answer !== undefined && "error" in answer ? answer.error.code : undefined
          const isRequest = JsonRpc.classify(message)._tag === "Request"
          // The server has no tasks, and the handshake is done.
          const initialize = "method" in valid && valid.method === "initialize" && rejection === "InvalidParams"
          const tasks = "method" in valid && valid.method.startsWith("tasks/")
          const expected = rejection === "Malformed" || initialize
            ? -32600
            : rejection === "UnknownMethod" || tasks
            ? -32601
            : -32602
          if (rejection === "Malformed" ? answer !== undefined && code !== expected : isRequest && code !== expected) {
            return yield* hold(`${Mutation.describe(mutation)}: ${code} instead of ${expected}`)
          }
          return yield* hold(yield* serves(raw))
        }).pipe(Effect.scoped),
      150
    ))

  it.effect("tolerates unknown members, newer members and params that are null", () =>
    holds(NearlyValid.tolerated("client", revision), ({ message, mutation, valid }) =>
      Effect.gen(function*() {
        const [expected] = yield* sendAll(yield* servedRaw(revision), [valid])
        const [accepted] = yield* sendAll(yield* servedRaw(revision), [message])
        const [was, is] = [expected, accepted].map((answer) =>
          answer === undefined ? "nothing" : Object.keys(answer).join()
        )
        return yield* hold(was === is ? undefined : `${Mutation.describe(mutation)}: ${is} instead of ${was}`)
      }).pipe(Effect.scoped), 100))

  it.effect("[MSG-03] [MSG-07] answers each of several calls once, also those with an id in flight", () =>
    holds(Arbitrary.array(RequestIds.requestId, { maxLength: 8 }), (ids) =>
      Effect.gen(function*() {
        const raw = yield* servedRaw(revision)
        const calls = [...ids, ...ids.slice(0, 3)].map((id) => JsonRpc.request(id, "tools/call", { name: slow }))
        const refused = yield* sendAll(raw, calls)
        yield* TestClock.adjust("1 second")
        yield* settled
        const served = yield* raw.pending
        yield* hold(served.length === new Set(ids).size ? undefined : `${served.length} are served`)
        return yield* hold(unpaid(calls, [...refused, ...served], "server", revision))
      }).pipe(Effect.scoped), 50))

  it.effect("answers every valid request, and rejects tasks and a second handshake", () =>
    holds(ValidMessages.requestFrom("client", revision), (request) =>
      Effect.gen(function*() {
        const [answer] = yield* sendAll(yield* servedRaw(revision), [request])
        const refused = request.method === "initialize" || request.method.startsWith("tasks/")
        return yield* hold(
          answer !== undefined && "id" in answer && answer.id === request.id && ("error" in answer) === refused
            ? undefined
            : JSON.stringify(answer)
        )
      }).pipe(Effect.scoped), 100))
})

/** Requests of a client to a server that declares all capabilities. */
const asks: ReadonlyArray<{
  readonly method: MethodTable.RequestName<"client">
  readonly ask: (session: ClientSession.ClientSessionShape) => Effect.Effect<unknown, RequestError.RequestError>
}> = [
  { method: "tools/call", ask: (session) => session.callTool("echo") },
  { method: "tools/list", ask: (session) => session.request("tools/list", {}) },
  { method: "resources/read", ask: (session) => session.request("resources/read", { uri: "a:b" }) },
  { method: "prompts/get", ask: (session) => session.request("prompts/get", { name: "a" }) }
]

describe.each(Revision.legacy)("a client in %s", (revision) => {
  it.effect("[MSG-03] [MSG-07] [MSG-12] [MSG-15] [MSG-17] a hostile server gets one reply to each request", () =>
    holds(frames("server", revision), (sent) =>
      Effect.gen(function*() {
        const { raw, session } = yield* askedRaw(revision)
        const answers = yield* sendAll(raw, sent)
        yield* hold(unpaid(sent, answers, "client", revision))
        yield* hold(isUnpolluted() ? undefined : "Object.prototype is polluted")
        const ping = yield* Effect.forkChild(session.ping(), { startImmediately: true })
        yield* answer(raw, {})
        yield* Fiber.join(ping)
        const call = yield* Effect.forkChild(session.callTool("echo"), { startImmediately: true })
        yield* answer(raw, { content: [], isError: false })
        const result = yield* Fiber.join(call)
        return yield* hold(result.isError === false ? undefined : "a call is not answered any more")
      }).pipe(Effect.scoped), 100))

  it.effect.each(asks)(
    "an invalid result of $method is rejected, and harmless changes are tolerated",
    ({ ask, method }) =>
      holds(
        Arbitrary.all([NearlyValid.rejectedResult(method, revision), NearlyValid.toleratedResult(method, revision)]),
        ([refused, tolerated]) =>
          Effect.gen(function*() {
            const { raw, session } = yield* askedRaw(revision)
            const outcome = Effect.fnUntraced(function*(message: unknown) {
              const asking = yield* Effect.forkChild(Effect.exit(ask(session)), { startImmediately: true })
              yield* answer(raw, Object(message).result)
              return yield* Fiber.join(asking)
            })
            const invalid = yield* outcome(refused.message)
            yield* hold(invalid._tag === "Failure" ? undefined : `taken, though ${Mutation.describe(refused.mutation)}`)
            const accepted = yield* outcome(tolerated.message)
            return yield* hold(
              accepted._tag === "Success" ? undefined : `not tolerated: ${Mutation.describe(tolerated.mutation)}`
            )
          }).pipe(Effect.scoped),
        60
      )
  )
})

it.effect("at most ten unreadable messages a second get an error reply", () =>
  holds(Arbitrary.array(Hostile.value, { minLength: 11, maxLength: 15 }), (values) =>
    Effect.gen(function*() {
      const raw = yield* servedRaw("2025-11-25")
      const answerable = values.filter((value) => {
        const classified = JsonRpc.classify(value)
        return classified._tag === "Batch" || classified._tag === "Malformed" && classified.malformed.answerable
      }).length
      for (const _ of [1, 2, 3]) {
        const answers = yield* sendAll(raw, values)
        if (answers.length !== Math.min(10, answerable)) return yield* hold(`${answers.length} of ${answerable}`)
        yield* TestClock.adjust("1 second")
      }
      return yield* hold(yield* serves(raw))
    }).pipe(Effect.scoped), 50))
