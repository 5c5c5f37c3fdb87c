import { type CloseReason, type JsonRpc, Revision } from "@effect-mcp/protocol"
import { MemoryTransport, SessionHost, SessionStore, Transport } from "@effect-mcp/session"
import { RawPeer } from "@effect-mcp/testing"
import * as Effect from "effect/Effect"
import * as Link from "./Link.ts"
import { info, initialize, initialized, introduce, type ServerHandlers } from "./sessions.ts"

export type HostOptions = Partial<SessionHost.Options>

/** A host whose handlers get no time to finish, unless a test says so. */
export const host = (handlers: ServerHandlers = {}, options: HostOptions = {}) =>
  SessionHost.make(handlers, { info, ...options, limits: { gracefulCloseTimeout: 0, ...options.limits } })

/** A session of a host, and the client on the other side, which has not said anything yet. */
export const arrive = Effect.fnUntraced(function*(
  shape: SessionHost.SessionHostShape,
  options: Partial<SessionHost.OpenOptions> = {}
) {
  const pair = yield* MemoryTransport.make()
  const link = Link.over(pair.server)
  const hosted = yield* shape.open(link.transport, { kind: "memory", ...options })
  const raw = yield* RawPeer.make.pipe(Effect.provideService(Transport.Transport, pair.client))
  return { hosted, raw, link }
})

/** A session of a host whose client has introduced itself. */
export const settle = Effect.fnUntraced(function*(
  shape: SessionHost.SessionHostShape,
  options: Partial<SessionHost.OpenOptions> = {}
) {
  const all = yield* arrive(shape, options)
  yield* introduce(all.raw)
  return all
})

/** What a client has said to open its session. */
export const handshakeMessages: ReadonlyArray<JsonRpc.Request | JsonRpc.Notification> = [
  initialize(Revision.latest),
  initialized
]

/** A store in a Map, and what was asked of it. */
export const store = () => {
  const kept = new Map<string, SessionStore.StoredSession>()
  const calls: Array<string> = []
  const called = (name: string, id: string, then: () => void = () => {}) =>
    Effect.sync(() => {
      calls.push(`${name} ${id}`)
      then()
    })
  const service: SessionStore.SessionStore["Service"] = {
    save: (session) => called("save", session.id, () => kept.set(session.id, session)),
    load: (id) => Effect.map(called("load", id), () => kept.get(id)),
    touch: (id, usedAt) =>
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

/** Why a session has ended, if it has. */
export const endOf = (hosted: SessionHost.Hosted): Effect.Effect<CloseReason.CloseReason | undefined> =>
  Effect.map(hosted.session.state, (state) => "reason" in state ? state.reason : undefined)
