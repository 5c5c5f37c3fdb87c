/**
 * Arbitrary nearly valid messages: a valid message with exactly one change. A receiver must reject some of them and
 * tolerate the others. Each names its change, and a rejected one the reason.
 *
 * @stability unstable
 */
import { JsonRpc, MethodDefinition, MethodTable, RequestId, Revision, RevisionProjection } from "@effect-mcp/protocol"
import * as Arbitrary from "effect/Arbitrary"
import { asOf, canonical, type Part, schemaOf } from "../internal/arbitrary/canonical.ts"
import { at, choose, memoised, oneOf, place } from "../internal/arbitrary/generators.ts"
import { apply, extensible, hasRequired, invalidatingMutations } from "../internal/arbitrary/memberMutations.ts"
import { newerMembers } from "../internal/arbitrary/newerMembers.ts"
import type { Harmless, Invalidating, Mutation } from "./Mutation.ts"
import * as Profiles from "./Profiles.ts"
import { requestId } from "./RequestIds.ts"
import * as ValidMessages from "./ValidMessages.ts"

/**
 * The reason why a receiver must reject a message.
 *
 * - `Malformed`: it is not a message, according to `JsonRpc.classify`.
 * - `UnknownMethod`: it is a message of a method that this side may not send in this revision.
 * - `InvalidParams`, `InvalidResult`: its content does not fit the schema of its method.
 *
 * @category models
 */
export type Rejection = "Malformed" | "UnknownMethod" | "InvalidParams" | "InvalidResult"

/**
 * A nearly valid message, with the valid one and the change.
 *
 * @category models
 */
export interface NearlyValid<out Tag extends Invalidating | Harmless> {
  /** The valid message. */
  readonly valid: JsonRpc.Message
  /** The method of the message, or of the request that it answers with a result. */
  readonly method: string | undefined
  readonly mutation: Mutation<Tag>
  /** The nearly valid message. */
  readonly message: unknown
}

/**
 * A message that a receiver must reject.
 *
 * @category models
 */
export interface Rejected extends NearlyValid<Invalidating> {
  readonly rejection: Rejection
}

/**
 * A message that a receiver must tolerate.
 *
 * @category models
 */
export interface Tolerated extends NearlyValid<Harmless> {}

// =====================================================================================================================
// Messages to reject
// =====================================================================================================================

interface Change {
  readonly mutation: Mutation<Invalidating>
  readonly rejection: Rejection
}

const change = (_tag: Invalidating, rejection: Rejection, path: ReadonlyArray<string>, value?: unknown): Change => ({
  mutation: { _tag, path, value },
  rejection
})

const malformed = (_tag: Invalidating, path: ReadonlyArray<string>, value?: unknown): Change =>
  change(_tag, "Malformed", path, value)

const ofWrongVersion: ReadonlyArray<Change> = [
  malformed("MemberMissing", ["jsonrpc"]),
  malformed("MemberNull", ["jsonrpc"], null),
  malformed("LiteralUnknown", ["jsonrpc"], "1.0"),
  malformed("MemberOfWrongType", ["jsonrpc"], 2)
]

const ofWrongId: ReadonlyArray<Change> = [
  malformed("MemberOfWrongType", ["id"], true),
  malformed("MemberOfWrongType", ["id"], {}),
  malformed("MemberOfWrongType", ["id"], [1]),
  malformed("RuleBroken", ["id"], 1.5),
  malformed("RuleBroken", ["id"], 2 ** 53),
  malformed("RuleBroken", ["id"], -(2 ** 53))
]

const ofLongId = malformed("RuleBroken", ["id"], "i".repeat(RequestId.maximumBytes + 1))

const ofNullId = malformed("MemberNull", ["id"], null)

const ofWrongMethod: ReadonlyArray<Change> = [
  malformed("MemberMissing", ["method"]),
  malformed("MemberNull", ["method"], null),
  malformed("MemberOfWrongType", ["method"], 1),
  malformed("MemberOfWrongType", ["method"], ["ping"]),
  malformed("MemberOfWrongType", ["method"], {})
]

