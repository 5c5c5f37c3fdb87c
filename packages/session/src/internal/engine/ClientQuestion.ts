/** A question to the client that is no message of its own: a part of a result, or one that is delivered later. */

import {
  type InputRequired,
  type MethodDefinition,
  MethodTable,
  type Profile,
  RevisionProjection,
  Task
} from "@effect-mcp/protocol"
import * as Result from "effect/Result"
import type { RequestErrorReason } from "../../RequestError.ts"
import { trust } from "../trust.ts"
import * as Outgoing from "./Outgoing.ts"
import * as SemanticChecks from "./SemanticChecks.ts"
import { validate } from "./validation.ts"

/** A method that can be asked. Its params and its result are checked at run time, so their types are hidden. */
export type QuestionRow = MethodDefinition.RequestMethod<string, MethodDefinition.Sender, never, unknown>

/** The row of a question that a server sends as a request. */
export type ServerRow = MethodDefinition.RequestMethod<string, "server", object, unknown>

/** Returns the row of a method without its types: the schemas of the row check the params and the result. */
const untyped = (method: keyof typeof MethodTable.requests): QuestionRow =>
  trust<QuestionRow>(MethodTable.requests[method])

/** The row of questions to the user. */
export const elicitation = untyped("elicitation/create")

// Maps, because a lookup in a record would find `constructor`.
const rows = new Map(
  [elicitation, untyped("sampling/createMessage"), untyped("roots/list")].map((row) => [row.name, row])
)
const taskRows = new Map([untyped("tasks/result"), untyped("tasks/cancel")].map((row) => [row.name, row]))

/** Returns the row of a method, or `undefined` if it cannot be asked. */
export const rowOf = (method: string): QuestionRow | undefined => rows.get(method)

/** Returns whether a stored question is about a task of the client. */
export const isAboutTask = (method: string): boolean => taskRows.has(method)

/** Returns the row of a stored question, which may become a task of the client, or be about one. */
export const rowOfStored = (method: string, params: object): QuestionRow | undefined => {
  const about = taskRows.get(method)
  if (about !== undefined) return about
  const row = rows.get(method)
  return row === undefined || !("task" in params) ? row : { ...row, result: Task.CreateTaskResult }
}

/** Returns why a client cannot be asked this question. */
export const blocked = (
  row: QuestionRow,
  params: object,
  profile: Profile.ClientProfile
): RequestErrorReason | undefined =>
  SemanticChecks.checkOf(row.name)?.(params, profile) ??
    Outgoing.validateCapability(row, profile, ({ capabilities }) => capabilities)

/** Returns a question in the form of the client's revision. */
export const make = (
  { name }: QuestionRow,
  params: object,
  { revision }: Profile.ClientProfile,
  projection: RevisionProjection.Projection | undefined
): InputRequired.InputRequest =>
  // The params fit the schema of the method, which `SemanticChecks` has checked where no type can state it.
  trust<InputRequired.InputRequest>({
    method: name,
    params: RevisionProjection.project(name, "params", revision, params, projection)
  })

/** Returns why an answer does not fit its question. */
export const problemOf = (row: QuestionRow, params: object, answer: unknown): string | undefined => {
  const checked = validate<unknown>(trust(row.result))(answer)
  if (Result.isFailure(checked)) return checked.failure
  return Outgoing.returnsTask(row)
    ? undefined
    : SemanticChecks.validateResult(row.name, params, checked.success)
}
