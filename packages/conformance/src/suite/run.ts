/**
 * Runs the suite against our server and our client, each a program of its own.
 */
import type * as Revision from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { readChecks, readWords } from "./check.ts"
import * as Program from "./program.ts"
import { type Release, releases } from "./release.ts"
import { revisions, type Scenario } from "./scenario.ts"
import type { Outcome } from "./verdict.ts"

const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

/** The server that is tried: a program that takes `--port` and `--newest`, and prints the address it serves at. */
export const server = file("../server.ts")

/** The client that is tried: a program that takes the address of the suite's server. */
export const client = file("../client.ts")

const lastWords = (output: string): string => output.trimEnd().split("\n").slice(-12).join("\n")

/** Scenarios of one release at one revision. */
interface Batch {
  readonly release: Release
  readonly revision: Revision.Revision
  readonly scenarios: ReadonlyArray<Scenario>
}

const batchesOf = (scenarios: ReadonlyArray<Scenario>): ReadonlyArray<Batch> =>
  releases.flatMap((release) =>
    revisions.map((revision) => ({
      release,
      revision,
      scenarios: scenarios.filter((scenario) => scenario.release === release && scenario.revision === revision)
    }))
  ).filter(({ scenarios }) => scenarios.length > 0)

/** Where the suite writes what it found out. */
const folderOf = (output: string, { release, revision }: Pick<Scenario, "release" | "revision">): string =>
  path.join(output, release.version, revision)

/**
 * One process of ours serves all scenarios of a release at a revision, one after the other. The suite's client offers the newest
 * revision whatever it has been told, so the server knows none above the one that is tried.
 */
const runServer = (output: string, tried: string) =>
  Effect.fnUntraced(function*({ release, revision, scenarios }: Batch) {
    const folder = path.join(folderOf(output, { release, revision }), "server")
    const url = yield* Program.serve([tried, "--port", "0", "--newest", revision])
    const [only] = scenarios
    const which = scenarios.length === 1 && only !== undefined
      ? ["--scenario", only.name]
      : ["--suite", "all"]
    const { output: said } = yield* Program.run(
      [release.program, "server", "--url", url, ...which, "--spec-version", revision, "-o", folder]
    )
    return scenarios.map((scenario): Outcome => {
      const checks = readChecks(folder, scenario)
      return { scenario, checks, ...(checks === undefined ? { complaint: lastWords(said) } : undefined) }
    })
  }, Effect.scoped)

/** One process of ours for each scenario; the suite judges how it ends, too. */
const runClient = (output: string, tried: string) =>
  Effect.fnUntraced(function*(scenario: Scenario) {
    const { name, release, revision } = scenario
    const folder = path.join(folderOf(output, scenario), "client")
    const { exitCode, output: said } = yield* Program.run(
      [
        release.program,
        "client",
        "--command",
        `${process.execPath} ${tried}`,
        "--scenario",
        name,
        "--spec-version",
        revision,
        "-o",
        folder
      ],
      // The older release does not tell the client what it is tried at.
      { MCP_CONFORMANCE_PROTOCOL_VERSION: revision }
    )
    const outcome: Outcome = {
      scenario,
      checks: readChecks(folder, scenario),
      ...(exitCode === 0 ? undefined : { complaint: lastWords(readWords(folder, scenario) || said) })
    }
    return outcome
  })

/** The programs that are tried. Default: ours. */
export interface Tried {
  readonly server?: string
  readonly client?: string
}

/**
 * Runs these scenarios, and keeps what the suite writes in the folder `output`, below the release and the revision. Some of it
 * measures time: scenarios of clients run one after the other.
 */
export const run = Effect.fnUntraced(function*(
  scenarios: ReadonlyArray<Scenario>,
  output: string,
  tried: Tried = {}
): Effect.fn.Return<ReadonlyArray<Outcome>, Program.ProgramFailed> {
  const of = (side: Scenario["side"]) => scenarios.filter((scenario) => scenario.side === side)
  const servers = yield* Effect.forEach(batchesOf(of("server")), runServer(output, tried.server ?? server))
  const clients = yield* Effect.forEach(of("client"), runClient(output, tried.client ?? client))
  return [...servers.flat(), ...clients]
})
