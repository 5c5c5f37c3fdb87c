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

/** Compiles the module in a file. A comment `// error: …` in it expects an error in the next line. */
export const compare = async (file: string): Promise<Comparison> => {
  const source = fs.readFileSync(file, "utf8")
  const project = UserProject.make()
  try {
    project.write("mistakes.ts", source)
    const reports = new Map<number, string>()
    let current = 0
    for (const line of await project.compile(["mistakes.ts"])) {
      const position = /mistakes\.ts\((\d+),\d+\): error/.exec(line)
      if (position !== null) current = Number(position[1])
      reports.set(current, `${reports.get(current) ?? ""}${line}\n`)
    }
    const expected = source.split("\n").flatMap((line, index) => {
      const [, message] = /\/\/ error: (.*)$/.exec(line) ?? []
      return message === undefined ? [] : [{ line: index + 2, message }]
    })
    return { expected, reports }
  } finally {
    project.remove()
  }
}
