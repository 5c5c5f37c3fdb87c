/**
 * Scopes of groups of every kind: also of those that are made from a folder, an `HttpApi`, a toolkit or another server.
 *
 * @stability unstable
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Demands from "./internal/registry/Demands.ts"
import type { ScopeOptions } from "./McpGroup.ts"
import { McpServer } from "./McpServer.ts"

/**
 * Adds scopes to all members of the groups of a Layer, beside those that they need already. A request without them is
 * rejected before middleware and handlers: with 403 and a challenge over HTTP (AUT-46), or else with the error −31012
 * `InsufficientScope`. Resources that are in no list need them, too. Two Layers of one constant are built apart.
 *
 * @example
 * ```ts
 * import * as McpDirectory from "@effect-mcp/server/McpDirectory"
 * import * as McpScopes from "@effect-mcp/server/McpScopes"
 *
 * const Files = McpDirectory.layer("files", { roots: { public: "/srv/public" } })
 *
 * export const groups = McpScopes.layer(["files:read"], Files)
 * ```
 *
 * @category layers
 */
export const layer = <A, E, R>(
  scopes: ReadonlyArray<string>,
  groups: Layer.Layer<A, E, R>,
  options: ScopeOptions = {}
): Layer.Layer<A, E, Exclude<R, McpServer> | McpServer> => {
  const demand = { scopes, isHiding: options.hidden === true }
  const demanding = Layer.effect(
    McpServer,
    Effect.map(McpServer, (server) => ({
      mount: server.mount,
      register: (registration) =>
        server.register({ ...registration, scopes: Demands.joined(demand, registration.scopes ?? Demands.none) }),
      resourceUpdated: server.resourceUpdated,
      listChanged: server.listChanged,
      visibilityChanged: server.visibilityChanged,
      needsSessions: server.needsSessions
    }))
  )
  return Layer.fresh(Layer.provide(groups, demanding))
}
