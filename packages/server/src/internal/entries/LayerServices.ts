/** The services of a Layer, with those of the request that is served. */

import * as Context from "effect/Context"

type Services = ReadonlyMap<string, unknown>

const none: Services = new Map()

/** The services that handlers of a group have in all requests, in the context of a request. */
const OfGroup: Context.Reference<Services> = Context.Reference("@effect-mcp/server/LayerServices/OfGroup", {
  defaultValue: () => none
})

/** Returns the services of a request, with those of a Layer in place of those that are in `base` as well. */
const over = (layer: Services, base: Services, request: Context.Context<never>): Map<string, unknown> => {
  const given = request.mapUnsafe
  const services = new Map(given)
  for (const [key, service] of layer) if (given.get(key) === base.get(key)) services.set(key, service)
  return services
}

/**
 * Returns the services of a group's Layer with those that the request has of its own: the ones that differ from those
 * of the server. A plain merge would replace a service of the Layer by the one that the server program has under the
 * same key.
 */
export const ofGroup = (
  layer: Services,
  server: Context.Context<never>,
  request: Context.Context<never>
): Context.Context<never> => Context.makeUnsafe(over(layer, server.mapUnsafe, request).set(OfGroup.key, layer))

/**
 * Returns the services of a Layer inside of a group, such as that of a middleware, with those that the request has of
 * its own, or that an outer middleware provides. A plain merge would replace a service of this Layer by the one of the
 * group.
 */
export const insideGroup = (
  layer: Context.Context<never>,
  request: Context.Context<never>
): Context.Context<never> => Context.makeUnsafe(over(layer.mapUnsafe, Context.get(request, OfGroup), request))
