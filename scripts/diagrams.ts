/**
 * The diagrams and tables of ARCHITECTURE.md are those of the code.
 *
 * `node scripts/diagrams.ts` writes what stands there between `<!-- generated: name -->` and `<!-- /generated -->` anew,
 * from the handshake tables and the method table that the code itself runs on. With `--check` it writes nothing, says
 * which block is out of date, and fails if any is.
 */
import { Handshake, Methods } from "@effect-mcp/protocol"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { read, root } from "./workspace.ts"

const page = "ARCHITECTURE.md"

// =====================================================================================================================
// The handshake
// =====================================================================================================================

/** What is drawn of a row. */
interface Row {
  readonly to: string
  readonly does: string
}

type Rows = Readonly<Record<string, Readonly<Record<string, Row>>>>

interface Transition extends Row {
  readonly from: string
  readonly event: string
}

/** Every event, in the order in which the code lists them, and whose doing it is. */
const causes: ReadonlyArray<readonly [event: string, cause: string]> = Object.entries(Handshake.causes)

const transitionsOf = (rows: Rows): ReadonlyArray<Transition> =>
  Object.entries(rows).flatMap(([from, row]) =>
    causes.flatMap(([event]) => {
      const cell = row[event]
      return cell === undefined ? [] : [{ from, event, to: cell.to, does: cell.does }]
    })
  )

/** A name as it may stand in a diagram or between two bars: mermaid and Markdown give a meaning to most other signs. */
const plain = (name: string): string => {
  if (!/^\w+$/.test(name)) {
    throw new Error(`"${name}" cannot be drawn: only letters, digits and underscores can`)
  }
  return name
}

/** `Idle --> Initializing: SendInitialize / Send` */
const arrow = (from: string, to: string, events: ReadonlyArray<string>, does: string): string =>
  `  ${plain(from)} --> ${plain(to)}: ${events.map(plain).join(", ")} / ${plain(does)}`

/** Transitions that lead on each have a line. Those that stay are grouped by what they do, or nobody could read it. */
const diagram = (rows: Rows): string => {
  const transitions = transitionsOf(rows)
  const leading = transitions.filter(({ from, to }) => from !== to)
  const staying = transitions.filter(({ from, to }) => from === to)
  // The table lists the states in the order of a session's life.
  const states = Object.keys(rows)
  const loops = states.flatMap((state) => {
    const here = staying.filter(({ from }) => from === state)
    return Array.from(new Set(here.map(({ does }) => does))).map((decision) =>
      arrow(state, state, here.filter(({ does }) => does === decision).map(({ event }) => event), decision)
    )
  })
  return [
    "```mermaid",
    "stateDiagram-v2",
    ...states.slice(0, 1).map((first) => `  [*] --> ${plain(first)}`),
    ...leading.map(({ does, event, from, to }) => arrow(from, to, [event], does)),
    ...loops,
    ...states.filter((state) => !leading.some(({ from }) => from === state)).map((last) => `  ${plain(last)} --> [*]`),
    "```"
  ].join("\n")
}

const table = (head: ReadonlyArray<string>, body: ReadonlyArray<ReadonlyArray<string>>): string =>
  [head, head.map(() => "---"), ...body].map((cells) => `| ${cells.join(" | ")} |`).join("\n")

/** What is done, and the state that follows if it is another. */
const cell = (state: string, row: Row | undefined): string => {
  if (row === undefined) {
    return ""
  }
  return row.to === state ? plain(row.does) : `${plain(row.does)} → ${plain(row.to)}`
}

/** What an event means in a state that has no row for it: `Machine.transition` says so. */
const withoutRow: Readonly<Record<string, string>> = {
  local: "LocalViolation",
  peer: "RemoteViolation",
  none: "Ignore"
}

const grid = (rows: Rows): string => {
  const states = Object.keys(rows).filter((state) => Object.keys(rows[state] ?? {}).length > 0)
  const legal = causes.filter(([event]) => states.some((state) => rows[state]?.[event] !== undefined))
  return table(
    ["Event", ...states.map(plain), "Elsewhere"],
    legal.map(([event, cause]) => [
      plain(event),
      ...states.map((state) => cell(state, rows[state]?.[event])),
      withoutRow[cause] ?? plain(cause)
    ])
  )
}

