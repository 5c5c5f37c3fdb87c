/** The sessions of a host that its store has: saving them, and restoring them. */

import { CloseReason, JsonRpc, type Profile } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Principal from "../../Principal.ts"
import type { SessionStoreError, StoredSession } from "../../SessionStore.ts"
import type { Transport } from "../../Transport.ts"
import type { Lifetimes } from "./Expiry.ts"
import type { HostedSession } from "./HostedSession.ts"
import type { HostOwners } from "./HostOwners.ts"
import * as HostStore from "./HostStore.ts"
import { SessionFacts } from "./SessionFacts.ts"
import { type OpenOptions, OwnerUnknownError, type RestoreOptions, type SessionPlace } from "./SessionHostShape.ts"
import type { Life } from "./SessionOpener.ts"
import type { SessionTable } from "./SessionTable.ts"

/** The parts of a host that restoring needs. */
export interface Options<E> {
  readonly store: HostStore.HostStore
  /** The owners of sessions, if processes share them. */
  readonly owners: HostOwners | undefined
  readonly table: Pick<SessionTable, "all">
  readonly lifetimes: Lifetimes
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Returns the error of a host that is draining, and `undefined` before. */
  readonly draining: () => E | undefined
  fork<A, Failure>(effect: Effect.Effect<A, Failure>): Fiber.Fiber<A, Failure>
  /** Waits until a session that is closing is removed, and nothing of it is left. */
  awaitRemoval(hosted: HostedSession): Effect.Effect<void>
  /** Opens a session. */
  open(transport: Transport["Service"], options: OpenOptions, life: Life): Effect.Effect<HostedSession, E>
}

/** The result of restoring a session, as `SessionHost.RestoreOutcome` describes it. */
export type Outcome =
  | { readonly _tag: "Restored"; readonly hosted: HostedSession }
  | { readonly _tag: "AlreadyOpen"; readonly hosted: HostedSession }
  | Extract<SessionPlace, { readonly _tag: "Elsewhere" }>
  | { readonly _tag: "NotFound" }

/** The outcome for a client whose session neither the host nor the store has. */
export const notFound: Outcome = { _tag: "NotFound" }

/** Returns the outcome for a session that the host has: a client finds only the open sessions of its own principal. */
export const present = (hosted: HostedSession, principal: Principal.Principal | undefined): Outcome =>
  hosted.phase === "Live" && Principal.isSame(hosted.principal, principal)
    ? { _tag: "AlreadyOpen", hosted }
    : notFound

/**
 * Returns the messages to store: `initialize` with the negotiated revision, and with no more of the client's profile
 * than the session keeps.
 */
const negotiated = (
  handshakeMessages: StoredSession["handshakeMessages"],
  client: Profile.ClientProfile | undefined
): StoredSession["handshakeMessages"] =>
  handshakeMessages.map((message) =>
    message.method === "initialize" && "id" in message && client !== undefined
      ? JsonRpc.request(message.id, message.method, {
        protocolVersion: client.revision,
        capabilities: client.capabilities,
        clientInfo: client.info
      })
      : message
  )

/** Returns the handshake messages of a session, from its profile: a session does not keep those of its client. */
const handshakeOf = ({ operates, session: { client } }: HostedSession): StoredSession["handshakeMessages"] =>
  client === undefined ? [] : negotiated([
    JsonRpc.request("initialize", "initialize", {}),
    ...(operates ? [JsonRpc.notification("notifications/initialized")] : [])
  ], client)

const revisionIn = (handshakeMessages: StoredSession["handshakeMessages"]): unknown =>
  handshakeMessages.find(({ method }) => method === "initialize")?.params?.["protocolVersion"]

/** Saves the sessions of a host to its store, and restores them. */
export class Restorer<E> {
  readonly #options: Options<E>
  /** The calls of `restore` that run now, by the ids of the session and of the principal. */
  readonly #restoring = new Map<string, Fiber.Fiber<Outcome, E | OwnerUnknownError | SessionStoreError>>()

  constructor(options: Options<E>) {
    this.#options = options
  }

