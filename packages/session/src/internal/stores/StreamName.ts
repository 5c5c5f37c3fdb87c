/** The names of streams in the ids of events. An id is printable ASCII without a space. */

/** Escapes the name of a stream. Each name has one escaped form. */
export const escaped = (name: string): string =>
  name.replace(/[^!-$&-~]/g, (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)

/** Returns the name that was escaped. */
export const unescaped = (text: string): string =>
  text.replace(/%([0-9a-f]{4})/g, (_, unit: string) => String.fromCharCode(Number.parseInt(unit, 16)))
