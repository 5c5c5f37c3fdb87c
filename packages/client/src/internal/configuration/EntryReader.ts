/** One entry of a configuration of servers, read field by field. */

import * as Redacted from "effect/Redacted"
import * as Expansion from "./Expansion.ts"

/** A problem of one field. It contains no value of the field. */
export interface FieldProblem {
  readonly field: string
  readonly problem: string
  readonly advice: string
}

/** The most problems that are collected: a file of 1 MiB can have half a million. */
export const maxProblems = 100

type Entry = { readonly [field: string]: unknown }

type Variable = readonly [name: string, value: Redacted.Redacted<string> | undefined]

type MaybeSecret = string | Redacted.Redacted<string>

export const isObject = (value: unknown): value is Entry =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/

const secret = ({ isSecret, value }: Expansion.Expanded): MaybeSecret => isSecret ? Redacted.make(value) : value

/** Reads the fields of one entry, and collects their problems. */
export class EntryReader {
  /** The first problems, up to {@link maxProblems}. */
  readonly problems: Array<FieldProblem>
  readonly #entry: Entry
  readonly #values: Expansion.ExpansionValues | undefined
  /** The field of an entry whose members are read, and a dot. */
  readonly #prefix: string

  /** Without values, `${…}` is text. */
  constructor(
    entry: Entry,
    values: Expansion.ExpansionValues | undefined,
    problems: Array<FieldProblem> = [],
    prefix = ""
  ) {
    this.#entry = entry
    this.#values = values
    this.problems = problems
    this.#prefix = prefix
  }

  /** Returns a reader of the members of a field. Its problems are those of this reader as well. */
  within(field: string): EntryReader | undefined {
    const value = this.#entry[field]
    if (isObject(value)) return new EntryReader(value, this.#values, this.problems, `${this.#prefix}${field}.`)
    this.report(field, "it is not an object", "write names and values in braces")
    return undefined
  }

  isText(field: string): boolean {
    return this.has(field) && typeof this.#entry[field] === "string"
  }

  isObject(field: string): boolean {
    return this.has(field) && isObject(this.#entry[field])
  }

  has(field: string): boolean {
    return Object.hasOwn(this.#entry, field) && this.#entry[field] !== undefined && this.#entry[field] !== null
  }

  report(field: string, problem: string, advice: string): void {
    if (this.problems.length < maxProblems) this.problems.push({ field: `${this.#prefix}${field}`, problem, advice })
  }

  /** Reads a text as it is written. */
  raw(field: string): string | undefined {
    if (!this.has(field)) return undefined
    const value = this.#entry[field]
    if (typeof value === "string") return value
    this.report(field, "it is not a text", "write it in quotes")
    return undefined
  }

  /** Reads a text, and replaces its references. */
  text(field: string): Expansion.Expanded | undefined {
    const raw = this.raw(field)
    return raw === undefined ? undefined : this.#expand(field, raw)
  }

  /** Reads a number that is an integer, or a text of digits. */
  count(field: string): number | undefined {
    const value = this.#entry[field]
    const text = typeof value === "number" ? { value: String(value), problems: [] } : this.text(field)
    if (text === undefined || text.problems.length > 0) return undefined
    if (/^\d{1,15}$/.test(text.value)) return Number(text.value)
    this.report(field, "it is no integer", "write a number without quotes")
    return undefined
  }

  /** Reads a list. */
  items(field: string): ReadonlyArray<unknown> {
    if (!this.has(field)) return []
    const value = this.#entry[field]
    if (Array.isArray(value)) return value
    this.report(field, "it is not a list", "write a list of texts, such as [\"-y\", \"server\"]")
    return []
  }

  /** Reads a list of texts that are no secrets. */
  plainTexts(field: string): ReadonlyArray<string> {
    return this.texts(field).map((text) => Redacted.isRedacted(text) ? Redacted.value(text) : text)
  }

  /** Reads a list of texts. What comes from a reference is redacted. */
  texts(field: string): ReadonlyArray<MaybeSecret> {
    return this.items(field).flatMap((item, index) => {
      if (typeof item === "number") return [String(item)]
      if (typeof item === "string") return [secret(this.#expand(`${field}[${index}]`, item))]
      this.report(`${field}[${index}]`, "it is not a text", "write it in quotes")
      return []
    })
  }

  /** Reads environment variables. All values are redacted; `null` removes an inherited variable. */
  variables(field: string): Readonly<Record<string, Redacted.Redacted<string> | undefined>> {
    return Object.fromEntries(
      this.#members(field).flatMap(([name, value]): ReadonlyArray<Variable> => {
        const at = `${field}.${name}`
        if (name === "" || name.includes("=") || name.includes("\0")) {
          this.report(field, `the name ${JSON.stringify(name)} is not allowed`, "use a name without =")
          return []
        }
        if (value === null) return [[name, undefined]]
        if (typeof value === "number") return [[name, Redacted.make(String(value))]]
        if (typeof value === "string") return [[name, Redacted.make(this.#expand(at, value).value)]]
        this.report(at, "it is not a text", "write it in quotes")
        return []
      })
    )
  }

  /** Reads headers. All values are redacted. */
  headers(field: string): Readonly<Record<string, Redacted.Redacted<string>>> {
    return Object.fromEntries(
      this.#members(field).flatMap(([name, value]) => {
        const at = `${field}.${name}`
        if (!this.#isHeader(field, name)) return []
        if (typeof value === "string") return this.header(at, name, this.#expand(at, value).value)
        this.report(at, "it is not a text", "write it in quotes")
        return []
      })
    )
  }

  /** Reads headers whose values are in the variables that they name. */
  namedHeaders(
    field: string,
    valueOf: (at: string, variable: unknown) => string | undefined
  ): Readonly<Record<string, Redacted.Redacted<string>>> {
    return Object.fromEntries(
      this.#members(field).flatMap(([name, variable]) => {
        const at = `${field}.${name}`
        const value = this.#isHeader(field, name) ? valueOf(at, variable) : undefined
        return value === undefined ? [] : this.header(at, name, value)
      })
    )
  }

  /** Returns a header, or reports its value. */
  header(at: string, name: string, value: string): ReadonlyArray<readonly [string, Redacted.Redacted<string>]> {
    if (headerValue.test(value)) return [[name, Redacted.make(value)]]
    this.report(at, "its value has characters that a header cannot have", "remove line breaks and other ones")
    return []
  }

  #isHeader(field: string, name: string): boolean {
    if (headerName.test(name)) return true
    this.report(field, `the name ${JSON.stringify(name)} is not that of a header`, "use letters, digits and -")
    return false
  }

  #members(field: string): ReadonlyArray<readonly [string, unknown]> {
    if (!this.has(field)) return []
    const value = this.#entry[field]
    if (isObject(value)) return Object.entries(value)
    this.report(field, "it is not an object", "write names and values in braces")
    return []
  }

  #expand(field: string, text: string): Expansion.Expanded {
    if (this.#values === undefined) return { value: text, isSecret: false, secrets: [], problems: [] }
    const expanded = Expansion.expand(text, this.#values)
    for (const { advice, problem } of expanded.problems) this.report(field, problem, advice)
    return expanded
  }
}
