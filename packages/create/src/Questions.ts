/** The questions to the person in the terminal. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as NodeTerminal from "@effect/platform-node/NodeTerminal"
import * as Prompt from "effect/cli/Prompt"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as path from "node:path"
import type * as CommandLine from "./CommandLine.ts"
import * as PackageManager from "./PackageManager.ts"
import * as PackageName from "./PackageName.ts"
import * as Project from "./Project.ts"
import * as Template from "./Template.ts"

/** The error of a person who ends the questions. */
export class CancelledError extends Data.TaggedError("CancelledError") {
  override readonly message = "nothing is created, because the questions were cancelled"
}

/** The answers of the person, and what the command line had already. */
export interface Answers {
  readonly folder: string
  readonly template: Template.Name
  readonly packageManager: PackageManager.Name
}

/** The folder of a person who only presses Enter. */
const usualFolder = "my-server"

const width = Math.max(...Template.names.map(({ length }) => length))

/** Asks for what the command line has left out. `running` is offered first among the package managers. */
export const ask = (
  { folder, name, packageManager, template }: CommandLine.Options,
  running: PackageManager.Name = "npm"
): Effect.Effect<Answers, CancelledError> =>
  Effect.all({
    folder: folder === undefined
      ? Prompt.String({
        message: `The folder of the project (${usualFolder})`,
        validate: (answer) => {
          const chosen = answer.trim() === "" ? usualFolder : answer.trim()
          const problem = name === undefined ? PackageName.problemOf(PackageName.ofFolder(chosen)) : undefined
          return problem === undefined
            ? Effect.mapBoth(Project.isFree(path.resolve(chosen)), {
              onFailure: ({ message }) => message,
              onSuccess: () => chosen
            })
            : Effect.fail(`The folder is the name: ${problem}`)
        }
      })
      : Effect.succeed(folder),
    template: template === undefined
      ? Prompt.Select({
        message: "The template",
        choices: Template.all.map(({ description, name }) => ({
          title: `${name.padEnd(width)}  ${description}`,
          value: name
        }))
      })
      : Effect.succeed(template),
    packageManager: packageManager === undefined
      ? Prompt.Select({
        message: "The package manager",
        choices: [running, ...PackageManager.names.filter((name) => name !== running)].map((name) => ({
          title: name,
          value: name
        }))
      })
      : Effect.succeed(packageManager)
  }).pipe(
    Effect.catchTag("QuitError", () => Effect.fail(new CancelledError())),
    Effect.provide(Layer.mergeAll(NodeTerminal.layer, NodeFileSystem.layer, NodePath.layer))
  )
