/**
 * What was done to a valid message to make one that is nearly valid, as a value: so that a failure can be read.
 */
import * as Formatter from "effect/Formatter"

/**
 * A mutation that spoils a message: whoever gets it must not take it for what it was.
 *
 * - `MemberMissing`: a member that has to be there is not.
 * - `MemberNull`: a member is `null` that may not be.
 * - `MemberOfWrongType`: text where a number should be, a list where an object should be, and so on.
 * - `LiteralUnknown`: a member that has a few known values has another, of the same type.
 * - `RuleBroken`: a member is of the right type, but not one of the values that are allowed.
 * - `MemberUnwanted`: a member that excludes another stands beside it, such as an error beside a result.
 * - `MethodUnknown`: a method that this side cannot send, because of its spelling or because it is the other side's.
 * - `MethodNewer`: a method that only newer revisions have.
 *
 * @category models
 */
export type Spoiling =
  | "MemberMissing"
  | "MemberNull"
  | "MemberOfWrongType"
  | "LiteralUnknown"
  | "RuleBroken"
  | "MemberUnwanted"
  | "MethodUnknown"
  | "MethodNewer"

/**
 * A mutation that a receiver has to bear.
 *
 * - `MemberUnknown`: a member that no revision knows.
 * - `MemberNewer`: a member that only newer revisions know, in a message of this one.
 * - `ParamsNull`: `params` is `null` where it might be missing.
 *
 * @category models
 */
export type Harmless = "MemberUnknown" | "MemberNewer" | "ParamsNull"

/**
 * What was done, and where.
 *
 * @category models
 */
export interface Mutation<out Tag extends Spoiling | Harmless = Spoiling | Harmless> {
  readonly _tag: Tag
  /** Where it was done: the names of members, and numbers for the places in lists. */
  readonly path: ReadonlyArray<string | number>
  /** What stands there now; `undefined` if nothing does. */
  readonly value: unknown
}

const words: { readonly [Tag in Spoiling | Harmless]: string } = {
  MemberMissing: "is missing",
  MemberNull: "is null",
  MemberOfWrongType: "is of the wrong type",
  LiteralUnknown: "is none of the known values",
  RuleBroken: "is not allowed",
  MemberUnwanted: "is one too many",
  MethodUnknown: "is no method of this side",
  MethodNewer: "is a method of a newer revision",
  MemberUnknown: "is known to no revision",
  MemberNewer: "is known to newer revisions only",
  ParamsNull: "is null where it might be missing"
}

/**
 * A mutation in words.
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
