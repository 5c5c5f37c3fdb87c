/** The settings on the command line. */
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { UsageError, wholeNumber } from "../../../scripts/commandLine.ts"
import type { Options, Part } from "./Part.ts"

export interface Settings {
  /** The parts to measure, or to report if `isStored`. */
  readonly parts: ReadonlyArray<Part>
  /** The chosen parts that have no server whose name contains `--servers`. */
  readonly leftOut: ReadonlyArray<Part>
  readonly options: Options
  /** Whether nothing is measured, and the stored samples are reported. */
  readonly isStored: boolean
  /** Whether the page is written. */
  readonly writesPage: boolean
  /** The folder of the samples. */
  readonly folder: string
}

/** Returns the parts with the given names. A name stands for all parts that continue it after a hyphen, too. */
const named = (names: ReadonlyArray<string>, parts: ReadonlyArray<Part>): ReadonlyArray<Part> => {
  const isMeant = (name: string) => (part: Part) => part.name === name || part.name.startsWith(`${name}-`)
  const unknown = names.find((name) => !parts.some(isMeant(name)))
  if (unknown !== undefined) {
    const valid = parts.map(({ name }) => name).join(", ")
    throw new UsageError(
      `no part is named "${unknown}"; the parts are ${valid}; http and curve stand for all of theirs`
    )
  }
  return names.length === 0 ? parts : parts.filter((part) => names.some((name) => isMeant(name)(part)))
}

/** Returns the parts that have a server whose name contains a text. Throws if there is none. */
const withServers = (chosen: ReadonlyArray<Part>, text: string): ReadonlyArray<Part> => {
  if (text === "") return chosen
  const found = chosen.filter(({ servers }) => servers.some((server) => server.includes(text)))
  if (found.length > 0) return found
  const names = [...new Set(chosen.flatMap(({ servers }) => servers))]
  throw new UsageError(
    names.length === 0
      ? `--servers selects no servers of ${chosen.map(({ name }) => name).join(", ")}, which measure all of theirs`
      : `--servers takes a part of one of these names: ${names.map((name) => `"${name}"`).join(", ")}, not "${text}"`
  )
}

/** Parses the command line. Throws a `UsageError`, or an error of `parseArgs`. */
export const parse = (args: ReadonlyArray<string>, parts: ReadonlyArray<Part>): Settings => {
  const { positionals, values } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      "rounds": { type: "string", default: "15" },
      "calls": { type: "string", default: "2000" },
      "sessions": { type: "string", default: "10000" },
      "servers": { type: "string", default: "" },
      "up-to": { type: "string", default: String(Number.MAX_SAFE_INTEGER) },
      "stored": { type: "boolean", default: false },
      "report": { type: "boolean", default: false },
      "results": { type: "string", default: fileURLToPath(new URL("../results", import.meta.url)) }
    }
  })
  const options = {
    rounds: wholeNumber("rounds", values.rounds),
    calls: wholeNumber("calls", values.calls),
    sessions: wholeNumber("sessions", values.sessions),
    servers: values.servers,
    upTo: wholeNumber("up-to", values["up-to"])
  }
  const chosen = named(positionals, parts)
  const found = withServers(chosen, options.servers)
  return {
    parts: found,
    leftOut: chosen.filter((part) => !found.includes(part)),
    options,
    isStored: values.stored,
    writesPage: values.report,
    folder: values.results
  }
}
