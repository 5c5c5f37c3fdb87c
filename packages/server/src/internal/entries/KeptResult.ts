/** The result of an earlier request, which takes the place of the handler of a member that decides who sees it. */

import * as Context from "effect/Context"
import type { HandlerResult } from "../../McpMiddleware.ts"

/** The result; `undefined` if the handler runs. The member returns it to the clients that see the member. */
export const KeptResult = Context.Reference<HandlerResult | undefined>("@effect-mcp/server/KeptResult", {
  defaultValue: () => undefined
})
