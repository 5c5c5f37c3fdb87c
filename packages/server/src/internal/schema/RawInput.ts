/** Parameters of a tool that are given as JSON Schema, without a codec. */
import { ExactJson, type Tool } from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { isObject, type JsonSchema } from "./JsonSchemaKeywords.ts"
import * as Misfit from "./Misfit.ts"
import { SchemaRejected } from "./SchemaRejected.ts"

/** The part of a `JsonSchemaValidator` that is used: compiles a schema to a check, which returns the problem. */
export interface Validator {
  readonly compile: (
    schema: JsonSchema
  ) => Result.Result<(value: unknown) => string | undefined, { readonly message: string }>
}

/** The arguments of a tool without a codec. */
export interface Arguments {
  readonly [name: string]: unknown
}

const isJson = Schema.is(Schema.Json)

/**
 * Returns a copy of a JSON Schema, so that later changes of it have no effect. Fails if it is not plain JSON, or if its
 * root is not of type `object`.
 */
export const rawSchema = (json: unknown, subject: string): Result.Result<Tool.ObjectSchema, SchemaRejected> => {
  const rejected = (problem: string) => Result.fail(new SchemaRejected({ subject, path: "", problem }))
  if (!isObject(json) || !isJson(json)) {
    return rejected(
      "a JSON Schema is an object of plain JSON: without undefined, functions, numbers that are not finite, class " +
        "instances and cycles"
    )
  }
  if (json["type"] !== "object") {
    return rejected(`the root of a tool's schema has the type "object"; add it, and inline a $ref or allOf of the root`)
  }
  return Result.try({
    try: () => {
      const copy: JsonSchema = JSON.parse(JSON.stringify(json))
      // Some providers of models reject a request with a schema without properties.
      return { ...copy, type: "object", properties: copy["properties"] ?? {} }
    },
    catch: () => new SchemaRejected({ subject, path: "", problem: "it is nested too deeply to be sent as JSON" })
  })
}

/** Returns the problem of an integer that would reach the handler as another number, because it is beyond 2^53. */
const changed = (value: unknown): string | undefined => {
  const found = ExactJson.changedIn(value)
  return found === undefined
    ? undefined
    : `the integer ${found.digits} at [${JSON.stringify(Excerpt.of(found.name))}] is beyond 2^53, and would become ` +
      `${Number(found.digits)}; send it as a string`
}

/**
 * Returns the function that checks arguments against a schema. Compiles the schema at once, and fails if the validator
 * cannot. The check has no deadline, because nothing can interrupt it: `AjvValidator` bounds its steps. An
 * exception of the validator is a defect of the call, and not a misfit. An integer beyond 2^53 that a number cannot
 * hold is a misfit, because the handler would read another one.
 */
export const checker = (
  schema: Tool.ObjectSchema,
  { subject, validator }: { readonly subject: string; readonly validator: Validator }
): Result.Result<(value: unknown) => Exit.Exit<Arguments, Misfit.Misfit>, SchemaRejected> =>
  Result.try({
    try: () => validator.compile(schema),
    catch: (thrown) => new SchemaRejected({ subject, path: "", problem: `the validator threw ${String(thrown)}` })
  }).pipe(
    Result.flatMap(Result.mapError(({ message: problem }) => new SchemaRejected({ subject, path: "", problem }))),
    Result.map((check) => {
      return (value: unknown) => {
        if (!isObject(value)) return Exit.fail(Misfit.ofProblem("the arguments: Expected an object"))
        try {
          const problem = check(value) ?? changed(value)
          return problem === undefined ? Exit.succeed(value) : Exit.fail(Misfit.ofProblem(`the arguments: ${problem}`))
        } catch (thrown) {
          return Exit.die(thrown)
        }
      }
    })
  )
