/** What the answers of the official servers hold. */
import type { Tool } from "@effect-mcp/protocol"
import { ClientSession, type RequestError } from "@effect-mcp/session"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"

export const words = ({ content }: Tool.CallToolResult): string =>
  content.map((block) => block.type === "text" ? block.text : `[${block.type}]`).join()

/** Calls a tool that answers with words. */
export const said = (name: string, input?: { readonly [name: string]: unknown }) =>
  Effect.flatMap(ClientSession.ClientSession, ({ callTool }) => callTool(name, input)).pipe(Effect.map(words))

/** Calls a tool that answers with JSON. */
export const told = (name: string, input?: { readonly [name: string]: unknown }) =>
  Effect.map(said(name, input), (text): { readonly [name: string]: unknown } => JSON.parse(text))

/** How many calls the server has seen given up. */
export const aborted = Effect.map(told("seen"), ({ aborted }) => Number(aborted))

export const untilAborted = Effect.fnUntraced(function*(times: number) {
  while ((yield* aborted) < times) yield* Effect.sleep("5 millis")
  assert.strictEqual(yield* aborted, times)
})

/** Has the server ask the host something, and says what came of it: its `answer`, or what was `thrown`. */
export const asked = (method: string, params: object = {}, more: { readonly timeout?: number } = {}) =>
  told("ask", { method, params, ...more })

/** Has the server send the host any request. */
export const requested = (method: string, params: object = {}) => told("request", { method, params })

/** The error that the server answered with. */
export const refusal = <A, R>(request: Effect.Effect<A, RequestError.RequestError, R>) =>
  Effect.map(Effect.flip(request), ({ message, reason }) => {
    assert(reason._tag === "ErrorResponse", message)
    const { code, data } = reason.error
    return { code, data, message: reason.error.message }
  })
