/** A supervised client that cannot connect until the program, its configuration or its system is corrected. */
import { McpClient, McpClients, McpTarget } from "@effect-mcp/client/node"
import { Revision } from "@effect-mcp/protocol"
import { SessionHost } from "@effect-mcp/session"
import { Authentication, HttpSseClient, StreamableHttpClient, StreamableHttpServer } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as http from "node:http"
import * as path from "node:path"
import { freePort } from "../../../scripts/freePort.ts"
import { compiled, joinedFixture, temporaryDirectory } from "./support/places.ts"

const options = {
  info: { name: "host", version: "1.0.0" },
  reconnect: Schedule.spaced("20 millis"),
  healthCheck: false
} as const

/** Listens for as long as the scope is open, and answers each request with this status. */
const answering = (port: number, status: number) =>
  Effect.acquireRelease(
    Effect.callback<http.Server>((resume) => {
      const server = http.createServer((_request, response) => {
        response.writeHead(status, status === 401 ? { "www-authenticate": "Bearer" } : {}).end("no")
      })
      server.listen(port, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
  )

/** Waits for so many failed attempts in a row. */
const attempts = (client: McpClient.McpClientShape, count: number) =>
  Stream.runHead(Stream.filter(client.statuses, (status) => status._tag === "Down" && status.attempts >= count))

/** Collects the warnings of an effect. */
const warningsOf = <A, E, R>(effect: Effect.Effect<A, E, R>) => {
  const warnings: Array<string> = []
  const logger = Logger.make(({ logLevel, message }) => {
    if (logLevel === "Warn") warnings.push(String(message))
  })
  return Effect.as(Effect.provide(effect, Logger.layer([logger])), warnings)
}

const withQuery = (port: number) => `http://127.0.0.1:${port}/mcp?key=s3cr3t`

const httpSse = (url: string) => McpTarget.transport(HttpSseClient.layerNode({ url }), "sse")

const permanent: Readonly<Record<string, (port: number) => McpTarget.McpTarget>> = {
  "a command that does not exist": () => McpTarget.command("/no/such/program"),
  "a directory that does not exist": () => McpTarget.command(process.execPath, [], { cwd: "/no/such/directory" }),
  "an invalid URL": () => McpTarget.transport(StreamableHttpClient.layerNode({ url: "no url" }), "x"),
  "a URL with credentials": () => McpTarget.url("http://user:secret@localhost/mcp"),
  "Streamable HTTP that requires authentication": (port) => McpTarget.url(withQuery(port)),
  "HTTP+SSE that requires authentication": (port) => httpSse(withQuery(port)),
  "a WebSocket that requires authentication": (port) => McpTarget.url(withQuery(port).replace("http", "ws"))
}

describe("a problem that waiting does not solve", () => {
  for (const [name, target] of Object.entries(permanent)) {
    it.live(`${name}: calls fail at once with the reason, and one warning is logged`, () =>
      Effect.gen(function*() {
        const port = yield* freePort
        yield* answering(port, 401)
        const warnings = yield* warningsOf(Effect.scoped(Effect.gen(function*() {
          const client = yield* McpClient.make(target(port), { ...options, name: "x", waitTimeout: "1 minute" })
          // The first one waits for the first attempt. The last one is made after several.
          const first = yield* Effect.flip(client.callTool("x"))
          yield* attempts(client, 9)
          const last = yield* Effect.flip(client.callTool("x"))
          for (const error of [first, last]) {
            assert.strictEqual(error._tag, "ServerUnavailableError")
            assert.isBelow(error._tag === "ServerUnavailableError" ? error.waitedMillis : Infinity, 20_000)
            assert.match(error.message, /; correct the cause$/)
            assert.notInclude(error.message, "s3cr3t")
            if (!name.includes("authentication")) continue
            assert.include(error.message, `127.0.0.1:${port}/mcp requires authentication`)
            assert.include(error.message, "send a valid token in `headers`")
          }
        })))
        assert.lengthOf(warnings, 1)
      }))
  }

  it.live("calls of a group whose tools are not known yet fail at once as well", () =>
    Effect.gen(function*() {
      const port = yield* freePort
      yield* answering(port, 401)
      const clients = yield* McpClients.make({
        notes: McpTarget.url(withQuery(port)),
        gone: McpTarget.command("/no/such/program")
      }, { ...options, waitTimeout: "1 minute" })
      yield* clients.settled("20 seconds")
      const prompt = Effect.asVoid(clients.getPrompt("gone__x"))
      for (const call of [...["notes__list", "gone__x"].map((tool) => Effect.asVoid(clients.callTool(tool))), prompt]) {
        const error = yield* Effect.flip(call)
        assert.strictEqual(error._tag, "ServerUnavailableError")
        assert.isBelow(error._tag === "ServerUnavailableError" ? error.waitedMillis : Infinity, 20_000)
        assert.match(error.message, /; correct the cause$/)
      }
    }))

  it.live("a wrong path names the URL and what to do, and calls wait, because a gateway may answer so for a time", () =>
    Effect.gen(function*() {
      const port = yield* freePort
      yield* answering(port, 404)
      for (const target of [McpTarget.url, httpSse]) {
        const client = yield* McpClient.make(target(withQuery(port)), { ...options, waitTimeout: "300 millis" })
        yield* attempts(client, 1)
        const { message } = yield* Effect.flip(client.callTool("x"))
        assert.include(message, `the server at http://127.0.0.1:${port}/mcp rejected the message with status 404`)
        assert.include(message, "check the path of the URL")
        assert.include(message, "the call waited 300 ms")
        assert.notInclude(message, "s3cr3t")
      }
    }))

  it.live("calls work after a command is installed, and its removal is logged once more", () =>
    Effect.gen(function*() {
      const command = path.join(yield* temporaryDirectory, "server")
      const program = yield* joinedFixture("serve.ts")
      const warnings = yield* warningsOf(Effect.scoped(Effect.gen(function*() {
        const client = yield* McpClient.make(
          McpTarget.command(command, [program, "stdio", "", "/dev/null", Revision.latestLegacy], { env: compiled }),
          { ...options, steadyAfter: "1 milli" }
        )
        assert.include((yield* Effect.flip(client.callTool("pid"))).message, "ENOENT")
        yield* attempts(client, 5)
        fs.symlinkSync(process.execPath, command)
        yield* Stream.runHead(Stream.filter(client.statuses, ({ _tag }) => _tag === "Ready"))
        const { content: [pid] } = yield* client.callTool("pid")
        fs.rmSync(command)
        process.kill(pid?.type === "text" ? Number(pid.text) : assert.fail(), "SIGKILL")
        yield* attempts(client, 5)
        assert.include((yield* Effect.flip(client.callTool("pid"))).message, "ENOENT")
      })))
      assert.lengthOf(warnings.filter((text) => text.includes("ENOENT")), 2)
    }))

  it.live("calls work after a server accepts the client", () =>
    Effect.gen(function*() {
      const port = yield* freePort
      const client = yield* McpClient.make(McpTarget.url(withQuery(port)), { ...options, waitTimeout: "1 minute" })
      yield* Effect.scoped(Effect.gen(function*() {
        yield* answering(port, 401)
        const { message } = yield* Effect.flip(client.callTool("x"))
        assert.include(message, "requires authentication")
      }))
      yield* Layer.build(
        StreamableHttpServer.layerNode({ port }).pipe(
          Layer.provide(
            SessionHost.layer({ "tools/call": () => Effect.succeed({ content: [] }) }, { info: options.info })
          ),
          Layer.provide(Authentication.anonymous)
        )
      )
      yield* Stream.runHead(Stream.filter(client.statuses, ({ _tag }) => _tag === "Ready"))
      assert.deepStrictEqual((yield* client.callTool("x")).content, [])
    }))
})
