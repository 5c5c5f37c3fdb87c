/** The sender of a request, as the key of what belongs to one client. */

import type { RequestContext } from "@effect-mcp/session"

type Request = RequestContext.RequestContext["Service"]

const sessions = new WeakMap<object, number>()
// Processes can share the store of a rate limit. Without this, their sessions with the same number would be one caller.
let processId: string | undefined
let lastSession = 0

/** Returns a number for the session that no other session of this process has. Ids of sessions are secrets. */
const numberOf = (session: object): number => {
  const known = sessions.get(session)
  if (known !== undefined) return known
  lastSession++
  sessions.set(session, lastSession)
  return lastSession
}

/** Returns the key of the principal, or else that of the session. Anonymous clients without sessions share one. */
export const keyOf = ({ principal, session }: Request): string => {
  if (principal !== undefined) return `principal ${principal.id}`
  return session === undefined ? "anonymous" : `session ${processId ??= crypto.randomUUID()} ${numberOf(session)}`
}
