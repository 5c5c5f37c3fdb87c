/** The program that hosts start: the tools over standard input and output. */
import { McpServer } from "@effect-mcp/server/node"
import { DatesLive } from "./dates.ts"

McpServer.runMainStdio(DatesLive, { info: { name: "dates", version: "1.0.0" } })
