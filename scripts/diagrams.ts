/**
 * Generates the diagrams and tables of `docs/revisions/handshake.md` and `docs/revisions/methods.md` from the code.
 *
 * `node scripts/diagrams.ts` replaces the text between `<!-- generated: name -->` and `<!-- /generated -->` on these
 * pages. The handshake tables and the method table that the library runs on are the source. With `--check` it writes
 * nothing, prints each block that is out of date, and fails if there is one.
 */
import { Handshake, MethodTable } from "@effect-mcp/protocol"
import * as fs from "node:fs"
import * as path from "node:path"
import { formatted, replaced, table } from "./generated.ts"
import { read, root } from "./workspace.ts"

// =====================================================================================================================
// The handshake
// =====================================================================================================================

/** The part of a row that is drawn. */
interface Row {
  readonly to: string
  readonly action: string
}

type Rows = Readonly<Record<string, Readonly<Record<string, Row>>>>

interface Transition extends Row {
  readonly from: string
  readonly event: string
}

/** Every event in the order of the code, with its source. */
const sources: ReadonlyArray<readonly [event: string, source: string]> = Object.entries(Handshake.eventSources)

const transitionsOf = (rows: Rows): ReadonlyArray<Transition> =>
  Object.entries(rows).flatMap(([from, row]) =>
    sources.flatMap(([event]) => {
      const cell = row[event]
      return cell === undefined ? [] : [{ from, event, to: cell.to === "same" ? from : cell.to, action: cell.action }]
    })
  )

/** Checks that a name needs no escaping: most other characters have a meaning in mermaid or Markdown. */
const plain = (name: string): string => {
  if (!/^\w+$/.test(name)) {
    throw new Error(`"${name}" cannot be drawn: only letters, digits and underscores can`)
  }
  return name
}

/** `Idle --> Initializing: SendInitialize / Send` */
const arrow = (from: string, to: string, events: ReadonlyArray<string>, action: string): string =>
  `  ${plain(from)} --> ${plain(to)}: ${events.map(plain).join(", ")} / ${plain(action)}`

/** Draws one line for each change of state, and one for all events of a state that have the same action. */
const diagram = (rows: Rows): string => {
  const transitions = transitionsOf(rows)
  const leading = transitions.filter(({ from, to }) => from !== to)
  const staying = transitions.filter(({ from, to }) => from === to)
  // The rows are in the order in which a session passes the states.
  const states = Object.keys(rows)
  const loops = states.flatMap((state) => {
    const here = staying.filter(({ from }) => from === state)
    return Array.from(new Set(here.map(({ action }) => action))).map((decision) =>
      arrow(state, state, here.filter(({ action }) => action === decision).map(({ event }) => event), decision)
    )
  })
  return [
    "```mermaid",
    "stateDiagram-v2",
    ...states.slice(0, 1).map((first) => `  [*] --> ${plain(first)}`),
    ...leading.map(({ action, event, from, to }) => arrow(from, to, [event], action)),
    ...loops,
    ...states.filter((state) => !leading.some(({ from }) => from === state)).map((last) => `  ${plain(last)} --> [*]`),
    "```"
  ].join("\n")
}

/** Formats a cell: the action, and the next state if it changes. */
const cell = (state: string, row: Row | undefined): string => {
  if (row === undefined) {
    return ""
  }
  return row.to === state ? plain(row.action) : `${plain(row.action)} → ${plain(row.to)}`
}

/** The outcome of an event in a state without a row for it, as `Machine.transition` returns it. */
const withoutRow: Readonly<Record<string, string>> = {
  local: "LocalViolation",
  peer: "RemoteViolation",
  lifecycle: "Ignore"
}

const grid = (rows: Rows): string => {
  const states = Object.keys(rows).filter((state) => Object.keys(rows[state] ?? {}).length > 0)
  const legal = sources.filter(([event]) => states.some((state) => rows[state]?.[event] !== undefined))
  return table(
    ["Event", ...states.map(plain), "Elsewhere"],
    legal.map(([event, source]) => [
      plain(event),
      ...states.map((state) => cell(state, rows[state]?.[event])),
      withoutRow[source] ?? plain(source)
    ])
  )
}

/** Returns the cells in which two tables differ. */
const differences = (one: Rows, other: Rows): ReadonlyArray<ReadonlyArray<string>> =>
  Object.keys({ ...one, ...other }).flatMap((state) =>
    sources.flatMap(([event]) => {
      const left = cell(state, one[state]?.[event])
      const right = cell(state, other[state]?.[event])
      return left === right ? [] : [[plain(state), plain(event), left, right]]
    })
  )

const handshake = (): string =>
  [
    "### Client",
    "",
    diagram(Handshake.client.rows),
    "",
    grid(Handshake.client.rows),
    "",
    "### Server",
    "",
    diagram(Handshake.server.rows),
    "",
    grid(Handshake.server.rows),
    "",
    "### Strict server",
    "",
    "A server with `requireInitialized` differs in these cells:",
    "",
    table(
      ["State", "Event", "Server", "Strict server"],
      differences(Handshake.server.rows, Handshake.strictServer.rows)
    ),
    "",
    "### Server without sessions",
    "",
    diagram(Handshake.statelessServer.rows),
    "",
    grid(Handshake.statelessServer.rows)
  ].join("\n")

// =====================================================================================================================
// The methods
// =====================================================================================================================

const senders: Readonly<Record<string, string>> = { client: "client", server: "server", either: "either side" }

const methods = (): string => {
  const rows: ReadonlyArray<MethodTable.AnyRequest | MethodTable.AnyNotification> = [
    ...Object.values<MethodTable.AnyRequest>({ ...MethodTable.requests }),
    ...Object.values<MethodTable.AnyNotification>({ ...MethodTable.notifications })
  ]
  return table(
    ["Method", "Kind", "Sent by", "Capability", "Since", "Until"],
    rows.map(({ capability, from, kind, name, since, until }) => [
      `\`${name}\``,
      kind,
      senders[from] ?? plain(from),
      capability === undefined ? "" : `\`${capability.split(".").map(plain).join(".")}\``,
      since,
      until ?? ""
    ])
  )
}

// =====================================================================================================================
// The pages
// =====================================================================================================================

const blocks: ReadonlyArray<readonly [name: string, page: string, text: () => string]> = [
  ["handshake", "docs/revisions/handshake.md", handshake],
  ["methods", "docs/revisions/methods.md", methods]
]

const isCheck = process.argv.includes("--check")

for (const [name, page, text] of blocks) {
  const before = read(page)
  const after = formatted(page, replaced(before, name, text()))
  if (after === before) continue
  if (isCheck) {
    console.log(`${page} the block "${name}" is out of date: run node scripts/diagrams.ts`)
    process.exitCode = 1
  } else {
    fs.writeFileSync(path.join(root, page), after)
  }
}

if (process.exitCode !== 1) {
  console.log(`${blocks.length} generated blocks are up to date`)
}
