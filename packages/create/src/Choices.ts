/** Everything that is known before a project is created: from the command line, or from the person in the terminal. */
import * as Effect from "effect/Effect"
import * as CommandLine from "./CommandLine.ts"
import type * as PackageManager from "./PackageManager.ts"
import * as PackageName from "./PackageName.ts"
import * as Template from "./Template.ts"

export interface Choices {
  /** The folder of the project, as it was written. */
  readonly folder: string
  /** The name in `package.json`. */
  readonly name: string
  readonly template: Template.Template
  readonly packageManager: PackageManager.Name
  readonly isInstalled: boolean
}

/** The way in which the program is run. */
export interface Invocation {
  /** Whether a person can be asked. */
  readonly isTerminal: boolean
  /** The package manager that runs this program. */
  readonly running: PackageManager.Name | undefined
}

/** Asks for what the command line has left out. Fails without a terminal, and if npm does not accept the name. */
export const complete = Effect.fnUntraced(function*(
  options: CommandLine.Options,
  { isTerminal, running }: Invocation
) {
  const isMissing = options.folder === undefined || options.template === undefined
  if (isMissing && !isTerminal) {
    const problem = "name the folder and the template, because there is no terminal to ask in"
    const example = `npm create @effect-mcp my-server -- --template ${Template.names.join("|")}`
    return yield* new CommandLine.UsageError({ message: `${problem}: ${example}` })
  }
  const answers = isMissing
    // The questions load most of the code of this program.
    ? yield* Effect.flatMap(Effect.promise(() => import("./Questions.ts")), ({ ask }) => ask(options, running))
    : { folder: options.folder, template: options.template, packageManager: undefined }
  const name = options.name ?? PackageName.ofFolder(answers.folder)
  const problem = PackageName.problemOf(name)
  if (problem !== undefined) {
    return yield* new CommandLine.UsageError({ message: `"${name}" is no name of a package: ${problem}; set --name` })
  }
  const choices: Choices = {
    folder: answers.folder,
    name,
    template: Template.of(answers.template),
    packageManager: answers.packageManager ?? options.packageManager ?? running ?? "npm",
    isInstalled: options.isInstalled
  }
  return choices
})
