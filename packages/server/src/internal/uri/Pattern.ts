/**
 * The nondeterministic automaton that reads what a URI template expands to.
 *
 * Each URI is read once from left to right, with all instructions that can read the next token (Thompson's
 * construction). The number of steps is at most the number of instructions times the number of tokens.
 */
import { behaviours, type Expression, type Part, type Variable } from "./Syntax.ts"
import * as Tokens from "./Tokens.ts"

/** The shape of the value of a variable. */
export type Shape = "String" | "List" | "Record"

/** A set of tokens. `Value` is each unreserved character and triplet; `Anything` is each token. */
export type TokenSet =
  | { readonly _tag: "One"; readonly token: number }
  | { readonly _tag: "Value"; readonly except: ReadonlySet<number> }
  | { readonly _tag: "Anything" }

/** The key or value that a capture belongs to. `variable` counts the variables of the template. */
export interface Slot {
  readonly variable: number
  readonly role: "Key" | "Value"
}

export type Instruction =
  | { readonly _tag: "Read"; readonly set: TokenSet; readonly next: number }
  | { readonly _tag: "Either"; readonly next: number; readonly other: number }
  | { readonly _tag: "Open"; readonly slot: Slot; readonly next: number }
  | { readonly _tag: "Close"; readonly slot: Slot; readonly next: number }
  | { readonly _tag: "Accept" }

/** The instructions of an automaton, and the index of the first one. */
export interface Pattern {
  readonly instructions: ReadonlyArray<Instruction>
  readonly start: number
  /** The literal text that each matching URI starts with, normalized. */
  readonly literal: string
  /** The index of the instruction after `literal`. */
  readonly afterLiteral: number
}

/** A variable of a template, with its shape. */
export interface Shaped {
  readonly variable: Variable
  readonly shape: Shape
}

const noTokens: ReadonlySet<number> = new Set()

const value: TokenSet = { _tag: "Value", except: noTokens }
const anything: TokenSet = { _tag: "Anything" }
const one = (token: number): TokenSet => ({ _tag: "One", token })

/** Returns whether a set contains a token. */
export const contains = (set: TokenSet, token: number): boolean => {
  switch (set._tag) {
    case "One":
      return set.token === token
    case "Value":
      return (Tokens.isTriplet(token) || Tokens.isUnreserved(token)) && !set.except.has(token)
    case "Anything":
      return true
  }
}

// Readable members of `Value` come first.
const samples = Tokens.tokensOf(
  "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_.~%20%21%22%23%24%25%26%27%28%29%2A%2B%2C%2F%3A"
)

/** Returns a token that both sets contain. Sets that exclude all samples are taken as disjoint. */
export const common = (left: TokenSet, right: TokenSet): number | undefined => {
  if (left._tag === "One") return contains(right, left.token) ? left.token : undefined
  if (right._tag === "One") return contains(left, right.token) ? right.token : undefined
  return samples.find((token) => contains(left, token) && contains(right, token))
}

/** Returns the text that instructions read literally, and the instruction after it. */
const literalFrom = (
  instructions: ReadonlyArray<Instruction>,
  start: number
): Pick<Pattern, "literal" | "afterLiteral"> => {
  let literal = ""
  let index = start
  for (;;) {
    const instruction = instructions[index]
    if (instruction?._tag !== "Read" || instruction.set._tag !== "One") return { literal, afterLiteral: index }
    literal += Tokens.textOf(instruction.set.token)
    index = instruction.next
  }
}

/** A part of a pattern: given the instruction that follows it, returns its first instruction. */
type Fragment = (next: number) => number

/**
 * Compiles the parts of a template. `shaped` has its variables in their order. Returns `undefined` if the pattern has
 * more than `maxInstructions` instructions.
 */
