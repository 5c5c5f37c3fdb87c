/**
 * A function whose result is computed once for each key.
 *
 * Deriving a generator from a schema takes a thousand times as long as drawing a value from it.
 */
export const memoised = <Key extends string, A>(make: (key: Key) => A): (key: Key) => A => {
  const made = new Map<Key, A>()
  return (key) => {
    const known = made.get(key)
    if (known !== undefined) return known
    const fresh = make(key)
    made.set(key, fresh)
    return fresh
  }
}
