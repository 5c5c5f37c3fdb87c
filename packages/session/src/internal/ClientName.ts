/** The names of clients, by which they share what is scarce. */

import type { Principal } from "../Principal.ts"

/** The identity of a client. */
export interface Client {
  readonly principal?: Principal | undefined
  /** Distinguishes clients without a principal. */
  readonly client?: string | undefined
}

/** Returns the name of a client. Clients that cannot be distinguished share one name and the capacity of one client. */
export const nameOf = ({ client, principal }: Client): string => {
  if (principal !== undefined) return `principal ${principal.id}`
  return client === undefined ? "" : `client ${client}`
}
