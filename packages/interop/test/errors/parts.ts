/** The real parts of which the cases of error texts are made: servers over HTTP, clients, and processes. */
import { McpGroup, McpServer } from "@effect-mcp/server"
import { ClientSession, type SessionHost, type Transport } from "@effect-mcp/session"
import { Authentication, StreamableHttpClient, StreamableHttpServer } from "@effect-mcp/transport/node"
import * as Tool from "effect/ai/Tool"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import * as http from "node:http"
import * as os from "node:os"
import * as path from "node:path"

/** Makes an error with real parts, and returns its text. */
export type Case = Effect.Effect<string, unknown, Scope.Scope>

/** The cases of some errors, by the headings that explain them. */
export type Cases = Readonly<Record<string, Case>>

export const info = { name: "example", version: "1.0.0" }

const textOf = (error: unknown): string => error instanceof Error ? error.message : String(error)

/** Returns the message with which an effect fails or dies. */
export const messageOf = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<string, never, R> =>
  Effect.matchCause(effect, {
    onSuccess: () => "the case has no error",
    onFailure: (cause) => textOf(Cause.squash(cause))
  })

/** The options of a client, apart from its name. */
export type Options = Omit<ClientSession.Options, "info">

/** Connects a session over this transport. */
export const connect = <E, R>(
  transport: Layer.Layer<Transport.Transport, E, R>,
  options: Options = {}
) =>
  Effect.flatMap(Layer.build(transport), (context) => Effect.provide(ClientSession.make({ info, ...options }), context))

/** A host of a group with one tool. */
const Greetings = McpGroup.make("greetings", Tool.make("greet"))
const greetings = McpServer.layerHost(
  Greetings.toLayer((handlers) => handlers.tool("greet", () => Effect.void)),
  { info }
)

/** Builds a server that listens, and returns its URL without a path. */
export const listening = Effect.fnUntraced(function*<E>(server: Layer.Layer<HttpServer, E>) {
  const { address } = Context.get(yield* Layer.build(server), HttpServer)
  return `http://127.0.0.1:${"port" in address ? address.port : 0}`
})

/** Listens with this host over Streamable HTTP, and returns the URL. */
export const hostListening = <E>(host: Layer.Layer<SessionHost.SessionHost, E>, tokens = Authentication.anonymous) =>
  Effect.map(
    listening(StreamableHttpServer.layerNode({ port: 0 }).pipe(Layer.provide(host), Layer.provide(tokens))),
    (url) => `${url}/mcp`
  )

/** Listens with a tool, and returns the URL. */
export const greeter = hostListening(greetings)

/** Connects a session over Streamable HTTP. */
export const connectTo = (url: string, options?: Options) => connect(StreamableHttpClient.layerNode({ url }), options)

/** Starts a proxy that forwards each request to the next server, without a route for sessions. Returns its URL. */
export const inTurn = Effect.fnUntraced(function*(urls: ReadonlyArray<string>) {
  let requests = 0
  const { server, url } = yield* proxyTo(() => urls[requests++ % urls.length] ?? "")
  yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
  return url
})

/** Starts a reverse proxy to the URL that a function returns for each request. */
export const proxyTo = (next: () => string): Effect.Effect<{ readonly url: string; readonly server: http.Server }> =>
  Effect.callback((resume) => {
    const server = http.createServer((request, response) => {
      const onward = http.request(
        next(),
        { method: request.method, headers: request.headers, agent: false },
        (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.headers)
          response.flushHeaders()
          answer.pipe(response)
        }
      )
      onward.on("error", () => response.destroy())
      response.on("close", () => onward.destroy())
      request.pipe(onward)
    })
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      resume(Effect.succeed({ server, url: `http://127.0.0.1:${port}/mcp` }))
    })
  })

/** Returns the message of the JSON-RPC error with which a request over HTTP is answered. */
export const answerTo = (url: string, request: RequestInit): Effect.Effect<string> =>
  Effect.promise(async () => {
    const body: { readonly error?: { readonly message?: string } } = JSON.parse(
      await (await fetch(url, request)).text()
    )
    return body.error?.message ?? "the answer has no error"
  })

/** Makes a folder that is removed at the end of the scope. */
export const folder = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), "errors-"))),
  (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
)

/** Writes a program into a folder of its own, runs Node with it, and returns what it prints to standard error. */
export const errorsOf = Effect.fnUntraced(function*(name: string, text: string, flags: ReadonlyArray<string> = []) {
  const file = path.join(yield* folder, name)
  fs.writeFileSync(path.join(file, "../package.json"), JSON.stringify({ type: "module" }))
  fs.writeFileSync(file, text)
  return yield* Effect.callback<string>((resume) => {
    execFile(process.execPath, [...flags, file], (_error, _stdout, stderr) => resume(Effect.succeed(stderr)))
  })
})

/** Returns the first line that begins with a word. */
export const lineWith = (word: string) => (text: string): string =>
  text.split("\n").find((line) => line.startsWith(word)) ?? text