  restore(
    id: string,
    transport: Transport["Service"],
    options: RestoreOptions
  ): Effect.Effect<Outcome, E | OwnerUnknownError | SessionStoreError> {
    const { awaitRemoval, draining, fork, store, table } = this.#options
    const hosted = table.all.get(id)
    // Another principal waits for the store as for an unknown session, and for nothing else.
    if (hosted !== undefined && !Principal.isSame(hosted.principal, options.principal)) {
      return Effect.as(store.load(id, options), notFound)
    }
    // A session that is being unloaded is restored as soon as nothing of it is left here.
    const unloading = hosted?.phase === "Ending" && hosted.keptInStore && draining() === undefined ? hosted : undefined
    if (hosted !== undefined && unloading === undefined) return Effect.succeed(present(hosted, options.principal))
    const key = JSON.stringify([id, options.principal?.id])
    const running = this.#restoring.get(key)
    if (running !== undefined) {
      return Effect.map(
        Fiber.join(running),
        (outcome) => outcome._tag === "Restored" ? { _tag: "AlreadyOpen", hosted: outcome.hosted } : outcome
      )
    }
    // In a fiber of the host, because the first caller may be interrupted while a second one waits for the session.
    const unloaded = unloading === undefined ? Effect.void : awaitRemoval(unloading)
    const fiber = fork(Effect.andThen(unloaded, this.#load(id, transport, options)))
    if (fiber.pollUnsafe() === undefined) {
      this.#restoring.set(key, fiber)
      fiber.addObserver(() => this.#restoring.delete(key))
    }
    return Fiber.join(fiber)
  }

  /**
   * Saves a session to the store, with the handshake messages of its client, and returns whether the store has it now.
   */
  save(hosted: HostedSession, handshakeMessages: StoredSession["handshakeMessages"]): Effect.Effect<boolean> {
    const { store } = this.#options
    return store.save(hosted, negotiated(handshakeMessages, hosted.session.client)).pipe(
      // The session may have closed meanwhile, and have been deleted before it was saved.
      Effect.tap(() => hosted.phase === "Live" || hosted.keptInStore ? Effect.void : store.remove(hosted))
    )
  }

  /** Saves a stored session after its facts have changed. */
  saveFacts(hosted: HostedSession, facts: SessionFacts): Effect.Effect<void> {
    return facts.inTurn(
      Effect.suspend(() =>
        hosted.phase === "Live"
          ? Effect.map(this.save(hosted, handshakeOf(hosted)), (saved) => {
            facts.isUnsaved = !saved
          })
          : Effect.void
      )
    )
  }

  /** Interrupts the restoring of every session. */
  stop(): Effect.Effect<void> {
    return Effect.suspend(() => Fiber.interruptAll(this.#restoring.values()))
  }

  /** Whether a stored session has expired. The store may learn of the last use a little late. */
  #hasExpired({ openedAt, usedAt }: StoredSession): boolean {
    const { lifetimes, now } = this.#options
    return usedAt + lifetimes.idle + HostStore.touchIntervalMillis <= now() || openedAt + lifetimes.age <= now()
  }

  readonly #load = Effect.fnUntraced(function*(
    this: Restorer<E>,
    id: string,
    transport: Transport["Service"],
    options: RestoreOptions
  ): Effect.fn.Return<Outcome, E | OwnerUnknownError | SessionStoreError> {
    const { draining, open, store } = this.#options
    const owners = options.onEpoch === undefined ? undefined : this.#options.owners
    const known = yield* store.load(id, options)
    if (known === undefined || known.principal !== options.principal?.id) return notFound
    // Also one that has expired: the owner knows its last use, and may return after an outage of the stores.
    const claim = yield* owners?.claimStored(id, draining) ?? Effect.undefined
    if (claim?._tag === "Elsewhere") return claim
    if (claim?._tag === "Gone") return notFound
    const epoch = claim?.epoch ?? known.epoch + 1
    const release = () => owners?.release({ id, epoch }) ?? Effect.void
    // The earlier owner could save the session, or delete it, until this process claimed it.
    const stored = claim === undefined ? known : yield* Effect.onError(store.load(id, options), release)
    if (stored === undefined) {
      yield* owners?.remove({ id, epoch }) ?? Effect.void
      return notFound
    }
    if (this.#hasExpired(stored)) {
      yield* store.removeExpired(id, { epoch: claim?.epoch ?? known.epoch, isOwned: claim !== undefined })
      return notFound
    }
    const { handshakeMessages, logLevel, openedAt, subscriptions = [] } = stored
    const facts = logLevel === undefined && subscriptions.length === 0 ? undefined : new SessionFacts(stored)
    const hosted = yield* Effect.onError(
      open(transport, { ...options, id, handshakeMessages }, { openedAt, epoch, facts, isOwned: owners !== undefined }),
      release
    )
    hosted.stored = "Yes"
    if (!hosted.isSuperseded) yield* store.save(hosted, handshakeMessages)
    if (hosted.isSuperseded) return yield* Effect.fail(new OwnerUnknownError({ problem: "claim" }))
    const { client } = hosted.session
    if (client !== undefined && client.revision === revisionIn(handshakeMessages)) return { _tag: "Restored", hosted }
    yield* Effect.logWarning(
      "a stored session was not restored: this server negotiates another revision; the client has to initialize again"
    )
    yield* hosted.close(CloseReason.requested)
    return notFound
  })
}
