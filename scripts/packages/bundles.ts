/**
 * Bundles for web pages and workers, made of the installed packages.
 *
 * A bundle contains no module of Node and none of a platform, whatever conditions the bundler sets, and no import.
 * Pages have a largest size. Then the programs run: pages call a tool of the worker, and of a server over a WebSocket.
 * Those with tokens need an issuer, so `pnpm runtimes` runs them.
 */
import { WebSocketServer } from "@effect-mcp/transport/node"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpEffect from "effect/http/HttpEffect"
import * as HttpServer from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import { deepStrictEqual } from "node:assert"
import * as fs from "node:fs"
import { createServer } from "node:http"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { brotliCompressSync, gzipSync } from "node:zlib"
import { build } from "rolldown"
import { run } from "./command.ts"
import type * as Page from "./programs/page.ts"
import * as Worker from "./programs/worker.ts"
import * as Tools from "./tools.ts"

/** The programs that are bundled. */
export const programs = path.join(import.meta.dirname, "programs")

/** The programs for pages, and the protocols of the URLs that they call. */
const pages = { page: "http", pageOverWebSocket: "ws", pageWithServers: "http" }

/** The most kilobytes of a page, compressed by gzip: what it has, and a little more, so that growth is noticed. */
const largest: Readonly<Record<string, number>> = {
  page: 130,
  pageOverWebSocket: 107,
  pageWithServers: 173,
  pageWithTokens: 173
}

/** Returns whether a module needs Node or another platform. */
export const isForeign = (id: string): boolean => id.startsWith("node:") || id.includes("/@effect/platform-")

/** Bundles a file by rolldown. Returns the modules of the bundle, and what it still imports. */
export const byRolldown = async (input: string, file: string, conditionNames: Array<string>) => {
  const { output } = await build({
    input,
    platform: "browser",
    resolve: { conditionNames },
    output: { file, format: "esm", minify: true, codeSplitting: false },
    logLevel: "silent"
  })
  const chunks = output.filter((chunk) => chunk.type === "chunk")
  // A module that was imported dynamically is in the file itself.
  const own = new Set(chunks.map(({ fileName }) => fileName))
  return {
    modules: chunks.flatMap(({ modules }) => Object.keys(modules)),
    imported: chunks.flatMap(({ dynamicImports, imports }) => [...imports, ...dynamicImports]).filter((id) =>
      !own.has(id)
    )
  }
}

/** Bundles a file by esbuild, which fails on a module of Node. Returns the modules of the bundle. */
const byEsbuild = async (input: string, file: string) => {
  const metafile = `${file}.json`
  const options = ["--bundle", "--platform=browser", "--format=esm", "--minify", "--log-level=error"]
  const args = [input, ...options, `--outfile=${file}`, `--metafile=${metafile}`]
  await run(await Tools.commandOf(Tools.esbuild, "esbuild"), args, { cwd: path.dirname(input) })
  const { inputs, outputs }: {
    readonly inputs: Readonly<Record<string, unknown>>
    readonly outputs: Readonly<Record<string, { readonly imports: ReadonlyArray<{ readonly path: string }> }>>
  } = JSON.parse(fs.readFileSync(metafile, "utf8"))
  return {
    modules: Object.keys(inputs),
    imported: Object.values(outputs).flatMap(({ imports }) => imports.map(({ path }) => path))
  }
}

const kilobytes = (bytes: number): string => `${Math.round(bytes / 1000)} kB`

/** Returns the size of a file, as it is and compressed. */
const sizeOf = (file: string): string => {
  const bytes = fs.readFileSync(file)
  return `${kilobytes(bytes.length)}, ${kilobytes(gzipSync(bytes).length)} gzip, ` +
    `${kilobytes(brotliCompressSync(bytes).length)} Brotli`
}

/** Runs a server, and calls a tool at its port. */
const atPort = <E>(
  server: Layer.Layer<HttpServer.HttpServer, E>,
  call: (port: number) => Promise<unknown>
): Promise<unknown> =>
  Effect.gen(function*() {
    const { address } = Context.get(yield* Layer.build(server), HttpServer.HttpServer)
    if (address._tag === "UnixPathAddress") return yield* Effect.die(new Error("the server has no port"))
    const { port } = address
    return yield* Effect.promise(() => call(port))
  }).pipe(Effect.scoped, Effect.runPromise)

/** The worker at a port of its own. */
const listening = (worker: typeof Worker) =>
  HttpServer.serve(HttpEffect.fromWebHandler(worker.default.fetch)).pipe(
    Layer.provideMerge(NodeHttpServer.layer(createServer, { host: "127.0.0.1", port: 0 }))
  )

/** The server of the worker over WebSockets, which workers do not serve. */
const overWebSocket = WebSocketServer.layerNode({ port: 0, path: "/mcp" }).pipe(Layer.provide(Worker.host))

/** Fails unless the bundled pages call the tool of the bundled worker, and of a server over a WebSocket. */
export const call = async (fileOf: (program: string) => string): Promise<void> => {
  // The compiler does not see bundles. These have the types of their programs.
  const worker: typeof Worker = await import(pathToFileURL(fileOf("worker")).href)
  for (const [name, protocol] of Object.entries(pages)) {
    const page: typeof Page = await import(pathToFileURL(fileOf(name)).href)
    const greet = (port: number) => page.greet(`${protocol}://127.0.0.1:${port}/mcp`, "Ada")
    const content = await atPort(protocol === "ws" ? overWebSocket : listening(worker), greet)
    deepStrictEqual(content, [{ type: "text", text: "Hello, Ada!" }])
  }
}

/** All programs. */
export const names: ReadonlyArray<string> = ["worker", "protectedWorker", ...Object.keys(pages), "pageWithTokens"]

/** Bundles the programs in a project with the packages, runs the bundles, and returns a line for each. */
export const check = async (project: string): Promise<ReadonlyArray<string>> => {
  fs.cpSync(programs, project, { recursive: true })
  const bundlers = {
    rolldown: (input: string, file: string) => byRolldown(input, file, ["module", "browser", "import", "default"]),
    "rolldown without the condition module": (input: string, file: string) =>
      byRolldown(input, file, ["browser", "import", "default"]),
    esbuild: byEsbuild
  }
  const lines: Array<string> = []
  for (const [bundler, bundle] of Object.entries(bundlers)) {
    const fileOf = (name: string) => path.join(project, "bundles", `${bundler.replaceAll(" ", "-")}-${name}.js`)
    for (const name of names) {
      const { imported, modules } = await bundle(path.join(project, `${name}.ts`), fileOf(name))
      deepStrictEqual([...imported, ...modules.filter(isForeign)], [], `${bundler}: ${name}`)
      lines.push(`${bundler}: ${name} ${sizeOf(fileOf(name))}`)
      // Other bundlers leave more in a bundle.
      const limit = bundler === "esbuild" ? Number.POSITIVE_INFINITY : largest[name] ?? Number.POSITIVE_INFINITY
      const bytes = gzipSync(fs.readFileSync(fileOf(name))).length
      if (bytes > limit * 1000) throw new Error(`${name} has ${bytes} bytes by gzip, more than ${limit} kB`)
    }
    await call(fileOf)
  }
  return lines
}
