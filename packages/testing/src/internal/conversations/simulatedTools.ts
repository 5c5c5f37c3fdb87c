/** The tools of the simulated server. */

import { Content, McpError, type Tool } from "@effect-mcp/protocol"
import { RequestContext, type ServerSession } from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import { trust } from "../trust.ts"
import type * as Command from "./Command.ts"

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

/** Sends an elicitation to the client's user. The message determines the behaviour of the client. */
const elicit = (behaviour: string, nonce: unknown): Serving =>
  Effect.flatMap(
    RequestContext.RequestContext,
    ({ elicit }) =>
      elicit({ message: behaviour, requestedSchema: form }, { timeout: requestTimeout }).pipe(
        Effect.as(resultFor(nonce)),
        Effect.mapError(({ message }) => McpError.invalidRequest(message))
      )
  )

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
 * Reports progress and logs by the session instead of the request. Each message names its request.
 */
const report = (nonce: unknown, server: Effect.Effect<ServerSession.ServerSessionShape, unknown>): Serving =>
  Effect.gen(function*() {
    const { id: relatedRequestId, meta } = yield* RequestContext.RequestContext
    const session = yield* server
    for (let step = 1; step <= 4 && meta?.progressToken !== undefined; step++) {
      yield* session.progress(meta.progressToken, { progress: step, total: 4 }, { relatedRequestId })
    }
    yield* session.log({ level: "info", data: { of: relatedRequestId } }, { relatedRequestId })
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
  server: Effect.Effect<ServerSession.ServerSessionShape, unknown>
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
      return report(nonce, server)
    case "refuse":
      return Effect.fail(McpError.invalidParams("refused"))
    case "die":
      return Effect.die(new Error("a secret"))
    case "unserializable":
      // A value that JSON cannot represent, and that no type permits.
      return Effect.succeed(trust({ content: [], structuredContent: { much: 10n } }))
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
      return elicit(tool, nonce)
  }
}
