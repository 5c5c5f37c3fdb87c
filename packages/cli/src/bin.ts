#!/usr/bin/env node
/**
 * A command line to try servers, and to add them to the configuration of a host. Everything after `--` is the server: a
 * command to start, or a URL.
 *
 * ```sh
 * npx @effect-mcp/cli -- npx -y some-server
 * npx @effect-mcp/cli call add '{"a":15,"b":27}' -- node server.ts
 * npx @effect-mcp/cli hosts --for vscode -- node server.ts
 * npx @effect-mcp/cli --help
 * ```
 *
 * - Without a command, a person enters one after the other (`console/interactive.ts`). The console asks for the
 *   arguments of tools and prompts, shows progress as a bar, and has the person answer the questions of the server.
 * - With a command, it runs this one (`commandLine.ts`), and exits with status 1 if the command or tool fails.
 * - Text of the server cannot control the terminal (`PlainText`).
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import manifest from "../package.json" with { type: "json" }
import * as CommandLine from "./commandLine.ts"

const main = Effect.map(CommandLine.run(process.argv.slice(2), manifest.version), (status) => {
  process.exitCode = status
})

NodeRuntime.runMain(main, { disableErrorReporting: true })
