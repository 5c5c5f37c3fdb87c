/** A group of servers from the npm registry: files, memory and thoughts. */
import { McpClients, McpTarget } from "@effect-mcp/client"
import { Content, Tool } from "@effect-mcp/protocol"
import { Transport } from "@effect-mcp/session"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import * as Child from "./fixtures/child.ts"
import * as KillableServer from "./fixtures/killableServer.ts"
import { options, quietly, timeout } from "./fixtures/supervised.ts"
import { textOf } from "./host/results.ts"

/** Returns the program of a package. */
const installed = (name: string): string =>
  fileURLToPath(import.meta.resolve(`@modelcontextprotocol/${name}/dist/index.js`))

/** The names of the tools of each server that these tests call, and of some others. */
const someTools = {
  files: ["read_text_file", "write_file", "list_directory"],
  memory: ["create_entities", "read_graph", "search_nodes"],
  thoughts: ["sequentialthinking"]
}

/** Returns a transport that waits before it starts its server. */
const startedAfter = (wait: Effect.Effect<void>, transport: Layer.Layer<Transport.Transport>) =>
  Layer.effect(
    Transport.Transport,
    Effect.map(Transport.Transport, ({ connect }) => ({ connect: Effect.andThen(wait, connect) }))
  ).pipe(Layer.provide(transport))

const ada = { name: "Ada", entityType: "person", observations: ["wrote the first program"] }

const thought = (thoughtNumber: number) => ({
  thought: "Servers end.",
  nextThoughtNeeded: true,
  thoughtNumber,
  totalThoughts: 3
})

it.live(
  "servers from the npm registry in a group: one is killed, the others go on, and it is back",
  () =>
    Effect.gen(function*() {
      const folder = yield* KillableServer.temporaryFolder
      const files = path.join(folder, "files")
      fs.mkdirSync(files)
      fs.writeFileSync(path.join(files, "poem.txt"), "Roses are red.")
      const servers = {
        files: KillableServer.overStdio([installed("server-filesystem"), files]),
        memory: KillableServer.overStdio([installed("server-memory")], {
          MEMORY_FILE_PATH: path.join(folder, "memory.jsonl")
        }),
        thoughts: KillableServer.overStdio([installed("server-sequential-thinking")])
      }
      const pids: Array<number> = []
      yield* quietly(Effect.gen(function*() {
        // While it is closed, the memory cannot be started again.
        const startable = yield* Latch.make(true)
        const targets = {
          files: servers.files.target,
          memory: McpTarget.transport(startedAfter(startable.await, servers.memory.target.transport)),
          thoughts: servers.thoughts.target
        }
        const clients = yield* McpClients.make(targets, { ...options, listWaitTimeout: "15 seconds" })
        const tools = yield* clients.tools
        for (const [server, names] of Object.entries(someTools)) {
          const ofServer = tools.filter((tool) => tool.server === server)
          assert.includeMembers(ofServer.map(({ name }) => name), names.map((name) => `${server}__${name}`))
          assert.isTrue(ofServer.every(({ definition, name }) => name === `${server}__${definition.name}`))
        }
        assert.deepStrictEqual([...new Set(tools.map(({ server }) => server))], ["files", "memory", "thoughts"])
        assert.deepStrictEqual(
          (yield* clients.resources).map(({ server, uri }) => [server, uri]),
          [["memory", "memory://knowledge-graph"]]
        )

        const read = clients.callTool("files__read_text_file", { path: path.join(files, "poem.txt") })
        const think = (number: number) =>
          Effect.map(
            clients.callTool("thoughts__sequentialthinking", thought(number)),
            (result) => Tool.structuredMembers(result)["thoughtHistoryLength"]
          )
        const graph = Effect.map(clients.callTool("memory__read_graph"), (result) => JSON.parse(textOf(result)))
        assert.deepStrictEqual((yield* read).content, [Content.text("Roses are red.")])
        assert.strictEqual(yield* think(1), 1)
        yield* clients.callTool("memory__create_entities", { entities: [ada] })
        assert.deepStrictEqual(yield* graph, { entities: [ada], relations: [] })

        pids.push(...Object.values(servers).map(({ pid }) => pid()))
        yield* startable.close
        yield* servers.memory.kill
        const statusOfMemory = Effect.map(clients.client("memory").status, ({ _tag }) => _tag)
        while ((yield* statusOfMemory) !== "Connecting") yield* Effect.sleep("5 millis")
        yield* clients.callTool("files__write_file", { path: path.join(files, "note.txt"), content: "It is down." })
        assert.strictEqual(fs.readFileSync(path.join(files, "note.txt"), "utf8"), "It is down.")
        assert.strictEqual(yield* think(2), 2)
        const ofOthers = (some: typeof tools) => some.filter(({ server }) => server !== "memory")
        assert.deepStrictEqual(ofOthers(yield* clients.tools), ofOthers(tools))

        assert.strictEqual(yield* statusOfMemory, "Connecting")

        yield* startable.open
        assert.deepStrictEqual(yield* graph, { entities: [ada], relations: [] })
        assert.deepStrictEqual(yield* clients.tools, tools)
        assert.strictEqual(yield* think(3), 3)
        pids.push(servers.memory.pid())
        assert.strictEqual(new Set(pids).size, 4)
        for (const { status } of Object.values(yield* clients.status)) assert.strictEqual(status._tag, "Ready")
      }))
      assert.deepStrictEqual(pids.filter(Child.isRunning), [])
    }),
  timeout
)
