/** Supervised clients of official servers, whose processes are killed in the middle of calls and started again. */
import { type McpCall, type McpClient, ServerStatus } from "@effect-mcp/client"
import { Tool } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Child from "./fixtures/child.ts"
import * as KillableServer from "./fixtures/killableServer.ts"
import * as RecordedTools from "./fixtures/recordedTools.ts"
import { calling, connect, quietly, statusesOf, timeout, watching } from "./fixtures/supervised.ts"

type Recorded = KillableServer.RecordedServer

/** A server, and what it can do. */
interface Place {
  readonly name: string
  readonly start: Effect.Effect<Recorded, never, Scope.Scope>
  readonly revision: string
  /** Whether the session ends with its process. Over Streamable HTTP, it outlives the process. */
  readonly isConnected?: boolean
  /** Whether the client starts the process. */
  readonly isChild?: boolean
  /** The resource of a server that serves subscriptions. */
  readonly resource?: WatchedResource
  /** Whether the server sends log messages by their level. */
  readonly isLogging?: boolean
}

/** A resource with subscriptions, and how its server is made to notify of an update. */
interface WatchedResource {
  readonly uri: string
  readonly update: (client: McpClient.McpClientShape, server: Recorded) => Effect.Effect<unknown, unknown>
}

/** Waits until a feature server has the subscription to a resource. It notifies of an update without one, too. */
const untilSubscribed = (client: McpClient.McpClientShape, uri: string): Effect.Effect<void, McpCall.CallError> =>
  Effect.flatMap(
    client.callTool("observations"),
    (result) => {
      const { subscribed } = Tool.structuredMembers(result)
      return Array.isArray(subscribed) && subscribed.includes(uri)
        ? Effect.void
        : Effect.andThen(Effect.sleep("5 millis"), untilSubscribed(client, uri))
    }
  )

/** A resource of the feature servers. */
const bead: WatchedResource = {
  uri: "bead:///1",
  update: (client) =>
    Effect.andThen(
      untilSubscribed(client, "bead:///1"),
      client.callTool("notify", { method: "notifications/resources/updated", params: { uri: "bead:///1" } })
    )
}

/** The resource of the server for both eras. */
const note = (update: WatchedResource["update"]): WatchedResource => ({ uri: "test://note", update })

const featureServers = [["official v1", "featureServerV1.ts"], ["official v2", "featureServerV2.ts"]] as const

const legacy = { revision: "2025-11-25" } as const

const places: ReadonlyArray<Place> = [
  ...featureServers.flatMap(([name, file]): ReadonlyArray<Place> => [
    {
      ...legacy,
      name: `${name} over stdio`,
      start: KillableServer.recordedOverStdio(file),
      isChild: true,
      isConnected: true,
      resource: bead,
      isLogging: true
    },
    ...(["stateful", "resumable", "json", "stateless"] as const).map((mode): Place => ({
      ...legacy,
      name: `${name} over HTTP, ${mode}`,
      start: KillableServer.recordedOverHttp(mode, file, "--http"),
      ...(mode === "stateful" || mode === "resumable" ? { resource: bead, isLogging: true } : {})
    }))
  ]),
  {
    ...legacy,
    name: "official v1 over HTTP+SSE",
    start: KillableServer.recordedOverHttp("sse", "httpProgram.ts", "sse"),
    isConnected: true
  },
  {
    revision: "2026-07-28",
    name: "official v2 of both eras over stdio",
    start: KillableServer.recordedOverStdio("dualStdioServerV2.ts"),
    isChild: true,
    isConnected: true,
    resource: note((client) => client.callTool("change"))
  },
  {
    revision: "2026-07-28",
    name: "official v2 of both eras over HTTP",
    start: KillableServer.recordedOverHttp("mcp", "httpProgram.ts", "dual"),
    resource: note((_, { pid }) => Effect.sync(() => process.kill(pid(), "SIGUSR2")))
  }
]

const keys = (prefix: string) => ["1", "2"].map((number) => `${prefix}${number}`)

const inputs = (prefix: string) => keys(prefix).map((key) => ({ key }))

