/** Runs the suite against a server and a client, each in a process of its own. */
import type * as Revision from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { readChecks, readClientOutput } from "./check.ts"
import * as Program from "./program.ts"
import { final, type Release, releases } from "./release.ts"
import { revisions, type Scenario } from "./scenario.ts"
import type { Outcome } from "./verdict.ts"

const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

/** The tested server: a program that takes `--port` and `--newest`, and prints its URL. */
export const server = file("../server.ts")

/** The tested client: a program that takes the URL of the suite's server. */
export const client = file("../client.ts")

const lastLines = (output: string): string => output.trimEnd().split("\n").slice(-12).join("\n")

/** The scenarios of one release at one revision. */
interface Batch {
  readonly release: Release
  readonly revision: Revision.Revision
  readonly scenarios: ReadonlyArray<Scenario>
}

/** Returns the batches, those of extensions apart. */
const batchesOf = (scenarios: ReadonlyArray<Scenario>): ReadonlyArray<Batch> =>
  releases.flatMap((release) =>
    revisions.flatMap((revision) => {
      const all = scenarios.filter((scenario) => scenario.release === release && scenario.revision === revision)
      const extensions = all.filter(({ isExtension }) => isExtension)
      return [
        { release, revision, scenarios: all.filter(({ isExtension }) => !isExtension) },
        { release, revision, scenarios: extensions }
      ]
    })
  ).filter(({ scenarios }) => scenarios.length > 0)

/** Returns the folder for the suite's files. */
const folderOf = (output: string, { release, revision }: Pick<Scenario, "release" | "revision">): string =>
  path.join(output, release.version, revision)

/**
 * Runs all server scenarios of a release at a revision against one process. The suite's client always proposes the
 * newest revision, so the server supports none above the tested one.
 */
const runServer = (output: string, tested: string) =>
  Effect.fnUntraced(function*({ release, revision, scenarios }: Batch) {
    const folder = path.join(folderOf(output, { release, revision }), "server")
    const url = yield* Program.serve([tested, "--port", "0", "--newest", revision])
    const outcomesOf = (run: ReadonlyArray<Scenario>, ...which: ReadonlyArray<string>) =>
      Effect.map(
        Program.run([release.program, "server", "--url", url, ...which, "--spec-version", revision, "-o", folder]),
        ({ output: text }) =>
          run.map((scenario): Outcome => {
            const checks = readChecks(folder, scenario)
            return { scenario, checks, ...(checks === undefined ? { failure: lastLines(text) } : undefined) }
          })
      )
    const [only] = scenarios
    if (only?.isExtension === true) {
      // The suite runs these only one by one.
      const outcomes = yield* Effect.forEach(
        scenarios,
        (scenario) => outcomesOf([scenario], "--scenario", scenario.name, "--force"),
        { concurrency: 4 }
      )
      return outcomes.flat()
    }
    return scenarios.length === 1 && only !== undefined
      ? yield* outcomesOf(scenarios, "--scenario", only.name)
      : yield* outcomesOf(scenarios, "--suite", "all")
  }, Effect.scoped)

/** Runs a client process for each scenario. The suite judges its exit as well. */
const runClient = (output: string, tested: string) =>
  Effect.fnUntraced(function*(scenario: Scenario) {
    const { isExtension, name, release, revision } = scenario
    const folder = path.join(folderOf(output, scenario), "client")
    const { exitCode, output: text } = yield* Program.run(
      [
        release.program,
        "client",
        "--command",
        `${process.execPath} ${tested}`,
        "--scenario",
        name,
        "--spec-version",
        revision,
        "-o",
        folder,
        // Extensions belong to no revision. The older release knows no such option, and needs none.
        ...(isExtension && release !== final ? ["--force"] : [])
      ],
      // The older release does not pass the revision to the client.
      { MCP_CONFORMANCE_PROTOCOL_VERSION: revision }
    )
    const outcome: Outcome = {
      scenario,
      checks: readChecks(folder, scenario),
      ...(exitCode === 0 ? undefined : { failure: lastLines(readClientOutput(folder, scenario) || text) })
    }
    return outcome
  })

/** The tested programs. Default: those of this package. */
export interface TestedPrograms {
  readonly server?: string
  readonly client?: string
}

/**
 * Runs scenarios, and writes the suite's files to the folder `output`, by release and revision. Client scenarios run
 * one after the other, because some of them measure time.
 */
export const run = Effect.fnUntraced(function*(
  scenarios: ReadonlyArray<Scenario>,
  output: string,
  tested: TestedPrograms = {}
): Effect.fn.Return<ReadonlyArray<Outcome>, Program.ProgramFailed> {
  const of = (side: Scenario["side"]) => scenarios.filter((scenario) => scenario.side === side)
  const servers = yield* Effect.forEach(batchesOf(of("server")), runServer(output, tested.server ?? server))
  const clients = yield* Effect.forEach(of("client"), runClient(output, tested.client ?? client))
  return [...servers.flat(), ...clients]
})
