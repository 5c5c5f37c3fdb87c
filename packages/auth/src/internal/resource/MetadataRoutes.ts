/** The routes of the metadata of protected resources (RFC 9728, section 3). */
import type * as HttpRouter from "effect/http/HttpRouter"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type { Find, ProtectedResource } from "./ProtectedResources.ts"
import * as RequestPlace from "./RequestPlace.ts"
import * as ResourceUrl from "./ResourceUrl.ts"

type Response = HttpServerResponse.HttpServerResponse

/** The settings of the routes. */
export interface Settings {
  readonly find: Find
  /** The members of the metadata, without `resource` and `authorization_servers`. */
  readonly members: Readonly<Record<string, unknown>>
  readonly maxAgeSeconds: number
}

// The metadata is public, and no credentials decide about it. Clients send `MCP-Protocol-Version` with the request.
const cors = {
  "access-control-allow-origin": "*",
  "access-control-allow-methods": "GET, HEAD, OPTIONS",
  "access-control-allow-headers": "*",
  "access-control-max-age": "86400"
}

const allowed = "GET, HEAD, OPTIONS"

const textOf = ({ issuers, resource }: ProtectedResource, members: Settings["members"]): string =>
  JSON.stringify({ resource, authorization_servers: issuers, ...members })

/** Returns the response to a request of metadata. */
export const respond = (settings: Settings, request: HttpServerRequest): Response => {
  const { host, path } = RequestPlace.of(request)
  if (request.method === "OPTIONS") return HttpServerResponse.empty({ status: 204, headers: cors })
  if (request.method !== "GET" && request.method !== "HEAD") {
    return HttpServerResponse.text("Use GET", { status: 405, headers: { ...cors, allow: allowed } })
  }
  const found = settings.find({ host, path: ResourceUrl.pathOfMetadata(path) })
  if (found === undefined) return HttpServerResponse.text("No such resource", { status: 404, headers: cors })
  return HttpServerResponse.text(textOf(found, settings.members), {
    contentType: "application/json",
    headers: { ...cors, "cache-control": `public, max-age=${settings.maxAgeSeconds}` }
  })
}

/** Returns the paths of the metadata: of one resource, or of all. */
export const pathsOf = (resource: string | undefined): ReadonlyArray<HttpRouter.PathInput> => {
  const { wellKnown } = ResourceUrl
  // The pattern covers the root, too.
  if (resource === undefined) return [`${wellKnown}/*`]
  const path = ResourceUrl.metadataPath(resource)
  return path === wellKnown ? [wellKnown] : [wellKnown, path]
}
