/**
 * The roots of each client: the directories and files that this server may use.
 */
import type { Root } from "@effect-mcp/protocol/Roots"
import * as SessionState from "@effect-mcp/server/SessionState"
import { NotificationContext } from "@effect-mcp/session/NotificationContext"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"

/** The last response of each client to `roots/list`. */
const responses = SessionState.make("roots", (): ReadonlyArray<Root> | undefined => undefined)

/** Returns the roots of the client that has sent the current request. Requests them if they are not known yet. */
export const ofClient = Effect.gen(function*() {
  const known = yield* responses.get
  if (known !== undefined) return known
  const { roots } = yield* RequestContext.listRoots()
  yield* responses.set(roots)
  return roots
}).pipe(Effect.catchTag("NoSessionError", () => Effect.map(RequestContext.listRoots(), ({ roots }) => roots)))

export const handlers = {
  /** Requests the roots of a client again when they have changed (ROOT-02). */
  "notifications/roots/list_changed": Effect.fnUntraced(function*() {
    const { session } = yield* NotificationContext
    if (session === undefined) return
    const { roots } = yield* session.listRoots({ timeout: "5 seconds" })
    yield* Ref.set(yield* responses.of(session), roots)
    yield* session.log({ level: "info", logger: "roots", data: `number of roots: ${roots.length}` })
  }, Effect.catchTag("RequestError", ({ message }) => Effect.logWarning(`the roots are unknown: ${message}`)))
}