export const compile = (
  parts: ReadonlyArray<Part>,
  shaped: ReadonlyArray<Shaped>,
  maxInstructions: number
): Pattern | undefined => {
  const instructions: Array<Instruction> = []
  let isTooLarge = false
  const push = (instruction: Instruction): number => {
    if (instructions.length < maxInstructions) return instructions.push(instruction) - 1
    isTooLarge = true
    return 0
  }

  // A pattern is built from its end, so that each instruction knows the next one.
  const read = (set: TokenSet): Fragment => (next) => push({ _tag: "Read", set, next })
  const either = (left: Fragment, right: Fragment): Fragment => (next) =>
    push({ _tag: "Either", next: left(next), other: right(next) })
  const nothing: Fragment = (next) => next
  const optional = (fragment: Fragment): Fragment => either(fragment, nothing)
  const sequence = (...fragments: ReadonlyArray<Fragment>): Fragment => (next) =>
    fragments.reduceRight((following, fragment) => fragment(following), next)
  const text = (characters: string): Fragment =>
    sequence(...Tokens.tokensOf(characters).map((token) => read(one(token))))
  /** Pushes an instruction that leads back to an earlier one. */
  const pushLoop = (instructionAt: (index: number) => Instruction): number => {
    const index = push({ _tag: "Accept" })
    instructions[index] = instructionAt(index)
    return index
  }
  const repeat = (fragment: Fragment): Fragment => (next) =>
    pushLoop((index) => ({ _tag: "Either", next: fragment(index), other: next }))
  const capture = (slot: Slot, fragment: Fragment): Fragment => (next) =>
    push({ _tag: "Open", slot, next: fragment(push({ _tag: "Close", slot, next })) })

  const any = repeat(read(value))
  const some = sequence(read(value), any)

  /** Reads an item, and further ones after separators. */
  const joined = (item: Fragment, separator: string): Fragment => (next) => {
    let first = 0
    pushLoop((index) => {
      first = item(index)
      return { _tag: "Either", next: text(separator)(first), other: next }
    })
    return first
  }

  /** Reads a key that is none of these names. `free` reads the rest of a key that differs from all of them. */
  const differing = (names: ReadonlyArray<ReadonlyArray<number>>, free: number, next: number): number => {
    const heads = new Set(names.flatMap(([head]) => head === undefined ? [] : [head]))
    const alternatives = [
      push({ _tag: "Read", set: { _tag: "Value", except: heads }, next: free }),
      ...Array.from(heads, (head) => {
        const rests = names.filter(([first]) => first === head).map((name) => name.slice(1))
        return push({ _tag: "Read", set: one(head), next: differing(rests, free, next) })
      })
    ]
    // A key may end here, unless a name ends here.
    if (names.every(({ length }) => length > 0)) alternatives.push(next)
    return alternatives.reduce((left, right) => push({ _tag: "Either", next: left, other: right }))
  }

  /** Reads a key that is none of these names. */
  const keyExcept = (names: ReadonlyArray<ReadonlyArray<number>>): Fragment =>
    names.length === 0 ? any : (next) => differing(names, any(next), next)

  /** Reads the value of a variable that is not exploded, or one value of an exploded list. */
  const plain = (index: number, shape: Shape, isList: boolean): Fragment => {
    const member = capture({ variable: index, role: "Value" }, any)
    if (shape === "String" || !isList) return member
    if (shape === "List") return joined(member, ",")
    return joined(sequence(capture({ variable: index, role: "Key" }, any), text(","), member), ",")
  }

  /** Reads the body of a variable of an expression without names. */
  const unnamed = (index: number, { shape, variable }: Shaped): Fragment => {
    const { allowReserved, separator } = behaviours[variable.operator]
    const slot: Slot = { variable: index, role: "Value" }
    if (allowReserved) return capture(slot, repeat(read(anything)))
    if (!variable.explode || shape === "String") return plain(index, shape, true)
    const entry = shape === "List"
      ? plain(index, shape, false)
      : sequence(capture({ variable: index, role: "Key" }, any), text("="), plain(index, shape, false))
    return joined(entry, separator)
  }

  /** Reads a value after the name of a path-style parameter: nothing, or `=` and a text that is not empty. */
  const parameterValue = (index: number, shape: Shape, isList: boolean): Fragment => {
    const slot: Slot = { variable: index, role: "Value" }
    const empty = capture(slot, nothing)
    if (shape === "Record" && isList) return sequence(text("="), plain(index, shape, true))
    const given = capture(slot, some)
    if (shape === "String" || !isList) return either(empty, sequence(text("="), given))
    const more = sequence(text(","), plain(index, shape, false))
    return either(
      empty,
      sequence(text("="), either(sequence(given, repeat(more)), sequence(empty, more, repeat(more))))
    )
  }

  /** Reads the value after the name of a variable. */
  const valueOf = (index: number, { shape, variable }: Shaped, isList: boolean): Fragment =>
    variable.operator === ";"
      ? parameterValue(index, shape, isList)
      : sequence(text("="), plain(index, shape, isList))

  const isRecordOfPairs = ({ shape, variable }: Shaped): boolean => variable.explode && shape === "Record"

  /** Returns the names that the keys of an exploded record cannot be: those of the other variables. */
  const otherNames = (operators: string): ReadonlyArray<ReadonlyArray<number>> =>
    Array.from(
      new Set(
        shaped.flatMap((entry) =>
          operators.includes(entry.variable.operator) && !isRecordOfPairs(entry) ? [entry.variable.name] : []
        )
      ),
      Tokens.tokensOf
    )

  /** Reads one pair of a named variable, without its separator. */
  const pair = (index: number, entry: Shaped): Fragment => {
    if (!isRecordOfPairs(entry)) {
      return sequence(text(entry.variable.name), valueOf(index, entry, !entry.variable.explode))
    }
    const names = otherNames(entry.variable.operator === ";" ? ";" : "?&")
    return sequence(capture({ variable: index, role: "Key" }, keyExcept(names)), valueOf(index, entry, false))
  }

  /** Reads path-style parameters, in the order of the expression. */
  const parameters = (entries: ReadonlyArray<readonly [number, Shaped]>): Fragment =>
    sequence(...entries.map(([index, entry]) => {
      const parameter = sequence(text(";"), pair(index, entry))
      return entry.variable.explode && entry.shape !== "String" ? repeat(parameter) : optional(parameter)
    }))

  /** Reads the pairs of a query, in any order. How often each occurs is checked afterwards. */
  const query = (first: string, entries: ReadonlyArray<readonly [number, Shaped]>): Fragment => {
    const pairs = entries.map(([index, entry]) => pair(index, entry)).reduce(either)
    return optional(sequence(text(first), joined(pairs, "&")))
  }

  const expression = ({ operator }: Expression, entries: ReadonlyArray<readonly [number, Shaped]>): Fragment => {
    const { first, separator } = behaviours[operator]
    if (operator === "?" || operator === "&") return query(first, entries)
    if (operator === ";") return parameters(entries)
    const bodies = entries.map(([index, entry]) => unnamed(index, entry))
    if (first === "") return sequence(...bodies.flatMap((body, at) => at === 0 ? [body] : [text(separator), body]))
    // An expansion does not show which variable is absent, so only the last ones may be.
    return bodies.reduceRight<Fragment>(
      (rest, body, at) => optional(sequence(text(at === 0 ? first : separator), body, rest)),
      nothing
    )
  }

  let count = 0
  const fragments = parts.map((part): Fragment => {
    if (part._tag === "Literal") return text(part.text)
    const first = count
    count += part.variables.length
    return expression(part, shaped.slice(first, count).map((entry, at) => [first + at, entry] as const))
  })
  const start = sequence(...fragments)(push({ _tag: "Accept" }))
  return isTooLarge ? undefined : { instructions, start, ...literalFrom(instructions, start) }
}
