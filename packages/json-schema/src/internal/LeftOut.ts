/** The keywords that the check of a schema leaves out because of patterns that no engine supports. */

/** The keywords that refer to other schemas. */
const references: ReadonlySet<string> = new Set(["$ref", "$dynamicRef", "$recursiveRef"])

const namesOf = (table: unknown): ReadonlyArray<string> =>
  typeof table === "object" && table !== null ? Object.keys(table) : []

/** A keyword in a schema, with its value. */
interface Place {
  readonly keyword: string
  readonly parentSchema: { readonly [keyword: string]: unknown }
  readonly schema: unknown
}

/** Decides for each keyword whether the check leaves it out. */
export type LeftOut = (place: Place) => boolean

/** Leaves out no keyword. */
export const none: LeftOut = () => false

/**
 * Returns which keywords of a schema the check has to leave out, so that it accepts every value that the schema
 * accepts. A part without its pattern accepts more values. Therefore a `not`, `if` or `oneOf` with such a part would
 * reject valid values, and is left out as a whole. Takes time proportional to the size of the schema.
 */
export const of = (schema: object, unsupported: ReadonlySet<string>): LeftOut => {
  const isUnsupported = (pattern: unknown): boolean => typeof pattern === "string" && unsupported.has(pattern)
  const anyName = (table: unknown): boolean => namesOf(table).some(isUnsupported)
  /** The objects and arrays with a part that may accept more values. Each reference counts as such a part. */
  const uncertain = new Set<unknown>()
  const visit = (value: unknown): boolean => {
    if (typeof value !== "object" || value === null) return false
    let found = false
    for (const [name, member] of Object.entries(value)) {
      const own = name === "pattern"
        ? isUnsupported(member)
        : name === "patternProperties"
        ? anyName(member)
        : references.has(name)
      if (visit(member) || own) found = true
    }
    if (found) uncertain.add(value)
    return found
  }
  visit(schema)
  return ({ keyword, parentSchema, schema }) => {
    switch (keyword) {
      case "pattern":
        return isUnsupported(schema)
      case "patternProperties":
        return anyName(schema)
      case "additionalProperties":
        return anyName(parentSchema["patternProperties"])
      case "not":
      case "if":
      case "oneOf":
        return uncertain.has(schema)
      case "contains":
        return parentSchema["maxContains"] !== undefined && uncertain.has(schema)
      // These depend on what the keywords that are left out would have evaluated.
      case "unevaluatedItems":
      case "unevaluatedProperties":
        return true
      default:
        return false
    }
  }
}
