/**
 * A console to try servers with. Everything after `--` is the server: a command to start, or a URL.
 *
 * ```sh
 * node packages/examples/src/console.ts -- npx -y some-server
 * node packages/examples/src/console.ts call add '{"a":15,"b":27}' -- node packages/examples/src/calculator.ts
 * node packages/examples/src/console.ts --help
 * ```
 *
 * - Without a command, a person enters one after the other (`console/interactive.ts`). The console asks for the
 *   arguments of tools and prompts, shows progress as a bar, and has the person answer the questions of the server.
 * - With a command, it runs this one (`console/commandLine.ts`), and exits with status 1 if the command or tool fails.
 * - Text of the server cannot control the terminal (`PlainText`).
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import * as CommandLine from "./console/commandLine.ts"

const main = Effect.map(CommandLine.run(process.argv.slice(2)), (status) => {
  process.exitCode = status
})

NodeRuntime.runMain(main, { disableErrorReporting: true })
