import { type CloseReason, type JsonRpc, Revision } from "@effect-mcp/protocol"
import { MemoryTransport, SessionHost, SessionStore, Transport } from "@effect-mcp/session"
import { RawPeer } from "@effect-mcp/testing"
import * as Effect from "effect/Effect"
import * as Link from "./Link.ts"
import { info, initialize, initialized, performHandshake, type ServerHandlers } from "./sessions.ts"

export type HostOptions = Partial<SessionHost.Options>

/** Makes a host whose sessions close without waiting for their handlers, unless a test sets `gracefulTimeout`. */
export const makeHost = (handlers: ServerHandlers = {}, options: HostOptions = {}) =>
  SessionHost.make(handlers, { info, ...options, limits: { gracefulTimeout: 0, ...options.limits } })

/** Opens a session. Its client has not sent anything yet. */
export const openSession = Effect.fnUntraced(function*(
  host: SessionHost.SessionHostShape,
  options: Partial<SessionHost.OpenOptions> = {}
) {
  const pair = yield* MemoryTransport.make()
  const link = Link.over(pair.server)
  const hosted = yield* host.open(link.transport, { kind: "memory", ...options })
  const raw = yield* RawPeer.make.pipe(Effect.provideService(Transport.Transport, pair.client))
  return { hosted, raw, link }
})

/** Opens a session and finishes its handshake. */
export const openOperating = Effect.fnUntraced(function*(
  host: SessionHost.SessionHostShape,
  options: Partial<SessionHost.OpenOptions> = {}
) {
  const all = yield* openSession(host, options)
  yield* performHandshake(all.raw)
  return all
})

/** The handshake messages of a client. */
export const handshakeMessages: ReadonlyArray<JsonRpc.Request | JsonRpc.Notification> = [
  initialize(Revision.latestLegacy),
  initialized
]

/** Makes a store in a `Map`, with a record of the calls. */
export const store = () => {
  const kept = new Map<string, SessionStore.StoredSession>()
  const calls: Array<string> = []
  const called = (name: string, id: string, then: () => void = () => {}) =>
    Effect.sync(() => {
      calls.push(`${name} ${id}`)
      then()
    })
  const service: SessionStore.SessionStore["Service"] = {
    create: (session) => called("create", session.id, () => kept.set(session.id, session)),
    save: (session) => called("save", session.id, () => kept.has(session.id) && kept.set(session.id, session)),
    load: (id) => Effect.map(called("load", id), () => kept.get(id)),
    touch: (id, _epoch, usedAt) =>
      called("touch", id, () => {
        const session = kept.get(id)
        if (session !== undefined) kept.set(id, { ...session, usedAt })
      }),
    remove: (id) => called("remove", id, () => kept.delete(id))
  }
  return { kept, calls, service }
}

export const withStore = (service: SessionStore.SessionStore["Service"]) =>
  Effect.provideService(SessionStore.SessionStore, service)

/** Returns the reason why a session closes or has closed; `undefined` while it is open. */
export const endOf = (hosted: SessionHost.Hosted): Effect.Effect<CloseReason.CloseReason | undefined> =>
  Effect.map(hosted.session.state, (state) => "reason" in state ? state.reason : undefined)
