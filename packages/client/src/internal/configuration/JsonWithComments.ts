/** JSON with comments and trailing commas, as editors write it. */

import * as Result from "effect/Result"

/** The greatest length and depth of a text. */
export const limits = { characters: 1_048_576, levels: 128 }

const tokens = {
  blank: /[ \t\r\n]*/y,
  lineComment: /\/\/[^\r\n]*/y,
  text: /"[^"\\\u0000-\u001f]*(?:\\.[^"\\\u0000-\u001f]*)*"/y,
  number: /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])/y,
  word: /(?:true|false|null)(?!\w)/y
}

/** The place of a member of an object: of its name, of its value, and of the character after the value. */
export interface MemberPlace {
  readonly name: string
  readonly at: number
  readonly valueAt: number
  readonly end: number
}

/** The places of an object in a text: of its braces, of its members, and of the comma after the last member. */
export interface ObjectPlace {
  readonly open: number
  readonly close: number
  readonly members: ReadonlyArray<MemberPlace>
  readonly lastComma: number | undefined
}

/** A value, and the places of the objects in it. */
export interface Located {
  readonly value: unknown
  readonly places: ReadonlyMap<unknown, ObjectPlace>
}

/** The error of a text that is no JSON. */
class Fault extends Error {}

/**
 * Reads one text. Its errors have a place in each runtime, and quote no text, which may have secrets. The messages of
 * `JSON.parse` often have no place.
 */
class Reader {
  /** The places of the objects that were read. */
  readonly places = new Map<unknown, ObjectPlace>()
  readonly #text: string
  #at = 0
  /** The character after the last one that is neither a space nor in a comment. */
  #end = 0

  constructor(text: string) {
    this.#text = text
  }

  all(): unknown {
    this.#skip()
    const value = this.#value(1)
    this.#skip()
    return this.#at === this.#text.length ? value : this.#fail("there is more after the end of the value")
  }

  #fail(problem: string): never {
    const lines = this.#text.slice(0, this.#at).split(/\r\n|\r|\n/)
    throw new Fault(`${problem} (line ${lines.length} column ${(lines.at(-1) ?? "").length + 1})`)
  }

  #token(expression: RegExp): string | undefined {
    expression.lastIndex = this.#at
    const found = expression.exec(this.#text)?.[0]
    this.#at += found?.length ?? 0
    return found
  }

  /** Skips spaces and comments. */
  #skip(): void {
    for (;;) {
      this.#token(tokens.blank)
      if (this.#text.startsWith("/*", this.#at)) {
        const end = this.#text.indexOf("*/", this.#at + 2)
        if (end < 0) this.#fail("a comment has no end")
        this.#at = end + 2
      } else if (this.#token(tokens.lineComment) === undefined) return
    }
  }

  #takes(character: string): boolean {
    if (this.#text[this.#at] !== character) return false
    this.#at += 1
    this.#end = this.#at
    this.#skip()
    return true
  }

  #value(level: number): unknown {
    if (level > limits.levels) this.#fail(`it has more than ${limits.levels} levels`)
    const start = this.#at
    if (this.#takes("[")) return this.#array(level)
    if (this.#takes("{")) return this.#object(level, start)
    if (this.#text[this.#at] === "\"") return this.#string()
    const literal = this.#token(tokens.word) ?? this.#token(tokens.number)
    this.#end = this.#at
    if (literal !== undefined) return JSON.parse(literal)
    return this.#fail(this.#at === this.#text.length ? "the text ends too early" : "a value is missing")
  }

  #string(): string {
    const start = this.#at
    const text = this.#token(tokens.text)
    this.#end = this.#at
    try {
      if (text !== undefined) return JSON.parse(text)
    } catch {
      this.#at = start
    }
    return this.#fail("a text has no end, or a character that must be escaped")
  }

  #array(level: number): ReadonlyArray<unknown> {
    const items: Array<unknown> = []
    while (!this.#takes("]")) {
      items.push(this.#value(level + 1))
      this.#skip()
      if (!this.#takes(",") && this.#text[this.#at] !== "]") this.#fail("a comma or ] is missing")
    }
    return items
  }

  #object(level: number, open: number): object {
    const members: Array<readonly [name: string, value: unknown]> = []
    const places: Array<MemberPlace> = []
    let lastComma: number | undefined
    let close = this.#at
    while (!this.#takes("}")) {
      if (this.#text[this.#at] !== "\"") this.#fail("a name in quotes or } is missing")
      const at = this.#at
      const name = this.#string()
      this.#skip()
      if (!this.#takes(":")) this.#fail("a colon is missing")
      const valueAt = this.#at
      members.push([name, this.#value(level + 1)])
      places.push({ name, at, valueAt, end: this.#end })
      this.#skip()
      const comma = this.#at
      lastComma = this.#takes(",") ? comma : undefined
      if (lastComma === undefined && this.#text[this.#at] !== "}") this.#fail("a comma or } is missing")
      close = this.#at
    }
    const object = Object.fromEntries(members)
    this.places.set(object, { open, close, members: places, lastComma })
    return object
  }
}

/**
 * Returns the value of a text and the places of its objects, or its problem and the place of it. The text has no byte
 * order mark.
 */
export const locate = (text: string): Result.Result<Located, string> => {
  if (text.length > limits.characters) return Result.fail(`it has more than ${limits.characters} characters`)
  try {
    const reader = new Reader(text)
    return Result.succeed({ value: reader.all(), places: reader.places })
  } catch (error) {
    if (error instanceof Fault) return Result.fail(error.message)
    throw error
  }
}

/** Returns the value of a text, or its problem and the place of it. */
export const parse = (text: string): Result.Result<unknown, string> =>
  // Editors write a byte order mark, which JSON does not have.
  Result.map(locate(text.replace(/^\ufeff/, "")), ({ value }) => value)
