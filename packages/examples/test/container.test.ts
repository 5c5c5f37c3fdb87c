/** The server of the container (`container`): its files, its probes, and its shutdown. */
import { ClientSession } from "@effect-mcp/session"
import { StreamableHttpClient } from "@effect-mcp/transport/node"
import { afterAll, assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { once } from "node:events"
import * as fs from "node:fs"
import * as http from "node:http"
import * as net from "node:net"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { build } from "rolldown"
import { parse, parseAllDocuments } from "yaml"
import { freePort } from "../../../scripts/freePort.ts"
import bundling from "../container/rolldown.config.ts"
import * as Child from "./fixtures/child.ts"

const container = Child.file("../../container")
const read = (name: string) => fs.readFileSync(path.join(container, name), "utf8")

/** The lines of the Dockerfile without comments, as instructions and their texts. */
const instructions = read("Dockerfile").split("\n").flatMap((line) => {
  const [, instruction, text] = /^([A-Z]+) (.*)$/.exec(line) ?? []
  return instruction === undefined || text === undefined ? [] : [[instruction, text] as const]
})
const textsOf = (instruction: string) => instructions.filter(([name]) => name === instruction).map(([, text]) => text)

/** The members of the command of the image. */
const command = (): ReadonlyArray<string> => JSON.parse(textsOf("CMD").join())

/** A folder with what the image has: the bundle, and nothing else. */
const image = fs.mkdtempSync(path.join(tmpdir(), "container-"))
afterAll(() => fs.rmSync(image, { recursive: true }))
await build({
  ...bundling,
  cwd: container,
  logLevel: "silent",
  output: { ...bundling.output, file: path.join(image, "server.mjs") }
})

/**
 * Returns the status of a request over a connection of its own, as probes have it: the server may close one that was
 * idle at the moment when the next request uses it.
 */
const statusOf = (url: string) =>
  Effect.callback<number | string>((resume) => {
    http.get(url, { agent: false }, (response) => {
      response.resume()
      resume(Effect.succeed(response.statusCode ?? 0))
    }).on("error", ({ message }) => resume(Effect.succeed(message)))
  })

const token = "token-of-ada"

/** Runs the command of the image, until the scope closes. */
const start = Effect.gen(function*() {
  const port = yield* freePort
  const [program = "", ...args] = command()
  assert.strictEqual(program, "node")
  const server = yield* Child.program(process.execPath, args.map((arg) => path.join(image, arg)), {
    ...Child.environment,
    PORT: String(port),
    TOKEN: token
  })
  const url = `http://127.0.0.1:${port}`
  while ((yield* statusOf(`${url}/readyz`)) !== 200) yield* Effect.sleep("20 millis")
  return { server, url }
})

/** Opens a session in the server. */
const connect = (url: string, revisions?: ClientSession.Options["revisions"]) =>
  Effect.map(
    Layer.build(
      ClientSession.layer({ info: { name: "caller", version: "1.0.0" }, ...(revisions && { revisions }) }).pipe(
        Layer.provide(StreamableHttpClient.layerNode({
          url: `${url}/mcp`,
          headers: { authorization: Redacted.make(`Bearer ${token}`) }
        }))
      )
    ),
    (context) => Context.get(context, ClientSession.ClientSession)
  )

const textsIn = (content: ReadonlyArray<{ readonly type: string }>) =>
  content.map((block) => "text" in block ? block.text : block.type)

describe.concurrent("the container", () => {
  it.live("the server answers its probes without a token, and MCP only with one", () =>
    Effect.gen(function*() {
      const { url } = yield* start
      assert.deepStrictEqual(
        yield* Effect.forEach(["/livez", "/readyz", "/mcp"], (path) => statusOf(url + path)),
        [200, 200, 401]
      )
      const { callTool } = yield* connect(url)
      assert.deepStrictEqual(textsIn((yield* callTool("report", { pages: 1 })).content), ["1 pages"])
    }).pipe(Effect.scoped))

  for (const revision of ["2025-11-25", "2026-07-28"] as const) {
    it.live(`after SIGTERM a call of ${revision} finishes, readiness is 503 meanwhile, and the exit code is 0`, () =>
      Effect.gen(function*() {
        const { server, url } = yield* start
        const { callTool } = yield* connect(url, [revision])
        const inFlight = yield* Deferred.make<void>()
        const onProgress = () => Effect.asVoid(Deferred.succeed(inFlight, undefined))
        const call = yield* Effect.forkScoped(callTool("report", { pages: 40 }, { onProgress }))
        yield* Deferred.await(inFlight)
        server.kill("SIGTERM")
        while ((yield* statusOf(`${url}/readyz`)) === 200) yield* Effect.sleep("10 millis")
        // A second signal changes nothing.
        server.kill("SIGTERM")
        assert.deepStrictEqual(
          yield* Effect.forEach(["/livez", "/readyz"], (path) => statusOf(url + path)),
          [200, 503]
        )
        const rejected = yield* Effect.flip(connect(url, ["2025-11-25"]))
        assert.include(rejected.message, "the host is shutting down")
        assert.deepStrictEqual(textsIn((yield* Fiber.join(call)).content), ["40 pages"])
        const { exitCode, signal } = yield* server.exited
        assert.deepStrictEqual({ exitCode, signal }, { exitCode: 0, signal: null })
      }).pipe(Effect.scoped))
  }

  it.live("a server without calls ends, with a session and a connection that sends half a request", () =>
    Effect.gen(function*() {
      const { server, url } = yield* start
      yield* connect(url, ["2025-11-25"])
      yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const socket = net.connect(Number(new URL(url).port), "127.0.0.1").on("error", () => {})
          await once(socket, "connect")
          socket.write("GET /livez HTTP/1.1\r\n")
          return socket
        }),
        (socket) => Effect.sync(() => socket.destroy())
      )
      server.kill("SIGTERM")
      assert.strictEqual((yield* server.exited).exitCode, 0)
    }).pipe(Effect.scoped))

  it.live("a server whose port is in use exits with 1, and names the port", () =>
    Effect.gen(function*() {
      const { url } = yield* start
      const second = yield* Child.program(process.execPath, [path.join(image, "server.mjs")], {
        ...Child.environment,
        PORT: new URL(url).port,
        TOKEN: token
      })
      const { exitCode, stdout } = yield* second.exited
      assert.strictEqual(exitCode, 1)
      assert.include(stdout, "EADDRINUSE")
      assert.include(stdout, new URL(url).port)
    }).pipe(Effect.scoped))

  it.live("a server without a token exits with 1 before it listens, and names the variable", () =>
    Effect.gen(function*() {
      for (const variables of [{}, { TOKEN: "" }]) {
        const server = yield* Child.program(process.execPath, [path.join(image, "server.mjs")], {
          ...Child.environment,
          PORT: String(yield* freePort),
          ...variables
        })
        const { exitCode, stdout } = yield* server.exited
        assert.strictEqual(exitCode, 1)
        assert.include(stdout, "TOKEN")
        assert.notInclude(stdout, "Listening")
      }
    }).pipe(Effect.scoped))

  it("the image copies files that the context has, and the bundle to where its command looks for it", () => {
    const ignored = read(".dockerignore").trim().split("\n")
    const [all, ...kept] = ignored
    assert.strictEqual(all, "*")
    const copies = textsOf("COPY")
    const sources = copies.flatMap((text) => text.startsWith("--from") ? [] : text.split(" ").slice(0, -1))
    assert.sameMembers(sources.map((source) => `!${source}`), kept)
    for (const source of sources.filter((name) => name !== "package-lock.json")) {
      assert.isTrue(fs.existsSync(path.join(container, source)), source)
    }
    const [, built] = /^--from=build \/build\/(\S+) \.\/$/.exec(copies.at(-1) ?? "") ?? []
    assert(bundling.output !== undefined && !Array.isArray(bundling.output))
    assert.strictEqual(built, bundling.output.file)
    assert.deepStrictEqual(command(), ["node", path.basename(built ?? "")])
    const { scripts }: { readonly scripts: Readonly<Record<string, string>> } = JSON.parse(read("package.json"))
    assert.deepStrictEqual(textsOf("RUN"), ["npm ci", "npm run build"])
    assert.property(scripts, "build")
  })

  it("the page shows the files of the container", () => {
    const page = fs.readFileSync(path.join(Child.root, "docs/operate/containers.md"), "utf8")
    const blockIn = (language: string) => new RegExp(`\`\`\`${language}[^\\n]*\\n([^]*?)\`\`\``).exec(page)?.[1] ?? ""
    assert.isNotEmpty(blockIn("dockerfile"))
    assert.include(read("Dockerfile"), blockIn("dockerfile"))
    const [deployment] = parseAllDocuments(read("kubernetes.yaml")).map((document) => document.toJS())
    assert.deepStrictEqual(parse(blockIn("yaml")), { spec: deployment.spec.template.spec })
    const { mcpServers: { reports } } = JSON.parse(blockIn("json"))
    assert.include(reports.args, "-i")
    assert.notInclude(reports.args, "-t")
    assert.property(reports.env, reports.args[reports.args.indexOf("--env") + 1])
  })

  it("Kubernetes gets the port, the probes, the user and the time of the server", () => {
    const [deployment, service, ...others] = parseAllDocuments(read("kubernetes.yaml")).map((document) => {
      assert.deepStrictEqual(document.errors, [])
      return document.toJS()
    })
    assert.deepStrictEqual(others, [])
    const { replicas, template: { spec } } = deployment.spec
    // A session lives in one process.
    assert.strictEqual(replicas, 1)
    const [server] = spec.containers
    const source = read("src/server.ts")
    const port = Number(/"PORT"\] \?\? (\d+)/.exec(source)?.[1])
    assert.deepStrictEqual(textsOf("EXPOSE"), [String(port)])
    assert.deepStrictEqual(
      [
        server.ports[0].containerPort,
        server.livenessProbe.httpGet,
        server.readinessProbe.httpGet,
        service.spec.ports[0].targetPort
      ],
      [port, { path: "/livez", port }, { path: "/readyz", port }, port]
    )
    assert.isTrue(server.securityContext.runAsNonRoot)
    // Kubernetes rejects a name, because it cannot know that it is not root.
    assert.match(textsOf("USER").join(), /^[1-9]\d*$/)
    const secondsOf = (option: string) => Number(new RegExp(`${option}: "(\\d+) seconds"`).exec(source)?.[1])
    const needed = server.lifecycle.preStop.sleep.seconds + secondsOf("gracefulTimeout") +
      secondsOf("gracefulShutdownTimeout")
    assert.isAbove(spec.terminationGracePeriodSeconds, needed)
    assert.isAbove(needed, 20)
  })
})
