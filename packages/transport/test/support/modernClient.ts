/** A client of every revision over HTTP, and the parts of scripted servers of revision 2026-07-28. */
import { RequestMetadata, Revision } from "@effect-mcp/protocol"
import {
  type ClientRequestContext,
  ClientSession,
  type Handlers,
  type SessionEvent,
  Transport
} from "@effect-mcp/session"
import { HttpFallbackClient, StreamableHttpClient } from "@effect-mcp/transport"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { profile, quickReconnect } from "./httpClientConnection.ts"
import { type Handler, idOf, response } from "./scriptedHttpServer.ts"

type Options = Partial<
  ClientSession.Options<Handlers.Handlers<"server", ClientRequestContext.ClientRequestContext>>
>

/** Makes a session over a transport. */
export const sessionOver = (
  transport: Transport.Transport["Service"],
  options: Options = {}
) => {
  const events: Array<SessionEvent.SessionEvent> = []
  return Effect.map(
    Effect.provideService(
      ClientSession.make({
        info: profile.info,
        revisions: Revision.supported,
        observe: (event) => void events.push(event),
        ...options
      }),
      Transport.Transport,
      transport
    ),
    (session) => ({ session, events })
  )
}

/** Makes a transport of Streamable HTTP. */
export const streamableTo = Effect.fnUntraced(
  function*({ headers, url }: Pick<StreamableHttpClient.Options, "headers" | "url">) {
    const client = yield* Layer.build(NodeHttpClient.layerUndici)
    return yield* Effect.provideContext(
      StreamableHttpClient.make({
        url,
        reconnect: quickReconnect,
        ...(headers === undefined ? undefined : { headers })
      }),
      client
    )
  }
)

/** Connects a client of every revision to a server of Streamable HTTP. */
export const connectModern = (peer: { readonly url: string }, options?: Options) =>
  Effect.flatMap(streamableTo(peer), (transport) => sessionOver(transport, options))

/** Makes a transport that detects HTTP+SSE. */
export const fallbackTo = Effect.fnUntraced(function*(peer: { readonly url: string }) {
  const client = yield* Layer.build(NodeHttpClient.layerUndici)
  return yield* Effect.provideContext(HttpFallbackClient.make({ url: peer.url, standalone: false }), client)
})

export const discoverResult = {
  resultType: "complete",
  supportedVersions: [Revision.latest],
  capabilities: { tools: {}, resources: {} },
  _meta: { [RequestMetadata.keys.serverInfo]: profile.info }
}

/** Returns the handler of a server that answers `server/discover`, and passes all other requests on. */
export const withDiscovery = (rest: Handler): Handler => (received, reply) =>
  received.kind === "server/discover" ? reply.json(response(received, discoverResult)) : rest(received, reply)

/** Returns the error response to a request. */
export const requestFailure = (received: Parameters<Handler>[0], code: number, data?: object): object => ({
  jsonrpc: "2.0",
  id: idOf(received),
  error: { code, message: "no", ...(data === undefined ? undefined : { data }) }
})
