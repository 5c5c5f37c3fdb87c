/**
 * A job without a person: it signs in by its private key (`private_key_jwt`), and writes a note to the protected notes.
 *
 * ```sh
 * node packages/examples/src/identityProvider.ts --port 4000 --job-key nightly.pem
 * node packages/examples/src/protectedNotes.ts --port 3000 --issuer http://localhost:4000
 * node packages/examples/src/nightlyJob.ts http://127.0.0.1:3000/mcp --key nightly.pem
 * ```
 *
 * `--issuer` names the authorization server that knows the key; default http://localhost:4000. The job signs in nowhere
 * else, whatever the server names.
 * With `--every 60`, it writes a note each 60 seconds, with new tokens when the old ones expire.
 */
import { Grant, OAuth } from "@effect-mcp/auth"
import { McpClient, McpTarget } from "@effect-mcp/client/node"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as fs from "node:fs"
import { parseArgs } from "node:util"

const { positionals: [url = "http://127.0.0.1:3000/mcp"], values: { every, issuer, key } } = parseArgs({
  allowPositionals: true,
  options: {
    every: { type: "string" },
    issuer: { type: "string", default: "http://localhost:4000" },
    key: { type: "string", default: "nightly.pem" }
  }
})

const grant = Grant.clientCredentials

const client = McpClient.layer(McpTarget.url(url), {
  info: { name: "nightly", version: "1.0.0" },
  capabilities: { extensions: Grant.extensions(grant) }
})

const oauth = Layer.unwrap(Effect.sync(() =>
  OAuth.layer({
    grant,
    scopes: ["notes:read", "notes:write"],
    identity: {
      preRegistered: [{
        issuer,
        clientId: "nightly",
        privateKey: { key: Redacted.make(fs.readFileSync(key, "utf8")), algorithm: "ES256", keyId: "1" }
      }]
    }
  })
))

const program = Effect.gen(function*() {
  const { callTool } = yield* McpClient.McpClient
  const write = Effect.gen(function*() {
    yield* callTool("write", { text: `The job has run at ${new Date().toISOString()}.` })
    const { structuredContent } = yield* callTool("read")
    yield* Console.log(JSON.stringify(structuredContent))
  })
  yield* every === undefined ? write : Effect.forever(Effect.andThen(write, Effect.sleep(`${Number(every)} seconds`)))
})

NodeRuntime.runMain(program.pipe(Effect.provide(client), Effect.provide(oauth)))
