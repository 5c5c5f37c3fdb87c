/**
 * Two copies of a package in one process. Each test runs a program in a process of its own, with copies of the sources
 * in folders of their own. The copies share one Effect, as those of one installation do.
 */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { promisify } from "node:util"
import { build } from "rolldown"
import { root } from "../../../scripts/workspace.ts"

const names = ["protocol", "session"]

/** A client of one copy calls a server of another one. */
const program = (client: string, server: string): string => `
  import { ClientSession } from ${JSON.stringify(client)}
  import { ServerSession } from ${JSON.stringify(server)}
  import * as Effect from "effect/Effect"

  const info = { name: "example", version: "1.0.0" }
  const handlers = { "tools/call": () => Effect.succeed({ content: [{ type: "text", text: "called" }] }) }
  const called = Effect.gen(function*() {
    const session = yield* ClientSession.ClientSession
    return yield* session.callTool("greet")
  }).pipe(Effect.provide(ClientSession.layer({ info })), Effect.provide(ServerSession.layerMemory(handlers, { info })))
  console.log(await Effect.runPromise(called).then(({ content }) => content[0].text, String))
`

let folder = ""

/** Copies the packages. Returns the entry of the session. */
const copy = (name: string, versions: { readonly [folder: string]: string } = {}): string => {
  const links = path.join(folder, name, "node_modules", "@effect-mcp")
  fs.mkdirSync(links, { recursive: true })
  for (const one of names) {
    const at = path.join(folder, name, "packages", one)
    fs.cpSync(path.join(root, "packages", one, "src"), path.join(at, "src"), { recursive: true })
    fs.copyFileSync(path.join(root, "packages", one, "package.json"), path.join(at, "package.json"))
    fs.symlinkSync(at, path.join(links, one))
  }
  for (const [one, version] of Object.entries(versions)) {
    const module = one === "protocol" ? "packages/LoadedPackages.ts" : "thisPackage.ts"
    const file = path.join(folder, name, "packages", one, "src/internal", module)
    const text = fs.readFileSync(file, "utf8")
    fs.writeFileSync(file, text.replace("\"0.0.0\"", JSON.stringify(version)))
  }
  return path.join(folder, name, "packages", "session", "src", "index.ts")
}

const write = (name: string, text: string): string => {
  const file = path.join(folder, name)
  fs.writeFileSync(file, text)
  return file
}

/** Returns the last line of what a program prints. */
const run = async (name: string, text: string): Promise<string> =>
  (await promisify(execFile)(process.execPath, [write(name, text)])).stdout.trimEnd()

const bundle = async (name: string, text: string, external: Array<string | RegExp>): Promise<string> => {
  const file = path.join(folder, `${name}.bundle.mjs`)
  await build({ input: write(`${name}.ts`, text), platform: "browser", external, output: { file, minify: true } })
  return file
}

beforeAll(() => {
  folder = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), "copies-"))
  fs.mkdirSync(path.join(folder, "node_modules"))
  fs.symlinkSync(path.join(root, "node_modules", "effect"), path.join(folder, "node_modules", "effect"))
  return () => fs.rmSync(folder, { recursive: true })
})

const fix = "install the same version of each @effect-mcp package"
const once = `${fix}, and each only once (npm ls @effect-mcp/protocol shows which packages need it)`

describe("two copies of a package in one process", () => {
  it("fail with one line that names both, and where they lie", async () => {
    const [one, other] = [copy("one"), copy("other")]
    assert.strictEqual(
      await run("copies.ts", program(one, other)),
      `PackageConflictError: two copies of a package are loaded: @effect-mcp/protocol 0.0.0 (${folder}/one/packages/` +
        `protocol) and @effect-mcp/protocol 0.0.0 (${folder}/other/packages/protocol); ${once}`
    )
  })

  it("fail with their versions", async () => {
    const [old, young] = [copy("old"), copy("young", { protocol: "0.1.0", session: "0.1.0" })]
    assert.match(
      await run("versions.ts", program(old, young)),
      /@effect-mcp\/protocol 0\.0\.0 \(.*\) and @effect-mcp\/protocol 0\.1\.0 \(/
    )
  })

  it("fail in a bundle, whose file is the same for both", async () => {
    const [left, right] = [copy("left"), copy("right")]
    const file = await bundle("both", program(left, right), [])
    const line = await run("bundled.ts", `await import(${JSON.stringify(file)})`)
    const place = (name: string) => `@effect-mcp/protocol 0\\.0\\.0 \\(${name}:\\d+:\\d+\\)`
    assert.match(
      line,
      new RegExp(`^PackageConflictError: .*: ${place(`file://${file}`)} and ${place(`file://${file}`)}`)
    )
  })

  it("run beside each other if each is in a bundle with its own Effect", async () => {
    const [first, second] = [copy("first"), copy("second")]
    const files = [
      await bundle("alone", program(first, first), []),
      await bundle("beside", program(second, second), [])
    ]
    const text = files.map((file) => `await import(${JSON.stringify(file)})\n`).join("")
    assert.strictEqual(await run("beside.ts", text), "called\ncalled")
  })
})

describe("packages of different versions in one process", () => {
  it("fail with one line that names both", async () => {
    const mixed = copy("mixed", { session: "0.1.0" })
    assert.strictEqual(
      await run("mixed.ts", program(mixed, mixed)),
      `PackageConflictError: @effect-mcp/protocol 0.0.0 (${folder}/mixed/packages/protocol) does not run with ` +
        `@effect-mcp/session 0.1.0 (${folder}/mixed/packages/session); ${fix}`
    )
  })

  it("run if a package manager may choose them", async () => {
    const patched = copy("patched", { session: "0.0.1" })
    assert.strictEqual(await run("patched.ts", program(patched, patched)), "called")
  })
})

it("a package whose modules are evaluated again is one copy", async () => {
  const again = copy("again")
  assert.strictEqual(
    await run(
      "again.ts",
      `
        import "${folder}/again/packages/session/src/internal/thisPackage.ts?again"
        import "${folder}/again/packages/protocol/src/internal/packages/LoadedPackages.ts?again"
        ${program(again, again)}
      `
    ),
    "called"
  )
})

it("a bundle that is built again, and imported by another query, is one copy", async () => {
  const built = copy("built")
  const file = await bundle("built", program(built, built), [/^effect/])
  const rebuilt = `
    import * as fs from "node:fs"
    await import("${file}?1")
    fs.writeFileSync("${file}", \`//\\n\${fs.readFileSync("${file}", "utf8")}\`)
    await import("${file}?2")
  `
  assert.strictEqual(await run("rebuilt.ts", rebuilt), "called\ncalled")
})
