/** The program that hosts start: the tools over standard input and output. */
import { McpServer } from "@effect-mcp/server/node"
import { GreetingsLive } from "./greetings.ts"

McpServer.runMainStdio(GreetingsLive, { info: { name: "greeter", version: "1.0.0" } })
