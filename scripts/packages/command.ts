/** Commands in child processes, whose output is shown only if they fail. */
import { spawn } from "node:child_process"

/** Options of a command. */
export interface Options {
  readonly cwd: string
  /** Variables beside those of this process. */
  readonly env?: Readonly<Record<string, string>>
}

/** The longest time of a command. A package manager without a network would wait for longer. */
const longest = 300_000

/** Runs a command, and returns its standard output. Fails with the end of its output. */
export const run = (command: string, args: ReadonlyArray<string>, { cwd, env = {} }: Options): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      // A package manager that runs this process is not the one that runs the command.
      env: { ...process.env, npm_config_user_agent: undefined, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: longest
    })
    let all = ""
    let printed = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      all += text
      printed += text
    })
    child.stderr.setEncoding("utf8").on("data", (text: string) => all += text)
    const fail = (reason: string) => {
      const tail = all.trimEnd().split("\n").slice(-20).join("\n")
      reject(new Error(`${[command, ...args].join(" ").slice(0, 200)}: ${reason}\n${tail}`))
    }
    child.on("error", ({ message }) => fail(message))
    child.on("close", (status, signal) => {
      if (status === 0) resolve(printed)
      else fail(signal === null ? `exit status ${status}` : `ended by ${signal}`)
    })
  })
