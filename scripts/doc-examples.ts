/**
 * Checks that every TypeScript example in the documentation compiles and has its expected values.
 *
 * `node scripts/doc-examples.ts` reads each block fenced as `ts` from the doc comments of the public packages and from
 * the Markdown pages. It checks all of them in one run of the compiler, runs those with expected values at the same
 * time, and reports each error at the line of the example. An example is a complete module, imports included. No
 * example can be exempt.
 *
 * A block fenced as `ts` with the path of a file, such as `ts packages/examples/src/greeter.ts`, is a quotation: the
 * file must contain it, whatever its indentation and its line breaks.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { expectationsIn, type Line, problemOf } from "./expectations.ts"
import * as UserProject from "./userProject.ts"
import { files, publicPackages, read, root } from "./workspace.ts"

interface Example {
  readonly file: string
  readonly lines: ReadonlyArray<Line>
  /** The file that the example quotes; `undefined` for an example of its own. */
  readonly quoted: string | undefined
}

const pages = files("{README,ARCHITECTURE,CONTRIBUTING}.md").concat(
  files("docs/**/*.md"),
  files("packages/*/{README,AGENTS}.md")
)
const modules = publicPackages.flatMap(({ sources }) => sources)

const linesOf = (file: string): ReadonlyArray<Line> =>
  read(file).split("\n").map((text, index) => ({ number: index + 1, text }))

/** Returns the lines of doc comments. Spaces replace the asterisks, so that columns do not change. */
const docComments = (lines: ReadonlyArray<Line>): ReadonlyArray<Line> => {
  let inside = false
  return lines.flatMap(({ number, text }) => {
    inside ||= /^\s*\/\*\*/.test(text)
    if (!inside) {
      return []
    }
    inside = !text.includes("*/")
    return [{ number, text: text.replace(/^\s*(?:\/\*\*|\*(?!\/))/, (margin) => " ".repeat(margin.length)) }]
  })
}

/** Returns the blocks fenced as `ts`. Words after the path of a quoted file are ignored. */
const examplesIn = (file: string, lines: ReadonlyArray<Line>): ReadonlyArray<Example> => {
  const found: Array<Example> = []
  let open: Omit<Example, "file" | "lines"> & { fence: string; language: string; lines: Array<Line> } | undefined
  for (const line of lines) {
    const [, fence, language, quoted] = /^\s*(`{3,})\s*(\w*)(?:\s+(\S+\.ts)\b)?/.exec(line.text) ?? []
    if (open === undefined) {
      open = fence === undefined ? undefined : { fence, language: language ?? "", quoted, lines: [] }
    } else if (fence !== undefined && language === "" && fence.length >= open.fence.length) {
      if (open.language === "ts" || open.language === "typescript") {
        found.push({ file, lines: open.lines, quoted: open.quoted })
      }
      open = undefined
    } else {
      open.lines.push(line)
    }
  }
  if (open !== undefined) {
    throw new Error(`${file}: a block fenced as "${open.language}" is never closed`)
  }
  return found
}

/** Returns a module with the example at its original line numbers, so that the compiler's positions apply to both. */
const moduleText = ({ lines }: Example): string =>
  "\n".repeat((lines[0]?.number ?? 1) - 1) + lines.map(({ text }) => text).join("\n") + "\n"

const compact = (text: string): string => text.replaceAll(/\s+/g, "")

/** Returns why a quotation is wrong, or `undefined` if its file contains it. */
const misquoteOf = ({ file, lines }: Example, quoted: string): string | undefined =>
  fs.existsSync(path.join(root, quoted)) &&
    compact(read(quoted)).includes(compact(lines.map(({ text }) => text).join("\n")))
    ? undefined
    : `${file}:${lines[0]?.number ?? 0} is not in ${quoted}`

const blocks = [
  ...pages.flatMap((file) => examplesIn(file, linesOf(file))),
  ...modules.flatMap((file) => examplesIn(file, docComments(linesOf(file))))
]
const examples = blocks.filter(({ quoted }) => quoted === undefined)
const misquotes = blocks.flatMap((block) => block.quoted === undefined ? [] : misquoteOf(block, block.quoted) ?? [])

const project = UserProject.make()
try {
  const written = new Map(examples.map((example, index) => [`${example.file}-${index + 1}.ts`, example]))
  const runnable = Array.from(written, ([name, example]) => ({
    example,
    address: pathToFileURL(project.write(name, moduleText(example))),
    expectations: expectationsIn(example.lines)
  }))
  const compiling = project.compile(Array.from(written.keys()), {
    // An example may show a value without using it.
    noUnusedLocals: false,
    allowImportingTsExtensions: true,
    rewriteRelativeImportExtensions: false
  })
  const problems = [...misquotes]
  for (const { address, example, expectations } of runnable) {
    for (const expectation of expectations) {
      const problem = await problemOf(address, expectation)
      if (problem !== undefined) {
        problems.push(`${example.file}:${expectation.line} ${problem}`)
      }
    }
  }
  for (const line of await compiling) {
    const [, name, at, message] = /^(.+)\(([\d,]+)\): (.*)$/.exec(line) ?? []
    const source = name === undefined ? undefined : written.get(path.posix.relative(project.folder, name))?.file ?? name
    problems.push(source === undefined || at === undefined ? line : `${source}:${at.replace(",", ":")} ${message}`)
  }
  if (problems.length > 0) {
    console.log(problems.join("\n"))
    process.exitCode = 1
  }
  const expected = runnable.reduce((sum, { expectations }) => sum + expectations.length, 0)
  const quotations = blocks.length - examples.length
  console.log(`${examples.length} examples checked, ${expected} values compared, ${quotations} quotations compared`)
} finally {
  project.remove()
}
