/**
 * Arbitrary messages that are nearly right: a valid one, to which exactly one thing was done. Some a receiver must refuse, and
 * others it must bear; each says what was done to it, and those to be refused, as what.
 */
import { JsonRpc, MethodDefinition, MethodTable, RequestId, Revision, RevisionProjection } from "@effect-mcp/protocol"
import * as Arbitrary from "effect/Arbitrary"
import { asOf, canonical, type Part, schemaOf } from "../internal/arbitrary/canonical.ts"
import { at, choose, oneOf, place } from "../internal/arbitrary/choose.ts"
import { apply, extensible, hasRequired, spoilings } from "../internal/arbitrary/memberMutations.ts"
import { memoised } from "../internal/arbitrary/memoised.ts"
import { newerMembers } from "../internal/arbitrary/newerMembers.ts"
import type { Harmless, Mutation, Spoiling } from "./Mutation.ts"
import { requestId } from "./RequestIds.ts"
import * as ValidMessages from "./ValidMessages.ts"

/**
 * Why a message has to be refused.
 *
 * - `Malformed`: it is no message at all, as `JsonRpc.classify` finds.
 * - `UnknownMethod`: it is one, but of no method that this side may send in this revision.
 * - `InvalidParams`, `InvalidResult`: what it carries does not fit the schema of its method.
 *
 * @category models
 */
export type Refusal = "Malformed" | "UnknownMethod" | "InvalidParams" | "InvalidResult"

/**
 * What a nearly valid message is made of.
 *
 * @category models
 */
export interface NearlyValid<out Tag extends Spoiling | Harmless> {
  /** The message that is valid. */
  readonly valid: JsonRpc.Message
  /** The method of the message, or that of the request it answers with a result. */
  readonly method: string | undefined
  readonly mutation: Mutation<Tag>
  /** The message that is nearly valid. */
  readonly message: unknown
}

/**
 * A message to refuse.
 *
 * @category models
 */
export interface Refused extends NearlyValid<Spoiling> {
  readonly refusal: Refusal
}

/**
 * A message to bear.
 *
 * @category models
 */
export interface Tolerated extends NearlyValid<Harmless> {}

// =====================================================================================================================
// What has to be refused
// =====================================================================================================================

interface Spoil {
  readonly mutation: Mutation<Spoiling>
  readonly refusal: Refusal
}

const spoil = (_tag: Spoiling, refusal: Refusal, path: ReadonlyArray<string>, value?: unknown): Spoil => ({
  mutation: { _tag, path, value },
  refusal
})

const malformed = (_tag: Spoiling, path: ReadonlyArray<string>, value?: unknown): Spoil =>
  spoil(_tag, "Malformed", path, value)

const ofWrongVersion: ReadonlyArray<Spoil> = [
  malformed("MemberMissing", ["jsonrpc"]),
  malformed("MemberNull", ["jsonrpc"], null),
  malformed("LiteralUnknown", ["jsonrpc"], "1.0"),
  malformed("MemberOfWrongType", ["jsonrpc"], 2)
]

const ofWrongId: ReadonlyArray<Spoil> = [
  malformed("MemberOfWrongType", ["id"], true),
  malformed("MemberOfWrongType", ["id"], {}),
  malformed("MemberOfWrongType", ["id"], [1]),
  malformed("RuleBroken", ["id"], 1.5),
  malformed("RuleBroken", ["id"], 2 ** 53),
  malformed("RuleBroken", ["id"], -(2 ** 53))
]

const ofLongId = malformed("RuleBroken", ["id"], "i".repeat(RequestId.maximumBytes + 1))

const ofNullId = malformed("MemberNull", ["id"], null)

const ofWrongMethod: ReadonlyArray<Spoil> = [
  malformed("MemberMissing", ["method"]),
  malformed("MemberNull", ["method"], null),
  malformed("MemberOfWrongType", ["method"], 1),
  malformed("MemberOfWrongType", ["method"], ["ping"]),
  malformed("MemberOfWrongType", ["method"], {})
]

const withAnswer: ReadonlyArray<Spoil> = [
  malformed("MemberUnwanted", ["result"], {}),
  malformed("MemberUnwanted", ["error"], { code: 0, message: "" })
]

/** Names that resemble the one of a method, and are no method's. */
const misspelt = (method: string): ReadonlyArray<Spoil> =>
  [method.toUpperCase(), `${method.charAt(0).toUpperCase()}${method.slice(1)}`, `${method} `, `/${method}`, ""].map(
    (name) => spoil("MethodUnknown", "UnknownMethod", ["method"], name)
  )

const ofOtherSide = memoised((from: MethodDefinition.Role) => {
  const other = MethodDefinition.peerOf(from)
  return {
    requests: ValidMessages.requestNames(other, Revision.latest).filter((name) =>
      MethodTable.findRequest(name, from) === undefined
    ).map((name) => spoil("MethodUnknown", "UnknownMethod", ["method"], name)),
    notifications: ValidMessages.notificationNames(other, Revision.latest).filter((name) =>
      MethodTable.findNotification(name, from) === undefined
    ).map((name) => spoil("MethodUnknown", "UnknownMethod", ["method"], name))
  }
})

