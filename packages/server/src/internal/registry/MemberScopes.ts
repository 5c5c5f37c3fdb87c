/** The scopes that requests for the members of a registry need, and the requests that lack them. */

import { McpError } from "@effect-mcp/protocol"
import { HandlerScopes } from "@effect-mcp/session/internal"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import * as Effect from "effect/Effect"
import type { RequestServices } from "../../McpMiddleware.ts"
import type { Demand, Entry, Registration, ServerContext } from "./Entry.ts"
import type { Registry } from "./Registry.ts"

type Params = { readonly [name: string]: unknown } | undefined

/** Returns a text among params, which are not checked yet. */
const textIn = (params: Params, name: string): string | undefined => {
  const value = params?.[name]
  return typeof value === "string" ? value : undefined
}

/** The part of a request that its scopes depend on. */
export class MemberScopes {
  readonly #registry: Registry
  readonly #maxSubscriptions: number

  constructor(registry: Registry, maxSubscriptions: number) {
    this.#registry = registry
    this.#maxSubscriptions = maxSubscriptions
  }

  /**
   * Returns a handler that a server asks for its scopes before it serves a request: those of the member that these
   * params name. A member that is hidden from some clients has none here: `MemberScopes.check` decides about it later,
   * because a challenge would reveal it.
   */
  attach<H extends object>(handler: H, scopesOf: (params: Params) => ReadonlyArray<string> | undefined): H {
    return HandlerScopes.attach(handler, (params) => this.#registry.hasDemands ? scopesOf(params) : undefined)
  }

  readonly ofTool = (params: Params): ReadonlyArray<string> | undefined =>
    this.#of(this.#registry.tools.get(textIn(params, "name") ?? ""))

  readonly ofPrompt = (params: Params): ReadonlyArray<string> | undefined =>
    this.#of(this.#registry.prompts.get(textIn(params, "name") ?? ""))

  readonly ofResource = (params: Params): ReadonlyArray<string> | undefined => this.#ofUri(textIn(params, "uri") ?? "")

  readonly ofCompletion = (params: Params): ReadonlyArray<string> | undefined => {
    const ref = params?.["ref"]
    if (typeof ref !== "object" || ref === null) return undefined
    const { prompts, templates } = this.#registry
    if ("name" in ref && typeof ref.name === "string") return this.#of(prompts.get(ref.name))
    return "uri" in ref && typeof ref.uri === "string" ? this.#of(templates.get(ref.uri)) : undefined
  }

  readonly ofListen = (params: Params): ReadonlyArray<string> | undefined => {
    const filter = params?.["notifications"]
    if (typeof filter !== "object" || filter === null || !("resourceSubscriptions" in filter)) return undefined
    const uris: unknown = filter.resourceSubscriptions
    if (!Array.isArray(uris)) return undefined
    const scopes = new Set<string>()
    // As many as a client can subscribe to. Further ones are rejected without a challenge.
    for (const uri of uris.slice(0, this.#maxSubscriptions)) {
      if (typeof uri === "string") { for (const scope of this.#ofUri(uri) ?? []) scopes.add(scope) }
    }
    return scopes.size === 0 ? undefined : [...scopes]
  }

  #of(entry: Entry | undefined): ReadonlyArray<string> | undefined {
    const demand = entry === undefined ? undefined : this.#registry.demandOf(entry)
    return entry === undefined || demand === undefined || !this.#registry.isSeenByAll(entry) ? undefined : demand.scopes
  }

  /** Of several templates that match a URI, the most literal one decides, before its parameters are decoded. */
  #ofUri(uri: string): ReadonlyArray<string> | undefined {
    return this.#of(this.#registry.resources.get(uri) ?? this.#registry.matching(uri)[0]?.entry)
  }

  /** Returns the demand for scopes of a member that the sender of the request does not meet. */
  missing(entry: Entry): Effect.Effect<Demand | undefined, never, RequestContext.RequestContext> {
    const demand = this.#registry.demandOf(entry)
    return demand === undefined
      ? Effect.undefined
      : Effect.map(
        RequestContext.RequestContext,
        (request) => request.lacksScopes(demand.scopes) ? demand : undefined
      )
  }

  /** Returns the demand for scopes of the resources that are in no list of a group, if the sender does not meet it. */
  missingOf({ scopes }: Registration): Effect.Effect<Demand | undefined, never, RequestContext.RequestContext> {
    return scopes === undefined || scopes.scopes.length === 0
      ? Effect.undefined
      : Effect.map(RequestContext.RequestContext, (request) => request.lacksScopes(scopes.scopes) ? scopes : undefined)
  }

  /**
   * Serves a request for a member, if its sender has the scopes. Otherwise it fails: a client that does not see the
   * member gets the error of an unknown one. It runs before the middleware of the group, which may have a kept result.
   */
  check<A>(
    entry: Entry,
    method: string,
    server: ServerContext,
    unknown: () => McpError.McpError,
    served: Effect.Effect<A, McpError.McpError, RequestServices>
  ): Effect.Effect<A, McpError.McpError, RequestServices> {
    const registry = this.#registry
    if (registry.demandOf(entry) === undefined) return served
    return Effect.flatMap(
      this.missing(entry),
      (demand): Effect.Effect<A, McpError.McpError, RequestServices> =>
        demand === undefined
          ? served
          : Effect.flatMap(
            registry.visible([entry], method, server),
            (seen) => Effect.fail(seen.length === 0 ? unknown() : McpError.insufficientScope(demand.scopes))
          )
    )
  }
}
