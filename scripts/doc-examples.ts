/**
 * Every TypeScript example in the documentation compiles as it stands.
 *
 * `node scripts/doc-examples.ts` takes each block fenced as `ts` out of the doc comments of the public packages and out
 * of the Markdown pages, checks all of them in one run of the compiler, and reports errors where the example is written.
 * An example is a whole module, imports included. There is no way to exempt one.
 */
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { files, publicPackages, read, root } from "./workspace.ts"

interface Line {
  readonly number: number
  readonly text: string
}

interface Example {
  readonly file: string
  readonly lines: ReadonlyArray<Line>
}

const pages = files("{README,ARCHITECTURE,CONTRIBUTING}.md").concat(files("packages/*/README.md"))
const modules = publicPackages.flatMap(({ sources }) => sources)

const linesOf = (file: string): ReadonlyArray<Line> =>
  read(file).split("\n").map((text, index) => ({ number: index + 1, text }))

/** The lines of doc comments. The asterisks give way to spaces, so that columns stay what they are. */
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

/** The blocks fenced as `ts`, whatever follows on the line of the fence. */
const examplesIn = (file: string, lines: ReadonlyArray<Line>): ReadonlyArray<Example> => {
  const found: Array<Example> = []
  let open: { readonly fence: string; readonly language: string; readonly lines: Array<Line> } | undefined
  for (const line of lines) {
    const [, fence, language] = /^\s*(`{3,})\s*(\w*)/.exec(line.text) ?? []
    if (open === undefined) {
      open = fence === undefined ? undefined : { fence, language: language ?? "", lines: [] }
    } else if (fence !== undefined && language === "" && fence.length >= open.fence.length) {
      if (open.language === "ts" || open.language === "typescript") {
        found.push({ file, lines: open.lines })
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

/** The example on the very lines on which it is written: what the compiler says of one place holds for the other. */
const moduleText = ({ lines }: Example): string =>
  "\n".repeat((lines[0]?.number ?? 1) - 1) + lines.map(({ text }) => text).join("\n") + "\n"

const examples = [
  ...pages.flatMap((file) => examplesIn(file, linesOf(file))),
  ...modules.flatMap((file) => examplesIn(file, docComments(linesOf(file))))
]

// Inside `node_modules`, where the packages resolve as they do for users, and where no other tool looks.
const folder = path.posix.join("node_modules", path.basename(fs.mkdtempSync(path.join(root, "node_modules", ".doc-"))))
const write = (name: string, text: string): void => {
  const file = path.join(root, folder, name)
  fs.mkdirSync(path.dirname(file), { recursive: true })
  fs.writeFileSync(file, text)
}

try {
  const written = new Map(examples.map((example, index) => [`${example.file}-${index + 1}.ts`, example]))
  for (const [name, example] of written) {
    write(name, moduleText(example))
  }
  write("package.json", JSON.stringify({ type: "module" }))
  write(
    "tsconfig.json",
    JSON.stringify({
      extends: "../../tsconfig.base.json",
      files: Array.from(written.keys()),
      compilerOptions: {
        rootDir: "../..",
        noEmit: true,
        composite: false,
        incremental: false,
        declarationMap: false,
        // An example may show a value without using it.
        noUnusedLocals: false,
        allowImportingTsExtensions: true,
        rewriteRelativeImportExtensions: false,
        types: ["node"]
      }
    })
  )
  const compiler = path.join("node_modules", "typescript", "bin", "tsc")
  const { status, stdout, stderr } = spawnSync(process.execPath, [compiler, "-p", folder, "--pretty", "false"], {
    cwd: root,
    encoding: "utf8"
  })
  const report = (stdout + stderr).split("\n").map((line) => {
    const [, name, at, message] = /^(.+)\(([\d,]+)\): (.*)$/.exec(line) ?? []
    const source = name === undefined ? undefined : written.get(path.posix.relative(folder, name))?.file ?? name
    return source === undefined || at === undefined ? line : `${source}:${at.replace(",", ":")} ${message}`
  })
  if (status !== 0) {
    console.log(report.join("\n").trimEnd())
    process.exitCode = 1
  }
  console.log(`${examples.length} examples checked`)
} finally {
  fs.rmSync(path.join(root, folder), { recursive: true })
}
