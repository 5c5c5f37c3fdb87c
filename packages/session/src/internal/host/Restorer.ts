import { CloseReason, JsonRpc, type Profile } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Principal from "../../Principal.ts"
import type { SessionStoreError, StoredSession } from "../../SessionStore.ts"
import type { Transport } from "../../Transport.ts"
import type { Lifetimes } from "./Expiry.ts"
import type { HostedSession } from "./HostedSession.ts"
import * as HostStore from "./HostStore.ts"
import type { Newcomer } from "./SessionSlots.ts"

/** The client that comes back to its session. */
interface Asking extends Partial<Newcomer> {
  /** The kind of transport, in a word. */
  readonly kind: string
}

/** A session that is opened with what its client has said before. */
interface Reopening extends Asking {
  readonly id: string
  readonly handshakeMessages: StoredSession["handshakeMessages"]
}

/** The needs of what restores a host's sessions. */
export interface Options<E> {
  readonly store: HostStore.HostStore
  readonly sessions: ReadonlyMap<string, HostedSession>
  readonly lifetimes: Lifetimes
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly isDraining: () => boolean
  fork<A, Failure>(effect: Effect.Effect<A, Failure>): Fiber.Fiber<A, Failure>
  /** Waits until nothing is left of a session that ends. */
  gone(hosted: HostedSession): Effect.Effect<void>
  /** Opens a session. */
  admit(
    transport: Transport["Service"],
    options: Reopening,
    openedAt: number
  ): Effect.Effect<HostedSession, E>
}

/**
 * What the store is to know: the revision is the one that was agreed on, and of what the client said of itself there is
 * no more than the session keeps.
 */
const agreed = (
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

const revisionIn = (handshakeMessages: StoredSession["handshakeMessages"]): unknown =>
  handshakeMessages.find(({ method }) => method === "initialize")?.params?.["protocolVersion"]

/** The sessions of a host that its store remembers: how they get there, and how they come back. */
export class Restorer<E> {
  readonly #options: Options<E>
  /** By the ids of the session and of the principal that asks for it. */
  readonly #restoring = new Map<string, Fiber.Fiber<HostedSession | undefined, E | SessionStoreError>>()

  constructor(options: Options<E>) {
    this.#options = options
  }

  restore(
    id: string,
    transport: Transport["Service"],
    asking: Asking
  ): Effect.Effect<HostedSession | undefined, E | SessionStoreError> {
    const { fork, gone, isDraining, sessions } = this.#options
    const hosted = sessions.get(id)
    // One that is being unloaded is restored as soon as nothing is left of it here.
    const unloading = hosted?.phase === "Ending" && hosted.kept && !isDraining() ? hosted : undefined
    if (hosted !== undefined && unloading === undefined) {
      const isTheirs = hosted.phase === "Live" && Principal.isSame(hosted.principal, asking.principal)
      return Effect.succeed(isTheirs ? hosted : undefined)
    }
    const key = JSON.stringify([id, asking.principal?.id])
    const begun = this.#restoring.get(key)
    if (begun !== undefined) return Fiber.join(begun)
    // In a fiber of the host: the client that came first may leave before the one that came second has the session.
    const unloaded = unloading === undefined ? Effect.void : gone(unloading)
    const fiber = fork(Effect.andThen(unloaded, this.#load(id, transport, asking)))
    if (fiber.pollUnsafe() === undefined) {
      this.#restoring.set(key, fiber)
      fiber.addObserver(() => this.#restoring.delete(key))
    }
    return Fiber.join(fiber)
  }

  /** Has the store remember a session with what its client has said to open it. */
  remember(hosted: HostedSession, handshakeMessages: StoredSession["handshakeMessages"]): Effect.Effect<void> {
    const { store } = this.#options
    return store.save(hosted, agreed(handshakeMessages, hosted.session.client)).pipe(
      // It may have ended meanwhile, and been forgotten before it was remembered.
      Effect.andThen(Effect.suspend(() => hosted.phase === "Live" || hosted.kept ? Effect.void : store.remove(hosted)))
    )
  }

  /** Restores nothing any more. */
  abandon(): Effect.Effect<void> {
    return Effect.suspend(() => Fiber.interruptAll(this.#restoring.values()))
  }

  readonly #load = Effect.fnUntraced(function*(
    this: Restorer<E>,
    id: string,
    transport: Transport["Service"],
    asking: Asking
  ): Effect.fn.Return<HostedSession | undefined, E | SessionStoreError> {
    const { admit, lifetimes, now, store } = this.#options
    const stored = yield* store.load(id)
    if (stored === undefined || stored.principal !== asking.principal?.id) return undefined
    // When it was used last, the store may know a little late.
    if (stored.usedAt + lifetimes.idle + HostStore.tellingMillis <= now() || stored.openedAt + lifetimes.age <= now()) {
      yield* store.forget(id)
      return undefined
    }
    const { handshakeMessages } = stored
    const hosted = yield* admit(transport, { ...asking, id, handshakeMessages }, stored.openedAt)
    hosted.toldAt = stored.usedAt
    hosted.stored = "Yes"
    const { client } = hosted.session
    if (client !== undefined && client.revision === revisionIn(handshakeMessages)) return hosted
    yield* Effect.logWarning("a session could not be restored: this server would not agree on the same revision")
    yield* hosted.close(CloseReason.requested)
    return undefined
  })
}
