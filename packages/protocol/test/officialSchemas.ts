/** The specification's own JSON Schemas, one for each revision, as validators of the params and results of methods. */
import type { Revision } from "@effect-mcp/protocol"
import { assert } from "@effect/vitest"
import { Ajv, type ValidateFunction } from "ajv"
import { readFileSync } from "node:fs"
import { definitionOf } from "./official.ts"
import { isMembers } from "./wire.ts"

interface Schemas {
  readonly definitions: ReadonlySet<string>
  readonly validatorOf: (definition: string) => ValidateFunction
}

const members = (value: unknown): { readonly [name: string]: unknown } => isMembers(value) ? value : {}

const load = (revision: Revision.Revision): Schemas => {
  const text = readFileSync(new URL(`./schemas/${revision}.json`, import.meta.url), "utf8")
  // Ajv's default dialect supports all keywords of these schemas, also of the newest one, which names a newer dialect.
  const { $schema: _, ...schema } = members(JSON.parse(text))
  const keyword = "definitions" in schema ? "definitions" : "$defs"
  // Formats, such as that of a URI, do not differ between revisions.
  const ajv = new Ajv({ strict: false, validateFormats: false }).addSchema(schema, revision)
  const validators = new Map<string, ValidateFunction>()
  return {
    definitions: new Set(Object.keys(members(schema[keyword]))),
    validatorOf: (definition) => {
      const validator = validators.get(definition) ?? ajv.compile({ $ref: `${revision}#/${keyword}/${definition}` })
      validators.set(definition, validator)
      return validator
    }
  }
}

const loaded = new Map<Revision.Revision, Schemas>()

/**
 * Returns the errors of the schema of a revision for the params or the result of a method, or `undefined` if valid.
 */
export const problemIn = (
  revision: Revision.Revision,
  method: string,
  part: "params" | "result",
  value: unknown
): string | undefined => {
  const schemas = loaded.get(revision) ?? load(revision)
  loaded.set(revision, schemas)
  const definition = definitionOf(method, part)
  if (!schemas.definitions.has(definition)) return `${revision} has no ${definition}`
  const validate = schemas.validatorOf(definition)
  const message = part === "result"
    ? value
    : { jsonrpc: "2.0", ...(definition.endsWith("Request") ? { id: 1 } : undefined), method, params: value }
  return validate(message) ? undefined : JSON.stringify(validate.errors)
}

/** Asserts that the schema of a revision accepts the params or the result of a method. */
export const assertInSchema = (
  revision: Revision.Revision,
  method: string,
  part: "params" | "result",
  value: unknown
): void => assert.isUndefined(problemIn(revision, method, part, value))
