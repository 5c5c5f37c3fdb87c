/**
 * The JSON in which stores of texts keep an entry: its key, its version and its text.
 */
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import type { TokenStoreErrorReason } from "../../TokenStore.ts"
import * as KeyText from "../keys/KeyText.ts"

/** A record. Without a text, the entry was removed. */
export interface EntryRecord {
  readonly key: KeyText.Key
  readonly version: string
  readonly text: Redacted.Redacted<string> | undefined
}

/** The format that this version writes, and the only one that it reads. */
const format = 1

/** Returns the text of a record. */
export const encode = ({ key, text, version }: EntryRecord): string =>
  JSON.stringify({ format, key: KeyText.of(key), version, ...(text && { text: Redacted.value(text) }) })

const parse = (text: string): object | undefined => {
  try {
    const json: unknown = JSON.parse(text)
    return typeof json === "object" && json !== null ? json : undefined
  } catch {
    // The message of the error has a part of the text.
    return undefined
  }
}

/** Returns the member of an object, if it is a string. */
const stringOf = (json: object, name: string): string | undefined => {
  const value: unknown = Object.entries(json).find(([member]) => member === name)?.[1]
  return typeof value === "string" ? value : undefined
}

const corrupt = (place: string): Result.Result<never, TokenStoreErrorReason> =>
  Result.fail({ _tag: "Corrupt", problem: `${place} is damaged` })

/** Returns a record, or why it cannot be read. `place` names it in the error. */
export const decode = (text: string, place: string): Result.Result<EntryRecord, TokenStoreErrorReason> => {
  const json = parse(text)
  if (json === undefined || !("format" in json) || typeof json.format !== "number") return corrupt(place)
  if (json.format > format) return Result.fail({ _tag: "Newer", format: String(json.format) })
  const key = KeyText.keyOf(stringOf(json, "key") ?? "")
  const version = stringOf(json, "version")
  const value = stringOf(json, "text")
  if (key === undefined || version === undefined || ("text" in json && value === undefined)) return corrupt(place)
  return Result.succeed({ key, version, text: value === undefined ? undefined : Redacted.make(value) })
}
