/** Text of servers for errors and logs: escaped for a terminal, and of a bounded length. */

export { line, loggedLength as longest, name, text } from "@effect-mcp/protocol/Excerpt"
