/** The protected resources of a server: one, or one for each tenant. */
import { InvalidOptionError } from "@effect-mcp/session/InvalidOptionError"
import * as ResourceUrl from "./ResourceUrl.ts"

/** The place that a request is sent to. */
export interface Place {
  /** The header `Host`, as the client or a proxy has written it. */
  readonly host: string | undefined
  /** The path, without the query. */
  readonly path: string
}

/** One protected resource. */
export interface ProtectedResource {
  /** The URL of the server, byte for byte as clients name it: the audience of their tokens. */
  readonly resource: string
  /** The issuers whose tokens it accepts. */
  readonly issuers: ReadonlyArray<string>
  readonly metadataUrl: string
}

/** A resource as a program describes it. */
export interface Tenant {
  /** The URL of the resource. */
  readonly resource: string
  /** The issuers, among those of the server, whose tokens it accepts. Default: all. */
  readonly issuers?: ReadonlyArray<string> | undefined
}

/** The resource of every place, or a function that returns the one of a place. */
export type Resources = string | ((place: Place) => string | Tenant | undefined)

/** Returns the resource of a place; `undefined` if there is none. */
export type Find = (place: Place) => ProtectedResource | undefined

const make = ({ issuers, resource }: Tenant, all: ReadonlyArray<string>): ProtectedResource => {
  const problem = ResourceUrl.problemOf(resource)
  if (problem !== undefined) {
    throw new InvalidOptionError({ option: "resource", given: resource, allowed: `a URL: this one ${problem}` })
  }
  const unknown = issuers?.find((issuer) => !all.includes(issuer))
  if (unknown !== undefined) {
    throw new InvalidOptionError({ option: "resource", given: unknown, allowed: `of the issuers ${all.join(", ")}` })
  }
  return { resource, issuers: issuers ?? all, metadataUrl: ResourceUrl.metadataUrl(resource) }
}

/** Returns the function that finds resources. A wrong option throws: at once for one resource, else at its request. */
export const finder = (resources: Resources, issuers: ReadonlyArray<string>): Find => {
  if (typeof resources === "string") {
    const only = make({ resource: resources }, issuers)
    return () => only
  }
  return (place) => {
    const found = resources(place)
    if (found === undefined) return undefined
    return make(typeof found === "string" ? { resource: found } : found, issuers)
  }
}
