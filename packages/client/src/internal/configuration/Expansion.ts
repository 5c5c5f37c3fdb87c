/** The references in a configuration, such as `${TOKEN}`, and their values. */

import * as Redacted from "effect/Redacted"
import * as os from "node:os"
import * as path from "node:path"

/** The values that references stand for. */
export interface ExpansionValues {
  readonly env: { readonly [name: string]: string | undefined }
  readonly variables: { readonly [name: string]: string | undefined }
  readonly inputs: { readonly [id: string]: string | Redacted.Redacted<string> | undefined }
}

/** A text whose references have been replaced. A text with values from elsewhere may be secret. */
export interface Expanded {
  readonly value: string
  readonly isSecret: boolean
  /** The problems of references without a value. They contain no values. */
  readonly problems: ReadonlyArray<{ readonly problem: string; readonly advice: string }>
}

/** The reference of a name, and the default of Claude Code's configuration: `${NAME:-default}`. */
const namePattern = /^(env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s

const platform: { readonly [name: string]: string | undefined } = {
  "userHome": os.homedir(),
  "pathSeparator": path.sep,
  "/": path.sep
}

const own = <A>(record: { readonly [name: string]: A | undefined }, name: string): A | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined

/** Replaces the references of a text. Values are not searched for references. */
export const expand = (text: string, { env, inputs, variables }: ExpansionValues): Expanded => {
  const problems: Array<{ readonly problem: string; readonly advice: string }> = []
  let isSecret = false
  const value = text.replace(/\$\{([^{}]*)\}/g, (reference, inner: string) => {
    const plain = own(variables, inner) ?? own(platform, inner)
    if (plain !== undefined) return plain
    if (inner.startsWith("input:")) {
      const id = inner.slice("input:".length)
      const given = own(inputs, id)
      isSecret = true
      if (given !== undefined) return Redacted.isRedacted(given) ? Redacted.value(given) : given
      problems.push({
        problem: `no value of the input ${JSON.stringify(id)} is given`,
        advice: "pass it in the option inputs"
      })
      return reference
    }
    const [, , name, byDefault] = namePattern.exec(inner) ?? []
    if (name === undefined) {
      problems.push({
        problem: `the reference ${reference} is not known`,
        advice: "use ${NAME}, ${NAME:-default}, ${env:NAME}, ${input:id} or ${userHome}, " +
          "or give its value in the option variables"
      })
      return reference
    }
    isSecret = true
    const found = own(env, name)
    const chosen = byDefault !== undefined && (found === undefined || found === "") ? byDefault : found
    if (chosen !== undefined) return chosen
    problems.push({
      problem: `the environment variable ${name} is not set`,
      advice: `set it, or write \${${name}:-default}`
    })
    return reference
  })
  return { value, isSecret, problems }
}
