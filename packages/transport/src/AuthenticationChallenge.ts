/**
 * The challenges of `WWW-Authenticate`, by which a server says how a client authenticates (RFC 9110, section 11).
 *
 * @stability unstable
 */

/**
 * One challenge: `Bearer realm="notes", scope="notes:read"`.
 *
 * @category models
 */
export interface AuthenticationChallenge {
  /** The scheme as the server writes it. Schemes are compared without case; see {@link find}. */
  readonly scheme: string
  /** The parameters by name, in lower case. Of parameters with one name, the first counts. */
  readonly parameters: Readonly<Record<string, string>>
  /** The data after the scheme of a challenge without parameters, such as that of `Negotiate`. */
  readonly token68?: string
}

/**
 * The bounds of {@link parse}: the characters of a header, its challenges, and the parameters of one of them. What is
 * beyond them is not read.
 *
 * @category constants
 */
export const bounds: {
  readonly maxCharacters: number
  readonly maxChallenges: number
  readonly maxParameters: number
} = { maxCharacters: 16_384, maxChallenges: 16, maxParameters: 32 }

// Sticky expressions, each linear: no position is read twice by one of them.
const separators = /[ \t]*(?:,[ \t]*)*/y
const token = /[!#$%&'*+\-.^_`|~0-9A-Za-z]+/y
const data = /[A-Za-z0-9\-._~+/]+=*(?=[ \t]*(?:,|$))/y
const quoted = /"((?:[\t \x21\x23-\x5b\x5d-\x7e\x80-\uffff]|\\[\t \x21-\x7e\x80-\uffff])*)"/y
const equals = /[ \t]*=[ \t]*/y
const spaces = /[ \t]+/y
const broken = /[^,"]*(?:"(?:[^"\\]|\\[^])*"?[^,"]*)*/y

/** Reads a header from its beginning to its end. */
class HeaderReader {
  readonly #text: string
  #position = 0

  constructor(text: string) {
    this.#text = text
  }

  get isAtEnd(): boolean {
    return this.#position >= this.#text.length
  }

  /** Returns the position, to which {@link back} returns. */
  get position(): number {
    return this.#position
  }

  back(position: number): void {
    this.#position = position
  }

  /** Takes the text that the expression matches here; its first group, if it has one. */
  take(expression: RegExp): string | undefined {
    expression.lastIndex = this.#position
    const match = expression.exec(this.#text)
    if (match === null) return undefined
    this.#position = expression.lastIndex
    return match[1] ?? match[0]
  }
}

/** Returns the name and the value of the parameter that begins here. */
const parameter = (reader: HeaderReader): readonly [string, string] | undefined => {
  const start = reader.position
  const name = reader.take(token)
  if (name !== undefined && reader.take(equals) !== undefined) {
    const text = reader.take(quoted)
    const value = text === undefined ? reader.take(token) : text.replaceAll(/\\([^])/g, "$1")
    if (value !== undefined) return [name.toLowerCase(), value]
  }
  reader.back(start)
  return undefined
}

/** Returns the challenge that begins here. */
const challenge = (reader: HeaderReader): AuthenticationChallenge | undefined => {
  const scheme = reader.take(token)
  // A parameter that stands alone is no scheme.
  if (scheme === undefined || reader.take(equals) !== undefined) return undefined
  // The names of parameters are those of the server, `__proto__` among them.
  const parameters: Record<string, string> = Object.create(null)
  if (reader.take(spaces) === undefined) return { scheme, parameters }
  let count = 0
  while (true) {
    const start = reader.position
    reader.take(separators)
    const next = parameter(reader)
    if (next === undefined) {
      reader.back(start)
      break
    }
    const [name, value] = next
    if (count++ < bounds.maxParameters && !(name in parameters)) parameters[name] = value
  }
  const token68 = count === 0 ? reader.take(data) : undefined
  return token68 === undefined ? { scheme, parameters } : { scheme, parameters, token68 }
}

/**
 * Returns the challenges of a `WWW-Authenticate` header, in their order (AUT-05). Several headers of one response are
 * joined by commas. A part that is no challenge is left out, and so is what exceeds {@link bounds}.
 *
 * @example
 * ```ts
 * import { AuthenticationChallenge } from "@effect-mcp/transport"
 *
 * const challenges = AuthenticationChallenge.parse("Basic realm=\"notes\", Bearer scope=\"notes:read\"")
 *
 * export const schemes = challenges.map(({ scheme }) => scheme) // => ["Basic", "Bearer"]
 * ```
 *
 * @category parsing
 */
export const parse = (header: string): ReadonlyArray<AuthenticationChallenge> => {
  const reader = new HeaderReader(header.slice(0, bounds.maxCharacters))
  const challenges: Array<AuthenticationChallenge> = []
  while (challenges.length < bounds.maxChallenges) {
    reader.take(separators)
    if (reader.isAtEnd) break
    const next = challenge(reader)
    if (next !== undefined) challenges.push(next)
    // What follows a challenge without a comma belongs to no challenge.
    reader.take(broken)
  }
  return challenges
}

/**
 * Returns the first challenge of a scheme, compared without case.
 *
 * @example
 * ```ts
 * import { AuthenticationChallenge } from "@effect-mcp/transport"
 *
 * const challenges = AuthenticationChallenge.parse("bearer error=\"invalid_token\"")
 *
 * export const error = AuthenticationChallenge.find(challenges, "Bearer")?.parameters["error"] // => "invalid_token"
 * ```
 *
 * @category getters
 */
export const find = (
  challenges: ReadonlyArray<AuthenticationChallenge>,
  scheme: string
): AuthenticationChallenge | undefined =>
  challenges.find((challenge) => challenge.scheme.toLowerCase() === scheme.toLowerCase())

/** Returns text as a quoted string, without the characters that a header cannot have. */
const quote = (text: string): string =>
  `"${text.replaceAll(/[^\t\x20-\x7e]/g, "").replaceAll(/["\\]/g, (character) => `\\${character}`)}"`

/**
 * Returns a challenge as the value of `WWW-Authenticate`. Values are quoted strings; characters that a header cannot
 * have are left out. A parameter without a value is left out.
 *
 * @example
 * ```ts
 * import { AuthenticationChallenge } from "@effect-mcp/transport"
 *
 * export const header = AuthenticationChallenge.print("Bearer", { realm: "notes", scope: undefined })
 * // => "Bearer realm=\"notes\""
 * ```
 *
 * @category formatting
 */
export const print = (scheme: string, parameters: Readonly<Record<string, string | undefined>> = {}): string => {
  const printed = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${quote(value)}`]
  )
  return [scheme, printed.join(", ")].join(" ").trim()
}
