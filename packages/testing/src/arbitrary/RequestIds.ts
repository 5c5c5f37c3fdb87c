/**
 * Arbitrary request ids and progress tokens, above all those that are easily confused with each other or with none.
 *
 * @stability unstable
 */
import type { Meta, RequestId } from "@effect-mcp/protocol"
import type * as Arbitrary from "effect/Arbitrary"
import { identity } from "../internal/arbitrary/oddText.ts"

/**
 * Generates the id of a request: whole numbers that are small, negative or as large as possible, and text, unusual
 * Unicode included. `0`, `""`, `"0"`, and `1` beside `"1"` are frequent (MSG-03). Draws are independent: a conversation
 * must make the ids of one session distinct (MSG-05).
 *
 * @example
 * ```ts
 * import { RequestId } from "@effect-mcp/protocol"
 * import { RequestIds } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 * import * as Effect from "effect/Effect"
 *
 * export const outcome = Effect.map(
 *   Arbitrary.checkEffect(RequestIds.requestId, RequestId.isRequestId, { seed: 1 }),
 *   (result) => result._tag
 * ) // => "Passed"
 * ```
 *
 * @category arbitraries
 */
export const requestId: Arbitrary.Arbitrary<RequestId.RequestId> = identity

/**
 * Generates a progress token of the same kinds as {@link requestId} (PRG-01).
 *
 * @example
 * ```ts
 * import { JsonRpc } from "@effect-mcp/protocol"
 * import { RequestIds } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 *
 * export const watched = Arbitrary.map(
 *   Arbitrary.all([RequestIds.requestId, RequestIds.progressToken]),
 *   ([id, progressToken]) => JsonRpc.request(id, "ping", { _meta: { progressToken } })
 * )
 * ```
 *
 * @category arbitraries
 */
export const progressToken: Arbitrary.Arbitrary<Meta.ProgressToken> = identity
