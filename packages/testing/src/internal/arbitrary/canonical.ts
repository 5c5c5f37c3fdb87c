/** Generators of the params and results of each method, from its schema and from further rules of the specification. */
import { Elicitation, type JsonRpc, MethodTable, Revision, type Sampling } from "@effect-mcp/protocol"
import * as Arbitrary from "effect/Arbitrary"
import type * as Schema from "effect/Schema"
import { trust } from "../trust.ts"
import { isMembers } from "./jsonValues.ts"
import { identity } from "./oddText.ts"
import { overTheWire } from "./overTheWire.ts"

/** The parts of an exchange. Each has a schema. */
export type Part = "params" | "result"

const rows: ReadonlyMap<string, MethodTable.AnyRequest | MethodTable.AnyNotification> = new Map(
  Object.entries<MethodTable.AnyRequest | MethodTable.AnyNotification>({
    ...MethodTable.requests,
    ...MethodTable.notifications
  })
)

/** Returns the row of a method in the table. */
const rowOf = (method: string): MethodTable.AnyRequest | MethodTable.AnyNotification => {
  const row = rows.get(method)
  if (row === undefined) throw new RangeError(`no method of the table: ${method}`)
  return row
}

/** Returns the revision itself if it has the method, or else the first or the last revision with it. */
export const asOf = (method: string, revision: Revision.Revision): Revision.Revision => {
  const { since, until } = rowOf(method)
  if (!Revision.isAtLeast(revision, since)) return since
  return until !== undefined && !Revision.isAtLeast(until, revision) ? until : revision
}

/** Returns the schema of one part of a method. */
export const schemaOf = (method: string, part: Part): Schema.Codec<unknown> => {
  const row = rowOf(method)
  if (part === "params") return row.params
  if (row.kind === "notification") throw new RangeError(`a notification has no result: ${method}`)
  return row.result
}

/** Adapts generated values to rules of the specification that the schema does not express, at a revision. */
type Refinement = (
  drawn: Arbitrary.Arbitrary<JsonRpc.Params>,
  revision: Revision.Revision
) => Arbitrary.Arbitrary<JsonRpc.Params>

const mapped = (refine: (value: JsonRpc.Params) => JsonRpc.Params): Refinement => (drawn) =>
  Arbitrary.map(drawn, refine)

const inNewest = (revision: Revision.Revision): boolean => Revision.isAtLeast(revision, "2025-11-25")

/** Returns the members of an object with values of this kind. */
const only = (value: unknown, isKind: (value: unknown) => boolean): JsonRpc.Params =>
  Object.fromEntries(Object.entries(isMembers(value) ? value : {}).filter(([, member]) => isKind(member)))

/** Makes both sides of the handshake use this revision. */
const speaks: Refinement = (drawn, revision) =>
  Arbitrary.map(drawn, (value) => ({ ...value, protocolVersion: revision }))

/** A cancellation may leave out the request only if it can mean a task. */
const named: Refinement = (drawn, revision) =>
  inNewest(revision)
    ? drawn
    : Arbitrary.map(Arbitrary.all([drawn, identity]), ([value, requestId]) => ({ requestId, ...value }))

/** Elicitations by URL and fields with several choices have no form in older revisions. */
const question: Refinement = (drawn, revision) =>
  inNewest(revision) ? drawn : Arbitrary.map(generated(Elicitation.FormParams), (value) => {
    const form = isMembers(value["requestedSchema"]) ? value["requestedSchema"] : {}
    const properties = only(form["properties"], (field) => isMembers(field) && field["type"] !== "array")
    return { ...value, requestedSchema: { ...form, properties } }
  })

/** Responses with such fields have none either. */
const answer: Refinement = (drawn, revision) =>
  inNewest(revision)
    ? drawn
    : mapped((value) =>
      "content" in value ? { ...value, content: only(value["content"], (member) => !Array.isArray(member)) } : value
    )(drawn, revision)

const piecesOf = (message: Sampling.SamplingMessage): ReadonlyArray<Sampling.SamplingContent> =>
  "type" in message.content ? [message.content] : message.content

/** Follows every use of a tool with a message that contains its results only (SMP-03, SMP-04). */
const answered = (messages: ReadonlyArray<Sampling.SamplingMessage>): ReadonlyArray<Sampling.SamplingMessage> =>
  messages.flatMap((message): ReadonlyArray<Sampling.SamplingMessage> => {
    const pieces = piecesOf(message).filter(({ type }) => type !== "tool_result")
    const uses = new Set(pieces.flatMap((piece) => piece.type === "tool_use" ? [piece.id] : []))
    const said = { ...message, content: Array.isArray(message.content) ? pieces : pieces[0] ?? [] }
    return uses.size === 0 ? [said] : [said, {
      role: "user",
      content: [...uses].map((toolUseId) => ({ type: "tool_result", toolUseId, content: [] }))
    }]
  })

const transcript = mapped((value) => ({
  ...value,
  // The values were generated from the schema of these params.
  messages: answered(trust<Sampling.CreateMessageParams>(value).messages)
}))

const refinements: {
  readonly [Name in keyof MethodTable.Requests | keyof MethodTable.Notifications]?: {
    readonly [P in Part]?: Refinement
  }
} = {
  "initialize": { params: speaks, result: speaks },
  "notifications/cancelled": { params: named },
  "elicitation/create": { params: question, result: answer },
  "sampling/createMessage": { params: transcript }
}

const refinementOf: ReadonlyMap<string, { readonly [P in Part]?: Refinement }> = new Map(Object.entries(refinements))

/** Generates values of a schema as they are sent. All params and results are objects. */
const generated = (schema: Schema.Codec<unknown>): Arbitrary.Arbitrary<JsonRpc.Params> =>
  Arbitrary.map(Arbitrary.schema(schema), (value) => trust<JsonRpc.Params>(overTheWire(value)))

/**
 * Generates values of one part of a method in the form of the newest revision, without anything that has no form in the
 * target revision.
 */
export const canonical = (
  method: string,
  part: Part,
  revision: Revision.Revision
): Arbitrary.Arbitrary<JsonRpc.Params> => {
  const drawn = generated(schemaOf(method, part))
  return refinementOf.get(method)?.[part]?.(drawn, revision) ?? drawn
}
