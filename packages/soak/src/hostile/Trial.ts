/** One attack, and what became of its victim. */
import { attackerAddress } from "./attackerAddress.ts"
import type { Vitals } from "./Vitals.ts"

export interface Trial {
  readonly side: "server" | "client"
  readonly transport: string
  readonly attack: string
  readonly vitals: Vitals
  /** The exit status or signal of a victim that did not live. */
  readonly death: string | number | undefined
  /** New clients that were served during the attack, and that were not; nothing where none can come. */
  readonly newcomers: { readonly served: number; readonly failed: number } | undefined
}

const mebibytes = (bytes: number): string => (bytes / 1024 / 1024).toFixed(0)

export const heading =
  "side    transport         loop ms  heap MiB  rss MiB  served  failed  longest ms  new/refused  attack"

/** One line of the table. */
export const row = ({ attack, death, newcomers, side, transport, vitals }: Trial): string =>
  [
    side.padEnd(6),
    transport.padEnd(16),
    vitals.loopMillis.toFixed(0).padStart(8),
    mebibytes(vitals.heapBytes).padStart(8),
    mebibytes(vitals.rssBytes).padStart(7),
    String(vitals.served).padStart(6),
    String(vitals.failed).padStart(6),
    vitals.longestMillis.toFixed(0).padStart(10),
    (newcomers === undefined ? "" : `${newcomers.served}/${newcomers.failed}`).padStart(11),
    `${attack}${death === undefined ? "" : `  DIED: ${death}`}`,
    ...vitals.lastFailure === undefined ? [] : [`(${vitals.lastFailure})`]
  ].join("  ")

/** An event loop that stands still for longer counts as dead, in milliseconds. What is aimed at is 100. */
const longestStandstill = 3000

/** Only over stdio has a server no bystanders. */
const hasBystanders = ({ side, transport }: Trial): boolean => side === "client" || transport !== "stdio"

/**
 * The attacker has an address of its own, so that no newcomer is rejected in its place. The clients behind a Unix
 * socket have none, and a host cannot tell them apart.
 */
const distinguishesClients = ({ transport }: Trial): boolean => attackerAddress !== undefined && transport !== "unix"

/**
 * Returns the complaint about a trial, if there is one: the victim died, or a bystander was not served, in its session
 * or as a newcomer that the server can tell from the attacker.
 */
export const complaint = (trial: Trial): string | undefined => {
  const { attack, death, newcomers, side, transport, vitals } = trial
  const what = `${side} over ${transport}, ${attack}`
  if (death !== undefined) return `${what}: the victim died (${death})`
  if (vitals.served === 0 && hasBystanders(trial)) return `${what}: no call of a bystander was answered`
  if (vitals.loopMillis > longestStandstill) {
    return `${what}: the event loop stood still for ${vitals.loopMillis.toFixed(0)} ms`
  }
  if (vitals.failed > 0) {
    return `${what}: ${vitals.failed} calls of a bystander failed, the last with: ${vitals.lastFailure}`
  }
  if (newcomers !== undefined && newcomers.failed > 0 && distinguishesClients(trial)) {
    return `${what}: ${newcomers.failed} new clients were not served, and ${newcomers.served} were`
  }
  return undefined
}
