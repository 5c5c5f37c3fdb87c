/**
 * Arbitrary hostile values, as `JSON.parse` returns them: the frames of a peer that sends JSON and ignores all other
 * rules.
 *
 * @stability unstable
 */
import type { MethodDefinition, Revision } from "@effect-mcp/protocol"
import * as Arbitrary from "effect/Arbitrary"
import { memoised } from "../internal/arbitrary/generators.ts"
import * as HostileText from "./HostileText.ts"

const parse = (text: string): unknown => JSON.parse(text)

/**
 * Generates a hostile value: the parsed text of `HostileText.json`. Members named `__proto__` are own members, and
 * numbers beyond the range are infinite.
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
 * Generates a hostile frame: the parsed text of `HostileText.frame`. Some frames are valid for a receiver that reads
 * only the members it knows.
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
 *     RevisionProjection.project("tools/call", "result", "2024-11-05", frame)
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
