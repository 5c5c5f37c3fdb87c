/** Projects with the server of the README. */
import { ClientSession } from "@effect-mcp/session"
import { StdioClient } from "@effect-mcp/transport/node"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { deepStrictEqual } from "node:assert"
import * as fs from "node:fs"
import * as path from "node:path"
import { type Manifest, read } from "../workspace.ts"
import type * as PackageManagers from "./packageManagers.ts"

const { devDependencies }: Manifest = JSON.parse(read("package.json"))

/** Returns the versions of packages with which the tests run. */
export const versionsOf = (...names: ReadonlyArray<string>): Readonly<Record<string, string>> =>
  Object.fromEntries(names.map((name) => [name, devDependencies?.[name] ?? "latest"]))

/** The peers of a server on Node. */
export const peers = versionsOf("effect", "@effect/platform-node")

/** Writes the manifest of a project. */
export const writeProject = (folder: string, dependencies: Readonly<Record<string, string>>): void =>
  fs.writeFileSync(
    path.join(folder, "package.json"),
    JSON.stringify({ name: "project", version: "1.0.0", private: true, type: "module", dependencies })
  )

/** Returns the server of the README. */
export const greeter = (): string => {
  const [, text] = /^```ts\n(\/\/ packages\/examples\/src\/greeter\.ts\n.*?)^```$/ms.exec(read("README.md")) ?? []
  if (text === undefined) throw new Error("README.md has no greeter.ts")
  return text
}

/** Starts a server over stdio, calls its tool, and closes it. Throws if the result differs. */
export const greet = ({ args, command, env }: PackageManagers.Program, cwd: string): Promise<void> => {
  const client = ClientSession.layer({ info: { name: "packages", version: "1.0.0" } })
  const server = StdioClient.layerNode({ command, args, cwd, env, stderr: "inherit" })
  return Effect.gen(function*() {
    const session = yield* ClientSession.ClientSession
    const { content } = yield* session.callTool("greet", { name: "Ada" })
    deepStrictEqual(content, [{ type: "text", text: "Hello, Ada!" }])
  }).pipe(Effect.provide(Layer.provide(client, server)), Effect.runPromise)
}
