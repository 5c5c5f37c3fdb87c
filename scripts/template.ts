/** A project that a user starts from the template of a stdio server. */
import { ClientSession } from "@effect-mcp/session"
import { StdioClient } from "@effect-mcp/transport/node"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { deepStrictEqual } from "node:assert"
import * as fs from "node:fs"
import * as path from "node:path"
import { type Manifest, root } from "./workspace.ts"

const template = path.join(root, "packages", "examples", "templates", "stdio-server")

/**
 * Copies the template to a folder. Nothing that was installed or built in the template is copied. The packages of this
 * project get the given ranges.
 */
export const copyTo = (folder: string, ranges: Readonly<Record<string, string>>): void => {
  fs.cpSync(template, folder, {
    recursive: true,
    filter: (file) => !["node_modules", "dist"].includes(path.basename(file))
  })
  const file = path.join(folder, "package.json")
  const manifest: Manifest = JSON.parse(fs.readFileSync(file, "utf8"))
  const devDependencies = Object.fromEntries(
    Object.entries(manifest.devDependencies ?? {}).map(([name, range]) => [name, ranges[name] ?? range])
  )
  fs.writeFileSync(file, JSON.stringify({ ...manifest, devDependencies }))
}

/** Starts a bundled server, lists its tools and calls one, and closes it. Throws if a result differs. */
export const tryBundled = (file: string): Promise<void> => {
  const client = ClientSession.layer({ info: { name: "packages", version: "1.0.0" } })
  const server = StdioClient.layerNode({ command: process.execPath, args: [file], stderr: "inherit" })
  return Effect.gen(function*() {
    const session = yield* ClientSession.ClientSession
    const { tools } = yield* session.listTools()
    deepStrictEqual(tools.map(({ name }) => name), ["count_letters", "greet"])
    const { content } = yield* session.callTool("greet", { name: "Ada" })
    deepStrictEqual(content, [{ type: "text", text: "Hello, Ada!" }])
  }).pipe(Effect.provide(Layer.provide(client, server)), Effect.runPromise)
}
