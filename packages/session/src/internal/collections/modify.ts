/** Modification of a `Ref` outside of fibers. */

import * as MutableRef from "effect/MutableRef"
import type * as Ref from "effect/Ref"

/**
 * Modifies a `Ref` synchronously and returns a result. The transport calls the read loop without a fiber, so that a
 * claim is decided before `deliver` returns.
 */
export const modifyUnsafe = <A, B>(self: Ref.Ref<A>, change: (value: A) => readonly [B, A]): B => {
  const [result, next] = change(MutableRef.get(self.ref))
  MutableRef.set(self.ref, next)
  return result
}

/** Replaces the value of a `Ref` if it is still `from`. Returns whether it was. */
export const compareAndSetUnsafe = <A>(self: Ref.Ref<A>, from: A, to: A): boolean => {
  if (MutableRef.get(self.ref) !== from) return false
  MutableRef.set(self.ref, to)
  return true
}