/** The cells in which two tables differ. */
const differences = (one: Rows, other: Rows): ReadonlyArray<ReadonlyArray<string>> =>
  Object.keys({ ...one, ...other }).flatMap((state) =>
    causes.flatMap(([event]) => {
      const left = cell(state, one[state]?.[event])
      const right = cell(state, other[state]?.[event])
      return left === right ? [] : [[plain(state), plain(event), left, right]]
    })
  )

const handshake = (): string =>
  [
    "Each arrow and each cell says what is done; the last column, what an event comes to in every other state.",
    "",
    "**The client:**",
    "",
    diagram(Handshake.client.rows),
    "",
    grid(Handshake.client.rows),
    "",
    "**The server:**",
    "",
    diagram(Handshake.server.rows),
    "",
    grid(Handshake.server.rows),
    "",
    "**The strict server** (`requireInitialized`) is the same but for this:",
    "",
    table(
      ["State", "Event", "Server", "Strict server"],
      differences(Handshake.server.rows, Handshake.strictServer.rows)
    ),
    "",
    "**A server without sessions** (`sessionless`):",
    "",
    diagram(Handshake.sessionlessServer.rows),
    "",
    grid(Handshake.sessionlessServer.rows)
  ].join("\n")

// =====================================================================================================================
// The methods
// =====================================================================================================================

const senders: Readonly<Record<string, string>> = { client: "client", server: "server", either: "either side" }

const methods = (): string => {
  const rows: ReadonlyArray<Methods.AnyRequest | Methods.AnyNotification> = [
    ...Object.values<Methods.AnyRequest>({ ...Methods.requests }),
    ...Object.values<Methods.AnyNotification>({ ...Methods.notifications })
  ]
  return table(
    ["Method", "Kind", "Sent by", "Capability", "Since"],
    rows.map(({ capability, from, kind, name, since }) => [
      `\`${name}\``,
      kind,
      senders[from] ?? plain(from),
      capability === undefined ? "" : `\`${capability.split(".").map(plain).join(".")}\``,
      since
    ])
  )
}

// =====================================================================================================================
// The page
// =====================================================================================================================

/** The text as `dprint check` wants it: what this script writes is laid out like what people write. */
const formatted = (markdown: string): string => {
  const dprint = path.join(root, "node_modules", "dprint", "bin.cjs")
  const { error, status, stderr, stdout } = spawnSync(process.execPath, [dprint, "fmt", "--stdin", page], {
    cwd: root,
    encoding: "utf8",
    input: markdown
  })
  if (status !== 0) {
    throw new Error(`dprint failed: ${error?.message ?? stderr}`)
  }
  return stdout.trim()
}

const blocks: ReadonlyArray<readonly [name: string, text: () => string]> = [
  ["handshake", handshake],
  ["methods", methods]
]

/** Where a block stands in the page: its text with the markers, which no pattern needs to know of. */
const find = (text: string, name: string): { readonly start: number; readonly end: number } | undefined => {
  const opening = `<!-- generated: ${name} -->`
  const closing = "<!-- /generated -->"
  const start = text.indexOf(opening)
  const end = text.indexOf(closing, start)
  const next = text.indexOf("<!-- generated:", start + opening.length)
  // A block that is not closed before the next one opens would swallow what stands between them.
  return start < 0 || end < 0 || (next >= 0 && next < end) ? undefined : { start, end: end + closing.length }
}

const before = read(page)
const faults: Array<string> = []
let after = before

for (const [name, text] of blocks) {
  const place = find(after, name)
  if (place === undefined) {
    console.log(`${page}: the pair <!-- generated: ${name} --> and <!-- /generated --> is missing`)
    process.exitCode = 1
    continue
  }
  const block = `<!-- generated: ${name} -->\n\n${formatted(text())}\n\n<!-- /generated -->`
  if (after.slice(place.start, place.end) !== block) {
    const line = before.slice(0, before.indexOf(`<!-- generated: ${name} -->`)).split("\n").length
    faults.push(`${page}:${line} the block "${name}" is out of date: run node scripts/diagrams.ts`)
    after = after.slice(0, place.start) + block + after.slice(place.end)
  }
}

if (process.argv.includes("--check")) {
  for (const fault of faults) {
    console.log(fault)
  }
  process.exitCode ??= faults.length > 0 ? 1 : 0
} else if (after !== before) {
  fs.writeFileSync(path.join(root, page), after)
}
if (process.exitCode !== 1) {
  console.log(`${blocks.length} generated blocks of ${page} are those of the code`)
}
