/** The secrets that a transport sends, and the texts and values without them. */
import * as Base64 from "effect/encoding/Base64"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"

/** The text in place of a secret. */
export const replacement = "<redacted>"

const ellipsis = "…"

/** The length of the shortest text that is hidden. A shorter one, such as a digit, would be hidden everywhere. */
const minLength = 4

/** Words that are no secrets, and that many texts contain. */
const common: ReadonlySet<string> = new Set(["true", "false", "null", "none"])

/** The number of learned secrets that are remembered. A program may send another token with each request. */
const maxLearned = 64

/** The levels of a value that are searched. What is deeper is left out. */
const maxLevels = 256

/**
 * The characters of a value that are searched. What follows is left out: the search of a whole frame of 4 MiB would
 * stop the event loop for seconds.
 */
const maxSearched = 65_536

/**
 * The first characters of a long form. A text with them is hidden as far as it agrees with the form. Without this, a
 * form of 8,000 equal characters would be compared as a whole at each character of a text.
 */
const headLength = 64

/** The characters that each string of a value counts in addition to its own. */
const perString = 16
/** The characters that each other member counts. */
const perMember = 1

/** A secret as a program gives it. */
export type Secret = string | Redacted.Redacted<string>

/** The characters that may still be searched. */
export interface Allowance {
  left: number
}

/** Returns the allowance of one value, which may be a whole frame. */
export const allowance = (): Allowance => ({ left: maxSearched })

/** Returns a secret, and its parts that are secrets themselves: what follows a scheme, and the password of `Basic`. */
const partsOf = (secret: string): ReadonlyArray<string> => {
  const [, scheme = "", credentials] = /^([A-Za-z][\w-]*) +(\S.*)$/s.exec(secret) ?? []
  if (credentials === undefined) return [secret]
  if (scheme.toLowerCase() !== "basic") return [secret, credentials]
  const user = Result.getOrElse(Base64.decodeString(credentials), () => "")
  return [secret, credentials, user, user.slice(user.indexOf(":") + 1)]
}

/** Returns the forms that a text has in URLs, in names of hosts, in quotes, and as base64. */
const writtenForms = (secret: string): ReadonlyArray<string> => {
  const inUrl = URL.canParse(`http://h/${secret}`) ? new URL(`http://h/${secret}`) : undefined
  const alone = URL.canParse(secret) ? new URL(secret) : undefined
  const asHost = URL.canParse(`http://${secret}`) ? new URL(`http://${secret}`) : undefined
  return [
    secret,
    // Half of a character cannot be encoded.
    encodeURIComponent(secret.toWellFormed()),
    JSON.stringify(secret).slice(1, -1),
    Base64.encode(secret),
    inUrl?.href.slice("http://h/".length) ?? "",
    inUrl?.pathname.slice(1) ?? "",
    alone?.hostname ?? "",
    alone?.pathname ?? "",
    asHost?.hostname ?? "",
    asHost?.pathname ?? ""
  ]
}

const formsOf = (secret: string): ReadonlyArray<string> =>
  partsOf(secret).flatMap(writtenForms).flatMap((form) => [form, form.toLowerCase()]).filter((form) =>
    form.length >= minLength && !common.has(form)
  )

