/** The files of the programs, and their numbers of lines. */
import type { Implementation, Program } from "./implementations.ts"

/**
 * Counts the lines of a source file without blank lines and comments. Lines that begin with a comment count as comments
 * up to its end: in the format of this repository, no code follows a comment on its line.
 */
export const countLines = (source: string): number => {
  let count = 0
  let inComment = false
  for (const line of source.split("\n").map((line) => line.trim())) {
    if (!inComment && line.startsWith("/*")) inComment = true
    if (!inComment && line !== "" && !line.startsWith("//")) count++
    if (inComment && line.endsWith("*/")) inComment = false
  }
  return count
}

/** Returns the file of a program. */
export const fileOf = ({ folder }: Implementation, program: Program): URL =>
  new URL(`${folder}/${program}.ts`, import.meta.url)
