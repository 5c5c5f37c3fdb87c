/** The scopes that the requests of a handler need, attached to the handler itself. */

import type { JsonRpc } from "@effect-mcp/protocol"
import type * as Handlers from "../../Handlers.ts"
import type { ScopesOf } from "./Permission.ts"

/** Returns all scopes that a request with these params needs. */
export type ScopesOfParams = (params: JsonRpc.Params | undefined) => ReadonlyArray<string> | undefined

const attached = new WeakMap<object, ScopesOfParams>()

/**
 * Returns a handler, with its scopes. A record of handlers is copied and joined with others before a server has it, and
 * the handlers stay the same.
 */
export const attach = <H extends object>(handler: H, scopesOf: ScopesOfParams): H => {
  attached.set(handler, scopesOf)
  return handler
}

/** Returns the scopes of the requests that these handlers serve; `undefined` if none of them has scopes attached. */
export const of = (handlers: Handlers.Handlers<"client", unknown>): ScopesOf | undefined => {
  const byMethod = new Map(
    Object.entries(handlers).flatMap(([method, handler]: [string, unknown]) => {
      const scopesOf = typeof handler === "function" ? attached.get(handler) : undefined
      return scopesOf === undefined ? [] : [[method, scopesOf] as const]
    })
  )
  return byMethod.size === 0 ? undefined : ({ method, params }) => byMethod.get(method)?.(params)
}
