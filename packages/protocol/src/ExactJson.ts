/**
 * Parsing of JSON that keeps the digits of integers. A JavaScript number has 53 bits, so `1915883588174806058` becomes
 * another number when `JSON.parse` reads it. The values of {@link parse} are those of `JSON.parse`, but
 * `JSON.stringify` writes such an integer with the digits that it came with. A program that passes a value on, as a
 * proxy does, therefore sends what it received.
 *
 * The digits belong to the array or the object that the integer is in. A copy of this array or object has only the
 * number. Fractions, exponents, integers of more than 128 digits, a text that is one number, and integers beside a
 * member with the name `toJSON` are written as numbers. So is everything where the runtime has no `JSON.rawJSON`, as
 * some browsers; {@link changedIn} works there as well.
 *
 * @stability unstable
 */
import { trust } from "./internal/trust.ts"

interface RawJson {
  readonly rawJSON?: (text: string) => unknown
}

// The compiler's library does not declare the member, and some runtimes do not have it.
const { rawJSON } = trust<RawJson>(JSON)

type Container = Array<unknown> | { [name: string]: unknown }

/** The integers of an array or an object, by index or name. */
type Integers = Map<string | number, bigint>

/**
 * The integers of a parsed array or object, as a member that is not enumerable. A `WeakMap` took up to 25 microseconds
 * for an entry, because the collector of garbage visits all of them.
 */
const kept = Symbol("integers")

const integersOf = (container: Container): Integers | undefined =>
  trust<{ readonly [kept]?: Integers }>(container)[kept]

/** Whether this process has read such an integer. Without one, no value has to be searched. */
let hasRead = false

/** The least digits of an integer beyond 2^53, which is 9007199254740992. */
const minDigits = 16

/** The most digits that are kept. The time to read an integer grows faster than its digits. */
const maxDigits = 128

const quote = 0x22
const comma = 0x2C
const minus = 0x2D
const zero = 0x30
const nine = 0x39
const colon = 0x3A
const bracket = 0x5B
const backslash = 0x5C
const closingBracket = 0x5D
const brace = 0x7B
const closingBrace = 0x7D

const isDigit = (code: number): boolean => code >= zero && code <= nine

const isSpace = (code: number): boolean => code === 0x20 || code === 0x0A || code === 0x0D || code === 0x09

/** Returns the index after the digits at an index. */
const afterDigits = (text: string, from: number): number => {
  let at = from
  while (isDigit(text.charCodeAt(at))) at++
  return at
}

/** Returns whether these digits of a text can be an integer beyond 2^53. Characters of a string can look like one. */
const canBeLarge = (text: string, begin: number, end: number): boolean => {
  const digits = end - begin
  if (digits < minDigits || (digits === minDigits && Number(text.slice(begin, end)) <= Number.MAX_SAFE_INTEGER)) {
    return false
  }
  const before = text.charCodeAt(text.charCodeAt(begin - 1) === minus ? begin - 2 : begin - 1)
  const after = text.charCodeAt(end)
  return (before === comma || before === colon || before === bracket || isSpace(before)) &&
    (after === comma || after === closingBracket || after === closingBrace || isSpace(after))
}

/**
 * Returns whether a text may have an integer beyond 2^53. Reads one of 16 characters, because 16 digits in a row
 * include one of these. Nearly every text costs this search only.
 */
const mayHaveLarge = (text: string): boolean => {
  for (let at = minDigits - 1; at < text.length; at += minDigits) {
    if (!isDigit(text.charCodeAt(at))) continue
    let begin = at
    while (isDigit(text.charCodeAt(begin - 1))) begin--
    const end = afterDigits(text, at)
    if (canBeLarge(text, begin, end)) return true
    // The next step reads the first of the 16 characters that can end a later run.
    at = Math.max(at, end - 1)
  }
  return false
}

/** Returns the index of a string's closing quote. */
const endOfString = (text: string, begin: number): number => {
  for (let at = begin + 1;; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) return at
    if (code === backslash) at++
  }
}

const isContainer = (value: unknown): value is Container => typeof value === "object" && value !== null

/** An array or an object that the reading is in. */
interface Level {
  readonly isArray: boolean
  /** The index of the present element. */
  index: number
  /** The begin and the end of the name of the present member, with its quotes. */
  nameBegin: number
  nameEnd: number
  /**
   * The parsed array or object. It is looked up when the first integer in it is read. `null` if a later member of the
   * same name has replaced it.
   */
  container: Container | null | undefined
  integers: Integers | undefined
}

/**
 * Copies an array or an object for `JSON.stringify`, with the integers that it still has. All values share this
 * function, so that `Equal.equals` compares their other members.
 */
const toJSON = function(this: Container): Container {
  const copy: Container = Array.isArray(this) ? [...this] : { ...this }
  for (const [name, integer] of integersOf(this) ?? []) {
    if (Reflect.get(this, name) === Number(integer)) Reflect.set(copy, name, rawJSON?.(String(integer)))
  }
  return copy
}

