/** A server without sessions: the parts that all its frames share. */

import type { JsonRpc, Revision } from "@effect-mcp/protocol"
import { LoadedPackages } from "@effect-mcp/protocol/internal"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Latch from "effect/Latch"
import type * as Handlers from "../../Handlers.ts"
import { MemoryBudget } from "../../MemoryBudget.ts"
import * as Principal from "../../Principal.ts"
import type * as Session from "../../Session.ts"
import type { SessionEvent } from "../../SessionEvent.ts"
import { Observers } from "../engine/Observers.ts"
import { RateLimit } from "../engine/RateLimit.ts"
import { Timer } from "../engine/Timer.ts"
import { monotonicMillis } from "../monotonicMillis.ts"
import { thisPackage } from "../thisPackage.ts"
import { FairCapacity } from "./FairCapacity.ts"
import { FrameServer, type IncomingFrame, type Server } from "./FrameServer.ts"
import * as InboundEra from "./InboundEra.ts"
import * as ListenStream from "./ListenStream.ts"
import * as Permission from "./Permission.ts"
import * as ServerDefinition from "./ServerDefinition.ts"
import type { Reply } from "./StatelessReplies.ts"

/** The options of a server without sessions. */
export interface Options extends ServerDefinition.Options, Pick<Session.Options, "observe"> {}

/** A server without sessions, ready to serve. */
export interface StatelessServer {
  /** The revisions of the server, newest first. The caller of `handle` rejects frames of other revisions. */
  readonly revisions: ReadonlyArray<Revision.Revision>
  /**
   * Decides once in which era a POST is served, by its message and its headers. `Rejected` has the error of a request
   * that no handler may see. Pass the value on to `handle`.
   */
  readonly eraOf: (message: JsonRpc.Classified, headers: InboundEra.Headers) => InboundEra.InboundEra
  /**
   * Returns the error of a message whose sender lacks a scope of its requests, and `undefined` for any other message.
   * The data of the error has the scopes of all of them. A transport that authenticates its senders calls it after it
   * has read a message, and before it begins its response. `handle` decides the same for each request.
   */
  readonly permit: (
    message: JsonRpc.Classified,
    principal: Principal.Principal | undefined
  ) => JsonRpc.ErrorObject | undefined
  /**
   * Ends all streams of notifications of the principal with this id, with their results (SUB-07). Its other requests go
   * on.
   */
  readonly endStreamsOf: (principal: string) => void
  /** Ends the streams of notifications of all principals, as `endStreamsOf` does. Their clients may listen again. */
  readonly endPrincipalStreams: () => void
  /** Returns the ids of the principals that have streams of notifications. */
  readonly principals: () => ReadonlyArray<string>
  /**
   * Ends all streams of notifications with their results, and later ones at once (SUB-07). Then waits until no request
   * is in flight, at most for `limits.gracefulTimeout`.
   */
  readonly drain: Effect.Effect<void>
  /**
   * Serves one frame as it was received, and returns its reply, if it has one. Before that, all notifications of
   * its handlers are sent, and the notifications of the frame are handled. An interruption interrupts the handlers, and
   * waits until they have ended. The reply holds the result of the handler as it is. If JSON may not represent
   * it, because it contains a `bigint`, for example, pass each response through `JsonRpc.serializable`.
   */
  readonly handle: (frame: unknown, from: IncomingFrame) => Effect.Effect<Reply>
}

/** Prepares the handlers. Their services are those of the program that makes the server. */
export const make = (
  handlers: Handlers.Handlers<"client", unknown>,
  options: Options
): Effect.Effect<StatelessServer> =>
  Effect.contextWith((context: Context.Context<never>) =>
    Effect.map(Clock.Clock, (clock) => makeWith(handlers, options, context, clock))
  )

