/**
 * The conversation of the demonstration with a server, and the checks of its responses. It is the same over every
 * transport.
 */
import { JsonRpc, type Tool } from "@effect-mcp/protocol"
import { ClientSession, type RequestError, type RequestOptions } from "@effect-mcp/session"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import { check } from "./check.ts"
import { ObservedMessages } from "./client.ts"
import { childProcesses, sockets } from "./leaks.ts"
import type { ServerCalls } from "./serverCalls.ts"
import * as Transcript from "./transcript.ts"

type Call = Tool.CallToolParams

const formatCall = ({ arguments: input = {}, name }: Pick<Call, "arguments" | "name">): string =>
  `${name}(${Object.values(input).map((value) => JSON.stringify(value)).join(", ")})`

const textOf = ({ content }: Tool.CallToolResult): string =>
  content.map((block) => block.type === "text" ? block.text : `[${block.type}]`).join(" ")

const firstLine = (text: string): string => text.split("\n", 1).join()

const firstSentence = (text: string): string => firstLine(text).replace(/\. .*/, ".")

/** The time in which the server receives and logs a cancellation. */
const cancellationDelay = "100 millis"

/** Checks that the client has sent one cancellation, with the id of its call. */
const checkCancellation = Effect.fnUntraced(function*(sent: ReadonlyArray<JsonRpc.Message>) {
  const cancellations = sent.filter(JsonRpc.isNotification).filter(({ method }) => method === "notifications/cancelled")
  cancellations.forEach(Transcript.sent)
  const call = sent.find((message) => "method" in message && message.method === "tools/call")
  const isOfCall = call !== undefined && "id" in call && cancellations[0]?.params?.["requestId"] === call.id
  yield* check(cancellations.length === 1 && isOfCall, "one cancellation was sent, with the id of the call")
})

/** Runs the conversation. Returns the session, so that the caller can inspect it after its Layer is released. */
export const conversation = Effect.fnUntraced(function*(calls: ServerCalls) {
  const { logs, sent } = yield* ObservedMessages
  const session = yield* ClientSession.ClientSession
  const { capabilities, info, revision } = session.profile
  const callTool = (call: Call, options?: RequestOptions.RequestOptions) => {
    Transcript.note(formatCall(call))
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
  yield* check(tools.some(({ name }) => name === calls.sum.name), `${tools.length} tools`)

  Transcript.section("a call")
  const sum = textOf(yield* callTool(calls.sum))
  yield* check(/\b42\b/.test(sum), sum)

  Transcript.section("progress")
  const steps: Array<number> = []
  const result = yield* callTool(calls.tenSteps, {
    onProgress: (step) =>
      Effect.sync(() => {
        steps.push(step.progress)
        Transcript.progress(step)
      })
  })
  yield* check(steps.join() === "1,2,3,4,5,6,7,8,9,10", "all ten steps arrived in order, before the result")
  yield* check(result.isError !== true, textOf(result))

  Transcript.section("a cancellation")
  const sentBeforeCall = sent.length
  const hasProgress = yield* Deferred.make<void>()
  const call = yield* Effect.forkChild(
    callTool(calls.long, {
      onProgress: (step) => {
        Transcript.progress(step)
        return Deferred.succeed(hasProgress, undefined)
      }
    })
  )
  yield* Effect.raceFirst(Deferred.await(hasProgress), Fiber.join(call))
  Transcript.note("interrupted")
  yield* Fiber.interrupt(call)
  yield* Effect.sleep(cancellationDelay)
  yield* checkCancellation(sent.slice(sentBeforeCall))
  yield* session.ping()
  Transcript.passed("the session continues: the server responds to a ping")

  Transcript.section("a timeout of 300 ms")
  const sentBeforeTimeout = sent.length
  const outcome = yield* callTool(calls.long, { timeout: "300 millis" }).pipe(
    Effect.map(textOf),
    Effect.catchReason(
      "RequestError",
      "Timeout",
      ({ afterMillis }) => Effect.succeed(`timed out after ${afterMillis} ms`)
    )
  )
  yield* check(outcome === "timed out after 300 ms", outcome)
  yield* Effect.sleep(cancellationDelay)
  yield* checkCancellation(sent.slice(sentBeforeTimeout))

  Transcript.section("errors")
  const failure = yield* callTool(calls.failing)
  yield* check(failure.isError === true, `a result with isError: ${firstLine(textOf(failure))}`)
  const { rejected } = calls
  Transcript.note(formatCall(rejected.params))
  const request: Effect.Effect<unknown, RequestError.RequestError> = rejected.method === "tools/call"
    ? session.request(rejected.method, rejected.params)
    : session.request(rejected.method, rejected.params)
  const response = yield* Effect.as(request, "a result").pipe(
    Effect.catchReason(
      "RequestError",
      "ErrorResponse",
      ({ error }) => Effect.succeed(`error ${error.code}: ${error.message}`)
    )
  )
  yield* check(response.startsWith("error -32602: "), firstLine(response))

  Transcript.section("a log message")
  yield* callTool(calls.logging)
  const message = yield* Effect.timeoutOption(Queue.take(logs), "5 seconds")
  if (Option.isSome(message)) Transcript.logged(message.value)
  yield* check(Option.isSome(message), "a log message arrived")
  if (calls.stopLogging !== undefined) yield* callTool(calls.stopLogging)

  Transcript.section("the end")
  Transcript.note(`child processes alive ${childProcesses()}, sockets open ${sockets()}`)
  return session
})
