/**
 * Text of a server, made harmless for a terminal: control characters and invisible ones are shown, and never
 * interpreted. The functions are those of the module `PlainText` of `@effect-mcp/protocol`.
 *
 * @stability unstable
 */
export { json, line, text } from "@effect-mcp/protocol/PlainText"
