import { Capabilities, McpError, Sampling } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Handlers } from "../Handlers.ts"
import * as Rules from "./Rules.ts"

/**
 * The handlers of a client with what the specification wants of a client that is asked, and no type can say: questions come by
 * a declared mode (ELI-05), uses of tools match their results (SMP-03, SMP-04), and answers fit the form (ELI-07).
 */
export const make = (
  handlers: Handlers<"server", unknown>,
  declared: () => Capabilities.ClientCapabilities
): Handlers<"server", unknown> => {
  const { "elicitation/create": elicit, "sampling/createMessage": createMessage } = handlers
  return {
    ...handlers,
    ...(elicit === undefined ? undefined : {
      "elicitation/create": (params) =>
        Capabilities.declares(declared(), params.mode === "url" ? "elicitation.url" : "elicitation.form")
          ? Effect.tap(elicit(params), (answer) => {
            const problem = Rules.problemOf("elicitation/create", params, answer)
            return problem === undefined ? Effect.void : Effect.die(new Error(problem))
          })
          : Effect.fail(McpError.invalidParams(`Elicitation by ${params.mode ?? "form"} is not supported`))
    }),
    ...(createMessage === undefined ? undefined : {
      "sampling/createMessage": (params) => {
        const checked = Sampling.checkToolUse(params.messages)
        return Result.isSuccess(checked)
          ? createMessage(params)
          : Effect.fail(McpError.invalidParams(`Invalid params for sampling/createMessage: ${checked.failure}`))
      }
    })
  }
}
