/** The fields of Codex that have the names of environment variables in place of their values. */

import * as Redacted from "effect/Redacted"
import * as EntryReader from "./EntryReader.ts"

type Environment = { readonly [name: string]: string | undefined }

/** Returns the value of a variable, or `undefined` after a problem. */
const valueOf = (reader: EntryReader.EntryReader, env: Environment) => (at: string, name: unknown) => {
  if (typeof name !== "string" || name === "") {
    reader.report(at, "it is not the name of an environment variable", "write one such as \"TOKEN\"")
    return undefined
  }
  const value = Object.hasOwn(env, name) ? env[name] : undefined
  // The name is not quoted: a person may have written a secret in its place.
  if (value === undefined) reader.report(at, "the environment variable that it names is not set", "set it")
  return value
}

/** Reads `http_headers`, `env_http_headers` and `bearer_token_env_var`. An inline `bearer_token` is a problem. */
export const headers = (
  reader: EntryReader.EntryReader,
  env: Environment
): Readonly<Record<string, Redacted.Redacted<string>>> => {
  if (reader.has("bearer_token")) {
    reader.report(
      "bearer_token",
      "Codex reads no token from its file",
      "put the token into an environment variable, and write the name of this variable as bearer_token_env_var"
    )
  }
  const bearer = "bearer_token_env_var"
  const token = reader.has(bearer) ? valueOf(reader, env)(bearer, reader.raw(bearer)) : undefined
  return {
    ...reader.headers("http_headers"),
    ...reader.namedHeaders("env_http_headers", valueOf(reader, env)),
    ...Object.fromEntries(token === undefined ? [] : reader.header(bearer, "Authorization", `Bearer ${token}`))
  }
}

/** Reads `env_vars`: the names of variables that the child process inherits. */
export const variables = (
  reader: EntryReader.EntryReader,
  env: Environment
): Readonly<Record<string, Redacted.Redacted<string>>> =>
  Object.fromEntries(
    reader.items("env_vars").flatMap((item, index) => {
      const at = `env_vars[${index}]`
      const name = EntryReader.isObject(item) ? item["name"] : item
      if (EntryReader.isObject(item) && item["source"] === "remote") {
        reader.report(at, "variables of a remote environment are not supported", "remove it")
        return []
      }
      const value = valueOf(reader, env)(at, name)
      return value === undefined ? [] : [[String(name), Redacted.make(value)] as const]
    })
  )
