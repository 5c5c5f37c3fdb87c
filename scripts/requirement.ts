/**
 * The rules of the protocol's specification, as `requirements.tsv` lists them in the project's own words: one rule a
 * line, with columns separated by tabs.
 */
import { read } from "./workspace.ts"

/** The file with the list. */
export const list = "scripts/requirements.tsv"

/** One rule. */
export interface Requirement {
  readonly id: string
  /** The line of the rule in the list. */
  readonly line: number
  /** The revisions that have it: one, or the first and the last of them. */
  readonly revisions: string
  /** The keyword of the specification, such as MUST; `prose` if the specification uses none. */
  readonly level: string
  /** The side that the rule binds. */
  readonly side: string
  /** The reason why no test carries the id; empty if a test does. */
  readonly untested: string
  readonly rule: string
}

/** The parts of the specification that `REQUIREMENTS.md` counts separately. */
export const scopes = {
  sessions: "Sessions: messages, lifecycle, stdio, utilities and features",
  http: "Sessions over HTTP",
  tasks: "Tasks",
  stateless: "Revision 2026-07-28 alone"
} as const

/** One of these parts. */
export type Scope = keyof typeof scopes

interface Chapter {
  readonly title: string
  readonly scope: Scope
}

const stateless = "2026-07-28"

/** The chapters by the prefix of their ids, in the order of the list. */
export const chapters: ReadonlyMap<string, Chapter> = new Map([
  ["MSG", { title: "Messages", scope: "sessions" }],
  ["INIT", { title: "Initialization", scope: "sessions" }],
  ["VER", { title: "Versions and discovery", scope: "stateless" }],
  ["TMO", { title: "Timeouts", scope: "sessions" }],
  ["STD", { title: "The stdio transport", scope: "sessions" }],
  ["SSE", { title: "The HTTP+SSE transport", scope: "http" }],
  ["HTTP", { title: "The Streamable HTTP transport", scope: "http" }],
  ["SHS", { title: "Streamable HTTP with sessions", scope: "http" }],
  ["SHE", { title: "Streamable HTTP without sessions", scope: "stateless" }],
  ["AUT", { title: "Authorization", scope: "http" }],
  ["AUX", { title: "Authorization by extensions", scope: "http" }],
  ["TRN", { title: "Custom transports", scope: "sessions" }],
  ["PING", { title: "Ping", scope: "sessions" }],
  ["CAN", { title: "Cancellation", scope: "sessions" }],
  ["PRG", { title: "Progress", scope: "sessions" }],
  ["TSK", { title: "Tasks", scope: "tasks" }],
  ["TKX", { title: "Tasks as an extension", scope: "tasks" }],
  ["MRTR", { title: "Requests in several rounds", scope: "stateless" }],
  ["SUB", { title: "Subscriptions", scope: "stateless" }],
  ["ROOT", { title: "Roots", scope: "sessions" }],
  ["SMP", { title: "Sampling", scope: "sessions" }],
  ["ELI", { title: "Elicitation", scope: "sessions" }],
  ["TOOL", { title: "Tools", scope: "sessions" }],
  ["RES", { title: "Resources", scope: "sessions" }],
  ["PRM", { title: "Prompts", scope: "sessions" }],
  ["PAG", { title: "Pagination", scope: "sessions" }],
  ["CMP", { title: "Completion", scope: "sessions" }],
  ["LOG", { title: "Logging", scope: "sessions" }],
  ["CCH", { title: "Caching", scope: "stateless" }]
])

const revisions = new Set(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", stateless])
const levels = new Set(["MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY", "prose"])
const sides = new Set(["client", "server", "both", "transport"])
const columns = ["id", "revisions", "level", "side", "untested", "rule"]

/** Returns the chapter of an id: the part before its number. */
export const chapterOf = (id: string): string => id.slice(0, id.indexOf("-"))

/** Returns the part that counts a rule. Rules of the newest revision alone are one part, regardless of chapter. */
export const scopeOf = (requirement: Requirement): Scope =>
  requirement.revisions === stateless ? "stateless" : chapters.get(chapterOf(requirement.id))?.scope ?? "sessions"

const areRevisions = (text: string): boolean => {
  if (text === "tasks extension" || text === "authorization extensions") {
    return true
  }
  const [first = "", last = first, ...more] = text.split(" to ")
  return more.length === 0 && revisions.has(first) && revisions.has(last) &&
    (first < last || text === first)
}

/** Returns the faults of one line of the list. */
const faultsOf = ({ id, level, revisions, rule, side, untested }: Requirement): ReadonlyArray<string> => [
  ...(/^[A-Z]+-\d\d$/.test(id) && chapters.has(chapterOf(id)) ? [] : [`"${id}" is not an id of any chapter`]),
  ...(areRevisions(revisions) ? [] : [`"${revisions}" is not a revision or a range of revisions`]),
  ...(levels.has(level) ? [] : [`"${level}" is not a level: use ${Array.from(levels).join(", ")}`]),
  ...(sides.has(side) ? [] : [`"${side}" is not a side: use ${Array.from(sides).join(", ")}`]),
  ...(untested === "" || /^(?:not yet|for the application): \S/.test(untested)
    ? []
    : [`"${untested}" is not a reason: begin with "not yet: " or "for the application: "`]),
  ...(/\S.*\.$/.test(rule) ? [] : ["the rule does not end with a full stop"])
]

const order = Array.from(chapters.keys())

/** Returns whether an id comes after another, by chapter and number. */
const follows = (id: string, other: string): boolean => {
  const [chapter, before] = [order.indexOf(chapterOf(id)), order.indexOf(chapterOf(other))]
  return chapter > before || (chapter === before && id > other)
}

/** Returns all rules of the list, and the faults of the list. */
export const readList = (): {
  readonly requirements: ReadonlyArray<Requirement>
  readonly faults: ReadonlyArray<string>
} => {
  const [head = "", ...lines] = read(list).trimEnd().split("\n")
  const faults = head === columns.join("\t") ? [] : [`${list}:1 the columns are ${columns.join(", ")}`]
  const requirements = lines.map((text, index): Requirement => {
    const cells = text.split("\t")
    const [id = "", revisions = "", level = "", side = "", untested = "", rule = ""] = cells
    const line = index + 2
    if (cells.length !== columns.length) {
      faults.push(`${list}:${line} has ${cells.length} columns instead of ${columns.length}`)
    }
    return { id, line, revisions, level, side, untested, rule }
  })
  requirements.forEach((requirement, index) => {
    const before = requirements[index - 1]
    faults.push(...faultsOf(requirement).map((fault) => `${list}:${requirement.line} ${fault}`))
    if (before !== undefined && !follows(requirement.id, before.id)) {
      faults.push(`${list}:${requirement.line} ${requirement.id} belongs before ${before.id}`)
    }
  })
  return { requirements, faults }
}
