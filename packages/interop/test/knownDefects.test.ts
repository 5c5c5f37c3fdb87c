/**
 * Known defects of the official SDKs, and of Effect's own MCP modules, that concern connections, sessions and hangs.
 * Each test shows the behaviour of this library in that situation. A number without a repository is that of an issue or
 * pull request of `modelcontextprotocol/typescript-sdk`.
 */
import { hangs } from "./knownDefects/hangs.ts"
import { sessions } from "./knownDefects/sessions.ts"
import { streams } from "./knownDefects/streams.ts"

hangs()
sessions()
streams()
