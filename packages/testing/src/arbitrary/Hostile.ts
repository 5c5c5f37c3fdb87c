/**
 * Arbitrary values that mean harm, as they come out of `JSON.parse`: what a session gets from a peer that keeps to JSON, and to
 * nothing else.
 */
import type { MethodDefinition, Revision } from "@effect-mcp/protocol"
import * as Arbitrary from "effect/Arbitrary"
import { memoised } from "../internal/arbitrary/memoised.ts"
import * as HostileText from "./HostileText.ts"

const parse = (text: string): unknown => JSON.parse(text)

/**
 * A value that means harm: all that `HostileText.json` comes to. Members named `__proto__` are members of their own, and numbers
 * too large to be one are infinite.
 *
 * @example
 * ```ts
 * import { JsonRpc } from "@effect-mcp/protocol"
 * import { Hostile } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 * import * as Effect from "effect/Effect"
 *
 * // None of it is taken for a request.
 * export const outcome = Effect.map(
 *   Arbitrary.checkEffect(Hostile.value, (value) => JsonRpc.classify(value)._tag !== "Request"),
 *   (result) => result._tag
 * ) // => "Passed"
 * ```
 *
 * @category arbitraries
 */
export const value: Arbitrary.Arbitrary<unknown> = Arbitrary.map(HostileText.json, parse)

const frames = memoised((from: MethodDefinition.Role) =>
  memoised((revision: Revision.Revision) => Arbitrary.map(HostileText.frame(from, revision), parse))
)

/**
 * A frame that means harm: all that `HostileText.frame` comes to. Some are valid all the same, for a receiver that looks at what
 * it knows.
 *
 * @example
 * ```ts
 * import { RevisionProjection } from "@effect-mcp/protocol"
 * import { Hostile } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 * import * as Effect from "effect/Effect"
 *
 * // It fits no result, and projecting it does not throw.
 * export const outcome = Effect.map(
 *   Arbitrary.checkEffect(Hostile.frame("server", "2025-11-25"), (frame) => {
 *     RevisionProjection.downgrade("tools/call", "result", "2024-11-05", frame)
 *     return true
 *   }),
 *   (result) => result._tag
 * ) // => "Passed"
 * ```
 *
 * @category arbitraries
 */
export const frame = (from: MethodDefinition.Role, revision: Revision.Revision): Arbitrary.Arbitrary<unknown> =>
  frames(from)(revision)
