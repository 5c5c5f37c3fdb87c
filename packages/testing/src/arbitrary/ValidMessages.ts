/**
 * Arbitrary valid messages. They are derived from the method table, its schemas and the projections of the revisions,
 * so a message of an older revision contains nothing of newer ones.
 *
 * @stability unstable
 */
import { JsonRpc, MethodDefinition, MethodTable, Revision, RevisionProjection } from "@effect-mcp/protocol"
import * as Arbitrary from "effect/Arbitrary"
import { asOf, canonical, type Part } from "../internal/arbitrary/canonical.ts"
import { choose, memoised } from "../internal/arbitrary/generators.ts"
import { isMembers } from "../internal/arbitrary/jsonValues.ts"
import { trust } from "../internal/trust.ts"
import * as ErrorObjects from "./ErrorObjects.ts"
import * as Profiles from "./Profiles.ts"
import { requestId } from "./RequestIds.ts"

/**
 * The content of one frame: a message, or a batch if the revision has batches (MSG-15).
 *
 * @category models
 */
export type Frame = JsonRpc.Message | ReadonlyArray<JsonRpc.Message>

/** One generator for each part of each method at each revision. */
const partsOf = memoised((part: Part) =>
  memoised((revision: Revision.Revision) =>
    memoised((method: string) => {
      const known = asOf(method, revision)
      return Arbitrary.map(
        canonical(method, part, known),
        (value) => RevisionProjection.project(method, part, known, value, "strict")
      )
    })
  )
)

/**
 * Generates the params of a method in the form of this revision. If the revision does not have the method, they have
 * the form of the first revision with it. An `initialize` requests this revision.
 *
 * @example
 * ```ts
 * import { ValidMessages } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 * import * as Effect from "effect/Effect"
 *
 * // Steps of progress had no message at first.
 * export const outcome = Effect.map(
 *   Arbitrary.checkEffect(
 *     ValidMessages.params("notifications/progress", "2024-11-05"),
 *     ({ message }) => message === undefined
 *   ),
 *   (result) => result._tag
 * ) // => "Passed"
 * ```
 *
 * @category arbitraries
 */
export const params: {
  <Name extends keyof MethodTable.Requests>(
    method: Name,
    revision: Revision.Revision
  ): Arbitrary.Arbitrary<MethodTable.ParamsOf<Name>>
  <Name extends keyof MethodTable.Notifications>(
    method: Name,
    revision: Revision.Revision
  ): Arbitrary.Arbitrary<MethodTable.NotificationParamsOf<Name>>
} = <A>(method: string, revision: Revision.Revision): Arbitrary.Arbitrary<A> =>
  // The values are drawn from the schema of the same row as the type.
  trust<Arbitrary.Arbitrary<A>>(partsOf("params")(revision)(method))

/**
 * Generates the result of a request in the form of this revision.
 *
 * @example
 * ```ts
 * import { ValidMessages } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 * import * as Effect from "effect/Effect"
 *
 * // Structured content exists since 2025-06-18.
 * export const outcome = Effect.map(
 *   Arbitrary.checkEffect(
 *     ValidMessages.result("tools/call", "2025-03-26"),
 *     ({ structuredContent }) => structuredContent === undefined
 *   ),
 *   (result) => result._tag
 * ) // => "Passed"
 * ```
 *
 * @category arbitraries
 */
export const result = <Name extends keyof MethodTable.Requests>(
  method: Name,
  revision: Revision.Revision
): Arbitrary.Arbitrary<MethodTable.ResultOf<Name>> =>
  // The values are drawn from the schema of the same row as the type.
  trust<Arbitrary.Arbitrary<MethodTable.ResultOf<Name>>>(partsOf("result")(revision)(method))

/** Returns the params of a request. Without a handshake they carry the client. */
const requestParamsOf = (method: string, revision: Revision.Revision): Arbitrary.Arbitrary<JsonRpc.Params> => {
  const drawn = paramsOf(method, revision)
  return Revision.isModern(revision)
    ? Arbitrary.map(
      Arbitrary.all([drawn, Profiles.requestMetadata(revision)]),
      ([params, metadata]) => ({
        ...params,
        _meta: { ...isMembers(params["_meta"]) ? params["_meta"] : {}, ...metadata }
      })
    )
    : drawn
}