for (const place of places) {
  describe.concurrent(place.name, () => {
    it.live(
      "is killed in the middle of calls: each ends, none runs twice without repeat",
      () =>
        Effect.gen(function*() {
          const server = yield* place.start
          yield* quietly(Effect.gen(function*() {
            const client = yield* connect(server)
            assert.strictEqual((yield* client.session).profile.revision, place.revision)
            const first = server.pid()
            assert.include((yield* client.tools).map(({ name }) => name), RecordedTools.nameOf(first))
            const statuses = yield* statusesOf(client)
            const unsafe = yield* Effect.forEach(inputs("a"), (input) => calling(client, "run", input))
            const repeated = yield* Effect.forEach(
              inputs("b"),
              (input) => calling(client, "once", input, { repeat: true })
            )
            const ran = () => server.record().filter((line) => /^(run|once|quick) /.test(line)).toSorted()
            yield* Child.until(() => ran().length === 4)
            yield* server.kill
            // Until then, a call may be sent to the process that was killed.
            if (place.isConnected === true) yield* Child.until(() => statuses.some(({ _tag }) => _tag === "Down"))
            const later = yield* Effect.forEach(inputs("c"), (input) => calling(client, "quick", input))
            yield* server.start
            assert.deepStrictEqual(yield* Effect.forEach(unsafe, Fiber.join), keys("a").map(() => "OutcomeUnknown"))
            assert.deepStrictEqual(yield* Effect.forEach(repeated, Fiber.join), keys("b"))
            assert.deepStrictEqual(yield* Effect.forEach(later, Fiber.join), keys("c"))
            const ranFirst = [...keys("once b"), ...keys("run a")].toSorted()
            const ranLater = [...keys("once b"), ...keys("quick c")]
            assert.deepStrictEqual(ran(), [...ranFirst, ...ranLater].toSorted())
            assert.notStrictEqual(server.pid(), first)
            // Without sessions, only the lost calls show that the server is another process.
            const names = (yield* client.tools).map(({ name }) => name)
            assert.include(names, RecordedTools.nameOf(server.pid()))
            assert.notInclude(names, RecordedTools.nameOf(first))
            if (place.isConnected !== true) return
            assert.strictEqual(statuses[0]?._tag, "Ready")
            assert.strictEqual(statuses.at(-1)?._tag, "Ready")
            const down = statuses.find((status) => status._tag === "Down")
            assert.strictEqual(down?.problem._tag, "Ended")
            if (place.isChild !== true || down === undefined) return
            assert.include(ServerStatus.describe(down), "SIGKILL")
            assert.includeMembers([...down.stderr], ranFirst)
          }))
          if (place.isChild === true) {
            assert.deepStrictEqual(KillableServer.pidsIn(server.record()).filter(Child.isRunning), [])
          }
        }),
      timeout
    )

    const { isLogging, resource } = place
    if (resource === undefined) return

    it.live("is killed: the client subscribes and sets its log level again", () =>
      Effect.gen(function*() {
        const server = yield* place.start
        yield* quietly(Effect.gen(function*() {
          const logged = yield* Queue.unbounded<unknown>()
          const client = yield* connect(server, {
            handlers: { "notifications/message": ({ data }) => Queue.offer(logged, data) }
          })
          if (isLogging === true) yield* client.setLogLevel("error")
          const contents = yield* watching(client, resource.uri)
          const text = yield* Queue.take(contents)
          yield* resource.update(client, server)
          assert.strictEqual(yield* Queue.take(contents), text)

          const first = server.pid()
          yield* server.kill
          yield* server.start
          yield* Queue.take(contents)
          // The contents may be read more than once meanwhile: after the new session, and after the new stream.
          yield* client.callTool("quick", { key: "e" }, { repeat: true })
          yield* Queue.clear(contents)
          assert.notStrictEqual(server.pid(), first)
          yield* resource.update(client, server)
          assert.strictEqual(yield* Queue.take(contents), text)
          if (isLogging !== true) return
          yield* client.callTool("log")
          assert.deepStrictEqual(yield* Queue.take(logged), { beads: "error" })
        }))
      }), timeout)
  })
}
