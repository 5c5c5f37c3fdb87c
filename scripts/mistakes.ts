/** Mistakes in the use of a package, and what the compiler reports about them. */
import * as fs from "node:fs"
import * as UserProject from "./userProject.ts"

/** A mistake: the number of its line, and a part of the message that the line above it expects. */
export interface Mistake {
  readonly line: number
  readonly message: string
}

/** The mistakes of a module, and the compiler's reports by their lines. */
export interface Comparison {
  readonly expected: ReadonlyArray<Mistake>
  readonly reports: ReadonlyMap<number, string>
}

/**
 * Compiles modules with one run of the compiler, and returns a comparison for each. A comment `// error: …` in a module
 * expects an error in the next line.
 */
export const compare = async (files: ReadonlyArray<string>): Promise<ReadonlyArray<Comparison>> => {
  const sources = files.map((file) => fs.readFileSync(file, "utf8"))
  const project = UserProject.make()
  try {
    const names = sources.map((_, index) => `mistakes${index}.ts`)
    for (const [index, source] of sources.entries()) project.write(`mistakes${index}.ts`, source)
    const reports = sources.map(() => new Map<number, string>())
    let module = 0
    let current = 0
    for (const line of await project.compile(names)) {
      const position = /mistakes(\d+)\.ts\((\d+),\d+\): error/.exec(line)
      if (position !== null) {
        module = Number(position[1])
        current = Number(position[2])
      }
      // The first lines of errors elsewhere follow none of a module, and count as its line 0.
      reports[module]?.set(current, `${reports[module]?.get(current) ?? ""}${line}\n`)
    }
    return sources.map((source, index) => ({ expected: expectedIn(source), reports: reports[index] ?? new Map() }))
  } finally {
    project.remove()
  }
}

const expectedIn = (source: string): ReadonlyArray<Mistake> =>
  source.split("\n").flatMap((line, index) => {
    const [, message] = /\/\/ error: (.*)$/.exec(line) ?? []
    return message === undefined ? [] : [{ line: index + 2, message }]
  })
