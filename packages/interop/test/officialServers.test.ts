/** The client in each of its modes, with official servers of one era and of both. */
import { Revision } from "@effect-mcp/protocol"
import { ClientSession, type SessionEvent } from "@effect-mcp/session"
import { HttpFallbackClient, StdioClient, StreamableHttpClient } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { joinedProgram } from "../../../scripts/joinedProgram.ts"
import * as Child from "./fixtures/child.ts"
import * as DualServer from "./fixtures/dualHttpServerV2.ts"
import * as HttpListener from "./fixtures/httpListener.ts"
import { addressOf } from "./fixtures/httpServers.ts"

type Revisions = readonly [Revision.Revision, ...ReadonlyArray<Revision.Revision>]

const modern: Revisions = ["2026-07-28"]
const legacy: Revisions = Revision.legacy
const dual: Revisions = Revision.supported

/** The resource of the server for both eras. */
const note = "test://note"

const info = { name: "effect-mcp", version: "0.1.0" }

/** Connects a client, and collects what has changed at the server. */
const connect = Effect.fnUntraced(function*(
  transport: ReturnType<typeof StdioClient.layerNode> | ReturnType<typeof StreamableHttpClient.layerNode>,
  revisions?: Revisions
) {
  const events: Array<SessionEvent.SessionEvent> = []
  const changes: Array<string> = []
  const session = ClientSession.layer({
    info,
    handlers: {
      "notifications/tools/list_changed": () => Effect.sync(() => void changes.push("tools")),
      "notifications/resources/updated": ({ uri }) => Effect.sync(() => void changes.push(uri))
    },
    observe: (event) => void events.push(event),
    ...(revisions === undefined ? undefined : { revisions })
  })
  const context = yield* Layer.build(Layer.provide(Layer.fresh(session), transport))
  return { session: Context.get(context, ClientSession.ClientSession), events, changes }
})

const overStdio = (...args: ReadonlyArray<string>) =>
  StdioClient.layerNode({ command: process.execPath, args, env: Child.environment })

const programs = {
  featureV1: await joinedProgram(Child.file("featureServerV1.ts")),
  featureV2: await joinedProgram(Child.file("featureServerV2.ts")),
  dualV2: await joinedProgram(Child.file("dualStdioServerV2.ts")),
  v1: await joinedProgram(Child.file("serverV1.ts")),
  v2: await joinedProgram(Child.file("serverV2.ts"))
}

/** Starts a program that prints its address. */
const listening = (program: string, path: string) =>
  Effect.map(
    Effect.flatMap(Child.program(process.execPath, [program, "--http"]), addressOf),
    (address) => `${address}/${path}`
  )

const everythingUrl = Effect.map(
  Layer.build(HttpListener.everything.layer),
  () => `${HttpListener.everything.address()}/mcp`
)

interface Server {
  readonly name: string
  /** The name of the server in its profile. */
  readonly known: string
  readonly revisions: Revisions
  readonly stdio?: ReadonlyArray<string>
  readonly url?: Effect.Effect<string, never, Scope.Scope>
}

const servers: ReadonlyArray<Server> = [
  {
    name: "official v2 of both eras",
    known: "official-v2",
    revisions: dual,
    stdio: [programs.dualV2],
    url: Effect.map(DualServer.serve("stateless"), ({ url }) => url)
  },
  {
    name: "official v2 of 2026-07-28",
    known: "official-v2",
    revisions: modern,
    stdio: [programs.dualV2, "reject"],
    url: Effect.map(DualServer.serve("reject"), ({ url }) => url)
  },
  {
    name: "official v2 of older revisions",
    known: "official-v2",
    revisions: legacy,
    stdio: [programs.v2],
    url: listening(programs.featureV2, "stateful")
  },
  {
    name: "official v2 of older revisions, without sessions",
    known: "official-v2",
    revisions: legacy,
    url: listening(programs.featureV2, "stateless")
  },
  {
    name: "official v1",
    known: "official-v1",
    revisions: legacy,
    stdio: [programs.v1],
    url: listening(programs.featureV1, "stateful")
  },
  {
    name: "official v1 without sessions",
    known: "official-v1",
    revisions: legacy,
    url: listening(programs.featureV1, "stateless")
  },
  {
    name: "server-everything",
    known: "mcp-servers/everything",
    revisions: legacy,
    stdio: [Child.everything, "stdio"],
    url: everythingUrl
  }
]

