/** The server, with clients over HTTP. */
import { McpClient, McpTarget } from "@effect-mcp/client"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { formatAddress, HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/testing/TestClock"
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseEnv } from "node:util"
import { Notes } from "../src/notes.ts"
import * as Server from "../src/server.ts"
import { Tokens } from "../src/Tokens.ts"

const info = { name: "test", version: "1.0.0" }

const tokens = Tokens.layerOf(Redacted.make("the secret of the tests of this server"))

/** Starts the server on a free port, and returns its URL. */
const start = Effect.map(
  Layer.build(Server.layer({ port: 0 })),
  (context) => `${formatAddress(Context.get(context, HttpServer).address)}/mcp`
)

/** Sends a message with a token, and returns the response. */
const post = (url: string, token: string | undefined, message: unknown, headers: Record<string, string> = {}) =>
  Effect.promise(async () => {
    const response = await fetch(url, {
      method: "POST",
      headers: {
        ...token === undefined ? {} : { authorization: `Bearer ${token}` },
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        ...headers
      },
      body: JSON.stringify(message)
    })
    await response.text()
    return response
  })

const initialize = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: info }
}

describe("the server", () => {
  it.live("shows each user their own notes", () =>
    Effect.gen(function*() {
      const url = yield* start
      const { issue } = yield* Tokens
      const notesOf = Effect.fnUntraced(function*(user: string) {
        const authorization = `Bearer ${yield* issue(user, "1 hour")}`
        return (yield* McpClient.make(McpTarget.url(url, { headers: { authorization } }), { info })).of(Notes).tools
      })
      const [ada, ben] = [yield* notesOf("ada"), yield* notesOf("ben")]
      yield* ada.add_note({ text: "Bernoulli numbers" })
      assert.deepStrictEqual(yield* ada.list_notes(), { notes: ["Bernoulli numbers"] })
      assert.deepStrictEqual(yield* ben.list_notes(), { notes: [] })
    }).pipe(Effect.scoped, Effect.provide(tokens)))

  it.live("rejects requests without a token, and with a token of another server", () =>
    Effect.gen(function*() {
      const url = yield* start
      const foreign = yield* Effect.provide(
        Effect.flatMap(Tokens, ({ issue }) => issue("ada", "1 hour")),
        Tokens.layerOf(Redacted.make("the secret of another server, in its tests"))
      )
      for (const token of [undefined, "nonsense", foreign]) {
        const { headers, status } = yield* post(url, token, initialize)
        assert.strictEqual(status, 401)
        assert.match(headers.get("www-authenticate") ?? "", /^Bearer realm="notes"/)
      }
    }).pipe(Effect.scoped, Effect.provide(tokens)))

  it.effect("keeps a session for its user until it was not used for 30 minutes", () =>
    Effect.gen(function*() {
      const url = yield* start
      const { issue } = yield* Tokens
      const [ada, ben] = [yield* issue("ada", "1 hour"), yield* issue("ben", "1 hour")]
      const opened = yield* post(url, ada, initialize)
      assert.strictEqual(opened.status, 200)
      const session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" }
      const list = (token: string) => post(url, token, { jsonrpc: "2.0", id: 1, method: "tools/list" }, session)
      assert.strictEqual((yield* list(ben)).status, 404)
      assert.strictEqual((yield* list(ada)).status, 200)
      yield* TestClock.adjust("31 minutes")
      assert.strictEqual((yield* list(ada)).status, 404)
      yield* TestClock.adjust("29 minutes")
      assert.strictEqual((yield* list(ada)).status, 401)
    }).pipe(Effect.scoped, Effect.provide(tokens)))
})

describe("a token", () => {
  it.effect("names its user until it expires", () =>
    Effect.gen(function*() {
      const { issue, verify } = yield* Tokens
      const token = Redacted.make(yield* issue("ada", "1 hour"))
      assert.deepStrictEqual(yield* verify(token), { id: "ada", expiresAt: 3_600_000 })
      yield* TestClock.adjust("1 hour")
      assert.isUndefined(yield* verify(token))
    }).pipe(Effect.provide(tokens)))

  it.effect("is not accepted after a change", () =>
    Effect.gen(function*() {
      const { issue, verify } = yield* Tokens
      const token = yield* issue("ada", "1 hour")
      const [user, , signature] = token.split(".")
      for (const changed of [`${user}.9999999999999.${signature}`, `${token}.x`, `${token}=`, `${token}ü`, ""]) {
        assert.isUndefined(yield* verify(Redacted.make(changed)), changed)
      }
    }).pipe(Effect.provide(tokens)))

  it.effect("needs a secret that cannot be guessed", () =>
    Effect.gen(function*() {
      const messageOf = (secret: string) =>
        Effect.map(Effect.flip(Layer.build(Tokens.layerOf(Redacted.make(secret)))), ({ message }) => message)
      assert.match(yield* messageOf("short"), /^TOKEN_SECRET has 5 characters/)
      assert.match(yield* messageOf(""), /^TOKEN_SECRET is not set; npm run token NAME writes it/)
    }).pipe(Effect.scoped))

  it("a first token adds a line with a secret to .env, whose last line may have no end", () => {
    const folder = mkdtempSync(join(tmpdir(), "token-"))
    try {
      writeFileSync(join(folder, ".env"), "PORT=3001")
      const program = fileURLToPath(new URL("../src/token.ts", import.meta.url))
      const { TOKEN_SECRET: _, ...env } = process.env
      execFileSync(process.execPath, [program, "ada"], { cwd: folder, env, stdio: "pipe" })
      const { PORT, TOKEN_SECRET = "" } = parseEnv(readFileSync(join(folder, ".env"), "utf8"))
      assert.strictEqual(PORT, "3001")
      assert.isAtLeast(TOKEN_SECRET.length, 32)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