/** What is wrong with params that are no object. */
const ofWrongParams = (method: string): ReadonlyArray<Spoil> => [
  ...["text", 1, true, []].map((value) => spoil("MemberOfWrongType", "InvalidParams", ["params"], value)),
  ...hasRequired(schemaOf(method, "params"))
    ? [spoil("MemberMissing", "InvalidParams", ["params"]), spoil("MemberNull", "InvalidParams", ["params"], null)]
    : []
]

const withinPart = (method: string, part: Part, value: unknown): ReadonlyArray<Spoil> =>
  spoilings(schemaOf(method, part), value, [part]).map((mutation) => ({
    mutation,
    refusal: part === "params" ? "InvalidParams" : "InvalidResult"
  }))

/** The envelope first, then what is in it: either is drawn as often as the other. */
type Spoils = readonly [envelope: ReadonlyArray<Spoil>, content: ReadonlyArray<Spoil>]

/** Requests and notifications are spoilt alike, but for what is no method of theirs. */
const spoilsOfMethod = (
  { method, params = {} }: JsonRpc.Request | JsonRpc.Notification,
  ofNoMethod: ReadonlyArray<Spoil>
): Spoils => [
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

const spoilsOfRequest = (from: MethodDefinition.Role, request: JsonRpc.Request): Spoils =>
  spoilsOfMethod(request, ofOtherSide(from).requests)

const spoilsOfNotification = (from: MethodDefinition.Role, notification: JsonRpc.Notification): Spoils =>
  spoilsOfMethod(notification, [
    ...ofOtherSide(from).notifications,
    // With an id it is a request, and there is none of that name.
    spoil("MemberUnwanted", "UnknownMethod", ["id"], 1)
  ])

/** A tool without content has run, and is taken to have none. */
const isBorne = (method: string, { mutation: { _tag, path } }: Spoil): boolean =>
  method === "tools/call" && path.join(".") === "result.content" && (_tag === "MemberMissing" || _tag === "MemberNull")

const spoilsOfSuccess = (method: string, { result }: JsonRpc.Success): Spoils => [
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
    spoil("MemberNull", "InvalidResult", ["result"], null),
    ...["text", 1, true, []].map((value) => spoil("MemberOfWrongType", "InvalidResult", ["result"], value)),
    ...withinPart(method, "result", result).filter((one) => !isBorne(method, one))
  ]
]

