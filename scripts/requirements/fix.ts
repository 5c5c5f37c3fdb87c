/**
 * Finds the code and the tests of mutants again after they were moved, and rewrites the rows.
 */
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import type { Place } from "../places.ts"
import { sources } from "../sourceChange.ts"
import { children, isNode, type Node, statementsOf } from "../syntax.ts"
import { files, read, root } from "../workspace.ts"
import { readChapters, readSimulated } from "./Mutant.ts"

type Field = "at" | "test"

/** A row: a place, and the test that fails for its change, unless the simulation finds it. */
interface Row extends Place {
  /** The id of its rule, or its name. */
  readonly id: string
  readonly test?: string
}

/** The rows of a file, in its order. */
interface Table {
  readonly file: string
  readonly rows: ReadonlyArray<Row>
}

/** Returns the objects of a file of rows, in its order. */
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

/** Returns the fields of a row that have to change, or the reasons why their values are not found. */
const newFields = (
  { at, original, test }: Row
): { readonly fields: ReadonlyMap<Field, string>; readonly faults: Array<string> } => {
  const fields = new Map<Field, string>()
  const faults: Array<string> = []
  const found = sources().find({ at, original })
  if ("fault" in found) {
    const place = sources().anchor({ at, original })
    if (place === undefined) faults.push(`${found.fault}, and no other place is certain: write the row anew`)
    else fields.set("at", place.at)
  }
  if (test !== undefined && !fs.existsSync(path.join(root, test))) {
    const [file, ...others] = files(`packages/*/test/**/${path.posix.basename(test)}`)
    if (file === undefined || others.length > 0) {
      faults.push(`${test} does not exist, and no other file is certain`)
    } else fields.set("test", file)
  }
  return { fields, faults }
}

/** Rewrites the rows of a file. Returns the ids of rows that have another place now, and the faults that remain. */
const fixTable = ({ file, rows }: Table) => {
  let text = read(file)
  const moved: Array<string> = []
  const objects = rowsOf(file, text)
  const faults: Array<string> = []
  // From the end of the file, so that the offsets of the rows before remain valid.
  for (const [index, row] of Array.from(rows.entries()).toReversed()) {
    const { fields, faults: remaining } = newFields(row)
    faults.unshift(...remaining.map((fault) => `${file} ${row.id}: ${fault}`))
    if (fields.has("at")) moved.unshift(row.id)
    const edits = Array.from(fields).flatMap(([name, value]) => {
      const node = fieldOf(objects[index], name)
      return node === undefined ? [] : [{ node, value }]
    })
    for (const { node, value } of edits.toSorted((one, other) => other.node.start - one.node.start)) {
      console.log(`${row.id}: ${text.slice(node.start, node.end)} is now ${value}`)
      text = text.slice(0, node.start) + JSON.stringify(value) + text.slice(node.end)
    }
  }
  if (text !== read(file)) {
    fs.writeFileSync(path.join(root, file), text)
    execFileSync(path.join(root, "node_modules/.bin/dprint"), ["fmt", file], { cwd: root, stdio: "ignore" })
  }
  return { moved, faults }
}

const unique = (ids: ReadonlyArray<string>): ReadonlyArray<string> => Array.from(new Set(ids))

/** Rewrites all rows, prints what has changed and what remains, and returns the number of faults. */
export const fixRows = async (): Promise<number> => {
  const chapters = (await readChapters()).map(({ file, mutants }) => fixTable({ file, rows: mutants }))
  const simulated = (await readSimulated()).map(({ file, mutants }) =>
    fixTable({ file, rows: mutants.map(({ at, name, original }) => ({ id: name, at, original })) })
  )
  const faults = [...chapters, ...simulated].flatMap((table) => table.faults)
  for (const fault of faults) console.log(fault)
  console.log(faults.length === 0 ? "every mutant has its place and its test" : `${faults.length} faults are left`)
  const run = (command: string, moved: ReadonlyArray<string>): void => {
    if (moved.length > 0) {
      console.log(`now run ${command} ${moved.map((id) => `--only ${JSON.stringify(id)}`).join(" ")}`)
    }
  }
  run("pnpm requirements --mutants", unique(chapters.flatMap(({ moved }) => moved)))
  run("pnpm mutants --replay", unique(simulated.flatMap(({ moved }) => moved)))
  return faults.length
}
