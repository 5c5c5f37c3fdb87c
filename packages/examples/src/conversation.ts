/**
 * The conversation of the demonstration with a server, and the checks of its responses. It knows no transport.
 */
import { JsonRpc, type Tool } from "@effect-mcp/protocol"
import { ClientSession, type RequestError, type RequestOptions } from "@effect-mcp/session"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import { check } from "./check.ts"
import { Witness } from "./client.ts"
import { childProcesses, sockets } from "./leftovers.ts"
import * as Transcript from "./transcript.ts"
import type { Call, Vocabulary } from "./vocabulary.ts"

/** Formats a call for printing. */
const spoken = ({ arguments: input = {}, name }: Pick<Call, "arguments" | "name">): string =>
  `${name}(${Object.values(input).map((value) => JSON.stringify(value)).join(", ")})`

const textOf = ({ content }: Tool.CallToolResult): string =>
  content.map((block) => block.type === "text" ? block.text : `[${block.type}]`).join(" ")

const firstLine = (text: string): string => text.split("\n", 1).join()

const firstSentence = (text: string): string => firstLine(text).replace(/\. .*/, ".")

/** The time in which the server must log a cancellation. */
const aMoment = "100 millis"

/** Checks that the client has sent the cancellation once. */
const serverWasTold = Effect.fnUntraced(function*(meanwhile: ReadonlyArray<JsonRpc.Message>) {
  const told = meanwhile.filter(JsonRpc.isNotification).filter(({ method }) => method === "notifications/cancelled")
  told.forEach(Transcript.sent)
  const call = meanwhile.find((message) => "method" in message && message.method === "tools/call")
  yield* check(
    told.length === 1 && call !== undefined && "id" in call && told[0]?.params?.["requestId"] === call.id,
    "the server was told, once, with the id of the call"
  )
})

/** Runs the conversation. Returns the session, so that the caller can inspect it after its Layer is released. */
export const conversation = Effect.fnUntraced(function*(vocabulary: Vocabulary) {
  const { logs, sent } = yield* Witness
  const session = yield* ClientSession.ClientSession
  const { capabilities, info, revision } = session.profile
  const say = (call: Call, options?: RequestOptions.RequestOptions) => {
    Transcript.note(spoken(call))
    return session.callTool(call.name, call.arguments, options)
  }

  Transcript.note(`revision      ${revision}`)
  Transcript.note(`server        ${info.name} ${info.version}`)
  Transcript.note(`capabilities  ${Object.keys(capabilities).join(", ")}`)
  const state = yield* session.state
  yield* check(state._tag === "Operating", "the session is operating")

  Transcript.section("tools")
  const { tools } = yield* session.listTools()
  for (const { description = "", name } of tools) Transcript.note(`${name.padEnd(32)}${firstSentence(description)}`)
  yield* check(tools.some(({ name }) => name === vocabulary.sum.name), `${tools.length} tools`)

  Transcript.section("a call")
  const sum = textOf(yield* say(vocabulary.sum))
  yield* check(/\b42\b/.test(sum), sum)

  Transcript.section("progress")
  const steps: Array<number> = []
  const answer = yield* say(vocabulary.tenSteps, {
    onProgress: (step) =>
      Effect.sync(() => {
        steps.push(step.progress)
        Transcript.progress(step)
      })
  })
  yield* check(steps.join() === "1,2,3,4,5,6,7,8,9,10", "every step came, in order, before the answer")
  yield* check(answer.isError !== true, textOf(answer))

  Transcript.section("a cancellation")
  const beforeInterruption = sent.length
  const isUnderWay = yield* Deferred.make<void>()
  const call = yield* Effect.forkChild(
    say(vocabulary.long, {
      onProgress: (step) => {
        Transcript.progress(step)
        return Deferred.succeed(isUnderWay, undefined)
      }
    })
  )
  yield* Effect.raceFirst(Deferred.await(isUnderWay), Fiber.join(call))
  Transcript.note("interrupted")
  yield* Fiber.interrupt(call)
  yield* Effect.sleep(aMoment)
  yield* serverWasTold(sent.slice(beforeInterruption))
  yield* session.ping()
  Transcript.passed("the session goes on: a ping is answered")

  Transcript.section("a deadline of 300 ms")
  const beforeDeadline = sent.length
  const late = yield* say(vocabulary.long, { timeout: "300 millis" }).pipe(
    Effect.map(textOf),
    Effect.catchReason(
      "RequestError",
      "Timeout",
      ({ afterMillis }) => Effect.succeed(`gave up after ${afterMillis} ms`)
    )
  )
  yield* check(late === "gave up after 300 ms", late)
  yield* Effect.sleep(aMoment)
  yield* serverWasTold(sent.slice(beforeDeadline))

  Transcript.section("errors")
  const failure = yield* say(vocabulary.failing)
  yield* check(failure.isError === true, `a result that says so: ${firstLine(textOf(failure))}`)
  const { refused } = vocabulary
  Transcript.note(spoken(refused.params))
  const asked: Effect.Effect<unknown, RequestError.RequestError> = refused.method === "tools/call"
    ? session.request(refused.method, refused.params)
    : session.request(refused.method, refused.params)
  const refusal = yield* Effect.as(asked, "a result").pipe(
    Effect.catchReason(
      "RequestError",
      "ErrorResponse",
      ({ error }) => Effect.succeed(`error ${error.code}: ${error.message}`)
    )
  )
  yield* check(refusal.startsWith("error -32602: "), firstLine(refusal))

  Transcript.section("a log message")
  yield* say(vocabulary.logging)
  const message = yield* Effect.timeoutOption(Queue.take(logs), "5 seconds")
  if (Option.isSome(message)) Transcript.logged(message.value)
  yield* check(Option.isSome(message), "it arrived")
  if (vocabulary.quiet !== undefined) yield* say(vocabulary.quiet)

  Transcript.section("the end")
  Transcript.note(`child processes alive ${childProcesses()}, sockets open ${sockets()}`)
  return session
})
