/** The package managers: which one runs this program, and its commands. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { spawn } from "node:child_process"

export const names = ["npm", "pnpm", "yarn", "bun", "deno"] as const

export type Name = typeof names[number]

/** The error of an installation. The project is complete. */
export class InstallationError extends Data.TaggedError("InstallationError")<{
  readonly command: string
  readonly folder: string
  readonly problem: string
}> {
  override get message() {
    return `the project is created, but "${this.command}" failed in ${this.folder}: ${this.problem}; run it again there`
  }
}

/** Returns the package manager that a user agent names, such as `pnpm/12.21.0 npm/? node/v24.21.0 linux x64`. */
export const running = (userAgent: string | undefined): Name | undefined =>
  names.find((name) => userAgent?.startsWith(`${name}/`))

/** The file with the settings that a project needs, of those package managers that need one. */
export const settings: { readonly [Key in Name]?: { readonly path: string; readonly text: string } } = {
  yarn: {
    path: ".yarnrc.yml",
    text: "# The compiler of TypeScript 7 finds no types in the archives of Plug'n'Play.\nnodeLinker: node-modules\n"
  }
}

/** Scripts that npm, pnpm and Yarn run without the word `run`. Others may be commands of their own. */
const short: ReadonlySet<string> = new Set(["start", "test"])

/** Returns the command that runs a script of `package.json`, with its arguments. */
export const commandOf = (manager: Name, script: string): string => {
  const [name = "", ...words] = script.split(" ")
  const run = manager === "deno" ? ["task"] : manager !== "bun" && short.has(name) ? [] : ["run"]
  return [manager, ...run, name, ...manager === "npm" && words.length > 0 ? ["--"] : [], ...words].join(" ")
}

/** Installs the dependencies of a project. What the package manager prints is shown. */
export const install = (manager: Name, folder: string): Effect.Effect<void, InstallationError> =>
  Effect.callback((resume) => {
    const fail = (problem: string) =>
      resume(Effect.fail(new InstallationError({ command: `${manager} install`, folder, problem })))
    // On Windows, package managers are scripts of the shell. The words are constants.
    const child = spawn(manager, ["install"], { cwd: folder, stdio: "inherit", shell: process.platform === "win32" })
    child.on("error", ({ message }) => fail(message))
    child.on("close", (status, signal) => {
      if (status === 0) resume(Effect.void)
      else fail(signal === null ? `exit status ${status}` : `ended by ${signal}`)
    })
    return Effect.sync(() => void child.kill())
  })
