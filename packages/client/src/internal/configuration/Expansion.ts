/** The references in a configuration, such as `${TOKEN}`, and their values. */

import * as Redacted from "effect/Redacted"
import * as os from "node:os"
import * as path from "node:path"

/** The values that references stand for. */
export interface ExpansionValues {
  readonly env: { readonly [name: string]: string | undefined }
  readonly variables: { readonly [name: string]: string | undefined }
  readonly inputs: { readonly [id: string]: string | Redacted.Redacted<string> | undefined }
  /** The characters that values may still put into the texts of a configuration. A value may be repeated. */
  readonly allowance: { left: number }
  /** Whether `$NAME` is a reference as well, as in the files of Gemini CLI. Default: false. */
  readonly hasBareNames?: boolean
}

/** A text whose references have been replaced. A text with values from elsewhere may be secret. */
export interface Expanded {
  readonly value: string
  readonly isSecret: boolean
  /** The values from elsewhere that are in the text. Defaults are not among them, because the file has them. */
  readonly secrets: ReadonlyArray<string>
  /** The problems of references without a value. They contain no values. */
  readonly problems: ReadonlyArray<{ readonly problem: string; readonly advice: string }>
}

/** The most characters that values put into the texts of one configuration. */
export const maxCharacters = 1_048_576

/** The reference of a name, and the default of Claude Code's configuration: `${NAME:-default}`. */
const namePattern = /^(env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s

const platform: { readonly [name: string]: string | undefined } = {
  // Read when it is used: Deno asks for a permission that few programs need.
  get "userHome"() {
    return os.homedir()
  },
  "pathSeparator": path.sep,
  "/": path.sep
}

const own = <A>(record: { readonly [name: string]: A | undefined }, name: string): A | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined

type Problem = Expanded["problems"][number]

/**
 * The dollars before a brace, and what is in the braces if that has no braces itself, or the dollars before a name.
 * Without the condition at its beginning, the time grows with the square of a run of dollars.
 */
const referencePattern = /(?<!\$)(\$+)(?:\{(?:([^{}]*)\})?|([A-Za-z_]\w*))/g

/**
 * The reference of a host with values of its own, such as `config:x` of VS Code and `file:/path` of Windsurf. Other
 * braces belong to shells.
 */
const foreignPattern = /^(?:[A-Za-z]\w*:[A-Za-z_]|file:[./~\\])/

const escaping = "write $${ for the text ${"

/** Replaces the references of a text. Values are not searched for references, and `$${` is the text `${`. */
export const expand = (text: string, values: ExpansionValues): Expanded => {
  const problems = new Map<string, Problem>()
  const secrets = new Set<string>()
  let isSecret = false
  const replaced = (
    found: string,
    dollars: string,
    inner: string | undefined,
    name: string | undefined,
    offset: number
  ): string => {
    if (name !== undefined && values.hasBareNames !== true) return found
    const before = "$".repeat(Math.floor(dollars.length / 2))
    const reference = found.slice(dollars.length)
    if (dollars.length % 2 === 0) return `${before}${reference}`
    const written = name ?? inner
    const resolved = written === undefined
      ? unfinished(text.slice(offset + found.length))
      : within(resolve(written, values), values)
    isSecret ||= resolved.isSecret
    if (resolved.isSecret && resolved.isDefault !== true && resolved.value !== undefined) secrets.add(resolved.value)
    if (resolved.problem !== undefined) problems.set(resolved.problem.problem, resolved.problem)
    return `${before}${resolved.value ?? `$${reference}`}`
  }
  const value = text.replace(referencePattern, replaced)
  return { value, isSecret, secrets: [...secrets], problems: [...problems.values()] }
}

/** The value of a reference. Without a value, the text stays as it is written. */
interface Resolved {
  readonly value?: string
  readonly isSecret: boolean
  readonly isDefault?: boolean
  readonly problem?: Problem
}

const literal: Resolved = { isSecret: false }

/** Returns the problem of a reference that another brace follows, if it is one with a default. */
const unfinished = (rest: string): Resolved => {
  const name = /^[A-Za-z_]\w*(?=:-)/.exec(rest)?.[0]
  return name === undefined ? literal : {
    isSecret: false,
    problem: {
      problem: `the default of ${name} has braces, or no end`,
      advice: `use one without braces, or ${escaping}`
    }
  }
}

const tooLong: Resolved = {
  isSecret: true,
  problem: {
    problem: `the values of references have more than ${maxCharacters} characters`,
    advice: "use fewer references, or shorter values"
  }
}

/** Counts the characters of a value. Without a limit, a file of 1 MiB could repeat a value of 2 kB 250,000 times. */
const within = (resolved: Resolved, { allowance }: ExpansionValues): Resolved => {
  allowance.left -= resolved.value?.length ?? 0
  return resolved.value === undefined || allowance.left >= 0 ? resolved : tooLong
}

const resolveInput = (id: string, { inputs }: ExpansionValues): Resolved => {
  const given = own(inputs, id)
  return given === undefined
    ? {
      isSecret: true,
      problem: {
        problem: `no value of the input ${JSON.stringify(id)} is given`,
        advice: "pass it in the option inputs"
      }
    }
    : { value: Redacted.isRedacted(given) ? Redacted.value(given) : given, isSecret: true }
}

const resolve = (inner: string, values: ExpansionValues): Resolved => {
  const plain = own(values.variables, inner) ?? own(platform, inner)
  if (plain !== undefined) return { value: plain, isSecret: false }
  if (inner.startsWith("input:")) return resolveInput(inner.slice("input:".length), values)
  const [, , name, byDefault] = namePattern.exec(inner) ?? []
  if (name === undefined) {
    return foreignPattern.test(inner)
      ? {
        isSecret: false,
        problem: {
          problem: `the reference \${${inner}} is not known`,
          advice: "use ${NAME}, ${NAME:-default}, ${env:NAME}, ${input:id} or ${userHome}, " +
            `give its value in the option variables, or ${escaping}`
        }
      }
      : literal
  }
  const found = own(values.env, name)
  const isDefault = byDefault !== undefined && (found === undefined || found === "")
  const value = isDefault ? byDefault : found
  return value === undefined
    ? {
      isSecret: true,
      problem: {
        problem: `the environment variable ${name} is not set`,
        advice: `set it, or write \${${name}:-default}, or $\${${name}} as text`
      }
    }
    : { value, isSecret: true, isDefault }
}