/** Prepares the handlers, with these services. */
export const makeWith = (
  handlers: Handlers.Handlers<"client", unknown>,
  options: Options,
  context: Context.Context<never>,
  clock: Clock.Clock
): StatelessServer => {
  LoadedPackages.check(thisPackage)
  const definition = ServerDefinition.makeStateless(handlers, options, { isShared: true })
  const { limits } = definition
  const budget = Context.get(context, MemoryBudget)
  const fork = Effect.runForkWith(context)
  const observers = new Observers({
    bounds: { capacity: limits.maxNotifications, bytes: limits.maxNotificationBytes, budget },
    observe: options.observe,
    observerThrew: (thrown) => {
      fork(Effect.logError("a server's observer threw", thrown))
    }
  })
  const server: Server = {
    ...definition,
    context,
    fork,
    emit: (event: SessionEvent) => observers.emit(event),
    scopesFailed: (thrown) => void fork(Permission.log(thrown)),
    timer: { now: () => monotonicMillis(clock) },
    budget,
    capacity: new FairCapacity(limits, budget),
    listenerCapacity: new FairCapacity({ ...limits, maxIncomingRequests: limits.maxListeners }, budget),
    listeners: new Set(),
    listenerAdded: (owner) => {
      if (owner?.expiresAt !== undefined) expiry.watch(expiry.now() + owner.expiresAt - clock.currentTimeMillisUnsafe())
    },
    listenerEnded: () => {
      if (server.listeners === undefined || server.listeners.size === 0) expiry.rest()
    },
    unmatchedWarnings: new RateLimit(limits.maxMalformedRepliesPerSecond),
    requestState: ServerDefinition.requestStateSettings(definition, context, clock)
  }
  const permitting: Permission.Permitting = {
    scopesOf: definition.scopesOf,
    scopesFailed: server.scopesFailed,
    authenticates: true
  }
  /** Ends the streams of notifications whose identities have expired, so that their clients open new ones. */
  const expiry = new Timer({
    clock,
    fork,
    expire: (time) => {
      const now = clock.currentTimeMillisUnsafe()
      ListenStream.endSome(server, (owner) => Principal.isExpired(owner, now))
      return time + ListenStream.nextExpiry(server, now) - now
    }
  })
  const stopResuming = definition.tasks?.resumeWith(context)
  const idle = Latch.makeUnsafe(true)
  let inFlight = 0
  const begin = () => {
    if (inFlight++ === 0) Latch.closeUnsafe(idle)
  }
  const end = () => {
    if (--inFlight === 0) Latch.openUnsafe(idle)
  }
  /** Serves a frame. Its server is stored before its messages are read, so that an interruption can end it. */
  const serve = (frame: unknown, from: IncomingFrame, started: { server?: FrameServer }) =>
    Effect.suspend(() => {
      let resume: ((reply: Reply) => void) | undefined
      let decided: Exit.Exit<Reply> | undefined
      const ofFrame = new FrameServer(server, from, (reply) => {
        decided = Exit.succeed(reply)
        resume?.(reply)
      })
      started.server = ofFrame
      begin()
      ofFrame.start(frame)
      // Most handlers are done at once, and have sent nothing.
      if (decided !== undefined && ofFrame.isSettled) return decided
      const deciding = decided ?? Effect.callback<Reply>((done) => {
        resume = (reply) => done(Exit.succeed(reply))
      })
      return Effect.flatMap(deciding, (reply) => Effect.as(ofFrame.settled, reply))
    })
  return {
    revisions: definition.description.supported,
    eraOf: (message, headers) => InboundEra.ofPost(server, message, headers),
    permit: (message, principal) => {
      const error = Permission.ofMessage(permitting, message, principal)
      if (error === undefined) return undefined
      for (const { id, method } of Permission.requestsIn(message)) {
        server.emit({ _tag: "Rejected", method, id, code: error.code })
      }
      return error
    },
    endStreamsOf: (id) => ListenStream.endSome(server, (owner) => owner?.id === id),
    endPrincipalStreams: () => ListenStream.endSome(server, (owner) => owner !== undefined),
    principals: () => ListenStream.ownersOf(server),
    drain: Effect.suspend(() => {
      ListenStream.endAll(server)
      expiry.rest()
      stopResuming?.()
      return Effect.asVoid(
        Effect.timeoutOption(Effect.interruptible(Latch.await(idle)), Duration.millis(limits.gracefulTimeout))
      )
    }),
    handle: (frame, from) =>
      Effect.suspend(() => {
        const started: { server?: FrameServer } = {}
        return Effect.onExitPrimitive(serve(frame, from, started), (exit) => {
          const { server: ofFrame } = started
          if (ofFrame === undefined) return undefined
          if (Exit.isFailure(exit)) return Effect.ensuring(ofFrame.interrupted, Effect.sync(end))
          end()
          return undefined
        })
      })
  }
}
