/** Results that are encoded once and sent many times, such as a list that is the same for all clients. */
import { trust } from "../trust.ts"

/** The JSON texts of the results; `undefined` until a transport encodes the result. */
const texts = new WeakMap<object, string | undefined>()

/**
 * Marks a result as one that is sent again and does not change any more. A transport keeps its JSON text as long as the
 * result exists, and the following responses with the same object reuse the text. The session converts it once for each
 * older revision.
 */
export const make = <A extends object>(result: A): A => {
  if (!texts.has(result)) texts.set(result, undefined)
  return result
}

/** Returns whether a result is marked as one that is sent again. */
export const isPrepared = (result: object): boolean => texts.has(result)

/** The other forms of prepared results, by their keys. */
const forms = new WeakMap<object, WeakMap<object, object>>()

/**
 * Returns another form of a result. The form of a prepared result is prepared as well, and made once for each key.
 * `form` must depend on nothing but the result and the key.
 */
export const derive = <A extends object, B extends object>(result: A, key: object, form: (result: A) => B): B => {
  if (!isPrepared(result)) return form(result)
  const byKey = forms.get(result) ?? new WeakMap<object, object>()
  forms.set(result, byKey)
  const known = byKey.get(key)
  // The same key stands for the same function.
  if (known !== undefined) return trust<B>(known)
  const made = make(form(result))
  byKey.set(key, made)
  return made
}

/**
 * Encodes a prepared result, or returns its text if it was encoded before. Returns `undefined` for any other value.
 * Throws what `JSON.stringify` throws. Transports call it.
 */
export const textOf = (result: unknown): string | undefined => {
  if (typeof result !== "object" || result === null || !isPrepared(result)) return undefined
  const known = texts.get(result)
  if (known !== undefined) return known
  const text = JSON.stringify(result)
  texts.set(result, text)
  return text
}
