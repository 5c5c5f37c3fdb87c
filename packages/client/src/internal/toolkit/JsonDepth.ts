/** The depth of JSON values of servers. Functions that recurse, such as `JSON.stringify`, throw on a deep one. */

/** The greatest depth of a result of a tool, and of the params of a request for a message. */
export const maxLevels = 512

const isStructure = (value: unknown): value is object => typeof value === "object" && value !== null

/** Returns whether arrays and objects are nested in more levels. Does not recurse. */
export const isDeeper = (value: unknown, levels: number): boolean => {
  let level = [value].filter(isStructure)
  for (let left = levels; left > 0; left--) {
    if (level.length === 0) return false
    level = level.flatMap((structure) => Object.values(structure).filter(isStructure))
  }
  return level.length > 0
}
