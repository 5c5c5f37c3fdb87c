/** The command line: a folder, and flags for what a person in a terminal is asked. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { parseArgs } from "node:util"
import * as PackageManager from "./PackageManager.ts"
import * as Template from "./Template.ts"

/** The error of a command line. Its message names the flag, and what it takes. */
export class UsageError extends Data.TaggedError("UsageError")<{ readonly message: string }> {}

/** The contents of a command line. A terminal is asked for what is absent. */
export interface Options {
  readonly folder: string | undefined
  readonly name: string | undefined
  readonly template: Template.Name | undefined
  readonly packageManager: PackageManager.Name | undefined
  readonly isInstalled: boolean
}

export type Command =
  | { readonly kind: "help" }
  | { readonly kind: "version" }
  | { readonly kind: "create"; readonly options: Options }

const flags = {
  template: { type: "string", short: "t" },
  name: { type: "string" },
  "package-manager": { type: "string" },
  install: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
  version: { type: "boolean", short: "v", default: false }
} as const

const width = Math.max(...Template.all.map(({ name }) => name.length))

export const help = `Creates a project with Effect MCP.

npm create @effect-mcp [folder] -- [flags]
pnpm create @effect-mcp [folder] [flags]

In a terminal, what is not given is asked.

Templates:
${Template.all.map(({ description, name }) => `  ${name.padEnd(width)}  ${description}`).join("\n")}

Flags:
  -t, --template NAME        the template
      --name NAME            the name in package.json; by default, that of the folder
      --package-manager NAME ${PackageManager.names.join(", ")}; by default, the one that runs this program
      --install              installs the dependencies
  -h, --help                 prints this text
  -v, --version              prints the version`

const choice = <const Choice extends string>(
  flag: string,
  value: string | undefined,
  choices: ReadonlyArray<Choice>
): Effect.Effect<Choice | undefined, UsageError> => {
  const found = choices.find((one) => one === value)
  return value === undefined || found !== undefined
    ? Effect.succeed(found)
    : Effect.fail(new UsageError({ message: `--${flag} takes one of ${choices.join(", ")}, not "${value}"` }))
}

/** Parses the words after the program. */
export const parse = Effect.fnUntraced(function*(
  words: ReadonlyArray<string>
): Effect.fn.Return<Command, UsageError> {
  const { positionals: [folder, ...others], values } = yield* Effect.try({
    try: () => parseArgs({ args: [...words], options: flags, allowPositionals: true }),
    // The first sentence of Node has the flag and the problem.
    catch: (error) =>
      new UsageError({
        message: `${String(error instanceof Error ? error.message : error).split(". ")[0]}; --help has the flags`
      })
  })
  if (values.help) return { kind: "help" }
  if (values.version) return { kind: "version" }
  if (others.length > 0) {
    // npm removes the flags before "--", and passes on their values.
    const hint = `with npm, write "--" before the flags: npm create @effect-mcp ${folder} -- --template stdio`
    return yield* new UsageError({ message: `expected one folder, but got also "${others.join(" ")}"; ${hint}` })
  }
  return {
    kind: "create",
    options: {
      folder,
      name: values.name,
      template: yield* choice("template", values.template, Template.names),
      packageManager: yield* choice("package-manager", values["package-manager"], PackageManager.names),
      isInstalled: values.install
    }
  }
})