/** Returns the result of a request. Without a handshake it states its type. */
const successOf = (method: string, revision: Revision.Revision): Arbitrary.Arbitrary<JsonRpc.Params> => {
  const drawn = partsOf("result")(revision)(method)
  return Revision.isModern(revision)
    ? Arbitrary.map(drawn, (result) => ({ ...result, resultType: "complete" }))
    : drawn
}

const paramsOf = (method: string, revision: Revision.Revision) => partsOf("params")(revision)(method)

/** Empty params may be left out. */
const stated = (params: JsonRpc.Params): JsonRpc.Params | undefined =>
  Object.keys(params).length === 0 ? undefined : params

const requests = memoised((revision: Revision.Revision) =>
  memoised((method: string): Arbitrary.Arbitrary<JsonRpc.Request> =>
    Arbitrary.map(
      Arbitrary.all([requestId, requestParamsOf(method, revision)]),
      ([id, params]) => JsonRpc.request(id, method, stated(params))
    )
  )
)

const notifications = memoised((revision: Revision.Revision) =>
  memoised((method: string): Arbitrary.Arbitrary<JsonRpc.Notification> =>
    Arbitrary.map(paramsOf(method, revision), (params) => JsonRpc.notification(method, stated(params)))
  )
)

const successes = memoised((revision: Revision.Revision) =>
  memoised((method: string): Arbitrary.Arbitrary<JsonRpc.Success> =>
    Arbitrary.map(
      Arbitrary.all([requestId, successOf(method, revision)]),
      ([id, result]) => JsonRpc.success(id, result)
    )
  )
)

/**
 * Generates a request: any id, and params of this revision. In 2026-07-28 they carry the client.
 *
 * @example
 * ```ts
 * import { JsonRpc } from "@effect-mcp/protocol"
 * import { ValidMessages } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 * import * as Effect from "effect/Effect"
 *
 * export const outcome = Effect.map(
 *   Arbitrary.checkEffect(
 *     ValidMessages.request("tools/call", "2025-11-25"),
 *     (request) => JsonRpc.classify(request)._tag === "Request"
 *   ),
 *   (result) => result._tag
 * ) // => "Passed"
 * ```
 *
 * @category arbitraries
 */
export const request = (
  method: keyof MethodTable.Requests,
  revision: Revision.Revision
): Arbitrary.Arbitrary<JsonRpc.Request> => requests(revision)(method)

/**
 * Generates a notification, with params of this revision.
 *
 * @example
 * ```ts
 * import { ValidMessages } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 *
 * export const noise = Arbitrary.array(ValidMessages.notification("notifications/message", "2025-06-18"))
 * ```
 *
 * @category arbitraries
 */
export const notification = (
  method: keyof MethodTable.Notifications,
  revision: Revision.Revision
): Arbitrary.Arbitrary<JsonRpc.Notification> => notifications(revision)(method)

/**
 * Generates a response with a result of this method and any id. In 2026-07-28 it states that it is complete.
 *
 * @example
 * ```ts
 * import { ValidMessages } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 *
 * // The answer to the request with the id 1.
 * export const answer = Arbitrary.map(
 *   ValidMessages.success("tools/list", "2025-11-25"),
 *   (success) => ({ ...success, id: 1 })
 * )
 * ```
 *
 * @category arbitraries
 */
export const success = (
  method: keyof MethodTable.Requests,
  revision: Revision.Revision
): Arbitrary.Arbitrary<JsonRpc.Success> => successes(revision)(method)

/**
 * Generates a response with an error. If the id of its request could not be read, the id is `null` or absent, depending
 * on the revision (MSG-09).
 *
 * @example
 * ```ts
 * import { ValidMessages } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 * import * as Effect from "effect/Effect"
 *
 * export const outcome = Effect.map(
 *   Arbitrary.checkEffect(ValidMessages.failure("2025-11-25"), ({ id }) => id !== null),
 *   (result) => result._tag
 * ) // => "Passed"
 * ```
 *
 * @category arbitraries
 */
