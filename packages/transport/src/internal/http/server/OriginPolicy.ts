/** The policy on `Host` and `Origin`, against DNS rebinding and pages of other origins (HTTP-11, HTTP-12). */
import { Excerpt } from "@effect-mcp/protocol/internal"
import * as NetAddress from "effect/net/NetAddress"

/** The hosts and origins that are accepted. */
export interface Options {
  /** The names of the server, with or without a port. */
  readonly allowedHosts: ReadonlyArray<string> | undefined
  /** The origins of pages that may use the server. */
  readonly allowedOrigins: ReadonlyArray<string>
  /** Whether the server listens on the loopback interface, so that it can have no other name. */
  readonly loopback: boolean
}

const loopbackNames: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"])

/** The values of `Sec-Fetch-Site` for a page of another origin. */
const foreignSites: ReadonlySet<string> = new Set(["cross-site", "same-site"])

/** The name in `name:port`. An IPv6 address has brackets. */
const nameOf = (host: string): string => host.replace(/:\d*$/, "").toLowerCase()

const isLoopback = (host: string): boolean => loopbackNames.has(nameOf(host))

const hostOf = (origin: string): string | undefined => /^https?:\/\/([^/]+)$/i.exec(origin)?.[1]

/** Returns the host of a URL; `undefined` for a path. */
export const hostIn = (url: string): string | undefined => /^https?:\/\/([^/?#]+)/i.exec(url)?.[1]

/** Returns whether only this machine can connect to a server at this address. */
export const isLoopbackAddress = (address: NetAddress.SocketAddress): boolean =>
  address._tag === "UnixPathAddress" || NetAddress.isLoopback(address.address)

/** Makes the policy of a server. */
export const make = ({ allowedHosts, allowedOrigins, loopback }: Options) => {
  const hosts = allowedHosts === undefined ? undefined : new Set(allowedHosts.map((host) => host.toLowerCase()))
  const origins = new Set(allowedOrigins.map((origin) => origin.toLowerCase()))

  const isHost = (host: string): boolean =>
    hosts !== undefined
      ? hosts.has(host.toLowerCase()) || hosts.has(nameOf(host))
      : !loopback || isLoopback(host)

  /** Whether pages of this origin are accepted. A page of a loopback origin is, if the request has a loopback host. */
  const isOrigin = (origin: string, host: string): boolean => {
    if (origins.has("*") || origins.has(origin.toLowerCase())) return true
    const from = hostOf(origin)
    return from !== undefined && isLoopback(from) && isLoopback(host)
  }

  return {
    /**
     * Returns the reason to reject a request, or `undefined`. Browsers send no `Origin` with some requests, such as for
     * images; these have `Sec-Fetch-Site`.
     */
    problem: (host: string = "", origin: string | undefined, site: string | undefined): string | undefined => {
      if (!isHost(host)) {
        return host === ""
          ? "The header Host is missing"
          : `Host ${JSON.stringify(Excerpt.of(host))} is not allowed; add it to allowedHosts`
      }
      if (origin === undefined && site !== undefined && foreignSites.has(site) && !origins.has("*")) {
        return "A request of another site without Origin is not allowed"
      }
      return origin === undefined || isOrigin(origin, host)
        ? undefined
        : `Origin ${JSON.stringify(Excerpt.of(origin))} is not allowed; add it to allowedOrigins`
    }
  }
}
