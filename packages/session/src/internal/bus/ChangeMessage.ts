/** The messages that buses exchange: JSON texts with changes and gaps. */

import { bytesOf } from "../webCrypto.ts"
import type { Change } from "./ChangeBusShape.ts"

/** The scopes of which changes were lost: all, or some. */
export type Lost = "all" | ReadonlySet<string>

/** A message that was received. */
export interface ChangeMessage {
  /** The id of the bus that has sent it. */
  readonly from: string
  readonly lost: Lost
  readonly changes: ReadonlyArray<Change>
}

const version = 1

/** Returns a change as an item of a message. */
export const itemOf = ({ key, kind, scope }: Change): string => JSON.stringify([scope, kind, key])

/** Returns the number of bytes of a text in UTF-8. */
export const sizeOf = (text: string): number => bytesOf(text).length

/** Returns the text of a message. */
export const encode = (from: string, lost: Lost, items: ReadonlyArray<string>): string => {
  const scopes = lost === "all" ? "null" : JSON.stringify([...lost])
  return `{"version":${version},"from":${JSON.stringify(from)},"lost":${scopes},"changes":[${items.join(",")}]}`
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

const isText = (value: unknown): value is string => typeof value === "string"

const changeOf = (item: unknown): Change | undefined => {
  if (!Array.isArray(item) || item.length !== 3) return undefined
  const [scope, kind, key]: ReadonlyArray<unknown> = item
  return isText(scope) && isText(kind) && isText(key) ? { scope, kind, key } : undefined
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns the message of a text, or `undefined` for a text that no bus of this version has written. */
export const decode = (text: string): ChangeMessage | undefined => {
  const message = parsed(text)
  if (!isRecord(message) || message["version"] !== version) return undefined
  const { changes: items, from, lost: scopes } = message
  if (!isText(from) || !Array.isArray(items)) return undefined
  const lost = scopes === null ? "all" : Array.isArray(scopes) && scopes.every(isText) ? new Set(scopes) : undefined
  const changes = items.map(changeOf).filter((change) => change !== undefined)
  return lost === undefined || changes.length < items.length ? undefined : { from, lost, changes }
}
