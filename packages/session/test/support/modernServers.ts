/** Servers of revision 2026-07-28: scripted ones, and `StatelessServer` in memory. */
import { JsonRpc, RequestMetadata, Revision } from "@effect-mcp/protocol"
import { MemoryTransport, StatelessServer, type Transport } from "@effect-mcp/session"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberSet from "effect/FiberSet"
import * as Result from "effect/Result"
import * as Link from "./Link.ts"
import * as RawServer from "./RawServer.ts"
import { client, type ClientOptions, recorder, type ServerHandlers, type ServerOptions, settled } from "./sessions.ts"

/** The result of `server/discover` of a server with tools, prompts, resources and logging. */
export const discoverResult = (over: { readonly [name: string]: unknown } = {}) => ({
  resultType: "complete",
  supportedVersions: [Revision.latest],
  capabilities: { tools: {}, prompts: {}, resources: {}, logging: {} },
  _meta: { [RequestMetadata.keys.serverInfo]: { name: "raw-server", version: "1.0.0" } },
  ...over
})

/** Makes a script that answers `server/discover`, and passes other messages to another script. */
export const replyToDiscover =
  (script: RawServer.Script = () => [], result: object = discoverResult()): RawServer.Script => (message) =>
    JsonRpc.isRequest(message) && message.method === "server/discover"
      ? [JsonRpc.success(message.id, result)]
      : script(message)

/** Makes a client that speaks every revision, over a scripted server. */
export const withModernServer = Effect.fnUntraced(function*(options: {
  readonly client?: ClientOptions
  readonly script?: RawServer.Script
  readonly result?: object
  readonly pair?: Effect.Effect<MemoryTransport.Pair>
} = {}) {
  const pair = yield* options.pair ?? MemoryTransport.make()
  const link = Link.over(pair.client)
  const record = recorder()
  const raw = yield* RawServer.make(pair.server, replyToDiscover(options.script, options.result))
  const session = yield* client(link.transport, {
    observe: record.observe,
    revisions: Revision.supported,
    ...options.client
  })
  yield* settled
  return { session, raw, link, record }
})

/**
 * Makes a transport whose server is a `StatelessServer`. With `isStreamed`, each request has a stream of its own,
 * whose end cancels it, as over HTTP.
 */
export const stateless = Effect.fnUntraced(function*(
  handlers: ServerHandlers,
  options: ServerOptions & { readonly isStreamed?: boolean } = {}
) {
  const { isStreamed, ...given } = options
  const server = yield* StatelessServer.make(handlers, { info: { name: "stateless", version: "2.0.0" }, ...given })
  const sent: Array<JsonRpc.Message> = []
  const connect: Transport.Transport["Service"]["connect"] = Effect.gen(function*() {
    const fork = yield* FiberSet.makeRuntime<never>()
    const subscribed = Deferred.makeUnsafe<(inbound: Transport.Inbound) => void>()
    const deliver = (message: unknown) =>
      Effect.map(Deferred.await(subscribed), (to) => to({ frame: Result.succeed(JSON.parse(JSON.stringify(message))) }))
    const serve = (frame: JsonRpc.Frame) => {
      const [message] = JsonRpc.messages(frame)
      const isModern = message !== undefined && "params" in message && RequestMetadata.isIn(message.params?.["_meta"])
      return Effect.flatMap(
        server.handle(JSON.parse(JSON.stringify(frame)), {
          revision: isModern ? Revision.latest : Revision.latestLegacy,
          notify: deliver
        }),
        (reply) => reply === undefined ? Effect.void : deliver(reply)
      )
    }
    const connection: Transport.Connection = {
      run: (to) => {
        Deferred.doneUnsafe(subscribed, Exit.succeed(to))
        return Effect.never
      },
      send: ({ message }) =>
        Effect.sync(() => {
          sent.push(...JsonRpc.messages(message))
          fork(serve(message))
        }),
      ...(isStreamed === true
        ? {
          request: (message: JsonRpc.Request) =>
            Effect.suspend(() => {
              sent.push(message)
              return serve(message)
            })
        }
        : undefined)
    }
    return connection
  })
  return { transport: { connect } satisfies Transport.Transport["Service"], sent }
})

/** Makes a client that speaks every revision, over a `StatelessServer`. */
export const connectedStateless = Effect.fnUntraced(function*(
  handlers: ServerHandlers,
  options: {
    readonly client?: ClientOptions
    readonly server?: ServerOptions & { readonly isStreamed?: boolean }
  } = {}
) {
  const { sent, transport } = yield* stateless(handlers, options.server)
  const record = recorder()
  const session = yield* client(transport, {
    observe: record.observe,
    revisions: Revision.supported,
    ...options.client
  })
  return { session, sent, record }
})
