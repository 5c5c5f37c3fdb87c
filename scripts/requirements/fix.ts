/**
 * Finds the code and the tests of mutants again after they were moved, and rewrites the rows.
 */
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { children, isNode, type Node, statementsOf } from "../syntax.ts"
import { files, read, root } from "../workspace.ts"
import { type Chapter, type Mutant, readChapters, sources } from "./Mutant.ts"

type Field = "at" | "test"

/** Returns the objects of a chapter's file, in the order of its mutants. */
const rowsOf = (file: string, text: string): ReadonlyArray<Node> =>
  statementsOf(file, text).flatMap(({ declaration }) =>
    (isNode(declaration) ? children(declaration["declarations"]) : []).flatMap(({ init }) =>
      isNode(init) ? children(init["elements"]) : []
    )
  )

/** Returns the value of a field of an object. */
const fieldOf = (row: Node | undefined, name: Field): Node | undefined => {
  const property = children(row?.["properties"]).find(({ key }) => isNode(key) && key["name"] === name)
  return isNode(property?.["value"]) ? property["value"] : undefined
}

/** Returns the fields of a mutant that have to change, or the reasons why their values are not found. */
const newFields = (mutant: Mutant): { readonly fields: ReadonlyMap<Field, string>; readonly faults: Array<string> } => {
  const fields = new Map<Field, string>()
  const faults: Array<string> = []
  const found = sources().find(mutant)
  if ("fault" in found) {
    const place = sources().anchor(mutant)
    if (place === undefined) faults.push(`${found.fault}, and no other place is certain: write the row anew`)
    else fields.set("at", place.at)
  }
  if (!fs.existsSync(path.join(root, mutant.test))) {
    const [file, ...others] = files(`packages/*/test/**/${path.posix.basename(mutant.test)}`)
    if (file === undefined || others.length > 0) {
      faults.push(`${mutant.test} does not exist, and no other file is certain`)
    } else fields.set("test", file)
  }
  return { fields, faults }
}

/** Rewrites the rows of a chapter. Returns the ids of rows that have another place now, and the faults that remain. */
const fixChapter = ({ file, mutants }: Chapter) => {
  let text = read(file)
  const moved: Array<string> = []
  const rows = rowsOf(file, text)
  const faults: Array<string> = []
  // From the end of the file, so that the offsets of the rows before remain valid.
  for (const [index, mutant] of Array.from(mutants.entries()).toReversed()) {
    const { fields, faults: remaining } = newFields(mutant)
    faults.unshift(...remaining.map((fault) => `${file} ${mutant.id}: ${fault}`))
    if (fields.has("at")) moved.unshift(mutant.id)
    const edits = Array.from(fields).flatMap(([name, value]) => {
      const node = fieldOf(rows[index], name)
      return node === undefined ? [] : [{ node, value }]
    })
    for (const { node, value } of edits.toSorted((one, other) => other.node.start - one.node.start)) {
      console.log(`${mutant.id}: ${text.slice(node.start, node.end)} is now ${value}`)
      text = text.slice(0, node.start) + JSON.stringify(value) + text.slice(node.end)
    }
  }
  if (text !== read(file)) {
    fs.writeFileSync(path.join(root, file), text)
    execFileSync(path.join(root, "node_modules/.bin/dprint"), ["fmt", file], { cwd: root, stdio: "ignore" })
  }
  return { moved, faults }
}

/** Rewrites the rows of all chapters, prints what has changed and what remains, and returns the number of faults. */
export const fixRows = async (): Promise<number> => {
  const chapters = (await readChapters()).map(fixChapter)
  const moved = Array.from(new Set(chapters.flatMap((chapter) => chapter.moved)))
  const faults = chapters.flatMap((chapter) => chapter.faults)
  for (const fault of faults) console.log(fault)
  console.log(faults.length === 0 ? "every mutant has its place and its test" : `${faults.length} faults are left`)
  if (moved.length > 0) {
    console.log(`now run pnpm requirements --mutants ${moved.map((id) => `--only ${id}`).join(" ")}`)
  }
  return faults.length
}
