/**
 * The values that one side of a conversation chooses, such as ids, and their names in a transcript of the other side.
 */
import { isMembers } from "../arbitrary/jsonValues.ts"
import * as Pattern from "./PatternText.ts"

/** The kind of a value. Its name starts with the kind. */
type Kind = "id" | "token" | "elicitation" | "cursor"

/** The places of values that the other side chooses anew in each run. The ids of its requests are another. */
const chosen: ReadonlyArray<{ readonly path: ReadonlyArray<string>; readonly kind: Kind }> = [
  { path: ["params", "_meta", "progressToken"], kind: "token" },
  { path: ["params", "elicitationId"], kind: "elicitation" },
  { path: ["result", "nextCursor"], kind: "cursor" }
]

/** The places where such values recur, by their kind. */
const repeated: Readonly<Record<Kind, ReadonlyArray<ReadonlyArray<string>>>> = {
  token: [["params", "progressToken"]],
  elicitation: [["params", "elicitationId"]],
  cursor: [["params", "cursor"]],
  id: [["id"], ["params", "requestId"]]
}

/** The places of trace ids, which differ in each run. */
const traces = ["traceparent", "tracestate", "baggage"].map((name) => ["params", "_meta", name])

const at = (value: unknown, path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>((inner, name) => isMembers(inner) && Object.hasOwn(inner, name) ? inner[name] : undefined, value)

/** Returns the pattern with another one at this place, if the place exists. */
const replaced = (pattern: Pattern.Pattern, path: ReadonlyArray<string>, by: Pattern.Pattern): Pattern.Pattern => {
  const [first, ...rest] = path
  if (first === undefined) return by
  if (pattern._tag !== "Object") return pattern
  return {
    ...pattern,
    members: pattern.members.map(([name, member]) => [name, name === first ? replaced(member, rest, by) : member])
  }
}

/** The names of one conversation. */
export interface ChosenNames {
  /** Returns a message of the other side with the names of the values that it chose. */
  readonly expected: (frame: unknown) => Pattern.Pattern
  /** Returns a message of this side with the names of the values that the other side chose. */
  readonly sent: (frame: unknown) => Pattern.Pattern
}

export const make = (): ChosenNames => {
  const names = new Map<Kind, Map<unknown, string>>()
  const counts = new Map<Kind, number>()

  const use = (pattern: Pattern.Pattern, message: unknown, kind: Kind): Pattern.Pattern => {
    let named = pattern
    for (const path of repeated[kind]) {
      const name = names.get(kind)?.get(at(message, path))
      if (name !== undefined) named = replaced(named, path, { _tag: "Name", name })
    }
    return named
  }

  const choose = (pattern: Pattern.Pattern, message: unknown, path: ReadonlyArray<string>, kind: Kind) => {
    const value = at(message, path)
    if (typeof value !== "string" && typeof value !== "number") return pattern
    const count = (counts.get(kind) ?? 0) + 1
    counts.set(kind, count)
    const name = `${kind}${count}`
    const ofKind = names.get(kind) ?? new Map<unknown, string>()
    names.set(kind, ofKind.set(value, name))
    return replaced(pattern, path, { _tag: "Name", name })
  }

  /** Applies a function to the messages of a batch one by one. */
  const each = (frame: unknown, name: (message: unknown) => Pattern.Pattern): Pattern.Pattern =>
    Array.isArray(frame) ? { _tag: "Array", elements: frame.map(name), open: false } : name(frame)

  const expected = (message: unknown): Pattern.Pattern => {
    const isRequest = isMembers(message) && "method" in message && "id" in message
    const isCancellation = isMembers(message) && message["method"] === "notifications/cancelled"
    let pattern = Pattern.exactly(message)
    for (const path of traces) pattern = replaced(pattern, path, { _tag: "Any" })
    if (isCancellation) pattern = use(pattern, message, "id")
    if (isMembers(message) && message["method"] === "notifications/elicitation/complete") {
      return use(pattern, message, "elicitation")
    }
    if (isRequest) pattern = choose(pattern, message, ["id"], "id")
    for (const { kind, path } of chosen) pattern = choose(pattern, message, path, kind)
    return pattern
  }

  const sent = (message: unknown): Pattern.Pattern => {
    const pattern = Pattern.exactly(message)
    if (!isMembers(message)) return pattern
    switch (message["method"]) {
      case undefined:
        return use(pattern, message, "id")
      case "notifications/progress":
        return use(pattern, message, "token")
      default:
        return use(pattern, message, "cursor")
    }
  }

  return {
    expected: (frame: unknown) => each(frame, expected),
    sent: (frame: unknown) => each(frame, sent)
  }
}
