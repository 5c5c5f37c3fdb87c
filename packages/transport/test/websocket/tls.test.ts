import { SessionHost } from "@effect-mcp/session"
import { Authentication, WebSocketClient, WebSocketServer } from "@effect-mcp/transport/node"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpRouter from "effect/http/HttpRouter"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { execFile, execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as https from "node:https"
import * as path from "node:path"
import { promisify } from "node:util"
import { openSockets } from "../support/openSockets.ts"
import { fixture, until } from "../support/process.ts"
import { collectLogs, hostOf, text, tools } from "../support/server.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import { open } from "../support/webSocketClient.ts"

const handlers = tools({ echo: (input) => Effect.succeed(text(String(input["text"]))) })

/** Creates a self-signed certificate for this machine, and its key. */
const certificate = Effect.map(temporaryDirectory, (directory) => {
  const [key, cert] = [path.join(directory, "key.pem"), path.join(directory, "cert.pem")]
  execFileSync("openssl", [
    ..."req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=localhost".split(" "),
    "-addext",
    "subjectAltName=DNS:localhost,IP:127.0.0.1",
    "-keyout",
    key,
    "-out",
    cert
  ], { stdio: "ignore" })
  return { file: cert, key: fs.readFileSync(key), cert: fs.readFileSync(cert) }
})

const serve = Effect.gen(function*() {
  const { cert, file, key } = yield* certificate
  const logs: Array<string> = []
  const scope = yield* Effect.acquireRelease(Scope.make(), Scope.close)
  const served = HttpRouter.serve(WebSocketServer.layer(), { disableLogger: true, disableListenLog: true })
  const layer = SessionHost.layerDrain.pipe(
    Layer.provideMerge(served),
    Layer.provideMerge(
      NodeHttpServer.layerServer(() => https.createServer({ key, cert }), { port: 0, host: "127.0.0.1" })
    ),
    Layer.provideMerge(hostOf(handlers, {})),
    Layer.provide(Authentication.anonymous),
    Layer.provideMerge(collectLogs(logs))
  )
  const context = yield* Layer.buildWithScope(Layer.fresh(layer), scope)
  const { address } = Context.get(context, HttpServer)
  return {
    file,
    logs,
    url: `wss://127.0.0.1:${address._tag === "UnixPathAddress" ? 0 : address.port}/mcp`,
    host: Context.get(context, SessionHost.SessionHost),
    stop: Scope.close(scope, Exit.void)
  }
})

describe("over TLS", () => {
  it.live("a client that trusts the certificate has a session, and leaves no socket", () =>
    Effect.gen(function*() {
      const opened = yield* openSockets
      const server = yield* serve
      const { stdout } = yield* Effect.promise(() =>
        promisify(execFile)(process.execPath, [fixture("tlsWebSocketClient.ts"), server.url], {
          env: { ...process.env, NODE_EXTRA_CA_CERTS: server.file },
          maxBuffer: 2_000_000
        })
      )
      assert.deepStrictEqual(JSON.parse(stdout), text("x".repeat(1_000_000)).content)
      yield* Effect.repeat(server.host.health, { until: ({ sessions }) => sessions === 0 })
      yield* until(() => opened.accepted() === 0)
      yield* server.stop
      assert.strictEqual(opened.all(), 0)
      assert.deepStrictEqual(server.logs, [])
    }))

  it.live("a client that does not trust the certificate fails with the reason, and no session is opened", () =>
    Effect.gen(function*() {
      const server = yield* serve
      const error = yield* Effect.flip(open(WebSocketClient.layerNode, { url: server.url }))
      assert.ok(error.message.startsWith(`could not connect to ${server.url}: self-signed certificate`), error.message)
      assert.strictEqual((yield* server.host.health).sessions, 0)
    }))
})