export const failure: (revision: Revision.Revision) => Arbitrary.Arbitrary<JsonRpc.Failure> = memoised(
  (revision) => {
    const unreadable = Revision.envelopes[revision].unreadableId === "null" ? null : undefined
    const id = choose<JsonRpc.Failure["id"]>(requestId, requestId, requestId, Arbitrary.Constant(unreadable))
    return Arbitrary.map(
      Arbitrary.all([id, ErrorObjects.errorObject]),
      ([id, error]): JsonRpc.Failure => id === undefined ? { jsonrpc: "2.0", error } : { jsonrpc: "2.0", id, error }
    )
  }
)

/** Returns whether a revision has a method. A server sends no requests without a handshake. */
const isIn = (
  revision: Revision.Revision,
  { since, until }: { readonly since: Revision.Revision; readonly until: Revision.Revision | undefined }
): boolean => Revision.isAtLeast(revision, since) && (until === undefined || Revision.isAtLeast(until, revision))

/**
 * Returns the requests that one side may send in this revision, in the order of the table. In 2026-07-28 a server sends
 * none.
 *
 * @example
 * ```ts
 * import { ValidMessages } from "@effect-mcp/testing/arbitrary"
 *
 * export const methods = ValidMessages.requestNames("server", "2025-03-26")
 * // => ["ping", "sampling/createMessage", "roots/list"]
 * ```
 *
 * @category lookups
 */
export const requestNames = <From extends MethodDefinition.Role>(
  from: From,
  revision: Revision.Revision
): ReadonlyArray<MethodTable.RequestName<From>> =>
  // The row decides which side may send it, and so does the type.
  trust(
    from === "server" && Revision.isModern(revision)
      ? []
      : Object.values<MethodTable.AnyRequest>({ ...MethodTable.requests }).flatMap((row) =>
        MethodTable.findRequest(row.name, from) !== undefined && isIn(revision, row) ? [row.name] : []
      )
  )

/**
 * Returns the notifications that one side may send in this revision, in the order of the table.
 *
 * @example
 * ```ts
 * import { ValidMessages } from "@effect-mcp/testing/arbitrary"
 *
 * export const told = ValidMessages.notificationNames("client", "2025-06-18").length // => 4
 * ```
 *
 * @category lookups
 */
export const notificationNames = <From extends MethodDefinition.Role>(
  from: From,
  revision: Revision.Revision
): ReadonlyArray<MethodTable.NotificationName<From>> =>
  // The row decides which side may send it, and so does the type.
  trust(
    Object.values<MethodTable.AnyNotification>({ ...MethodTable.notifications }).flatMap((row) =>
      MethodTable.findNotification(row.name, from) !== undefined && isIn(revision, row) ? [row.name] : []
    )
  )

/** Draws each of these equally often. */
const anyOf = <A>(arbitraries: ReadonlyArray<Arbitrary.Arbitrary<A>>): Arbitrary.Arbitrary<A> => {
  const [first, ...others] = arbitraries
  if (first === undefined) throw new RangeError("there is nothing to choose from")
  return choose(first, ...others)
}

/** Creates one value for each side and revision. */
const memoisedBySide = <A>(make: (from: MethodDefinition.Role, revision: Revision.Revision) => A) => {
  const sides = memoised((from: MethodDefinition.Role) =>
    memoised((revision: Revision.Revision) => make(from, revision))
  )
  return (from: MethodDefinition.Role, revision: Revision.Revision): A => sides(from)(revision)
}

/** Requests except `initialize`, which is not part of a batch and is not repeated. */
const laterRequest = memoisedBySide((from, revision) =>
  anyOf(
    requestNames(from, revision).filter((name) => name !== "initialize").map((name) => request(name, revision))
  )
)

const anyRequest = memoisedBySide((from, revision) =>
  anyOf(requestNames(from, revision).map((name) => request(name, revision)))
)

const anyNotification = memoisedBySide((from, revision) =>
  anyOf(notificationNames(from, revision).map((name) => notification(name, revision)))
)

const anyResponse = memoisedBySide((from, revision): Arbitrary.Arbitrary<JsonRpc.Response> => {
  const names = requestNames(MethodDefinition.peerOf(from), revision)
  if (names.length === 0) return failure(revision)
  const results = anyOf(names.map((name) => success(name, revision)))
  return choose<JsonRpc.Response>(results, results, failure(revision))
})

