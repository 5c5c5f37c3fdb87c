/** The scopes that requests need, and the decision whether their senders have them. */

import { ErrorCode, JsonRpc, McpError } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Principal from "../../Principal.ts"

/** Returns all scopes that a request needs; `undefined` or none if it needs none. */
export type ScopesOf = (request: Pick<JsonRpc.Request, "method" | "params">) => ReadonlyArray<string> | undefined

/** The sender of a request. */
export interface Sender {
  readonly principal: Principal.Principal | undefined
  /** Whether the transport authenticates its senders, so that one without a principal is anonymous. */
  readonly authenticates: boolean
}

/** The session, the frame or the server that decides about requests. */
export interface Permitting {
  /** Absent if no request needs a scope. */
  readonly scopesOf: ScopesOf | undefined
  /** Whether the transport authenticates its senders. */
  readonly authenticates: boolean
  /** Receives what `scopesOf` has thrown. */
  scopesFailed(thrown: unknown): void
}

/**
 * Returns whether the sender lacks one of the scopes. Over a transport without authentication, the one client is the
 * owner of the process, and lacks none; a principal has the scopes that are granted to it there, too.
 */
export const lacks = ({ authenticates, principal }: Sender, scopes: ReadonlyArray<string>): boolean =>
  (principal !== undefined || authenticates) && !Principal.hasScopes(principal, scopes)

/** The error of a request that lacks scopes: a plain object, because its sender decides how many occur. */
const insufficient = (scopes: ReadonlyArray<string>): JsonRpc.ErrorObject => {
  const { code, data, message } = McpError.insufficientScope(scopes)
  return { code, message, data }
}

const failed: JsonRpc.ErrorObject = { code: ErrorCode.InternalError, message: McpError.internalError.message }

/** Logs what `scopesOf` has thrown. */
export const log = (thrown: unknown): Effect.Effect<void> =>
  Effect.logError("scopesOf threw, so its request is rejected", thrown)

/** Returns the error of a request that needs these scopes, if its sender lacks one of them. */
const problemOf = (
  { authenticates }: Permitting,
  scopes: ReadonlyArray<string> | undefined,
  principal: Principal.Principal | undefined
): JsonRpc.ErrorObject | undefined =>
  scopes === undefined || !lacks({ principal, authenticates }, scopes) ? undefined : insufficient(scopes)

/** Returns the error of a request that its sender may not send. */
export const ofRequest = (
  server: Permitting,
  request: JsonRpc.Request,
  principal: Principal.Principal | undefined
): JsonRpc.ErrorObject | undefined => {
  const { scopesOf } = server
  if (scopesOf === undefined) return undefined
  try {
    return problemOf(server, scopesOf(request), principal)
  } catch (thrown) {
    // A request whose scopes are not known is not served.
    server.scopesFailed(thrown)
    return failed
  }
}

/** Returns the requests of a message. */
export const requestsIn = (message: JsonRpc.Classified): ReadonlyArray<JsonRpc.Request> => {
  switch (message._tag) {
    case "Request":
      return [message.message]
    case "Batch":
      return JsonRpc.messages(message.frames).filter(JsonRpc.isRequest)
    default:
      return []
  }
}

/** Returns the error of a batch whose sender lacks a scope of it: with the scopes of all its requests (AUT-47). */
const ofBatch = (
  server: Permitting,
  message: JsonRpc.Classified,
  principal: Principal.Principal | undefined
): JsonRpc.ErrorObject | undefined => {
  const { scopesOf } = server
  if (scopesOf === undefined) return undefined
  try {
    const scopes = new Set(requestsIn(message).flatMap((request) => scopesOf(request) ?? []))
    return problemOf(server, [...scopes], principal)
  } catch (thrown) {
    server.scopesFailed(thrown)
    return failed
  }
}

/** Returns the error of a message, which may be a batch, that its sender may not send. */
export const ofMessage = (
  server: Permitting,
  message: JsonRpc.Classified,
  principal: Principal.Principal | undefined
): JsonRpc.ErrorObject | undefined => {
  switch (message._tag) {
    case "Request":
      return ofRequest(server, message.message, principal)
    case "Batch":
      return ofBatch(server, message, principal)
    default:
      return undefined
  }
}
