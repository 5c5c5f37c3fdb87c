/** The handlers that a program gives to the members of a group, erased: the types of `McpGroup.Handlers` check them. */

import type { McpError } from "@effect-mcp/protocol"
import type * as Effect from "effect/Effect"
import type { Kind } from "../registry/Entry.ts"

/** A function of the program that serves a member, or the effect that reads a resource. */
export type AnyHandler =
  | Effect.Effect<unknown, unknown, unknown>
  | ((...input: never) => Effect.Effect<unknown, unknown, unknown>)

/** A completer of the program. */
export type AnyCompleter = (
  typed: string,
  others: { readonly [argument: string]: string }
) => Effect.Effect<unknown, McpError.McpError, unknown>

/** The options of a handler. */
export interface AnyOptions {
  readonly visible?: Effect.Effect<boolean, never, unknown>
  readonly complete?: { readonly [argument: string]: AnyCompleter }
  readonly list?: Effect.Effect<ReadonlyArray<unknown>, McpError.McpError, unknown>
  readonly subscribable?: (parameters: never, uri: string) => Effect.Effect<boolean, McpError.McpError, unknown>
}

/** A handler with its member and its options. */
export interface Handled extends AnyOptions {
  readonly kind: Kind
  readonly name: string
  readonly handler: AnyHandler
}

/** The handlers so far. Each method returns a new record, so that a prefix of a chain can be used twice. */
class HandlerRecord {
  readonly handled: ReadonlyArray<Handled>

  constructor(handled: ReadonlyArray<Handled>) {
    this.handled = handled
  }

  tool(name: string, handler: AnyHandler, options?: AnyOptions): HandlerRecord {
    return this.#with({ ...options, kind: "tool", name, handler })
  }

  resource(name: string, handler: AnyHandler, options?: AnyOptions): HandlerRecord {
    return this.#with({ ...options, kind: "resource", name, handler })
  }

  template(name: string, handler: AnyHandler, options?: AnyOptions): HandlerRecord {
    return this.#with({ ...options, kind: "template", name, handler })
  }

  prompt(name: string, handler: AnyHandler, options?: AnyOptions): HandlerRecord {
    return this.#with({ ...options, kind: "prompt", name, handler })
  }

  #with(handled: Handled): HandlerRecord {
    return new HandlerRecord([...this.handled, handled])
  }
}

/** The record without handlers, which the program adds its own to. */
export const empty: unknown = new HandlerRecord([])

/** Returns the handlers that a program has returned. */
export const handlersIn = (returned: unknown): ReadonlyArray<Handled> => {
  if (returned instanceof HandlerRecord) return returned.handled
  throw new TypeError("the function given to toLayer returned no handlers: return what the last method returned")
}
