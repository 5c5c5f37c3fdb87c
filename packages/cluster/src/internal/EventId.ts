/** Ids of events: `<stream>-<number>`, so that an id names its stream (SHS-18). */
import { StreamName } from "@effect-mcp/session/internal"

/** An event of a stream. */
export interface Event {
  readonly stream: string
  /** A decimal number without leading zeros. */
  readonly number: string
}

/** Returns the id of an event. */
export const of = ({ number, stream }: Event): string => `${StreamName.escaped(stream)}-${number}`

/** Returns the event with an id; `undefined` if no event has it. */
export const parse = (id: string): Event | undefined => {
  const [, name, number] = /^(.+)-([1-9]\d{0,17})$/s.exec(id) ?? []
  if (name === undefined || number === undefined) return undefined
  const event = { stream: StreamName.unescaped(name), number }
  // A name can be escaped in one way only.
  return of(event) === id ? event : undefined
}
