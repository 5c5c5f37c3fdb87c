import * as MutableRef from "effect/MutableRef"
import type * as Ref from "effect/Ref"

/**
 * `Ref.modify` for code that runs between fibers: the reader is called by the transport, not by a fiber, and claims must
 * be decided in the same instant.
 */
export const modifyUnsafe = <A, B>(self: Ref.Ref<A>, change: (value: A) => readonly [B, A]): B => {
  const [result, next] = change(MutableRef.get(self.ref))
  MutableRef.set(self.ref, next)
  return result
}

/** Replaces a value that is still the one it was derived from. Returns whether it was. */
export const compareAndSetUnsafe = <A>(self: Ref.Ref<A>, from: A, to: A): boolean => {
  if (MutableRef.get(self.ref) !== from) return false
  MutableRef.set(self.ref, to)
  return true
}