/** Returns the integers of an array or an object. They are empty at first. */
const integersIn = (container: Container): Integers => {
  const known = integersOf(container)
  if (known !== undefined) return known
  hasRead = true
  const integers: Integers = new Map()
  Object.defineProperty(container, kept, { value: integers })
  if (rawJSON !== undefined && !Object.hasOwn(container, "toJSON")) {
    Object.defineProperty(container, "toJSON", { configurable: true, value: toJSON })
  }
  return integers
}

/** Reads a valid JSON text beside its value, and finds the arrays and objects of the integers that are too large. */
class Reader {
  readonly #text: string
  readonly #levels: Array<Level> = []
  readonly #root: Container

  constructor(text: string, root: Container) {
    this.#text = text
    this.#root = root
  }

  read(): void {
    const text = this.#text
    const levels = this.#levels
    let level: Level | undefined
    let stringBegin = 0
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code === quote) {
        stringBegin = at
        at = endOfString(text, at)
      } else if (isDigit(code)) {
        const end = afterDigits(text, at)
        if (level !== undefined && canBeLarge(text, at, end)) this.#keep(level, at, end)
        at = end - 1
      } else if (code === comma) {
        if (level !== undefined) level.index++
      } else if (code === colon) {
        if (level !== undefined) {
          level.nameBegin = stringBegin
          level.nameEnd = at
        }
      } else if (code === bracket || code === brace) {
        level = {
          isArray: code === bracket,
          index: 0,
          nameBegin: 0,
          nameEnd: 0,
          container: undefined,
          integers: undefined
        }
        levels.push(level)
      } else if (code === closingBracket || code === closingBrace) {
        levels.pop()
        level = levels.at(-1)
      }
    }
  }

  #keep(level: Level, begin: number, end: number): void {
    if (end - begin > maxDigits) return
    const container = this.#innermost()
    const name = this.#nameIn(level)
    const integer = BigInt(this.#text.slice(this.#text.charCodeAt(begin - 1) === minus ? begin - 1 : begin, end))
    // A later member of the same name has replaced it.
    if (container === null || Reflect.get(container, name) !== Number(integer)) return
    level.integers ??= integersIn(container)
    level.integers.set(name, integer)
  }

  #nameIn({ index, isArray, nameBegin, nameEnd }: Level): string | number {
    // The text between these places is a JSON string.
    return isArray ? index : trust<string>(JSON.parse(this.#text.slice(nameBegin, nameEnd)))
  }

  /** Looks up the array or object of the innermost level. Each level is looked up at most once. */
  #innermost(): Container | null {
    const levels = this.#levels
    let known = levels.length - 1
    while (known >= 0 && levels[known]?.container === undefined) known--
    let found = known < 0 ? this.#root : levels[known]?.container ?? null
    for (let next = known + 1; next < levels.length; next++) {
      const parent = levels[next - 1]
      const level = levels[next]
      if (level === undefined) break
      const value: unknown = parent === undefined ? found : found && Reflect.get(found, this.#nameIn(parent))
      found = isContainer(value) ? value : null
      level.container = found
    }
    return found
  }
}

/**
 * Parses a JSON text as `JSON.parse` does, and keeps the digits of integers that a number cannot hold. Throws what
 * `JSON.parse` throws. Each such integer takes 4 microseconds more if it is alone in its object, and 1.5 in
 * an array of them.
 *
 * @example
 * ```ts
 * import { ExactJson } from "@effect-mcp/protocol"
 *
 * const value = ExactJson.parse(`{"id":1915883588174806058}`)
 *
 * export const text = JSON.stringify(value) // => "{\"id\":1915883588174806058}"
 * ```
 *
 * @category parsing
 */
export const parse = (text: string): unknown => {
  const value: unknown = JSON.parse(text)
  if (isContainer(value) && mayHaveLarge(text)) new Reader(text, value).read()
  return value
}

/**
 * Returns an integer of a parsed value that a number does not hold: its digits, and the index or name that it has.
 * `undefined` if there is none.
 *
 * @example
 * ```ts
 * import { ExactJson } from "@effect-mcp/protocol"
 *
 * export const found = ExactJson.changedIn(ExactJson.parse(`{"id":9007199254740993}`))
 * // => { name: "id", digits: "9007199254740993" }
 *
 * export const none = ExactJson.changedIn(ExactJson.parse(`{"id":9007199254740992}`)) // => undefined
 * ```
 *
 * @category getters
 */
export const changedIn = (value: unknown): { readonly name: string; readonly digits: string } | undefined => {
  if (!hasRead) return undefined
  // Not recursive, because a peer decides the depth.
  const open = [value]
  while (open.length > 0) {
    const container = open.pop()
    if (!isContainer(container)) continue
    for (const [name, integer] of integersOf(container) ?? []) {
      const number: unknown = Reflect.get(container, name)
      if (number === Number(integer) && BigInt(number) !== integer) {
        return { name: String(name), digits: String(integer) }
      }
    }
    for (const member of Array.isArray(container) ? container : Object.values(container)) {
      if (isContainer(member)) open.push(member)
    }
  }
  return undefined
}
