/** An attack, and its effect on the victim. */
import { attackerAddress } from "./attackerAddress.ts"
import { authenticated } from "./ServerTransport.ts"
import type { VictimLog } from "./VictimLog.ts"
import type { Vitals } from "./Vitals.ts"

export interface Trial {
  /** The victim. A gateway is attacked by the server that it proxies. */
  readonly side: "server" | "client" | "gateway"
  readonly transport: string
  readonly attack: string
  /** The longest allowed delay of the event loop, in milliseconds. Default 3,000. */
  readonly longestDelay?: number
  readonly vitals: Vitals
  /** The exit status or signal of a victim that exited. */
  readonly exit: string | number | undefined
  /** The texts of the victim on standard output and error. */
  readonly log: VictimLog
  /** New clients, served and not served during the attack; `undefined` if the transport has no other clients. */
  readonly newClients: { readonly served: number; readonly failed: number } | undefined
}

const mebibytes = (bytes: number): string => (bytes / 1024 / 1024).toFixed(0)

export const heading =
  "side     transport         loop ms  heap MiB  rss MiB  log KiB  served  failed  longest ms  new/failed   attack"

/** One line of the table. */
export const row = ({ attack, exit, log, newClients, side, transport, vitals }: Trial): string =>
  [
    side.padEnd(7),
    transport.padEnd(16),
    vitals.loopMillis.toFixed(0).padStart(8),
    mebibytes(vitals.heapBytes).padStart(8),
    mebibytes(vitals.rssBytes).padStart(7),
    (log.bytes / 1024).toFixed(0).padStart(7),
    String(vitals.served).padStart(6),
    String(vitals.failed).padStart(6),
    vitals.longestMillis.toFixed(0).padStart(10),
    (newClients === undefined ? "" : `${newClients.served}/${newClients.failed}`).padStart(11),
    `${attack}${exit === undefined ? "" : `  EXITED: ${exit}`}`,
    ...vitals.lastFailure === undefined ? [] : [`(${vitals.lastFailure})`]
  ].join("  ")

/** The longest allowed delay of an event loop, in milliseconds. The goal is 100. */
const defaultLongestDelay = 3000

/** The most bytes that an attack may add to the log of a victim. */
const largestLog = 1024 * 1024

/** Returns whether the trial has bystanders. Only a server over stdio has none. */
const hasBystanders = ({ side, transport }: Trial): boolean => side !== "server" || transport !== "stdio"

/**
 * Returns whether the server can distinguish the attacker from new clients: by their principals, or else by its
 * address. Clients on a Unix socket have no address.
 */
const distinguishesClients = ({ side, transport }: Trial): boolean =>
  side === "gateway" || authenticated.has(transport) || (attackerAddress !== undefined && transport !== "unix")

/**
 * Returns the problem of a trial, if there is one: the victim exited, its event loop was blocked for too long, or a
 * bystander was not served, in its session or as a new client that the server can distinguish from the attacker.
 */
export const problemOf = (trial: Trial): string | undefined => {
  const { attack, exit, log, longestDelay = defaultLongestDelay, newClients, side, transport, vitals } = trial
  const prefix = `${side} over ${transport}, ${attack}`
  if (exit !== undefined) return `${prefix}: the victim exited (${exit})`
  if (vitals.served === 0 && hasBystanders(trial)) return `${prefix}: no call of a bystander got a response`
  if (vitals.loopMillis > longestDelay) {
    return `${prefix}: the event loop was blocked for ${vitals.loopMillis.toFixed(0)} ms`
  }
  if (log.isForged) return `${prefix}: a line or an escape sequence of a peer is in the log`
  if (log.bytes > largestLog) return `${prefix}: the log has ${log.bytes} bytes`
  if (vitals.failed > 0) {
    return `${prefix}: ${vitals.failed} calls of a bystander failed, the last with: ${vitals.lastFailure}`
  }
  if (newClients !== undefined && newClients.failed > 0 && distinguishesClients(trial)) {
    return `${prefix}: ${newClients.failed} new clients were not served, and ${newClients.served} were`
  }
  return undefined
}
