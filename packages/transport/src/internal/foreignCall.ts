export { TimedOut, within } from "@effect-mcp/session/ForeignCall"