const withAnswer: ReadonlyArray<Change> = [
  malformed("MemberUnwanted", ["result"], {}),
  malformed("MemberUnwanted", ["error"], { code: 0, message: "" })
]

/** Names that resemble a method, and are not one. */
const misspelt = (method: string): ReadonlyArray<Change> =>
  [method.toUpperCase(), `${method.charAt(0).toUpperCase()}${method.slice(1)}`, `${method} `, `/${method}`, ""].map(
    (name) => change("MethodUnknown", "UnknownMethod", ["method"], name)
  )

const ofOtherSide = memoised((from: MethodDefinition.Role) => {
  const other = MethodDefinition.peerOf(from)
  return {
    requests: ValidMessages.requestNames(other, Revision.latestLegacy).filter((name) =>
      MethodTable.findRequest(name, from) === undefined
    ).map((name) => change("MethodUnknown", "UnknownMethod", ["method"], name)),
    notifications: ValidMessages.notificationNames(other, Revision.latestLegacy).filter((name) =>
      MethodTable.findNotification(name, from) === undefined
    ).map((name) => change("MethodUnknown", "UnknownMethod", ["method"], name))
  }
})

/** Params that are not an object. */
const ofWrongParams = (method: string): ReadonlyArray<Change> => [
  ...["text", 1, true, []].map((value) => change("MemberOfWrongType", "InvalidParams", ["params"], value)),
  ...hasRequired(schemaOf(method, "params"))
    ? [change("MemberMissing", "InvalidParams", ["params"]), change("MemberNull", "InvalidParams", ["params"], null)]
    : []
]

const withinPart = (method: string, part: Part, value: unknown): ReadonlyArray<Change> =>
  invalidatingMutations(schemaOf(method, part), value, [part]).map((mutation) => ({
    mutation,
    rejection: part === "params" ? "InvalidParams" : "InvalidResult"
  }))

/** The envelope, and its content. Each is changed equally often. */
type Changes = readonly [envelope: ReadonlyArray<Change>, content: ReadonlyArray<Change>]

/** Requests and notifications are changed alike, except for methods that exist as the other kind only. */
const changesOfMethod = (
  { method, params = {} }: JsonRpc.Request | JsonRpc.Notification,
  ofNoMethod: ReadonlyArray<Change>
): Changes => [
  [
    ...ofWrongVersion,
    ofNullId,
    ofLongId,
    ...ofWrongId,
    ...ofWrongMethod,
    ...withAnswer,
    ...misspelt(method),
    ...ofNoMethod
  ],
  [...ofWrongParams(method), ...withinPart(method, "params", params)]
]

const changesOfRequest = (from: MethodDefinition.Role, request: JsonRpc.Request): Changes =>
  changesOfMethod(request, ofOtherSide(from).requests)

const changesOfNotification = (from: MethodDefinition.Role, notification: JsonRpc.Notification): Changes =>
  changesOfMethod(notification, [
    ...ofOtherSide(from).notifications,
    // With an id it is a request, and there is no request of that name.
    change("MemberUnwanted", "UnknownMethod", ["id"], 1)
  ])

/** A result of a tool without content is accepted, with empty content, and a cursor that is null, as none. */
const isTolerated = (method: string, { mutation: { _tag, path } }: Change): boolean => {
  const place = path.join(".")
  return (method === "tools/call" && place === "result.content" &&
    (_tag === "MemberMissing" || _tag === "MemberNull")) ||
    (place === "result.nextCursor" && _tag === "MemberNull")
}

const changesOfSuccess = (method: string, { result }: JsonRpc.Success): Changes => [
  [
    ...ofWrongVersion,
    ofNullId,
    ...ofWrongId,
    malformed("MemberMissing", ["id"]),
    malformed("MemberMissing", ["result"]),
    malformed("MemberUnwanted", ["error"], { code: 0, message: "" }),
    malformed("MemberUnwanted", ["method"], method)
  ],
  [
    change("MemberNull", "InvalidResult", ["result"], null),
    ...["text", 1, true, []].map((value) => change("MemberOfWrongType", "InvalidResult", ["result"], value)),
    ...withinPart(method, "result", result).filter((one) => !isTolerated(method, one))
  ]
]

