/** The parts of a host, without the host: a table, a closer and sessions, and a record of the calls between them. */
import { MemoryTransport } from "@effect-mcp/session"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import { HostedSession, type HostedSessionDependencies } from "../../src/internal/host/HostedSession.ts"
import { SessionCloser } from "../../src/internal/host/SessionCloser.ts"
import { SessionTable } from "../../src/internal/host/SessionTable.ts"
import * as ServerSessionImplementation from "../../src/internal/server/ServerSessionImplementation.ts"
import { info } from "./sessions.ts"

const server = ServerSessionImplementation.prepare({}, { info, limits: { gracefulTimeout: 0 } }, {
  isShared: true
})

const ignored = () => {}

/** Makes the parts of a host whose slots and store only record their calls. */
export const makeParts = Effect.gen(function*() {
  const context = yield* Effect.context<never>()
  const clock = yield* Clock.Clock
  const scope = yield* Scope.Scope
  const fork = Effect.runForkWith(context)
  const now = () => clock.currentTimeMillisUnsafe()
  const calls: Array<string> = []
  const table = new SessionTable({ onEmpty: () => void calls.push("empty") })
  const closer = new SessionCloser({
    table,
    slots: { free: (principal) => void calls.push(`free ${principal?.id}`) },
    store: { remove: ({ id }) => Effect.sync(() => void calls.push(`delete ${id}`)) },
    owners: undefined,
    now,
    fork
  })
  const sessionDependencies: HostedSessionDependencies = {
    now,
    slots: { enter: ignored, finish: ignored, use: ignored, hold: ignored, release: ignored, leave: ignored },
    close: (hosted, reason) => closer.close(hosted, reason),
    supersede: (hosted) => closer.supersede(hosted),
    sendUpdates: () => {}
  }

  /** Opens a session in the table. */
  const open = Effect.fnUntraced(function*(id: string) {
    const { server: transport } = yield* MemoryTransport.make()
    const sessionScope = yield* Scope.fork(scope)
    const identity = {
      id,
      kind: "memory",
      principal: { id: "ada" },
      client: undefined,
      transport,
      endsAt: Number.POSITIVE_INFINITY,
      openedAt: now(),
      epoch: 1,
      isOwned: false
    }
    const hosted = new HostedSession(sessionDependencies, identity)
    const session = yield* server.open({
      transport,
      context,
      clock,
      onEnd: () => hosted.beginToEnd(),
      onClosed: () => closer.remove(hosted, sessionScope)
    }).pipe(Scope.provide(sessionScope))
    hosted.begin(session)
    table.add(hosted)
    return hosted
  })

  return { calls, table, closer, sessionDependencies, open, context, clock, scope }
})
