/** Real sessions with a raw peer. */
import { JsonRpc, Revision } from "@effect-mcp/protocol"
import { ClientSession, MemoryTransport, ServerSession, Transport } from "@effect-mcp/session"
import { RawPeer } from "@effect-mcp/testing"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { clientOptions, info, serverHandlers, serverOptions } from "./everything.ts"
import { settled } from "./frames.ts"

/** A transport that does not serialize, so that a session receives values that JSON cannot represent. */
const pair = MemoryTransport.make({ serialization: "none" })

/** Starts a server, and performs the handshake as a raw client. */
export const servedRaw = Effect.fnUntraced(function*(protocolVersion: Revision.LegacyRevision) {
  const { client, server } = yield* pair
  yield* ServerSession.make(serverHandlers, serverOptions).pipe(Effect.provideService(Transport.Transport, server))
  const raw = yield* RawPeer.make.pipe(Effect.provideService(Transport.Transport, client))
  yield* raw.send(JsonRpc.request(0, "initialize", { protocolVersion, capabilities: {}, clientInfo: info }))
  yield* raw.response
  yield* raw.send(JsonRpc.notification("notifications/initialized"))
  return raw
})

/** Starts a client, and performs the handshake as a raw server. */
export const askedRaw = Effect.fnUntraced(function*(protocolVersion: Revision.LegacyRevision) {
  const { client, server } = yield* pair
  const raw = yield* RawPeer.make.pipe(Effect.provideService(Transport.Transport, server))
  const opening = yield* Effect.forkChild(
    ClientSession.make({ revisions: Revision.legacy, ...clientOptions }).pipe(
      Effect.provideService(Transport.Transport, client)
    ),
    { startImmediately: true }
  )
  yield* answer(raw, {
    protocolVersion,
    capabilities: { tools: {}, resources: {}, prompts: {}, logging: {} },
    serverInfo: info
  })
  const session = yield* Fiber.join(opening)
  yield* settled
  // `notifications/initialized`
  yield* raw.pending
  return { raw, session }
})

/** Answers the next request. */
export const answer = (raw: RawPeer.RawPeer, result: object) =>
  Effect.flatMap(raw.receive, (message) =>
    JsonRpc.isRequest(message)
      ? raw.send(JsonRpc.success(message.id, result))
      : Effect.die(new Error(`not a request: ${JSON.stringify(message)}`)))
