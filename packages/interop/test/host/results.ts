/** Calls of the official servers' tools, and their results. */
import type { Tool } from "@effect-mcp/protocol"
import { ClientSession, type RequestError } from "@effect-mcp/session"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"

export const textOf = ({ content }: Tool.CallToolResult): string =>
  content.map((block) => block.type === "text" ? block.text : `[${block.type}]`).join()

/** Calls a tool, and returns the text of its result. */
export const callForText = (name: string, input?: { readonly [name: string]: unknown }) =>
  Effect.flatMap(ClientSession.ClientSession, ({ callTool }) => callTool(name, input)).pipe(Effect.map(textOf))

/** Calls a tool, and parses the text of its result as JSON. */
export const callForJson = (name: string, input?: { readonly [name: string]: unknown }) =>
  Effect.map(callForText(name, input), (text): { readonly [name: string]: unknown } => JSON.parse(text))

/** Returns the number of aborted calls that the server has observed. */
export const abortedCalls = Effect.map(callForJson("observations"), ({ aborted }) => Number(aborted))

export const untilAborted = Effect.fnUntraced(function*(times: number) {
  while ((yield* abortedCalls) < times) yield* Effect.sleep("5 millis")
  assert.strictEqual(yield* abortedCalls, times)
})

/** Makes the server send the host a request. Returns the `result`, or the `code` and the `error`. */
export const serverRequest = (method: string, params: object = {}, options: { readonly timeout?: number } = {}) =>
  callForJson("send-request", { method, params, ...options })

/** Makes the server send the host any request, without the checks of its SDK. */
export const rawServerRequest = (method: string, params: object = {}) =>
  callForJson("send-raw-request", { method, params })

/** Returns the error response of a request. */
export const errorResponse = <A, R>(request: Effect.Effect<A, RequestError.RequestError, R>) =>
  Effect.map(Effect.flip(request), ({ message, reason }) => {
    assert(reason._tag === "ErrorResponse", message)
    const { code, data } = reason.error
    return { code, data, message: reason.error.message }
  })