// An error may come without an id, and some revisions want it to be null.
const spoilsOfFailure: Spoils = [
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

const spoiled = <M extends JsonRpc.Message>(
  valid: Arbitrary.Arbitrary<M>,
  method: string | undefined,
  spoilsOf: (valid: M) => Spoils
): Arbitrary.Arbitrary<Refused> =>
  Arbitrary.map(
    Arbitrary.all([valid, oneOf<0 | 1>(0, 1), place]),
    ([valid, half, place]): Refused => {
      const spoils = spoilsOf(valid)
      const { mutation, refusal } = at(spoils[half], place) ?? ofNullId
      return { valid, method, mutation, message: apply(valid, mutation), refusal }
    }
  )

/** Messages of methods that came with a newer revision. */
const newerMethods = (
  from: MethodDefinition.Role,
  revision: Revision.Revision
): ReadonlyArray<Arbitrary.Arbitrary<Refused>> => {
  const refused = (valid: Arbitrary.Arbitrary<JsonRpc.Message>, method: string): Arbitrary.Arbitrary<Refused> => {
    const mutation: Mutation<Spoiling> = { _tag: "MethodNewer", path: ["method"], value: method }
    return Arbitrary.map(valid, (valid) => ({ valid, method, mutation, message: valid, refusal: "UnknownMethod" }))
  }
  const requests = new Set<string>(ValidMessages.requestNames(from, revision))
  const notifications = new Set<string>(ValidMessages.notificationNames(from, revision))
  return [
    ...ValidMessages.requestNames(from, Revision.latest).filter((name) => !requests.has(name)).map((name) =>
      refused(ValidMessages.request(name, revision), name)
    ),
    ...ValidMessages.notificationNames(from, Revision.latest).filter((name) => !notifications.has(name)).map((name) =>
      refused(ValidMessages.notification(name, revision), name)
    )
  ]
}

/** One of several that are all drawn equally often; none if there is nothing to choose from. */
const anyOf = <A>(arbitraries: ReadonlyArray<Arbitrary.Arbitrary<A>>): ReadonlyArray<Arbitrary.Arbitrary<A>> => {
  const [first, ...others] = arbitraries
  return first === undefined ? [] : [choose(first, ...others)]
}

const refusedFrom = memoised((from: MethodDefinition.Role) =>
  memoised((revision: Revision.Revision) => {
    const failures = spoiled(ValidMessages.failure(revision), undefined, () => spoilsOfFailure)
    const requests = anyOf(
      ValidMessages.requestNames(from, revision).map((name) =>
        spoiled(ValidMessages.request(name, revision), name, (valid) => spoilsOfRequest(from, valid))
      )
    )
    const notifications = anyOf(
      ValidMessages.notificationNames(from, revision).map((name) =>
        spoiled(ValidMessages.notification(name, revision), name, (valid) => spoilsOfNotification(from, valid))
      )
    )
    const successes = anyOf(
      ValidMessages.requestNames(MethodDefinition.peerOf(from), revision).map((name) =>
        spoiled(ValidMessages.success(name, revision), name, (valid) => spoilsOfSuccess(name, valid))
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
 * Messages of this side, in this revision, that were spoilt by one mutation. Whoever gets one must refuse it, as it says, or
 * ignore it where nothing is answered; and must go on.
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
 *     NearlyValid.refused("client", "2025-11-25"),
 *     ({ message, refusal }) => (refusal === "Malformed") === (JsonRpc.classify(message)._tag === "Malformed")
 *   ),
 *   (result) => result._tag
 * ) // => "Passed"
 * ```
 *
 * @category arbitraries
 */
export const refused = (from: MethodDefinition.Role, revision: Revision.Revision): Arbitrary.Arbitrary<Refused> =>
  refusedFrom(from)(revision)

const refusedResultAt = memoised((revision: Revision.Revision) =>
  memoised((method: keyof MethodTable.Requests) =>
    spoiled(ValidMessages.success(method, revision), method, (valid) => {
      const [, content] = spoilsOfSuccess(method, valid)
      return [content, content]
    })
  )
)

/**
 * Responses to a request of this method whose envelope is in order, and whose result is not: whoever asked must not take it for
 * an answer.
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
 *     NearlyValid.refusedResult("tools/call", "2025-11-25"),
 *     ({ message }) => !isResult(Object(message).result)
 *   ),
 *   (result) => result._tag
 * ) // => "Passed"
 * ```
 *
 * @category arbitraries
 */
export const refusedResult = (
  method: keyof MethodTable.Requests,
  revision: Revision.Revision
): Arbitrary.Arbitrary<Refused> => refusedResultAt(revision)(method)

// =====================================================================================================================
// What has to be borne
// =====================================================================================================================

const unknownName = oneOf("acme/unknown", "unknown", "x", "Method", "ID", "", "\u0000", "hasOwnProperty", "__proto__")
const unknownValue = oneOf<unknown>(1, null, "text", true, [], { deep: [{ down: null }] })

/** A message of a part of a method, and how it is put together. */
interface Carrier {
  readonly method: string
  readonly part: Part
  readonly make: (id: string | number, content: JsonRpc.Params) => JsonRpc.Message
}

const stated = (content: JsonRpc.Params) => Object.keys(content).length === 0 ? undefined : content

const tolerable = ({ make, method, part }: Carrier, revision: Revision.Revision): Arbitrary.Arbitrary<Tolerated> => {
  const known = asOf(method, revision)
  const schema = schemaOf(method, part)
  const mayBeNull = part === "params" && !hasRequired(schema)
  return Arbitrary.map(
    Arbitrary.all([
      requestId,
      canonical(method, part, known),
      oneOf<0 | 1 | 2>(0, 1, 2),
      place,
      unknownName,
      unknownValue
    ]),
    ([id, newest, kind, place, name, value]): Tolerated => {
      const content = RevisionProjection.downgrade(method, part, known, newest, "strict")
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
  make: (id, content) => JsonRpc.request(id, method, stated(content))
})

const notificationOf = (method: string): Carrier => ({
  method,
  part: "params",
  make: (_, content) => JsonRpc.notification(method, stated(content))
})

const successOf = (method: string): Carrier => ({
  method,
  part: "result",
  make: (id, content) => JsonRpc.success(id, content)
})

const toleratedFrom = memoised((from: MethodDefinition.Role) =>
  memoised((revision: Revision.Revision) => {
    const carried = (carriers: ReadonlyArray<Carrier>) => carriers.map((carrier) => tolerable(carrier, revision))
    const requests = anyOf(carried(ValidMessages.requestNames(from, revision).map(requestOf)))
    const notifications = anyOf(carried(ValidMessages.notificationNames(from, revision).map(notificationOf)))
    const successes = anyOf(carried(ValidMessages.requestNames(MethodDefinition.peerOf(from), revision).map(successOf)))
    return choose(tolerable(requestOf("ping"), revision), ...requests, ...notifications, ...successes)
  })
)

/**
 * Messages of this side, in this revision, to which something was done that a receiver has to bear: each must be taken just as
 * if nothing had been done.
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
export const tolerated = (from: MethodDefinition.Role, revision: Revision.Revision): Arbitrary.Arbitrary<Tolerated> =>
  toleratedFrom(from)(revision)

const toleratedResultAt = memoised((revision: Revision.Revision) =>
  memoised((method: keyof MethodTable.Requests) => tolerable(successOf(method), revision))
)

/**
 * Responses to a request of this method to which something was done that whoever asked has to bear.
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
