/**
 * Signs a person in to a server, and prints their notes (`protectedNotes.ts`).
 *
 * ```sh
 * node packages/examples/src/signIn.ts http://127.0.0.1:3000/mcp             # opens the browser
 * node packages/examples/src/signIn.ts http://127.0.0.1:3000/mcp --paste     # over SSH: paste the redirect
 * node packages/examples/src/signIn.ts http://127.0.0.1:3000/mcp --device    # enter a code on another device
 * ```
 *
 * The person stays signed in: a second run needs no browser. The environment variable `TOKENS` names another folder for
 * the tokens, and `TOKEN_KEY` a key of 64 hexadecimal digits that encrypts them. A program for users would take the key
 * from the keychain of the system.
 */
import { OAuth, type UserAgent } from "@effect-mcp/auth"
import * as NodeTokenStore from "@effect-mcp/auth/NodeTokenStore"
import * as NodeUserAgent from "@effect-mcp/auth/NodeUserAgent"
import { ClientSession } from "@effect-mcp/session"
import { StreamableHttpClient } from "@effect-mcp/transport/node"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as os from "node:os"
import * as path from "node:path"
import { parseArgs } from "node:util"

const { positionals: [url = "http://127.0.0.1:3000/mcp"], values: { device, paste } } = parseArgs({
  allowPositionals: true,
  options: { device: { type: "boolean" }, paste: { type: "boolean" } }
})
const { TOKEN_KEY: key, TOKENS: directory = path.join(os.homedir(), ".effect-mcp-examples", "tokens") } = process.env

const userAgent: UserAgent.UserAgent = paste === true
  ? NodeUserAgent.paste({ output: process.stdout })
  : device === true
  ? NodeUserAgent.device({ output: process.stdout })
  : NodeUserAgent.browser()

const tokens = NodeTokenStore.layer({
  directory,
  encryption: key === undefined ? "none" : { key: Redacted.make(Uint8Array.from(Buffer.from(key, "hex"))) }
})

const session = ClientSession.layer({ info: { name: "sign-in", version: "1.0.0" } }).pipe(
  Layer.provide(StreamableHttpClient.layerNode({ url })),
  Layer.provide(OAuth.layer({ clientName: "Effect MCP example", userAgent })),
  Layer.provide(tokens)
)

const program = Effect.gen(function*() {
  const { callTool } = yield* ClientSession.ClientSession
  const { structuredContent } = yield* callTool("read")
  yield* Console.log(JSON.stringify(structuredContent))
})

NodeRuntime.runMain(Effect.provide(program, session))
