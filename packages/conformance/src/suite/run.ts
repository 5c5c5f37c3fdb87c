/** Runs the suite against a server and a client, each in a process of its own. */
import type * as Revision from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { isConclusive, readChecks, readClientOutput } from "./check.ts"
import * as Program from "./program.ts"
import { final, newest, type Release, releases } from "./release.ts"
import { revisions, type Scenario } from "./scenario.ts"
import type { Outcome } from "./verdict.ts"

const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

/** The tested server: a program that takes `--port` and `--newest`, and prints its URL. */
export const server = file("../server.ts")

/** The tested client: a program that takes the URL of the suite's server. */
export const client = file("../client.ts")

/** Whether the suite runs a scenario together with others. The older release has no such suite at each revision. */
const isAuthorization = ({ isExtension, name, release }: Scenario): boolean =>
  name.startsWith("auth/") && !isExtension && release === newest

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

/** The arguments of the suite for a client. */
const clientArgs = ({ program }: Release, tested: string): ReadonlyArray<string> => [
  program,
  "client",
  "--command",
  `${process.execPath} ${tested}`
]

/** Runs a client process for a scenario. The suite judges its exit as well. */
const runClient = (output: string, tested: string) =>
  Effect.fnUntraced(function*(scenario: Scenario) {
    const { isExtension, name, release, revision } = scenario
    const folder = path.join(folderOf(output, scenario), "client")
    const { exitCode, output: text } = yield* Program.run(
      [
        ...clientArgs(release, tested),
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

/**
 * Runs the scenarios of authorization of a release at a revision at the same time, in one process of the suite: to
 * start it takes longer than a scenario. This judges the checks of each, and not the exit of its client. A scenario
 * without checks, or whose client has printed something, runs again by itself, and is judged by that run.
 */
const runAuthorization = (output: string, tested: string) =>
  Effect.fnUntraced(function*({ release, revision, scenarios }: Batch) {
    // A single run writes to another folder: a scenario has one folder in each.
    const folder = path.join(folderOf(output, { release, revision }), "authorization")
    yield* Program.run(
      [
        ...clientArgs(release, tested),
        "--suite",
        "auth",
        "--spec-version",
        revision,
        // The clients share the processors.
        "--timeout",
        "120000",
        "-o",
        folder
      ],
      { MCP_CONFORMANCE_PROTOCOL_VERSION: revision }
    )
    return yield* Effect.forEach(scenarios, (scenario) => {
      const checks = readChecks(folder, scenario)
      return isConclusive(checks, readClientOutput(folder, scenario))
        ? Effect.succeed<Outcome>({ scenario, checks })
        : runClient(output, tested)(scenario)
    })
  })

/** The tested programs. Default: those of this package. */
export interface TestedPrograms {
  readonly server?: string
  readonly client?: string
}

/**
 * Runs scenarios, and writes the suite's files to the folder `output`, by release and revision. Client scenarios run
 * one after the other, because some of them measure time, apart from those of authorization.
 */
export const run = Effect.fnUntraced(function*(
  scenarios: ReadonlyArray<Scenario>,
  output: string,
  tested: TestedPrograms = {}
): Effect.fn.Return<ReadonlyArray<Outcome>, Program.ProgramFailed> {
  const of = (side: Scenario["side"]) => scenarios.filter((scenario) => scenario.side === side)
  const servers = yield* Effect.forEach(batchesOf(of("server")), runServer(output, tested.server ?? server))
  const testedClient = tested.client ?? client
  const authorization = batchesOf(of("client").filter(isAuthorization))
  const authorized = yield* Effect.forEach(authorization, runAuthorization(output, testedClient))
  const others = of("client").filter((scenario) => !isAuthorization(scenario))
  const clients = yield* Effect.forEach(others, runClient(output, testedClient))
  return [...servers.flat(), ...authorized.flat(), ...clients]
})
