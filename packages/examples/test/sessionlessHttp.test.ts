/** The calculator's tools over HTTP without sessions, under the official clients. */
import { Revision } from "@effect-mcp/protocol"
import { StreamableHttpServer } from "@effect-mcp/transport"
import { assert, describe, layer } from "@effect/vitest"
import * as V2 from "@modelcontextprotocol/client"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import { handlers, options } from "../src/tools.ts"

const info = { name: "official", version: "1.0.0" }

/** As much of an official client as these tests use; both have it. */
interface Official {
  readonly session: () => string | undefined
  readonly revision: () => string | undefined
  readonly complaints: ReadonlyArray<string>
  readonly tools: () => Promise<ReadonlyArray<string>>
  readonly call: (
    name: string,
    input: { readonly [name: string]: unknown },
    progress?: Array<number>
  ) => Promise<unknown>
  readonly ping: () => Promise<unknown>
  readonly close: () => Promise<void>
}

const v1 = async (url: URL): Promise<Official> => {
  const client = new Client(info)
  const transport = new StreamableHTTPClientTransport(url)
  const complaints: Array<string> = []
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- The SDK knows no other way.
  client.onerror = (error) => complaints.push(error.message)
  // Its transport says of the session's id that it may be undefined, its port that it may be absent: so they are put together.
  const port: Transport = {
    start: () => {
      const heard: Pick<Transport, "onmessage" | "onerror" | "onclose"> = {
        onmessage: (message) => port.onmessage?.(message),
        onerror: (error) => port.onerror?.(error),
        onclose: () => port.onclose?.()
      }
      return Object.assign(transport, heard).start()
    },
    send: (message) => transport.send(message),
    close: () => transport.close(),
    setProtocolVersion: (version) => transport.setProtocolVersion(version)
  }
  await client.connect(port)
  return {
    session: () => transport.sessionId,
    revision: () => transport.protocolVersion,
    complaints,
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, input, progress) =>
      (await client.callTool(
        { name, arguments: input },
        undefined,
        progress === undefined ? {} : { onprogress: (step) => void progress.push(step.progress) }
      ))["content"],
    ping: () => client.ping(),
    close: () => client.close()
  }
}

const v2 = (revision: Revision.Revision) => async (url: URL): Promise<Official> => {
  const client = new V2.Client(info, { supportedProtocolVersions: [revision] })
  const transport = new V2.StreamableHTTPClientTransport(url)
  const complaints: Array<string> = []
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- The SDK knows no other way.
  client.onerror = (error) => complaints.push(error.message)
  await client.connect(transport)
  return {
    session: () => transport.sessionId,
    revision: () => client.getNegotiatedProtocolVersion(),
    complaints,
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, input, progress) =>
      (await client.callTool(
        { name, arguments: input },
        progress === undefined ? {} : { onprogress: (step) => void progress.push(step.progress) }
      )).content,
    ping: () => client.ping(),
    close: () => client.close()
  }
}

const clients = [
  { name: "official v1", revision: Revision.latest, connect: v1 },
  ...Revision.supported.map((revision) => ({ name: `official v2 at ${revision}`, revision, connect: v2(revision) }))
]

const text = (words: string) => [{ type: "text", text: words }]

describe("HTTP without sessions", () => {
  layer(StreamableHttpServer.layerNodeSessionless(handlers, { ...options, port: 0 }), { excludeTestServices: true })(
    (it) => {
      for (const { connect, name, revision } of clients) {
        it.effect(`[HTTP-09] [SHS-13] [INIT-04] serves ${name}`, () =>
          Effect.gen(function*() {
            const { address } = yield* HttpServer
            const port = address._tag === "UnixPathAddress" ? 0 : address.port
            const client = yield* Effect.acquireRelease(
              Effect.promise(() => connect(new URL(`http://127.0.0.1:${port}/mcp`))),
              (client) => Effect.promise(() => client.close())
            )
            assert.deepStrictEqual([client.session(), client.revision()], [undefined, revision])
            yield* Effect.promise(() => client.ping())
            assert.include(yield* Effect.promise(() => client.tools()), "add")
            const sums = yield* Effect.forEach(
              [1, 2, 3],
              (a) => Effect.promise(() => client.call("add", { a, b: 1 })),
              { concurrency: "unbounded" }
            )
            assert.deepStrictEqual(sums, [text("2"), text("3"), text("4")])
            const progress: Array<number> = []
            assert.deepStrictEqual(
              yield* Effect.promise(() => client.call("count", { to: 3, delayMs: 1 }, progress)),
              text("3")
            )
            assert.deepStrictEqual(progress, [1, 2, 3])
            // A stream to listen to is refused, which they take for what it is.
            assert.deepStrictEqual(client.complaints, [])
          }))
      }
    }
  )
})
