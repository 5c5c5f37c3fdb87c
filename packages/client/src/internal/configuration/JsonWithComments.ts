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

/** The error of a text that is no JSON. */
class Fault extends Error {}

/**
 * Reads one text. Its errors have a place in each runtime, and quote no text, which may have secrets. The messages of
 * `JSON.parse` often have no place.
 */
class Reader {
  readonly #text: string
  #at = 0

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
    this.#skip()
    return true
  }

  #value(level: number): unknown {
    if (level > limits.levels) this.#fail(`it has more than ${limits.levels} levels`)
    if (this.#takes("[")) return this.#array(level)
    if (this.#takes("{")) return this.#object(level)
    if (this.#text[this.#at] === "\"") return this.#string()
    const literal = this.#token(tokens.word) ?? this.#token(tokens.number)
    if (literal !== undefined) return JSON.parse(literal)
    return this.#fail(this.#at === this.#text.length ? "the text ends too early" : "a value is missing")
  }

  #string(): string {
    const start = this.#at
    const text = this.#token(tokens.text)
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

  #object(level: number): object {
    const members: Array<readonly [name: string, value: unknown]> = []
    while (!this.#takes("}")) {
      if (this.#text[this.#at] !== "\"") this.#fail("a name in quotes or } is missing")
      const name = this.#string()
      this.#skip()
      if (!this.#takes(":")) this.#fail("a colon is missing")
      members.push([name, this.#value(level + 1)])
      this.#skip()
      if (!this.#takes(",") && this.#text[this.#at] !== "}") this.#fail("a comma or } is missing")
    }
    return Object.fromEntries(members)
  }
}

/** Returns the value of a text, or its problem and the place of it. */
export const parse = (text: string): Result.Result<unknown, string> => {
  if (text.length > limits.characters) return Result.fail(`it has more than ${limits.characters} characters`)
  try {
    // Editors write a byte order mark, which JSON does not have.
    return Result.succeed(new Reader(text.replace(/^\ufeff/, "")).all())
  } catch (error) {
    if (error instanceof Fault) return Result.fail(error.message)
    throw error
  }
}
