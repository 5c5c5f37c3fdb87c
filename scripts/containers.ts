/**
 * Builds the image of `packages/examples/container` and runs it, as `docs/operate/containers.md` describes.
 *
 * `pnpm containers` needs `docker` or `podman`, Linux, and a network. It packs the packages, which are built, publishes
 * them into a registry on this machine, and builds the image from there. Then it checks:
 *
 * - the server is process 1, is not root, and runs with a read-only root and without capabilities;
 * - the probes answer, and a call that is in flight when the engine stops the container finishes; the exit code is 0;
 * - a server over stdio answers in a container that a client starts by `run -i --rm`, and the container is gone then;
 * - `kubernetes.yaml` fits the schemas of Kubernetes.
 *
 * `--engine podman` selects the engine, and `--node-image NAME` the image of Node to build on.
 */
import { ClientSession, type Transport } from "@effect-mcp/session"
import { StdioClient, StreamableHttpClient } from "@effect-mcp/transport/node"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { deepStrictEqual } from "node:assert"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { parseArgs } from "node:util"
import { orExit, UsageError } from "./commandLine.ts"
import { freePort } from "./freePort.ts"
import { joinedProgram } from "./joinedProgram.ts"
import * as Archives from "./packages/archives.ts"
import { run } from "./packages/command.ts"
import * as Registry from "./packages/registry.ts"
import * as Tools from "./packages/tools.ts"
import * as Templates from "./templates.ts"
import { root } from "./workspace.ts"

const source = path.join(root, "packages", "examples", "container")

/** Returns whether an engine is installed, and its service runs if it has one. */
const works = (engine: string): boolean => spawnSync(engine, ["info"], { stdio: "ignore" }).status === 0

const { engine, "node-image": nodeImage } = orExit(() => {
  const { values } = parseArgs({ options: { engine: { type: "string" }, "node-image": { type: "string" } } })
  const found = (values.engine === undefined ? ["docker", "podman"] : [values.engine]).find(works)
  if (found === undefined) throw new UsageError(`${values.engine ?? "neither docker nor podman"} does not run here`)
  return { ...values, engine: found }
})

/** Runs a command of the engine. */
const engineRuns = (...args: ReadonlyArray<string>): Promise<string> => run(engine, args, { cwd: root })

const name = `effect-mcp-containers-${process.pid}`
const token = "token-of-ada"

/** Writes the project of the image to a folder, with a lock file. */
const writeProject = async (folder: string, registry: Registry.Registry): Promise<void> => {
  fs.cpSync(source, folder, { recursive: true })
  const file = path.join(folder, "package.json")
  fs.writeFileSync(file, Templates.withRanges(fs.readFileSync(file, "utf8")))
  // The image takes the packages from the registry of this machine as well.
  fs.writeFileSync(path.join(folder, ".npmrc"), `@${Registry.scope}:registry=${registry.url}\n`)
  fs.appendFileSync(path.join(folder, ".dockerignore"), "!.npmrc\n")
  const dockerfile = path.join(folder, "Dockerfile")
  const copied = fs.readFileSync(dockerfile, "utf8").replace("package-lock.json ./", "package-lock.json .npmrc ./")
  fs.writeFileSync(dockerfile, copied)
  await run("npm", ["install", "--package-lock-only", "--no-audit", "--no-fund"], { cwd: folder })
}

/** Builds the image from published packages. Returns its bytes. */
const buildImage = async (temporary: string): Promise<number> => {
  const folder = (name: string): string => {
    const created = path.join(temporary, name)
    fs.mkdirSync(created)
    return created
  }
  const archives = folder("archives")
  const registry = await Registry.start(folder("registry"))
  try {
    for (const one of Archives.ordered) await registry.publish((await Archives.pack(one, archives)).file)
    const project = folder("project")
    await writeProject(project, registry)
    const options = nodeImage === undefined ? [] : ["--build-arg", `NODE_IMAGE=${nodeImage}`]
    // The registry is on the loopback address of this machine.
    await engineRuns("build", "--network", "host", ...options, "--tag", name, project)
  } finally {
    await registry.stop()
  }
  return Number(await engineRuns("image", "inspect", "--format", "{{.Size}}", name))
}

const ready = (url: string): Promise<boolean> => fetch(`${url}/readyz`).then(({ ok }) => ok, () => false)

