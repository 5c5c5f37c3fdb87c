/**
 * The address that attackers over TCP connect from. It differs from that of the bystanders, because a server
 * distinguishes anonymous clients by their addresses. Systems other than Linux have only one loopback address by
 * default, which all clients share.
 */
export const attackerAddress: string | undefined = process.platform === "linux" ? "127.0.0.2" : undefined

/** The options of a connection from that address. */
export const fromAttacker: { readonly localAddress?: string } = attackerAddress === undefined
  ? {}
  : { localAddress: attackerAddress }
