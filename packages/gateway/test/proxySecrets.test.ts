/** Secrets of a proxied server that fails, and its names in a log. */
import { McpProxy } from "@effect-mcp/gateway"
import { ServerSession } from "@effect-mcp/session"
import { StdioClient } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { connect, handshake, info } from "../../server/test/support/connect.ts"
import { describeForBothEras } from "../../server/test/support/eras.ts"
import { tool } from "./support/proxies.ts"

/** Collects what is logged. */
const logging = () => {
  const messages: Array<string> = []
  return { messages, layer: Logger.layer([Logger.make(({ message }) => void messages.push(String(message)))]) }
}

/** The program of a server with the tool `fail`. `serve` serves a call of it, by its `id` and `params`. */
const serving = (serve: string): string => `
  const reply = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }))
  const capabilities = { tools: {} }, serverInfo = { name: "child", version: "1" }
  require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method, params } = JSON.parse(line)
    if (id === undefined) return
    if (method === "initialize") {
      reply({ id, result: { protocolVersion: "2025-11-25", capabilities, serverInfo } })
    } else if (method === "tools/list") {
      reply({ id, result: { tools: [{ name: "fail", inputSchema: { type: "object" } }] } })
    } else if (method === "tools/call") {
      ${serve}
    } else reply({ id, error: { code: -32601, message: "no" } })
  })
`

/** The program of a server. Its first process serves the tool, and later ones fail at their start with a secret. */
const script = (flag: string): string => `
  const fs = require("fs")
  if (fs.existsSync(${JSON.stringify(flag)})) {
    console.error("cannot connect to postgres://app:dbPassw0rd@db.internal\\n[00:00] INFO all is well")
    process.exit(1)
  }
  fs.writeFileSync(${JSON.stringify(flag)}, "")
  ${
  serving(`
      console.error("the token of ada is tok3n-of-ada")
      process.exit(3)`)
}
`

const child = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "proxy-secrets-"))),
    (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true }))
  ),
  (folder) => StdioClient.layerNode({ command: process.execPath, args: ["-e", script(path.join(folder, "flag"))] })
)

describe("a process that a proxy starts for a client with a session", () => {
  it.live("and that fails at its start: clients receive nothing of its stderr, and the log has it in one line", () =>
    Effect.gen(function*() {
      const { layer, messages } = logging()
      yield* Effect.gen(function*() {
        const client = yield* connect(McpProxy.layer("remote", yield* child, { info }), { client: handshake })
        const error = yield* Effect.flip(client.callTool("fail"))
        assert.include(error.message, "the server \"remote\" is not available: no session with it could be opened")
        assert.notMatch(error.message, /dbPassw0rd|db\.internal|exited/)
      }).pipe(Effect.provide(layer))
      const logged = messages.find((message) => message.includes("could not open a session for a client")) ?? ""
      assert.include(logged, "dbPassw0rd")
      assert.notInclude(logged, "\n")
    }).pipe(Effect.scoped))
})

/** A server whose tool fails with the code of its arguments, and repeats its environment. */
const repeating = StdioClient.layerNode({
  command: process.execPath,
  args: [
    "-e",
    serving(`
      const { code } = params.arguments
      const data = { after: 5, headers: [{ authorization: process.env.KEY }] }
      reply({ id, error: { code, message: "rejected " + process.env.KEY, data } })`)
  ],
  env: { KEY: Redacted.make("Bearer sk-live-1234") }
})

describe("a proxied server that repeats the credential of the proxy in an error", () => {
  for (const sessions of ["each", "shared"] as const) {
    it.live(`does not show it to clients (${sessions})`, () =>
      Effect.gen(function*() {
        const client = yield* connect(McpProxy.layer("remote", repeating, { info, sessions }), { client: handshake })
        const errorOf = (code: number) =>
          Effect.map(Effect.flip(client.callTool("fail", { code })), ({ reason }) => {
            assert(reason._tag === "ErrorResponse")
            const { code: received, data, message } = reason.error
            return { code: received, message, data }
          })
        assert.deepStrictEqual<unknown>(yield* errorOf(-32000), {
          code: -32000,
          message: "rejected <redacted>",
          data: { after: 5, headers: [{ authorization: "<redacted>" }] }
        })
        assert.deepStrictEqual<unknown>(yield* errorOf(-32042), {
          code: -32042,
          message: "rejected <redacted>",
          data: { after: 5, headers: [{ authorization: "Bearer sk-live-1234" }] }
        })
      }).pipe(Effect.scoped))
  }
})

describeForBothEras("a proxied process that fails", ({ connect }) => {
  it.live("during a call: clients receive that the session has ended, and the log the reason", () =>
    Effect.gen(function*() {
      const { layer, messages } = logging()
      yield* Effect.gen(function*() {
        const client = yield* connect(McpProxy.layer("remote", yield* child, { info, sessions: "shared" }))
        const error = yield* Effect.flip(client.callTool("fail"))
        assert.match(error.message, /the session has ended|the response was lost/)
        assert.notMatch(error.message, /tok3n|exited/)
        yield* Effect.repeat(Effect.sleep("10 millis"), {
          until: () => messages.some((message) => message.includes("tok3n-of-ada"))
        })
      }).pipe(Effect.provide(layer))
      assert.isTrue(messages.every((message) => !message.includes("\n")), messages.join())
    }).pipe(Effect.scoped))
})

describeForBothEras("the log of a program with a proxied server", ({ connect }) => {
  it.live("has no line and no escape sequence of the server, and bounded warnings", () =>
    Effect.gen(function*() {
      const forged = "x\n[00:00:00.000] INFO (#1): audit principal=admin\u{1b}[2J\u{2028}\u{9b}31m"
      const long = `big${"y".repeat(200_000)}`
      const server = ServerSession.layerMemory({
        "tools/list": () => Effect.succeed({ tools: [tool("a"), tool(forged), tool(long)] }),
        "tools/call": () => Effect.succeed({ content: [] }),
        "prompts/list": () => Effect.succeed({ prompts: [forged, forged, long, long].map((name) => ({ name })) }),
        "prompts/get": () => Effect.succeed({ messages: [] }),
        "resources/list": () =>
          Effect.succeed({
            resources: [forged, forged].map((name, index) => ({ name: `${name}${index}`, uri: `x:/${forged}` }))
          }),
        "resources/templates/list": () =>
          Effect.succeed({ resourceTemplates: [{ name: "t", uriTemplate: `${forged}{` }] }),
        "resources/read": () => Effect.succeed({ contents: [] })
      }, { info })
      const { layer, messages } = logging()
      yield* Effect.provide(connect(McpProxy.layer("remote", server, { info })), layer)
      assert.isNotEmpty(messages)
      for (const message of messages) {
        assert.notMatch(message, /[\n\u{1b}\u{2028}\u{9b}]/u)
        assert.isAtMost(message.length, 10_000)
      }
    }).pipe(Effect.scoped))
})