const hardened = ["--network", "host", "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]

/** Runs a program with the session of a client. */
const withClient = <A, E>(
  transport: Layer.Layer<Transport.Transport>,
  use: (session: ClientSession.ClientSessionShape) => Effect.Effect<A, E>
): Promise<A> => {
  const session = ClientSession.layer({ info: { name: "containers", version: "1.0.0" } })
  return Effect.runPromise(
    Effect.provide(Effect.flatMap(ClientSession.ClientSession, use), Layer.provide(session, transport))
  )
}

/** Stops a container whose server has a call in flight. */
const checkServer = async (): Promise<string> => {
  const port = await Effect.runPromise(freePort)
  const url = `http://127.0.0.1:${port}`
  await engineRuns(
    "run",
    "--detach",
    ...hardened,
    "--env",
    `PORT=${port}`,
    "--env",
    `TOKEN=${token}`,
    "--name",
    name,
    name
  )
  try {
    while (!await ready(url)) await Effect.runPromise(Effect.sleep("100 millis"))
    const inside = `const fs = require("node:fs")
      const command = fs.readFileSync("/proc/1/cmdline", "utf8").split("\\0")[0]
      let isReadOnly = false
      try { fs.writeFileSync("/app/file", "") } catch { isReadOnly = true }
      console.log(JSON.stringify([command, process.getuid(), isReadOnly]))`
    deepStrictEqual(JSON.parse(await engineRuns("exec", name, "node", "-e", inside)), ["node", 1000, true])
    const headers = { authorization: Redacted.make(`Bearer ${token}`) }
    const { content } = await withClient(
      StreamableHttpClient.layerNode({ url: `${url}/mcp`, headers }),
      Effect.fnUntraced(function*({ callTool }) {
        const inFlight = yield* Deferred.make<void>()
        const onProgress = () => Effect.asVoid(Deferred.succeed(inFlight, undefined))
        const call = yield* Effect.forkChild(callTool("report", { pages: 30 }, { onProgress }))
        yield* Deferred.await(inFlight)
        const stopped = yield* Effect.forkChild(Effect.promise(() => engineRuns("stop", "--time", "30", name)))
        const result = yield* Fiber.join(call)
        yield* Fiber.join(stopped)
        return result
      })
    )
    deepStrictEqual(content, [{ type: "text", text: "30 pages" }])
    deepStrictEqual((await engineRuns("inspect", "--format", "{{.State.ExitCode}}", name)).trim(), "0")
  } finally {
    await engineRuns("rm", "--force", name)
  }
  return "process 1 is node, not root; a call finishes after the stop; exit code 0"
}

/** Starts a server over stdio in a container, as a host does. */
const checkStdio = async (): Promise<string> => {
  const server = await joinedProgram(path.join(root, "packages/examples/src/calculator.ts"))
  const volume = `${path.dirname(server)}:/server:ro`
  const args = [
    "run",
    "-i",
    "--rm",
    "--network",
    "none",
    "--name",
    name,
    "--volume",
    volume,
    name,
    "node",
    `/server/${path.basename(server)}`
  ]
  const { content } = await withClient(
    StdioClient.layerNode({ command: engine, args, env: process.env, stderr: () => {} }),
    ({ callTool }) => callTool("add", { a: 15, b: 27 })
  )
  deepStrictEqual(content, [{ type: "text", text: "42" }])
  deepStrictEqual(await engineRuns("ps", "--all", "--quiet", "--filter", `name=^${name}$`), "")
  return "a call is answered, and the container is gone afterwards"
}

/** The schemas of Kubernetes, as functions that check a value. */
const kubernetes: Tools.Tool = { name: "kubernetes-models", version: "5.1.0" }
const yaml: Tools.Tool = { name: "yaml", version: "2.9.1" }

const checkKubernetes = async (): Promise<string> => {
  const models = pathToFileURL(await Tools.install(kubernetes)).href
  const parser = pathToFileURL(await Tools.install(yaml)).href
  const program = `
    import { readFileSync } from "node:fs"
    import { Deployment } from "${models}/apps/v1/index.js"
    import { Service } from "${models}/v1/index.js"
    import { parseAllDocuments } from "${parser}/dist/index.js"
    const [deployment, service] = parseAllDocuments(readFileSync("kubernetes.yaml", "utf8")).map((one) => one.toJS())
    new Deployment(deployment).validate()
    new Service(service).validate()
  `
  await run(process.execPath, ["--input-type", "module", "--eval", program], { cwd: source })
  return "a Deployment and a Service"
}

const temporary = fs.mkdtempSync(path.join(os.tmpdir(), "containers-"))
try {
  console.log(`kubernetes.yaml: ${await checkKubernetes()}`)
  console.log(`image: ${((await buildImage(temporary)) / 1_000_000).toFixed(0)} MB by ${engine}`)
  console.log(`server: ${await checkServer()}`)
  console.log(`stdio: ${await checkStdio()}`)
} finally {
  fs.rmSync(temporary, { recursive: true, force: true })
  spawnSync(engine, ["image", "rm", "--force", name], { stdio: "ignore" })
}