const modes: ReadonlyArray<readonly [name: string, revisions: Revisions | undefined]> = [
  ["auto", undefined],
  ["2026-07-28", modern],
  ["older revisions", legacy]
]

/** The transports to a server. */
const transportsOf = ({ stdio, url }: Server) => [
  ...(stdio === undefined ? [] : [["stdio", Effect.succeed(overStdio(...stdio))] as const]),
  ...(url === undefined ? [] : [
    ["Streamable HTTP", Effect.map(url, (url) => StreamableHttpClient.layerNode({ url }))] as const,
    ["HTTP with a fallback", Effect.map(url, (url) => HttpFallbackClient.layerNode({ url }))] as const
  ])
]

for (const server of servers) {
  describe(server.name, () => {
    for (const [transportName, transport] of transportsOf(server)) {
      // The detection of HTTP+SSE matters after a probe only.
      const used = transportName === "HTTP with a fallback" ? modes.slice(0, 1) : modes
      for (const [modeName, revisions] of used) {
        const common = (revisions ?? dual).findLast((revision) => server.revisions.includes(revision))
        if (common !== undefined) {
          it.live(`over ${transportName} (${modeName}) speaks ${common} with our client`, () =>
            Effect.gen(function*() {
              const { events, session } = yield* connect(yield* transport, revisions)
              assert.strictEqual(session.profile.revision, common)
              assert.strictEqual(session.profile.info.name, server.known)
              assert.isNotEmpty((yield* session.listTools()).tools)
              const falls = revisions === undefined && Revision.isLegacy(common)
              assert.lengthOf(events.filter(({ _tag }) => _tag === "FellBack"), falls ? 1 : 0)
            }))
        } else {
          it.live(`over ${transportName} (${modeName}) has no revision in common with our client, which says so`, () =>
            Effect.gen(function*() {
              const { message, reason } = yield* Effect.flip(connect(yield* transport, revisions))
              assert.include(["LegacyServer", "ModernServer", "NoCommonRevision"], reason._tag)
              assert.match(message, /add (an older revision|2026-07-28|2025-11-25) to the option `revisions`$/)
            }))
        }
      }
    }
  })
}

describe("changes at official v2", () => {
  for (const [modeName, revisions] of modes) {
    const isLegacy = revisions === legacy
    const which = isLegacy ? "all changes" : "those that it listens to"
    it.live(`over stdio (${modeName}) reach our client, ${which}`, () =>
      Effect.gen(function*() {
        const { changes, session } = yield* connect(overStdio(programs.dualV2), revisions)
        yield* session.callTool("change")
        yield* session.callTool("change")
        yield* Child.until(() => changes.filter((change) => change === "tools").length === 2)
        assert.deepStrictEqual(
          changes.slice(0, isLegacy ? 3 : 2),
          isLegacy ? ["tools", note, "tools"] : ["tools", "tools"]
        )
      }))
  }

  it.live("over HTTP reach our client, which listens again when it subscribes to a resource", () =>
    Effect.gen(function*() {
      const { methods, notify, url } = yield* DualServer.serve("reject")
      const { changes, session } = yield* connect(StreamableHttpClient.layerNode({ url }))
      yield* Child.until(() => methods.includes("subscriptions/listen"))
      // Waits for the acknowledgement.
      yield* session.subscribeResource(note)
      notify.toolsChanged()
      yield* Child.until(() => changes.length === 1)
      notify.resourceUpdated("test://other")
      notify.resourceUpdated(note)
      yield* Child.until(() => changes.length === 2)
      notify.toolsChanged()
      yield* Child.until(() => changes.length === 3)
      assert.deepStrictEqual(changes, ["tools", note, "tools"])
      assert.deepStrictEqual(methods, ["server/discover", "subscriptions/listen", "subscriptions/listen"])
    }))
})
