/** The JSON Schemas that the specification generates from TypeScript, of the revisions without a handshake. */
import { assert } from "@effect/vitest"
import { Ajv } from "ajv"
import { readFileSync } from "node:fs"
import { isMembers } from "./wire.ts"

const members = (value: unknown) => isMembers(value) ? value : {}

/** Returns a schema without the names of dialects and documents, which Ajv would look for. */
const unnamed = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(unnamed)
  if (!isMembers(value)) return value
  const entries = Object.entries(value).filter(([name]) => name !== "$schema" && name !== "$id")
  return Object.fromEntries(entries.map(([name, one]) => [name, unnamed(one)]))
}

/** Returns the value with whole numbers: the generated schema has integers where the TypeScript schema has numbers. */
const whole = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (_, member: unknown) => typeof member === "number" ? Math.trunc(member) : member)

/** Loads a schema of the folder `schemas`. */
export const load = (name: string) => {
  const official = new Ajv({ strict: false, validateFormats: false })
  const schema = members(unnamed(JSON.parse(readFileSync(new URL(`./schemas/${name}.json`, import.meta.url), "utf8"))))
  // The generated schema of any JSON value forgets null and fractions, which the TypeScript schema has.
  official.addSchema({ ...schema, $defs: { ...members(schema["$defs"]), JSONValue: true } }, "official")

  /** Returns the errors of a definition for a value, or `undefined` if the value is valid. */
  const problemIn = (definition: string, value: unknown): string | undefined => {
    const validate = official.compile({ $ref: `official#/$defs/${definition}` })
    return validate(value) ? undefined : JSON.stringify(validate.errors)
  }
  return {
    problemIn,
    assertIn: (definition: string, value: unknown): void =>
      assert.isUndefined(problemIn(definition, whole(value)), JSON.stringify(value))
  }
}
