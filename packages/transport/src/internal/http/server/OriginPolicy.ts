/**
 * Which requests are let near a server at all: a page in a browser must not reach one that it was not meant for, neither from
 * another origin nor by a name that was made to point here (HTTP-11, HTTP-12).
 */

import { Excerpt } from "@effect-mcp/protocol"
import * as NetAddress from "effect/net/NetAddress"

/** What may come. */
export interface Options {
  /** Names that the server is known by, with or without a port. */
  readonly allowedHosts: ReadonlyArray<string> | undefined
  /** Origins of pages that may use it. */
  readonly allowedOrigins: ReadonlyArray<string>
  /** It listens on this machine only, where the names of this machine are the only ones it can have. */
  readonly loopback: boolean
}

const loopbackNames: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"])

/** What `Sec-Fetch-Site` says of a page of another origin. */
const foreignSites: ReadonlySet<string> = new Set(["cross-site", "same-site"])

/** The name in `name:port`; an address of IPv6 stands in brackets. */
const nameOf = (host: string): string => host.replace(/:\d*$/, "").toLowerCase()

const isLoopback = (host: string): boolean => loopbackNames.has(nameOf(host))

const hostOf = (origin: string): string | undefined => /^https?:\/\/([^/]+)$/i.exec(origin)?.[1]

/** What a URL is asked of; a path alone does not say. */
export const hostIn = (url: string): string | undefined => /^https?:\/\/([^/?#]+)/i.exec(url)?.[1]

/** Does a server at this address listen on this machine only? */
export const isLoopbackAddress = (address: NetAddress.SocketAddress): boolean =>
  address._tag === "UnixPathAddress" || NetAddress.isLoopback(address.address)

export const make = ({ allowedHosts, allowedOrigins, loopback }: Options) => {
  const hosts = allowedHosts === undefined ? undefined : new Set(allowedHosts.map((host) => host.toLowerCase()))
  const origins = new Set(allowedOrigins.map((origin) => origin.toLowerCase()))

  const isHost = (host: string): boolean =>
    hosts !== undefined
      ? hosts.has(host.toLowerCase()) || hosts.has(nameOf(host))
      : !loopback || isLoopback(host)

  /** Is this page allowed? One from this machine is, if it asks for this machine. */
  const isOrigin = (origin: string, host: string): boolean => {
    if (origins.has("*") || origins.has(origin.toLowerCase())) return true
    const from = hostOf(origin)
    return from !== undefined && isLoopback(from) && isLoopback(host)
  }

  return {
    /**
     * What is wrong with where a request comes from or goes to, if anything. Not each request of a page has an origin, a picture's has
     * none; but browsers say of all whether they are of the same site.
     */
    problem: (host: string = "", origin: string | undefined, site: string | undefined): string | undefined => {
      if (!isHost(host)) {
        return host === ""
          ? "The header Host is missing"
          : `The host ${JSON.stringify(Excerpt.of(host))} is not served here`
      }
      if (origin === undefined && site !== undefined && foreignSites.has(site) && !origins.has("*")) {
        return "A page of another origin is not allowed"
      }
      return origin === undefined || isOrigin(origin, host)
        ? undefined
        : `The origin ${JSON.stringify(Excerpt.of(origin))} is not allowed`
    }
  }
}