// An error may come without an id, and some revisions require the id to be null.
const changesOfFailure: Changes = [
  [
    ...ofWrongVersion,
    ...ofWrongId,
    malformed("MemberMissing", ["error"]),
    malformed("MemberUnwanted", ["result"], {}),
    malformed("MemberUnwanted", ["method"], "ping")
  ],
  [
    malformed("MemberNull", ["error"], null),
    malformed("MemberOfWrongType", ["error"], "text"),
    malformed("MemberOfWrongType", ["error"], []),
    malformed("MemberMissing", ["error", "code"]),
    malformed("MemberNull", ["error", "code"], null),
    malformed("MemberOfWrongType", ["error", "code"], "-32600"),
    malformed("RuleBroken", ["error", "code"], 1.5),
    malformed("MemberMissing", ["error", "message"]),
    malformed("MemberNull", ["error", "message"], null),
    malformed("MemberOfWrongType", ["error", "message"], 1)
  ]
]

const changed = <M extends JsonRpc.Message>(
  valid: Arbitrary.Arbitrary<M>,
  method: string | undefined,
  changesOf: (valid: M) => Changes
): Arbitrary.Arbitrary<Rejected> =>
  Arbitrary.map(
    Arbitrary.all([valid, oneOf<0 | 1>(0, 1), place]),
    ([valid, half, place]): Rejected => {
      const changes = changesOf(valid)
      const { mutation, rejection } = at(changes[half], place) ?? ofNullId
      return { valid, method, mutation, message: apply(valid, mutation), rejection }
    }
  )

/** Messages of methods that this revision does not have: newer revisions added them, or it has removed them. */
const newerMethods = (
  from: MethodDefinition.Role,
  revision: Revision.Revision
): ReadonlyArray<Arbitrary.Arbitrary<Rejected>> => {
  const rejected = (valid: Arbitrary.Arbitrary<JsonRpc.Message>, method: string): Arbitrary.Arbitrary<Rejected> => {
    const mutation: Mutation<Invalidating> = { _tag: "MethodNewer", path: ["method"], value: method }
    return Arbitrary.map(valid, (valid) => ({ valid, method, mutation, message: valid, rejection: "UnknownMethod" }))
  }
  const requests = new Set<string>(ValidMessages.requestNames(from, revision))
  const notifications = new Set<string>(ValidMessages.notificationNames(from, revision))
  return [
    ...ValidMessages.requestNames(from, Revision.latestLegacy).filter((name) => !requests.has(name)).map((name) =>
      rejected(ValidMessages.request(name, revision), name)
    ),
    ...ValidMessages.notificationNames(from, Revision.latestLegacy).filter((name) => !notifications.has(name)).map((
      name
    ) => rejected(ValidMessages.notification(name, revision), name))
  ]
}

/** Draws each of these equally often. Returns none for an empty list. */
const anyOf = <A>(arbitraries: ReadonlyArray<Arbitrary.Arbitrary<A>>): ReadonlyArray<Arbitrary.Arbitrary<A>> => {
  const [first, ...others] = arbitraries
  return first === undefined ? [] : [choose(first, ...others)]
}

const rejectedFrom = memoised((from: MethodDefinition.Role) =>
  memoised((revision: Revision.Revision) => {
    const failures = changed(ValidMessages.failure(revision), undefined, () => changesOfFailure)
    const requests = anyOf(
      ValidMessages.requestNames(from, revision).map((name) =>
        changed(ValidMessages.request(name, revision), name, (valid) => changesOfRequest(from, valid))
      )
    )
    const notifications = anyOf(
      ValidMessages.notificationNames(from, revision).map((name) =>
        changed(ValidMessages.notification(name, revision), name, (valid) => changesOfNotification(from, valid))
      )
    )
    const successes = anyOf(
      ValidMessages.requestNames(MethodDefinition.peerOf(from), revision).map((name) =>
        changed(ValidMessages.success(name, revision), name, (valid) => changesOfSuccess(name, valid))
      )
    )
    return choose(
      failures,
      ...requests,
      ...requests,
      ...notifications,
      ...successes,
      ...anyOf(newerMethods(from, revision))
    )
  })
)

