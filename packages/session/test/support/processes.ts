/** Several processes of one service in one program: each has a host, and all share their stores. */
import { MemoryTransport, type SessionHost, SessionOwners, SessionStore, Transport } from "@effect-mcp/session"
import { RawPeer } from "@effect-mcp/testing"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { handshakeMessages, type HostOptions, makeHost } from "./hosts.ts"
import { performHandshake, type ServerHandlers, settled } from "./sessions.ts"

type OwnerStore = SessionOwners.OwnerStore

/** The switches of the store of owners, as one process reaches it. */
export interface Faults {
  /** Whether each call fails. */
  isAway: boolean
  /** While the process is paused, its calls wait for this. */
  paused: Deferred.Deferred<void> | undefined
  /** The operation whose answers are lost, after the store has executed it. */
  loses?: "claim"
}

/** Passes each call on, unless the store is away or the process is paused. Records claims and their ends. */
const behind = (store: OwnerStore, faults: Faults, calls: Array<string>): OwnerStore => {
  const call = <A>(
    name: string | undefined,
    effect: () => Effect.Effect<A, SessionOwners.SessionOwnersError>
  ): Effect.Effect<A, SessionOwners.SessionOwnersError> =>
    Effect.suspend(() => {
      if (name !== undefined) calls.push(name)
      if (faults.isAway) return Effect.fail(new SessionOwners.SessionOwnersError({ cause: "away" }))
      return faults.paused === undefined
        ? effect()
        : Effect.uninterruptible(Effect.andThen(Deferred.await(faults.paused), Effect.suspend(effect)))
    })
  return {
    renew: (lease) => call(undefined, () => store.renew(lease)),
    retire: (process) => call(undefined, () => store.retire(process)),
    locate: (session) => call(undefined, () => store.locate(session)),
    claim: (session, epoch, lease) =>
      call(`claim ${session} ${epoch}`, () =>
        Effect.andThen(
          store.claim(session, epoch, lease),
          (claimed) =>
            faults.loses === "claim"
              ? Effect.fail(new SessionOwners.SessionOwnersError({ cause: "lost" }))
              : Effect.succeed(claimed)
        )),
    release: (session, epoch) => call(`release ${session} ${epoch}`, () => store.release(session, epoch)),
    remove: (session, epoch) => call(`remove ${session} ${epoch}`, () => store.remove(session, epoch)),
    lost: (process, sessions) => call(undefined, () => store.lost(process, sessions))
  }
}

/** The stores that all processes share. */
export const makeService = Effect.gen(function*() {
  const sessionStore = yield* SessionStore.makeMemory()
  const ownerStore = yield* SessionOwners.makeStoreInMemory

  /** Starts a process. Closing the scope of the caller stops it. */
  const start = Effect.fnUntraced(function*(
    name: string,
    handlers: ServerHandlers = {},
    { stored = sessionStore, ...options }: HostOptions & {
      readonly stored?: SessionStore.SessionStore["Service"]
    } = {}
  ) {
    const faults: Faults = { isAway: false, paused: undefined }
    const calls: Array<string> = []
    const address = `http://${name}`
    const owners = yield* SessionOwners.make(behind(ownerStore, faults, calls), { address })
    const host = yield* makeHost(handlers, options).pipe(
      Effect.provideService(SessionStore.SessionStore, stored),
      Effect.provideService(SessionOwners.SessionOwners, owners)
    )
    // A paused process would not end with its test.
    yield* Effect.addFinalizer(() => resume({ faults }))
    yield* owners.awaitLease
    return { address, owners, host, faults, calls }
  })

  return { sessionStore, ownerStore, start }
})

/** A service of several processes. */
export type Service = Effect.Success<typeof makeService>

/** One of the processes. */
export interface Process {
  readonly host: SessionHost.SessionHostShape
  readonly faults: Faults
}

const ignored = () => {}

/** The options of a shared session. */
export const shared = { kind: "shared", onEpoch: ignored } as const

/** Opens a shared session at a process, and finishes its handshake. */
export const openShared = Effect.fnUntraced(function*(
  { host }: Process,
  id: string,
  options: Partial<SessionHost.OpenOptions> = {}
) {
  const { client, server } = yield* MemoryTransport.make()
  const raw = yield* RawPeer.make.pipe(Effect.provideService(Transport.Transport, client))
  const hosted = yield* host.open(server, { ...shared, id, ...options })
  yield* performHandshake(raw)
  yield* host.remember(hosted, handshakeMessages)
  return { hosted, raw }
})

/** Restores a shared session at a process. Returns the outcome, and the client of the transport. */
export const restoreShared = Effect.fnUntraced(function*(
  { host }: Process,
  id: string,
  options: Partial<SessionHost.RestoreOptions> = {}
) {
  const { client, server } = yield* MemoryTransport.make()
  const raw = yield* RawPeer.make.pipe(Effect.provideService(Transport.Transport, client))
  const outcome = yield* host.restore(id, server, { ...shared, ...options })
  return { outcome, raw, hosted: "hosted" in outcome ? outcome.hosted : undefined }
})

/** Returns the session that was restored. */
export const opened = (hosted: SessionHost.Hosted | undefined): Effect.Effect<SessionHost.Hosted> =>
  hosted === undefined ? Effect.die(new Error("not restored")) : Effect.succeed(hosted)

/** Stops what a process does with its owners, as SIGSTOP would. */
export const pause = ({ faults }: Process): void => {
  faults.paused = Deferred.makeUnsafe()
}

/** Continues a paused process. */
export const resume = ({ faults }: Pick<Process, "faults">): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { paused } = faults
    faults.paused = undefined
    return Effect.andThen(paused === undefined ? Effect.void : Deferred.succeed(paused, undefined), settled)
  })

/** Lets time pass, in which the processes renew their leases. */
export const pass = (millis: number): Effect.Effect<void> => Effect.andThen(TestClock.adjust(millis), settled)
