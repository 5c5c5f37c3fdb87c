/** The services of a Layer, with those of the request that is served. */

import * as Context from "effect/Context"
import { trust } from "./trust.ts"

type Services = ReadonlyMap<string, unknown>

const none: Services = new Map()

/** The services that handlers of a group have in all requests, in the context of a request. */
const OfGroup: Context.Reference<Services> = Context.Reference("@effect-mcp/server/LayerServices/OfGroup", {
  defaultValue: () => none
})

/** A service of a Layer that differs from that of the program around it. */
interface Override {
  readonly key: Context.Key<unknown, unknown>
  readonly service: unknown
  /** The service of the program under the same key; `undefined` if it has none. */
  readonly before: unknown
}

const overrides = (layer: Services, base: Services): ReadonlyArray<Override> =>
  [...layer]
    .filter(([key, service]) => base.get(key) !== service)
    // Lookups use the text of a key only.
    .map(([key, service]) => ({ key: trust<Context.Key<unknown, unknown>>({ key }), service, before: base.get(key) }))

/** Returns the services of a request, except for those that a Layer has in place of the program around it. */
const apply = (all: ReadonlyArray<Override>, request: Context.Context<never>): Context.Context<never> => {
  // Adding some services costs less than copying all of them, which took a third of the time of the application level.
  let services = request
  for (const { before, key, service } of all) {
    if (Context.getOrUndefined(request, key) === before) services = Context.addUnsafe(services, key.key, service)
  }
  return services
}

/**
 * Returns a function that takes the services of a request, and returns those of a group's Layer with those that the
 * request has of its own: the ones that differ from those of the server. A plain merge would replace a service of the
 * Layer by the one that the server program has under the same key.
 */
export const ofGroup = (
  layer: Context.Context<never>,
  server: Context.Context<never>
): (request: Context.Context<never>) => Context.Context<never> => {
  const all = overrides(layer.mapUnsafe, server.mapUnsafe)
  const group = Context.merge(server, layer).mapUnsafe
  return (request) => Context.add(apply(all, request), OfGroup, group)
}

/**
 * Returns a function that takes the services of a request inside of a group, and returns those of a Layer, such as that
 * of a middleware, with those that the request has of its own, or that an outer middleware provides. A plain merge
 * would replace a service of this Layer by the one of the group.
 */
export const insideGroup = (
  layer: Context.Context<never>
): (request: Context.Context<never>) => Context.Context<never> => {
  // A Layer is mostly used by one group.
  let last: { readonly group: Services; readonly all: ReadonlyArray<Override> } | undefined
  return (request) => {
    const group = Context.get(request, OfGroup)
    if (last?.group !== group) last = { group, all: overrides(layer.mapUnsafe, group) }
    return apply(last.all, request)
  }
}
