/** Canonical texts of JSON values, for comparisons and hashes. */

/** A budget of steps for a text. A step is about ten nanoseconds of work. `spend` throws if the budget is exhausted. */
export interface Budget {
  readonly spend: (steps: number) => void
}

const unbounded: Budget = { spend: () => {} }

const isStructure = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

const textOfScalar = (value: unknown, budget: Budget): string => {
  if (typeof value === "string") {
    budget.spend(8 + (value.length >> 1))
    return JSON.stringify(value)
  }
  budget.spend(8)
  // `String` writes -0 as 0, which is the same number in JSON.
  return String(value)
}

/** An array or an object whose beginning is written. */
interface Open {
  readonly parts: { readonly [key: string | number]: unknown }
  readonly size: number
  /** The names of the members in order; `undefined` for an array. */
  readonly names: ReadonlyArray<string> | undefined
  next: number
}

const opened = (value: Readonly<Record<string, unknown>>, budget: Budget): Open => {
  budget.spend(32)
  if (Array.isArray(value)) return { parts: value, size: value.length, names: undefined, next: 0 }
  const names = Object.keys(value)
  if (names.length > 1) {
    // A sort compares each of n names about log2(n) times.
    budget.spend(8 * names.length * (32 - Math.clz32(names.length)))
    names.sort()
  }
  return { parts: value, size: names.length, names, next: 0 }
}

/** The greatest number of arrays and objects in one value. A value of a program may contain itself. */
const maxStructures = 1_000_000

/**
 * Returns the canonical text of a JSON value. Values that are equal as JSON have the same text, whatever the order of
 * their members, and others have different texts. Throws a `RangeError` for a value that contains itself.
 *
 * The text is that of RFC 8785: members are sorted by the UTF-16 units of their names, and there is no white space. It
 * does not recurse, because peers decide how deeply a value is nested.
 */
export const textOf = (value: unknown, budget: Budget = unbounded): string => {
  const open: Array<Open> = []
  let text = ""
  let structures = 0
  const write = (part: unknown): void => {
    if (!isStructure(part)) {
      text += textOfScalar(part, budget)
      return
    }
    if (++structures > maxStructures) throw new RangeError(`a value has more than ${maxStructures} arrays and objects`)
    const inner = opened(part, budget)
    text += inner.names === undefined ? "[" : "{"
    open.push(inner)
  }
  write(value)
  for (let inner = open.at(-1); inner !== undefined; inner = open.at(-1)) {
    const index = inner.next++
    if (index === inner.size) {
      text += inner.names === undefined ? "]" : "}"
      open.pop()
      continue
    }
    if (index > 0) text += ","
    const name = inner.names?.[index]
    if (name !== undefined) text += `${textOfScalar(name, budget)}:`
    write(inner.parts[name ?? index])
  }
  return text
}
