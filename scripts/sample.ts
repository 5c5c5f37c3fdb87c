/** Samples of mutants, so that each run of the checks takes others. */
import { createHash } from "node:crypto"

/** Returns `size` of the items at random. The same seed selects the same items, whatever their order. */
export const sampleOf = <A>(
  items: ReadonlyArray<A>,
  { keyOf, seed, size }: { readonly size: number; readonly seed: string; readonly keyOf: (item: A) => string }
): ReadonlyArray<A> => {
  const rank = (item: A): string => createHash("sha256").update(`${seed} ${keyOf(item)}`).digest("hex")
  return items.toSorted((one, other) => rank(one) < rank(other) ? -1 : 1).slice(0, size)
}
