/** The authorization that a server needs: the result of discovery. */
import type { AuthorizationServer } from "oauth4webapi"

/** Metadata of an authorization server, checked: its endpoints may be requested. */
export type Metadata = AuthorizationServer

/** The resource, its issuer, and the metadata of both. */
export interface Target {
  /** The server as the program names it. */
  readonly server: URL
  /** The resource identifier, byte for byte as the metadata has it (AUT-07, AUT-23). */
  readonly resource: string
  /** Whether requests name the resource (AUT-23). Servers of 2025-03-26 know no such parameter. */
  readonly sendsResource: boolean
  /** The issuer, byte for byte (AUT-09). */
  readonly issuer: string
  readonly metadata: Metadata
  /** The scopes that the resource supports (AUT-26). */
  readonly scopes: ReadonlyArray<string> | undefined
  /** Whether the server has no metadata of a protected resource, as in 2025-03-26 (AUT-10). */
  readonly isLegacy: boolean
}
