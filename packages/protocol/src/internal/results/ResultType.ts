/** The type of a result, in revision 2026-07-28: the member `resultType` says how to read it. */

/** The types of the specification. Extensions add types of their own (MSG-21). */
export const core: ReadonlySet<string> = new Set(["complete", "input_required"])

/**
 * Returns the type of a result, or `undefined` if it is none of the accepted types, so that the response is invalid
 * (MSG-19). A result without a type is complete (MSG-20).
 */
export const of = (
  result: { readonly resultType?: unknown },
  accepted: ReadonlySet<string> = core
): string | undefined => {
  const { resultType = "complete" } = result
  return typeof resultType === "string" && accepted.has(resultType) ? resultType : undefined
}
