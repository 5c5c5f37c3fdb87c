import { spawn } from "node:child_process"
import { initialize } from "./load.ts"
import { alternate, type Contender, millisOf, type Samples } from "./measure.ts"
import * as servers from "./servers.ts"

/** Measures the time from the start of a process to its first line. Its exit is checked, but not measured. */
const firstLine = (file: string): Promise<{ readonly line: string; readonly millis: number }> =>
  new Promise((resolve, reject) => {
    const start = performance.now()
    // The timeout stops a server that hangs.
    const child = spawn(process.execPath, [file], { stdio: ["pipe", "pipe", "inherit"], timeout: 10_000 })
    let output = ""
    let answered: { readonly line: string; readonly millis: number } | undefined
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      output += chunk
      const end = output.indexOf("\n")
      if (end < 0 || answered !== undefined) return
      answered = { line: output.slice(0, end), millis: performance.now() - start }
      child.stdin.end()
    })
    child.stdin.on("error", reject)
    child.on("error", reject).on("close", (code) => {
      if (code === 0 && answered !== undefined) resolve(answered)
      else reject(new Error(`${file} exited with ${code}, having written ${JSON.stringify(output)}`))
    })
    child.stdin.write(`${JSON.stringify(initialize)}\n`)
  })

const answer = async (file: string): Promise<number> => {
  const { line, millis } = await firstLine(file)
  const { id, result } = JSON.parse(line)
  if (id !== 0 || result.serverInfo.name !== "benchmark") throw new Error(`${file} answered ${line}`)
  return millis
}

const exit = (args: ReadonlyArray<string>): Promise<void> =>
  new Promise((resolve, reject) => {
    spawn(process.execPath, args, { stdio: "ignore" }).on("error", reject).on("exit", () => resolve())
  })

/** The floors: the start and exit of Node without a program, and with nothing but imports. */
const floor = "node -e 0, to its exit"
const effectFloor = "import of effect/Effect and effect/Schema, to the exit"
const stdioFloor = "the same, and NodeStdio and NodeRuntime"

/** The ratios to report. */
export const comparisons: ReadonlyArray<readonly [name: string, base: string]> = [
  [stdioFloor, effectFloor],
  ["Effect MCP, built", effectFloor],
  ["Effect MCP, built", stdioFloor],
  ["Effect MCP, built", "official v1"],
  ["Effect MCP, built", "official v2"],
  ["Effect MCP with groups, built", "Effect MCP with Schema, built"],
  ["Effect MCP with groups, built", "official v1 with schemas"],
  ["Effect MCP with groups, built", "official v2 with schemas"],
  ["Effect MCP with groups, built", "FastMCP"],
  ["Effect MCP, bundled", "official v1, bundled"],
  ["Effect MCP, bundled", "official v2, bundled"],
  ["Effect MCP, from TypeScript", "official v2, from TypeScript"]
]

/** Measures the start of stdio servers, in milliseconds. */
export const measure = async (rounds: number): Promise<{ readonly [name: string]: Samples }> => {
  servers.build()
  const server = (name: string, file: string): Contender => ({ name, once: () => answer(file) })
  const imports = (name: string, file: string): Contender => ({ name, once: () => millisOf(() => exit([file])) })
  const contenders: ReadonlyArray<Contender> = [
    { name: floor, once: () => millisOf(() => exit(["-e", "0"])) },
    imports(effectFloor, servers.fromBuild("effect")),
    imports(stdioFloor, servers.fromBuild("effectStdio")),
    server("Effect MCP, built", servers.fromBuild("ours")),
    server("official v1", servers.fromBuild("officialV1")),
    server("official v2", servers.fromBuild("officialV2")),
    server("Effect MCP with groups, built", servers.fromBuild("applications/ours")),
    server("Effect MCP with Schema, built", servers.fromBuild("applications/schema")),
    server("official v1 with schemas", servers.fromBuild("applications/officialV1")),
    server("official v2 with schemas", servers.fromBuild("applications/officialV2")),
    server("FastMCP", servers.fromBuild("applications/fastMcp")),
    server("Effect MCP, bundled", await servers.fromBundle("ours")),
    server("official v1, bundled", await servers.fromBundle("officialV1")),
    server("official v2, bundled", await servers.fromBundle("officialV2")),
    server("Effect MCP, from TypeScript", servers.fromSource("ours")),
    server("official v2, from TypeScript", servers.fromSource("officialV2"))
  ]
  // The first start of each server reads its files from the disk, so it is not counted.
  await alternate(contenders, 1)
  return Object.fromEntries(await alternate(contenders, rounds))
}
