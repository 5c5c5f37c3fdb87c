#!/usr/bin/env node
/** The program `npm create @effect-mcp`: creates a project from a template. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { fileURLToPath } from "node:url"
import manifest from "../package.json" with { type: "json" }
import * as Choices from "./Choices.ts"
import * as CommandLine from "./CommandLine.ts"
import * as NextSteps from "./NextSteps.ts"
import * as PackageManager from "./PackageManager.ts"
import * as Project from "./Project.ts"

const print = (text: string) => Effect.sync(() => process.stdout.write(`${text}\n`))

const create = Effect.fnUntraced(function*(words: ReadonlyArray<string>) {
  const command = yield* CommandLine.parse(words)
  if (command.kind !== "create") {
    return yield* print(command.kind === "help" ? CommandLine.help : manifest.version)
  }
  const choices = yield* Choices.complete(command.options, {
    isTerminal: process.stdin.isTTY && process.stdout.isTTY,
    running: PackageManager.running(process.env["npm_config_user_agent"])
  })
  // The templates lie beside this program in its package.
  const templates = fileURLToPath(new URL("templates/", import.meta.url))
  const project = yield* Project.create({ ...choices, templates, from: process.cwd() })
  if (choices.isInstalled) yield* PackageManager.install(choices.packageManager, project.folder)
  return yield* print(NextSteps.of(project, choices, process.cwd()))
})

/** Returns the message of an error of this program, or everything that is known of a fault in it. */
const messageOf = <E extends Error>(cause: Cause.Cause<E>): string =>
  Option.match(Cause.findErrorOption(cause), {
    onNone: () => Cause.pretty(cause),
    onSome: ({ message }) => message
  })

NodeRuntime.runMain(
  create(process.argv.slice(2)).pipe(
    Effect.tapCause((cause) =>
      Effect.sync(() => {
        if (!Cause.hasInterruptsOnly(cause)) process.stderr.write(`error: ${messageOf(cause)}\n`)
      })
    )
  ),
  { disableErrorReporting: true }
)