/**
 * Generates messages of this side, in this revision, with one change that makes them invalid. A receiver must reject
 * them for the given reason, or ignore them if they need no reply, and must continue.
 *
 * @example
 * ```ts
 * import { JsonRpc } from "@effect-mcp/protocol"
 * import { NearlyValid } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 * import * as Effect from "effect/Effect"
 *
 * export const outcome = Effect.map(
 *   Arbitrary.checkEffect(
 *     NearlyValid.rejected("client", "2025-11-25"),
 *     ({ message, rejection }) => (rejection === "Malformed") === (JsonRpc.classify(message)._tag === "Malformed")
 *   ),
 *   (result) => result._tag
 * ) // => "Passed"
 * ```
 *
 * @category arbitraries
 */
export const rejected = (
  from: MethodDefinition.Role,
  revision: Revision.Revision
): Arbitrary.Arbitrary<Rejected> => rejectedFrom(from)(revision)

const rejectedResultAt = memoised((revision: Revision.Revision) =>
  memoised((method: keyof MethodTable.Requests) =>
    changed(ValidMessages.success(method, revision), method, (valid) => {
      const [, content] = changesOfSuccess(method, valid)
      return [content, content]
    })
  )
)

/**
 * Generates responses to a request of this method with a valid envelope and an invalid result, which the receiver must
 * reject.
 *
 * @example
 * ```ts
 * import { MethodTable } from "@effect-mcp/protocol"
 * import { NearlyValid } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 *
 * const isResult = Schema.is(MethodTable.requests["tools/call"].result)
 *
 * export const outcome = Effect.map(
 *   Arbitrary.checkEffect(
 *     NearlyValid.rejectedResult("tools/call", "2025-11-25"),
 *     ({ message }) => !isResult(Object(message).result)
 *   ),
 *   (result) => result._tag
 * ) // => "Passed"
 * ```
 *
 * @category arbitraries
 */
export const rejectedResult = (
  method: keyof MethodTable.Requests,
  revision: Revision.Revision
): Arbitrary.Arbitrary<Rejected> => rejectedResultAt(revision)(method)

// =====================================================================================================================
// Messages to tolerate
// =====================================================================================================================

const unknownName = oneOf("acme/unknown", "unknown", "x", "Method", "ID", "", "\u0000", "hasOwnProperty", "__proto__")
const unknownValue = oneOf<unknown>(1, null, "text", true, [], { deep: [{ down: null }] })

/** A message with a part of a method, and the function that assembles it. */
interface Carrier {
  readonly method: string
  readonly part: Part
  readonly isRequest: boolean
  readonly make: (id: string | number, content: JsonRpc.Params) => JsonRpc.Message
}

const stated = (content: JsonRpc.Params) => Object.keys(content).length === 0 ? undefined : content

/** Generates the members that each message of this kind has in a revision without a handshake. */
const envelopeOf = ({ isRequest, part }: Carrier, revision: Revision.Revision): Arbitrary.Arbitrary<JsonRpc.Params> => {
  if (!Revision.isModern(revision)) return Arbitrary.Constant({})
  if (part === "result") return Arbitrary.Constant({ resultType: "complete" })
  return isRequest
    ? Arbitrary.map(Profiles.requestMetadata(revision), (_meta) => ({ _meta }))
    : Arbitrary.Constant({})
}

