/** The approval of a tool call by the user, for tools with `needsApproval`. */

import { Excerpt } from "@effect-mcp/protocol/internal"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import type * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"

/** The longest form of the arguments that the user is shown, in characters. */
const shownLength = 1_000

const isNeeded = (tool: Tool.Any, params: unknown, toolCallId: string): Effect.Effect<boolean, unknown, unknown> => {
  const { needsApproval } = tool
  if (typeof needsApproval !== "function") return Effect.succeed(needsApproval === true)
  // The conversation of the model stays with the client, so there are no messages here.
  const needed = needsApproval(params, { toolCallId, messages: [] })
  return typeof needed === "boolean" ? Effect.succeed(needed) : needed
}

/**
 * Returns why the tool may not run, or `undefined` if it may. A tool that needs approval runs only if the user has
 * accepted: a client that cannot elicit input has refused. Fails if the session ends before the user has answered. Of
 * the users of Effect's own tools, only `LanguageModel` evaluates `needsApproval`.
 */
export const refusal = Effect.fnUntraced(function*(
  tool: Tool.Any,
  params: unknown,
  input: unknown
): Effect.fn.Return<string | undefined, unknown, unknown> {
  if (tool.needsApproval === undefined || tool.needsApproval === false) return undefined
  const request = yield* RequestContext.RequestContext
  if (!(yield* isNeeded(tool, params, String(request.id)))) return undefined
  const shown = Excerpt.of(JSON.stringify(input), shownLength)
  return yield* Effect.matchEffect(
    RequestContext.elicit({
      message: `Allow the tool "${tool.name}" to run with ${shown}?`,
      requestedSchema: { type: "object", properties: {} }
    }),
    {
      onSuccess: ({ action }) =>
        Effect.succeed(
          action === "accept" ? undefined : `The user did not approve the call of the tool "${tool.name}".`
        ),
      onFailure: (error) =>
        error.reason._tag === "Closed" ? Effect.fail(error) : Effect.succeed(
          `The tool "${tool.name}" needs the approval of the user, who could not be asked: ${error.message}`
        )
    }
  )
})
