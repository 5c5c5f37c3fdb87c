/** Confidential clients (RFC 6749, section 2.1), whose credential no other issuer may get. */

/** Returns whether a client has a secret or a private key. */
export const isConfidential = (client: { readonly secret?: unknown; readonly privateKey?: unknown }): boolean =>
  client.secret !== undefined || client.privateKey !== undefined
