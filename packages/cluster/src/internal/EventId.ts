/** Ids of events: `<stream>-<number>`, so that an id names its stream (SHS-18). */

/** The characters of a stream's name that an id has as they are. An id is printable ASCII without a space. */
const escaped = (name: string): string =>
  name.replace(/[^!-$&-~]/g, (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)

const unescaped = (text: string): string =>
  text.replace(/%([0-9a-f]{4})/g, (_, unit: string) => String.fromCharCode(Number.parseInt(unit, 16)))

/** An event of a stream. */
export interface Event {
  readonly stream: string
  /** A decimal number without leading zeros. */
  readonly number: string
}

/** Returns the id of an event. */
export const of = ({ number, stream }: Event): string => `${escaped(stream)}-${number}`

/** Returns the event with an id; `undefined` if no event has it. */
export const parse = (id: string): Event | undefined => {
  const [, name, number] = /^(.+)-([1-9]\d{0,17})$/s.exec(id) ?? []
  if (name === undefined || number === undefined) return undefined
  const event = { stream: unescaped(name), number }
  // A name can be escaped in one way only.
  return of(event) === id ? event : undefined
}
