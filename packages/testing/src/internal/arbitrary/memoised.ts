/**
 * A function that makes what it makes once for each key. To derive an arbitrary from a schema takes a thousand times as long as
 * to draw from it.
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
