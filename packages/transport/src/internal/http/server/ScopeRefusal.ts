/** The responses to requests whose senders lack scopes: 403, or 401 without credentials (AUT-46; RFC 6750, 3.1). */
import { JsonRpc, McpError } from "@effect-mcp/protocol"
import type { Principal } from "@effect-mcp/session/Principal"
import type * as StatelessServer from "@effect-mcp/session/StatelessServer"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import type { Challenges } from "./Challenges.ts"
import * as HttpResponses from "./HttpResponses.ts"

/** A request, and the principal that sends it. */
export interface Sender {
  readonly request: HttpServerRequest
  readonly principal: Principal | undefined
  /** Whether the principal has no session with the id of the request, as far as the host and its store know. */
  readonly hasNoSession?: boolean | undefined
}

/** The responses of one server. */
export interface ScopeRefusal {
  /** Returns the response with this body to a request of this sender that needs these scopes. */
  readonly response: (body: string, scopes: ReadonlyArray<string>, sender: Sender) => HttpServerResponse
  /** Returns the response to a message whose sender lacks a scope of it. */
  readonly check: (
    server: Pick<StatelessServer.StatelessServer, "permit">,
    message: JsonRpc.Classified,
    sender: Sender
  ) => HttpServerResponse | undefined
}

/** Makes the responses. */
export const make = (challenges: Challenges): ScopeRefusal => {
  const response: ScopeRefusal["response"] = (body, scopes, { principal, request }) =>
    principal === undefined
      ? HttpResponses.json(401, body, challenges({ error: undefined, scopes }, request))
      : HttpResponses.json(403, body, challenges({ error: "insufficient_scope", scopes }, request))
  return {
    response,
    check: (server, message, sender) => {
      const error = server.permit(message, sender.principal)
      if (error === undefined) return undefined
      const id = message._tag === "Request" ? message.message.id : undefined
      const body = JSON.stringify(JsonRpc.failure(id, error))
      const scopes = McpError.missingScopes(error)
      return scopes === undefined ? HttpResponses.json(500, body, {}) : response(body, scopes, sender)
    }
  }
}
