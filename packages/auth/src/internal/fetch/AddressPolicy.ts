/**
 * The addresses to which the requests of an authorization go (AUT-54).
 *
 * A server names the places of its authorization. Without a rule, it could let the client send requests into the
 * client's own network: to a router, to a database, to the metadata service of a cloud.
 */
import * as IpNetwork from "effect/net/IpNetwork"
import * as NetAddress from "effect/net/NetAddress"
import * as Option from "effect/Option"
import * as Result from "effect/Result"

/** The decision about a URL. */
export type Verdict =
  /** The program allows the origin: any address that its host has. */
  | { readonly _tag: "Open" }
  /** Any public address that its host has. */
  | { readonly _tag: "Guarded" }
  | { readonly _tag: "Refused"; readonly address: string }

/** The networks of special purpose in the registries of IANA that no service on the Internet has. */
const reserved: ReadonlyArray<string> = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3",
  // Teredo, benchmarks, documentation, and 6to4, which carries an IPv4 address.
  "2001::/23",
  "2001:db8::/32",
  "2002::/16",
  "3fff::/20"
]

const networkOf = (text: string): IpNetwork.IpNetwork => Result.getOrThrow(IpNetwork.fromString(text))

/** The networks, parsed on first use. */
interface Networks {
  readonly reserved: ReadonlyArray<IpNetwork.IpNetwork>
  /** The only network of IPv6 in which public addresses are given. */
  readonly globalUnicast: IpNetwork.IpNetwork
  /** The network of translated IPv4 addresses (RFC 6052). In a network with a translator, public hosts have them. */
  readonly translated: IpNetwork.IpNetwork
}

let parsed: Networks | undefined

const networks = (): Networks =>
  parsed ??= {
    reserved: reserved.map(networkOf),
    globalUnicast: networkOf("2000::/3"),
    translated: networkOf("64:ff9b::/96")
  }

/** Returns the IPv4 address that an IPv6 address stands for. */
const embedded = (address: NetAddress.Ipv6Address): Option.Option<NetAddress.Ipv4Address> => {
  if (NetAddress.isIpv4Mapped(address)) return NetAddress.fromIpv4Mapped(address)
  if (!IpNetwork.contains(networks().translated, address)) return Option.none()
  const [, , , , , , high, low] = NetAddress.ipv6ToSegments(address)
  return Result.getSuccess(NetAddress.ipv4FromOctets([high >>> 8, high & 0xff, low >>> 8, low & 0xff]))
}

const isPublicAddress = (address: NetAddress.IpAddress): boolean => {
  const inner = NetAddress.isIpv6Address(address) ? embedded(address) : Option.none()
  if (Option.isSome(inner)) return isPublicAddress(inner.value)
  if (NetAddress.isIpv6Address(address) && !IpNetwork.contains(networks().globalUnicast, address)) return false
  return !networks().reserved.some((network) => IpNetwork.contains(network, address))
}

/** Parses an address as a resolver returns it. */
const addressOf = (text: string): NetAddress.IpAddress | undefined =>
  // A zone, as in `fe80::1%eth0`, does not change the kind of the address.
  Option.getOrUndefined(Result.getSuccess(NetAddress.ipFromString(text.split("%")[0] ?? "")))

/** Returns whether an address is public. A text that is no address is not. */
export const isPublic = (text: string): boolean => {
  const address = addressOf(text)
  return address !== undefined && isPublicAddress(address)
}

/** Returns the host of a URL without the brackets of IPv6 and without the dot that ends a name. */
const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "")

const isLocalName = (host: string): boolean => host === "localhost" || host.endsWith(".localhost")

/**
 * Returns whether the host of a URL is this machine, by its literal address or as `localhost`. `new URL` has already
 * turned the other forms of an address, such as `0x7f.1` and `2130706433`, into this one.
 */
export const isLoopback = (url: URL): boolean => {
  const host = hostOf(url)
  const address = addressOf(host)
  if (address === undefined) return isLocalName(host)
  const canonical = NetAddress.toCanonical(address)
  return NetAddress.isLoopback(canonical)
}

/** The policy of a program. */
export interface AddressPolicy {
  /** Decides about a URL to which a request is sent because of this server. */
  readonly decide: (server: URL, url: URL) => Verdict
  /** Returns whether the program allows the origin of a URL. */
  readonly isAllowed: (url: URL) => boolean
}

/** Creates the policy. The origins are those that the program allows, such as `https://auth.internal:8443`. */
export const make = (allowedOrigins: ReadonlyArray<string>): AddressPolicy => {
  const allowed = new Set(allowedOrigins.map((origin) => new URL(origin).origin))
  const isAllowed = ({ origin }: URL): boolean => allowed.has(origin)
  return {
    isAllowed,
    decide: (server, url) => {
      const isWeb = url.protocol === "https:" || url.protocol === "http:"
      if (!isWeb) return { _tag: "Refused", address: `a place of the scheme ${url.protocol}` }
      if (url.origin === server.origin || isAllowed(url)) return { _tag: "Open" }
      const host = hostOf(url)
      // A server on this machine reaches everything on this machine by itself.
      if (isLoopback(url) && isLoopback(server)) return { _tag: "Open" }
      if (isLocalName(host)) return { _tag: "Refused", address: "this machine" }
      if (addressOf(host) !== undefined && !isPublic(host)) return { _tag: "Refused", address: host }
      return url.protocol === "https:" ? { _tag: "Guarded" } : { _tag: "Refused", address: "a connection without TLS" }
    }
  }
}
