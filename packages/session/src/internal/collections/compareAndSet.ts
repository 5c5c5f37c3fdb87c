/** Compare-and-set of a `Ref` outside of fibers. */

import * as MutableRef from "effect/MutableRef"
import type * as Ref from "effect/Ref"

/** Replaces the value of a `Ref` if it is still `from`. Returns whether it was. */
export const compareAndSetUnsafe = <A>(self: Ref.Ref<A>, from: A, to: A): boolean => {
  if (MutableRef.get(self.ref) !== from) return false
  MutableRef.set(self.ref, to)
  return true
}