const tolerable = (carrier: Carrier, revision: Revision.Revision): Arbitrary.Arbitrary<Tolerated> => {
  const { isRequest, make, method, part } = carrier
  const known = asOf(method, revision)
  const schema = schemaOf(method, part)
  const mayBeNull = part === "params" && !hasRequired(schema) && !(isRequest && Revision.isModern(revision))
  return Arbitrary.map(
    Arbitrary.all([
      requestId,
      canonical(method, part, known),
      oneOf<0 | 1 | 2>(0, 1, 2),
      place,
      unknownName,
      unknownValue,
      envelopeOf(carrier, revision)
    ]),
    ([id, drawn, kind, place, name, value, envelope]): Tolerated => {
      const newest = { ...drawn, ...envelope }
      const content = RevisionProjection.project(method, part, known, newest, "strict")
      const nearly = (valid: JsonRpc.Message, mutation: Mutation<Harmless>): Tolerated => ({
        valid,
        method,
        mutation,
        message: apply(valid, mutation)
      })
      const newer = kind === 1 ? at(newerMembers(newest, content, [part]), place) : undefined
      if (newer !== undefined) return nearly(make(id, content), { _tag: "MemberNewer", ...newer })
      if (kind === 2 && mayBeNull) {
        return nearly(make(id, {}), { _tag: "ParamsNull", path: ["params"], value: null })
      }
      // The envelope itself is one of the objects that may have more members.
      const object = at([[], ...extensible(schema, content, [part])], place) ?? []
      return nearly(make(id, content), { _tag: "MemberUnknown", path: [...object, name], value })
    }
  )
}

const requestOf = (method: string): Carrier => ({
  method,
  part: "params",
  isRequest: true,
  make: (id, content) => JsonRpc.request(id, method, stated(content))
})

const notificationOf = (method: string): Carrier => ({
  method,
  part: "params",
  isRequest: false,
  make: (_, content) => JsonRpc.notification(method, stated(content))
})

const successOf = (method: string): Carrier => ({
  method,
  part: "result",
  isRequest: false,
  make: (id, content) => JsonRpc.success(id, content)
})

const toleratedFrom = memoised((from: MethodDefinition.Role) =>
  memoised((revision: Revision.Revision) => {
    const carried = (carriers: ReadonlyArray<Carrier>) => carriers.map((carrier) => tolerable(carrier, revision))
    const requests = anyOf(carried(ValidMessages.requestNames(from, revision).map(requestOf)))
    const notifications = anyOf(carried(ValidMessages.notificationNames(from, revision).map(notificationOf)))
    const successes = anyOf(carried(ValidMessages.requestNames(MethodDefinition.peerOf(from), revision).map(successOf)))
    // A failing message shrinks towards the first of these.
    const simplest = Revision.isModern(revision) ? notificationOf("notifications/cancelled") : requestOf("ping")
    return choose(tolerable(simplest, revision), ...requests, ...notifications, ...successes)
  })
)

/**
 * Generates messages of this side, in this revision, with one change that a receiver must tolerate: the effect is that
 * of the valid message.
 *
 * @example
 * ```ts
 * import { JsonRpc } from "@effect-mcp/protocol"
 * import { NearlyValid } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 * import * as Effect from "effect/Effect"
 *
 * export const outcome = Effect.map(
 *   Arbitrary.checkEffect(
 *     NearlyValid.tolerated("server", "2025-03-26"),
 *     ({ message, valid }) => JsonRpc.classify(message)._tag === JsonRpc.classify(valid)._tag
 *   ),
 *   (result) => result._tag
 * ) // => "Passed"
 * ```
 *
 * @category arbitraries
 */
export const tolerated = (
  from: MethodDefinition.Role,
  revision: Revision.Revision
): Arbitrary.Arbitrary<Tolerated> => toleratedFrom(from)(revision)

const toleratedResultAt = memoised((revision: Revision.Revision) =>
  memoised((method: keyof MethodTable.Requests) => tolerable(successOf(method), revision))
)

/**
 * Generates responses to a request of this method with one change that the receiver must tolerate.
 *
 * @example
 * ```ts
 * import { MethodTable } from "@effect-mcp/protocol"
 * import { NearlyValid } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 *
 * const isResult = Schema.is(MethodTable.requests["tools/list"].result)
 *
 * export const outcome = Effect.map(
 *   Arbitrary.checkEffect(
 *     NearlyValid.toleratedResult("tools/list", "2024-11-05"),
 *     ({ message }) => isResult(Object(message).result)
 *   ),
 *   (result) => result._tag
 * ) // => "Passed"
 * ```
 *
 * @category arbitraries
 */
export const toleratedResult = (
  method: keyof MethodTable.Requests,
  revision: Revision.Revision
): Arbitrary.Arbitrary<Tolerated> => toleratedResultAt(revision)(method)
