/** The JSON Schema of a tool for an Effect Schema. */
import { ModelSchema, type Tool } from "@effect-mcp/protocol"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"
import type * as SchemaRepresentation from "effect/SchemaRepresentation"
import { trust } from "../trust.ts"
import * as Definitions from "./Definitions.ts"
import * as EncodedForm from "./EncodedForm.ts"
import { flatten } from "./Flattening.ts"
import * as ObjectRoot from "./ObjectRoot.ts"
import { SchemaRejected } from "./SchemaRejected.ts"
import * as Unsuitable from "./Unsuitable.ts"

/** Options for a JSON Schema. */
export interface Options {
  /** The use of the schema in errors, such as `the parameters of the tool "add"`. */
  readonly subject: string
  /** Whether the schema is of arguments, and not of a result. */
  readonly forInput: boolean
  /** Whether the root, if it is of objects, is folded into the form that providers of models accept. */
  readonly forModel: boolean
  /** Whether properties that the schema does not have are ignored, or are an error. */
  readonly onExcessProperty: "ignore" | "error"
}

/** The description of a codec. */
export interface Described extends ObjectRoot.Root {
  /** Whether the codec can encode to what is no JSON. */
  readonly hasAny: boolean
}

/** The size from which a part without an identifier that occurs several times gets a definition. */
const maxRepeated = 100

const hasParts: ReadonlySet<SchemaAST.AST["_tag"]> = new Set(["Objects", "Arrays", "Union", "Suspend"])

/**
 * Decides which parts get definitions: those with an identifier that occur several times, and large ones. Without the
 * latter, a schema that contains another twice, which contains a third twice, and so on, would be written out with all
 * of its paths. Effect adds those that are recursive.
 */
const referencePolicy: SchemaRepresentation.ReferencePolicy = ({ ast, identifier, occurrences }) => {
  if (occurrences < 2 || !hasParts.has(ast._tag)) return undefined
  if (identifier !== undefined) return Definitions.nameOf(identifier)
  return EncodedForm.sizeOf(ast) * occurrences > maxRepeated ? "Part" : undefined
}

/** Describes a schema that `Schema.toCodecJson` returned. Fails if it is not suitable for a tool. */
export const describe = (
  codec: Schema.Constraint,
  { forInput, forModel, onExcessProperty, subject }: Options
): Result.Result<Described, SchemaRejected> =>
  Result.flatMap(Unsuitable.search(codec.ast, subject), ({ hasAny }) =>
    Result.try({
      try: () => {
        const form = Schema.make<Schema.Top>(EncodedForm.make(codec.ast, { forInput }))
        const { definitions, schema } = Schema.toJsonSchemaDocument(form, { onExcessProperty, referencePolicy })
        const flat = Object.fromEntries(Object.entries(definitions).map(([name, part]) => [name, flatten(part)]))
        const root = ObjectRoot.make({ schema: flatten(schema), definitions: flat })
        if (!forModel || !root.isObject) return { hasAny, ...root }
        // Providers of models reject a request with a union at the root of a schema, or without properties. The root
        // of a schema of objects has their type.
        return { hasAny, ...root, jsonSchema: ModelSchema.fold(trust<Tool.ObjectSchema>(root.jsonSchema)) }
      },
      catch: (thrown) =>
        new SchemaRejected({ subject, path: "", problem: `JSON Schema cannot describe it: ${String(thrown)}` })
    }))
