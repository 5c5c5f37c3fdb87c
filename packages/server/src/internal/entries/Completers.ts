/** The completion of arguments: by the completers of the program, and by the literals of schemas. */

import { Completion, McpError } from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"
import type { Complete, Completing, Suggestions } from "../registry/Entry.ts"
import { trust } from "../trust.ts"
import type { GroupRuntime, Handler } from "./GroupRuntime.ts"
import type { AnyCompleter, Handled } from "./HandlerRecord.ts"

/** Returns the texts that a schema of literals accepts, and none for any other schema. */
const literals = (ast: SchemaAST.AST): ReadonlyArray<string> => {
  if (ast._tag === "Literal") return typeof ast.literal === "string" ? [ast.literal] : []
  if (ast._tag !== "Union") return []
  const each = ast.types.map(literals)
  return each.every((values) => values.length > 0) ? each.flat() : []
}

/** Returns the values that begin with the typed text, whatever their case. */
const beginningWith = (typed: string, values: ReadonlyArray<string>): Suggestions => {
  const beginning = typed.toLowerCase()
  const matching = values.filter((value) => value.toLowerCase().startsWith(beginning))
  return { values: matching, total: matching.length, hasMore: matching.length > Completion.maximumValues }
}

type Returned = ReadonlyArray<string> | Completion.CompleteResult["completion"]

const isList = (returned: Returned): returned is ReadonlyArray<string> => Array.isArray(returned)

const suggestions = (typed: string, returned: Returned): Suggestions =>
  isList(returned) ? beginningWith(typed, returned) : {
    ...returned,
    hasMore: returned.hasMore ?? returned.values.length > Completion.maximumValues
  }

const none: Suggestions = { values: [], total: 0, hasMore: false }

type Fields = Readonly<Record<string, Schema.Constraint>>

/** Completes one argument. An argument without a completer and without literals has no suggestions. */
const complete = (
  { argument, others, typed }: Completing,
  fields: Fields,
  completers: { readonly [argument: string]: AnyCompleter }
): Handler<Suggestions> => {
  const completer = Object.hasOwn(completers, argument) ? completers[argument] : undefined
  if (completer !== undefined) {
    // The type of `Completer` states what a completer returns.
    return Effect.map(completer(typed, others), (returned) => suggestions(typed, trust<Returned>(returned)))
  }
  const field = Object.hasOwn(fields, argument) ? fields[argument] : undefined
  if (field === undefined) {
    return Effect.fail(McpError.invalidParams(`There is no argument "${Excerpt.of(argument)}" to complete`))
  }
  const values = literals(field.ast)
  return Effect.succeed(values.length === 0 ? none : beginningWith(typed, values))
}

/** Returns whether some argument has suggestions. */
const isCompletable = (fields: Fields, { complete: completers = {} }: Handled): boolean =>
  Object.keys(completers).length > 0 || Object.values(fields).some((field) => literals(field.ast).length > 0)

/** Returns the completion of a member's arguments. */
export const make = (
  runtime: GroupRuntime,
  name: string,
  fields: Fields,
  handled: Handled
): { readonly complete: Complete; readonly isCompletable: boolean } => ({
  isCompletable: isCompletable(fields, handled),
  complete: (completing, context) =>
    runtime.run(
      runtime.ifVisible(handled.visible, complete(completing, fields, handled.complete ?? {})),
      { method: "completion/complete", name, arguments: completing },
      context
    )
})
