/** The compatibility matrix of the versioning page: clients and servers of one era or of both. */
import { Revision } from "@effect-mcp/protocol"
import { RequestContext } from "@effect-mcp/session"
import { Transport } from "@effect-mcp/session/Transport"
import { HttpSseClient, StdioClient } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { joinedProgram } from "../../../scripts/joinedProgram.ts"
import { exchange, initialize } from "./support/httpClient.ts"
import { fallbackTo, sessionOver, streamableTo } from "./support/modernClient.ts"
import { fixture } from "./support/process.ts"
import { serve, text, tools } from "./support/server.ts"

type Revisions = readonly [Revision.Revision, ...ReadonlyArray<Revision.Revision>]

const modern: Revisions = ["2026-07-28"]
const legacy: Revisions = Revision.legacy

/** Both eras, which is the default of both sides. */
const dual = undefined

const handlers = tools({
  revision: Effect.map(RequestContext.RequestContext, ({ profile }) => text(profile.revision))
})

const serveHttp = (revisions: Revisions | undefined) =>
  Effect.map(
    serve(handlers, revisions === undefined ? {} : { session: { revisions } }),
    ({ port }) => ({ port, url: `http://127.0.0.1:${port}/mcp` })
  )

const transportIn = <E>(layer: Layer.Layer<Transport, E>) =>
  Effect.map(Layer.build(layer), (context) => Context.get(context, Transport))

const program = await joinedProgram(fixture("serverOfRevisions.ts"))

/** Starts a server of these revisions, and makes the transport of its clients. */
const transports = {
  stdio: (revisions: Revisions | undefined) =>
    transportIn(StdioClient.layerNode({
      command: process.execPath,
      args: [program, ...(revisions ?? [])],
      env: { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] }
    })),
  "Streamable HTTP": (revisions: Revisions | undefined) => Effect.flatMap(serveHttp(revisions), streamableTo),
  "HTTP with a fallback": (revisions: Revisions | undefined) => Effect.flatMap(serveHttp(revisions), fallbackTo)
}

/** A row: what the call of a tool returns, or the end of the message with which the client fails. */
interface Row {
  readonly name: string
  readonly client: Revisions | undefined
  readonly server: Revisions | undefined
  readonly outcome: Revision.Revision | { readonly remedy: string }
}

const rows: ReadonlyArray<Row> = [
  {
    name: "a client of 2026-07-28 and a server of it work together",
    client: modern,
    server: modern,
    outcome: "2026-07-28"
  },
  {
    name: "a client of 2026-07-28 fails at a server of older revisions, and says what to change",
    client: modern,
    server: legacy,
    outcome: { remedy: "; add an older revision to the option `revisions`" }
  },
  {
    name: "a client of both eras speaks 2026-07-28 with a server of it",
    client: dual,
    server: modern,
    outcome: "2026-07-28"
  },
  {
    name: "a client of both eras falls back to the handshake at a server of older revisions",
    client: dual,
    server: legacy,
    outcome: "2025-11-25"
  },
  {
    name: "[VER-20] a client of older revisions fails at a server of 2026-07-28, and says what to change",
    client: legacy,
    server: modern,
    outcome: {
      remedy: `the server supports 2026-07-28; this client supports ${legacy.join(", ")}; ` +
        "add 2026-07-28 to the option `revisions`"
    }
  },
  {
    name: "a client of older revisions works with a server of both eras",
    client: legacy,
    server: dual,
    outcome: "2025-11-25"
  },
  {
    name: "a client and a server of older revisions work together",
    client: legacy,
    server: legacy,
    outcome: "2025-11-25"
  }
]

describe.concurrent("the matrix of the eras", () => {
  for (const { client, name, outcome, server } of rows) {
    for (const [transportName, start] of Object.entries(transports)) {
      it.live(`${name} (${transportName})`, () =>
        Effect.gen(function*() {
          const transport = yield* start(server)
          const connecting = sessionOver(transport, client === undefined ? {} : { revisions: client })
          if (typeof outcome === "object") {
            const { message } = yield* Effect.flip(connecting)
            assert.isTrue(message.endsWith(outcome.remedy), message)
          } else {
            const { session } = yield* connecting
            assert.deepStrictEqual((yield* session.callTool("revision")).content, text(outcome).content)
          }
        }))
    }
  }

  it.live("[VER-20] a server of 2026-07-28 rejects initialize over HTTP with 400 and its revisions", () =>
    Effect.gen(function*() {
      const server = yield* serveHttp(modern)
      const { messages: [message], status } = yield* exchange(server, { body: initialize("2025-11-25") })
      assert.strictEqual(status, 400)
      assert.deepInclude(message?.error, {
        code: -32022,
        data: { supported: ["2026-07-28"], requested: "2025-11-25" }
      })
    }))

  it.live("a client of HTTP+SSE fails at its GET to a server of 2026-07-28, and says what to change", () =>
    Effect.gen(function*() {
      const { url } = yield* serveHttp(modern)
      const transport = yield* transportIn(HttpSseClient.layerNode({ url }))
      const { message } = yield* Effect.flip(sessionOver(transport, { revisions: legacy }))
      assert.include(message, "status 405: GET is not served here")
      assert.include(message, "connect with a client of Streamable HTTP")
    }))
})