/** Returns the number of characters in which a form and a part of a text agree. */
const commonLength = (form: string, text: string, at: number): number => {
  let length = 0
  while (length < form.length && form[length] === text[at + length]) length++
  return length
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null

/** The secrets of one transport: those that it was created with, and the last 64 that it has learned. */
export class KnownSecrets {
  readonly #lasting: ReadonlySet<string>
  readonly #learned = new Map<string, ReadonlyArray<string>>()
  readonly #lastingForms: ReadonlyArray<string>
  /** The forms by their first characters. */
  #forms = new Map<string, Array<string>>()
  /** The first characters of forms, because most characters of a text are none of them. */
  #firsts: ReadonlySet<number> = new Set()

  constructor(secrets: ReadonlyArray<Secret>) {
    this.#lasting = new Set(secrets.map((secret) => typeof secret === "string" ? secret : Redacted.value(secret)))
    this.#lastingForms = [...this.#lasting].flatMap(formsOf)
    this.#index()
  }

  get isEmpty(): boolean {
    return this.#forms.size === 0
  }

  /** Adds a secret. The one that was learned longest ago is forgotten if there are too many. */
  learn(given: Secret): void {
    const secret = typeof given === "string" ? given : Redacted.value(given)
    if (this.#lasting.has(secret)) return
    const known = this.#learned.get(secret)
    this.#learned.delete(secret)
    this.#learned.set(secret, known ?? formsOf(secret))
    if (known !== undefined) return
    const [oldest] = this.#learned.keys()
    if (this.#learned.size > maxLearned && oldest !== undefined) this.#learned.delete(oldest)
    this.#index()
  }

  #index(): void {
    const forms = new Set([...this.#lastingForms, ...[...this.#learned.values()].flat()])
    this.#forms = new Map()
    for (const form of forms) {
      const beginning = form.slice(0, minLength)
      const others = this.#forms.get(beginning)
      if (others === undefined) this.#forms.set(beginning, [form])
      else others.push(form)
    }
    this.#firsts = new Set([...forms].map((form) => form.charCodeAt(0)))
  }

  /**
   * Returns a text without the secrets. An ellipsis may have cut one, because what cuts a text writes one (`Excerpt`),
   * and so may the end of a text that `isCut`.
   */
  text(text: string, isCut = false): string {
    const end = isCut ? text.length : Infinity
    let shown = ""
    let hidden = 0
    let cut = -1
    for (let at = 0; at <= text.length - minLength; at++) {
      if (!this.#firsts.has(text.charCodeAt(at))) continue
      const forms = this.#forms.get(text.slice(at, at + minLength))
      if (forms === undefined) continue
      if (cut < at) {
        cut = text.indexOf(ellipsis, at)
        if (cut < 0) cut = end
      }
      let length = 0
      for (const form of forms) {
        const head = form.slice(0, Math.min(headLength, cut - at))
        if (text.startsWith(head, at)) length = Math.max(length, commonLength(form, text, at))
      }
      if (length === 0) continue
      shown += text.slice(hidden, at) + replacement
      hidden = at + length
      at = hidden - 1
    }
    return shown + text.slice(hidden)
  }

  /** Returns a JSON value without the secrets, or the same one if it has none. */
  value(value: unknown, allowed: Allowance = allowance(), levels = maxLevels): unknown {
    if (typeof value === "string") return this.#string(value, allowed)
    allowed.left -= perMember
    if (!isObject(value)) return value
    if (levels === 0) return replacement
    return Array.isArray(value) ? this.#array(value, allowed, levels - 1) : this.#object(value, allowed, levels - 1)
  }

  #string(text: string, allowed: Allowance): string {
    const { left } = allowed
    allowed.left -= text.length + perString
    if (left <= 0) return replacement
    return text.length <= left ? this.text(text) : this.text(text.slice(0, left), true) + ellipsis
  }

  #array(value: ReadonlyArray<unknown>, allowed: Allowance, levels: number): ReadonlyArray<unknown> {
    const shown: Array<unknown> = []
    for (const member of value) {
      if (allowed.left <= 0) return [...shown, replacement]
      shown.push(this.value(member, allowed, levels))
    }
    return shown.every((member, index) => member === value[index]) ? value : shown
  }

  #object(value: object, allowed: Allowance, levels: number): object {
    const shown: Array<readonly [string, unknown]> = []
    let isSame = true
    // `Object.entries` would create a pair for each member of a large object.
    for (const name of Object.keys(value)) {
      const member: unknown = Reflect.get(value, name)
      if (allowed.left <= 0) return Object.fromEntries([...shown, [ellipsis, replacement]])
      const entry = [this.#string(name, allowed), this.value(member, allowed, levels)] as const
      isSame &&= entry[0] === name && entry[1] === member
      shown.push(entry)
    }
    return isSame ? value : Object.fromEntries(shown)
  }
}
