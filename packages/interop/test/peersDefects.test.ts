/**
 * What is known to go wrong between the official SDKs, and with Effect's own MCP modules, where connections, sessions and hangs are
 * concerned; and what we do about it. A number is that of an issue or pull request of `modelcontextprotocol/typescript-sdk`, if
 * nothing else is said.
 */
import { hangs } from "./peersDefects/hangs.ts"
import { sessions } from "./peersDefects/sessions.ts"
import { streams } from "./peersDefects/streams.ts"

hangs()
sessions()
streams()
