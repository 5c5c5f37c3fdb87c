/**
 * The change that made a valid message nearly valid, as a value, so that a failure is readable.
 *
 * @stability unstable
 */
import * as Formatter from "effect/Formatter"
import type * as memberMutations from "../internal/arbitrary/memberMutations.ts"

/**
 * A mutation that makes a message invalid. A receiver must not accept it as the original message.
 *
 * - `MemberMissing`: a required member is missing.
 * - `MemberNull`: a member is `null`, which its schema does not permit.
 * - `MemberOfWrongType`: text instead of a number, a list instead of an object, and so on.
 * - `LiteralUnknown`: a member with a few known values has another value of the same type.
 * - `RuleBroken`: a member has the right type, but not a permitted value.
 * - `MemberUnwanted`: a member is present that excludes another, such as an error beside a result.
 * - `MethodUnknown`: a method that this side cannot send: it is misspelt, or belongs to the other side.
 * - `MethodNewer`: a method of other revisions only, mostly newer ones.
 *
 * @category models
 */
export type Invalidating = memberMutations.Invalidating

/**
 * A mutation that a receiver must tolerate.
 *
 * - `MemberUnknown`: a member that no revision defines.
 * - `MemberNewer`: a member that only other revisions define, mostly newer ones, in a message of this one.
 * - `ParamsNull`: `params` is `null` instead of missing.
 *
 * @category models
 */
export type Harmless = memberMutations.Harmless

/**
 * A change, and its place.
 *
 * @category models
 */
export type Mutation<Tag extends Invalidating | Harmless = Invalidating | Harmless> = memberMutations.Mutation<Tag>

const words: { readonly [Tag in Invalidating | Harmless]: string } = {
  MemberMissing: "is missing",
  MemberNull: "is null",
  MemberOfWrongType: "is of the wrong type",
  LiteralUnknown: "is none of the known values",
  RuleBroken: "is not allowed",
  MemberUnwanted: "is one too many",
  MethodUnknown: "is no method of this side",
  MethodNewer: "is a method of another revision",
  MemberUnknown: "is known to no revision",
  MemberNewer: "is known to other revisions only",
  ParamsNull: "is null where it might be missing"
}

/**
 * Describes a mutation in words.
 *
 * @example
 * ```ts
 * import { Mutation } from "@effect-mcp/testing/arbitrary"
 *
 * export const words = Mutation.describe({ _tag: "MemberOfWrongType", path: ["params", "name"], value: 1 })
 * // => "params.name is of the wrong type: 1"
 * ```
 *
 * @category formatting
 */
export const describe = ({ _tag, path, value }: Mutation): string => {
  const place = path.map((step, index) => typeof step === "number" ? `[${step}]` : index === 0 ? step : `.${step}`)
  return `${place.join("")} ${words[_tag]}${value === undefined ? "" : `: ${Formatter.format(value)}`}`
}
