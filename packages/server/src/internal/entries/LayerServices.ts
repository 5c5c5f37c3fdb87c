/** The services of a Layer, with those of the request that is served. */

import * as Context from "effect/Context"

type Services = ReadonlyMap<string, unknown>

const none: Services = new Map()

/** The services that handlers of a group have in all requests, in the context of a request. */
const OfGroup: Context.Reference<Services> = Context.Reference("@effect-mcp/server/LayerServices/OfGroup", {
  defaultValue: () => none
})

const over = (layer: Services, base: Services, request: Context.Context<never>): Map<string, unknown> => {
  const services = new Map(layer)
  for (const [key, service] of request.mapUnsafe) if (base.get(key) !== service) services.set(key, service)
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
 * Returns the services of a middleware's Layer with those that the request has of its own, or that an outer middleware
 * provides. A plain merge would replace a service of this Layer by the one of the group that the middleware is for.
 */
export const ofMiddleware = (
  layer: Context.Context<never>,
  request: Context.Context<never>
): Context.Context<never> => Context.makeUnsafe(over(layer.mapUnsafe, Context.get(request, OfGroup), request))
