/** The comparison of arguments of tools with the headers that repeat them, in revision 2026-07-28. */

import { McpError } from "@effect-mcp/protocol"
import { ParameterHeader } from "@effect-mcp/protocol/internal"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import * as Effect from "effect/Effect"

/** Rejects a call whose headers differ from its arguments, because a proxy may have decided by them (SHE-28). */
export const checked = <A, R>(
  headers: ReadonlyArray<ParameterHeader.ParameterHeader>,
  input: unknown,
  call: Effect.Effect<A, McpError.McpError, R>
): Effect.Effect<A, McpError.McpError, R | RequestContext.RequestContext> =>
  headers.length === 0 ? call : Effect.flatMap(RequestContext.RequestContext, ({ parameterHeaders }) => {
    const problem = parameterHeaders === undefined
      ? undefined
      : ParameterHeader.difference(headers, parameterHeaders, input)
    return problem === undefined ? call : Effect.fail(McpError.headerMismatch(problem))
  })
