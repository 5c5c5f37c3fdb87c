/** The members that the projection of a message to an older revision removes. */

import { isMembers, type Path } from "./jsonValues.ts"

/** A member that a message loses by its projection to an older revision. */
export interface NewerMember {
  readonly path: Path
  readonly value: unknown
}

/** Returns the members of a value that its projection lacks, if the projection has the object around them. */
export const newerMembers = (newest: unknown, older: unknown, path: Path): ReadonlyArray<NewerMember> => {
  if (newest === older) return []
  if (Array.isArray(newest) && Array.isArray(older) && newest.length === older.length) {
    return newest.flatMap((element, index) => newerMembers(element, older[index], [...path, index]))
  }
  if (!isMembers(newest) || !isMembers(older)) return []
  return Object.entries(newest).flatMap(([name, value]) =>
    Object.hasOwn(older, name)
      ? newerMembers(value, older[name], [...path, name])
      : [{ path: [...path, name], value }]
  )
}