/**
 * Generates a request that this side may send in this revision.
 *
 * @example
 * ```ts
 * import { ValidMessages } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 *
 * export const burst = Arbitrary.array(ValidMessages.requestFrom("client", "2025-11-25"), { maxLength: 20 })
 * ```
 *
 * @category arbitraries
 */
export const requestFrom = (
  from: MethodDefinition.Role,
  revision: Revision.Revision
): Arbitrary.Arbitrary<JsonRpc.Request> => anyRequest(from, revision)

/**
 * Generates a notification that this side may send in this revision.
 *
 * @example
 * ```ts
 * import { ValidMessages } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 *
 * export const noise = Arbitrary.array(ValidMessages.notificationFrom("server", "2025-11-25"))
 * ```
 *
 * @category arbitraries
 */
export const notificationFrom = (
  from: MethodDefinition.Role,
  revision: Revision.Revision
): Arbitrary.Arbitrary<JsonRpc.Notification> => anyNotification(from, revision)

/**
 * Generates a response that this side may send in this revision: a result for a request of the other side, or an error.
 *
 * @example
 * ```ts
 * import { ValidMessages } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 *
 * export const unasked = Arbitrary.array(ValidMessages.responseFrom("server", "2025-11-25"))
 * ```
 *
 * @category arbitraries
 */
export const responseFrom = (
  from: MethodDefinition.Role,
  revision: Revision.Revision
): Arbitrary.Arbitrary<JsonRpc.Response> => anyResponse(from, revision)

/** Without a handshake, only the client sends requests, and only the server sends responses. */
const kindsOf = (
  from: MethodDefinition.Role,
  revision: Revision.Revision,
  requests: typeof requestFrom
): Arbitrary.Arbitrary<JsonRpc.Message> => {
  const notifications = notificationFrom(from, revision)
  if (!Revision.isModern(revision)) {
    return choose<JsonRpc.Message>(requests(from, revision), notifications, responseFrom(from, revision))
  }
  return from === "client"
    ? choose<JsonRpc.Message>(requests(from, revision), notifications)
    : choose<JsonRpc.Message>(responseFrom(from, revision), notifications)
}

const anyMessage = memoisedBySide((from, revision): Arbitrary.Arbitrary<JsonRpc.Message> =>
  kindsOf(from, revision, requestFrom)
)

/**
 * Generates a message that this side may send in this revision. The conversation decides whether it may be sent now,
 * and with this id.
 *
 * @example
 * ```ts
 * import { JsonRpc } from "@effect-mcp/protocol"
 * import { ValidMessages } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 * import * as Effect from "effect/Effect"
 *
 * export const outcome = Effect.map(
 *   Arbitrary.checkEffect(
 *     ValidMessages.message("client", "2025-06-18"),
 *     (message) => JsonRpc.messages(message)[0] === message
 *   ),
 *   (result) => result._tag
 * ) // => "Passed"
 * ```
 *
 * @category arbitraries
 */
export const message = (
  from: MethodDefinition.Role,
  revision: Revision.Revision
): Arbitrary.Arbitrary<JsonRpc.Message> => anyMessage(from, revision)

const anyFrame = memoisedBySide((from, revision): Arbitrary.Arbitrary<Frame> => {
  const single = message(from, revision)
  if (!Revision.envelopes[revision].batches) return single
  const batch = Arbitrary.array(kindsOf(from, revision, laterRequest), { minLength: 1, maxLength: 5 })
  return choose<Frame>(single, single, single, batch)
})

/**
 * Generates a frame that this side may send in this revision: a message, or in 2025-03-26 a batch of up to five,
 * without `initialize` (MSG-15, MSG-16).
 *
 * @example
 * ```ts
 * import { ValidMessages } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 * import * as Effect from "effect/Effect"
 *
 * const batches = (revision: "2025-03-26" | "2025-06-18") =>
 *   Effect.map(
 *     Arbitrary.sampleEffect(ValidMessages.frame("client", revision), { count: 100, seed: 1 }),
 *     (frames) => frames.some(Array.isArray)
 *   )
 *
 * export const some = Effect.all([batches("2025-03-26"), batches("2025-06-18")]) // => [true, false]
 * ```
 *
 * @category arbitraries
 */
export const frame = (from: MethodDefinition.Role, revision: Revision.Revision): Arbitrary.Arbitrary<Frame> =>
  anyFrame(from, revision)
