/** The program that hosts start: the tools over standard input and output. */
import { McpServer } from "@effect-mcp/server/node"
import manifest from "../package.json" with { type: "json" }
import { GreetingsLive } from "./greetings.ts"

McpServer.runMainStdio(GreetingsLive, { info: { name: manifest.name, version: manifest.version } })
