import { RequestContext } from "@effect-mcp/session"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { text } from "./sessions.ts"

/** Makes a tool that passes its context out of the handler, for use after its request has ended. */
export const leak = () => {
  const leaked = Deferred.makeUnsafe<RequestContext.RequestContext["Service"]>()
  const effect = Effect.map(RequestContext.RequestContext, (context) => {
    Deferred.doneUnsafe(leaked, Exit.succeed(context))
    return text("leaked")
  })
  return { leaked: Deferred.await(leaked), effect }
}
