import type { JsonRpc } from "@effect-mcp/protocol"
import type { Connection, End, Inbound, Transport } from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import { responsesIn } from "../responseIn.ts"

type Port = Transport["Service"]
type Work = Effect.Effect<void, TransportError.TransportError>
type Restore = <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>

/** Refusals that say something else than that nothing is POSTed there: who asks, how much, how often, or that it is not the time. */
const saysOtherwise: ReadonlySet<number> = new Set([401, 402, 403, 407, 408, 409, 413, 421, 423, 425, 429, 431, 451])

/** A status for a method that a server does not know, as some say it of a POST to the path of a stream. */
const notImplemented = 501

/** May this mean that the server knows nothing of Streamable HTTP (SSE-07)? One that answers in JSON-RPC knows what it was asked. */
const mayBeOlder = ({ reason }: TransportError.TransportError): boolean =>
  reason._tag === "Rejected" && !saysOtherwise.has(reason.status) &&
  ((reason.status >= 400 && reason.status < 500) || reason.status === notImplemented)

const peerEnded = Exit.fail(TransportError.make({ _tag: "PeerEnded", exit: undefined }))

/** Which of two transports a server speaks; found out once, by whoever sends the first message, and the same for all connections. */
class Choice {
  #made: "Newer" | "Older" | undefined
  #trial: Deferred.Deferred<void> | undefined

  get made(): "Newer" | "Older" | undefined {
    return this.#made
  }

  /** Somebody is about to find out. */
  get trial(): Effect.Effect<void> | undefined {
    return this.#trial === undefined ? undefined : Deferred.await(this.#trial)
  }

  /** Begins to find out. What comes back ends the attempt, whatever came of it. */
  begin(): () => void {
    const trial = Deferred.makeUnsafe<void>()
    this.#trial = trial
    return () => {
      if (this.#trial === trial) this.#trial = undefined
      Deferred.doneUnsafe(trial, Exit.void)
    }
  }

  make(choice: "Newer" | "Older"): void {
    this.#made ??= choice
    if (this.#trial !== undefined) Deferred.doneUnsafe(this.#trial, Exit.void)
  }
}

/** The requests that wait for their responses on a connection that has one stream for everything. */
class Waiting {
  readonly #responses = new Map<unknown, Deferred.Deferred<void, TransportError.TransportError>>()
  #over = false

  /** What came may be what somebody waits for. */
  hear({ frame }: Inbound): void {
    if (Result.isFailure(frame)) return
    for (const { id } of responsesIn(frame.success)) {
      const waiting = this.#responses.get(id)
      if (waiting !== undefined) Deferred.doneUnsafe(waiting, Exit.void)
    }
  }

  /** Nothing will come any more. */
  end(): void {
    this.#over = true
    for (const response of this.#responses.values()) Deferred.doneUnsafe(response, peerEnded)
  }

  /** Sends a request, and waits for its response. */
  ask(connection: Connection, message: JsonRpc.Request): Work {
    return Effect.suspend(() => {
      const response = Deferred.makeUnsafe<void, TransportError.TransportError>()
      if (this.#over) return peerEnded
      this.#responses.set(message.id, response)
      return Effect.ensuring(
        Effect.andThen(connection.send({ message, replyTo: undefined, last: false }), Deferred.await(response)),
        Effect.sync(() => {
          if (this.#responses.get(message.id) === response) this.#responses.delete(message.id)
        })
      )
    })
  }
}

/**
 * A connection of which nobody knows yet what it is. The first message finds out: it takes the newer way, and the older one where it was
 * refused there as if nothing were known of it (SSE-07). Other connections wait for what comes of it.
 */
const open = Effect.fnUntraced(function*(
  choice: Choice,
  newerPort: Port,
  olderPort: Port
): Effect.fn.Return<Connection, TransportError.TransportError, Scope.Scope> {
  const scope = yield* Effect.scope
  const newerScope = yield* Scope.fork(scope)
  const newer = yield* Scope.provide(newerPort.connect, newerScope)
  const opened = Deferred.makeUnsafe<Connection>()
  const opening = Semaphore.makeUnsafe(1)
  const waiting = new Waiting()
  let older: Connection | undefined
  let isNewer = false
  let isTrying = false

  const chooseNewer = () => {
    if (isNewer || older !== undefined) return
    isNewer = true
    choice.make("Newer")
  }

  const openOlder = opening.withPermits(1)(
    Effect.uninterruptibleMask((restore): Effect.Effect<Connection, TransportError.TransportError> => {
      if (older !== undefined) return Effect.succeed(older)
      const olderScope = Scope.forkUnsafe(scope)
      return restore(Scope.provide(olderPort.connect, olderScope)).pipe(
        Effect.onError((cause) => Scope.close(olderScope, Exit.failCause(cause))),
        Effect.tap((connection) => {
          older = connection
          choice.make("Older")
          Deferred.doneUnsafe(opened, Exit.succeed(connection))
          return Scope.close(newerScope, Exit.void)
        })
      )
    })
  )

  const tryBoth = (act: (connection: Connection) => Work, restore: Restore): Work => {
    const end = isTrying ? undefined : choice.begin()
    isTrying = true
    return restore(act(newer)).pipe(
      Effect.tap(() => Effect.sync(chooseNewer)),
      Effect.catchIf(
        (error) => mayBeOlder(error) && !isNewer,
        (refusal) =>
          Effect.flatMap(
            Effect.mapError(restore(openOlder), (error) => error.reason._tag === "Unauthenticated" ? error : refusal),
            (connection) => restore(act(connection))
          )
      ),
      Effect.ensuring(Effect.sync(() => {
        if (end === undefined) return
        isTrying = false
        end()
      }))
    )
  }

  const pass = (act: (connection: Connection) => Work): Work =>
    // In one step, so that nobody else begins to find out.
    Effect.uninterruptibleMask((restore): Work => {
      if (older !== undefined) return restore(act(older))
      if (isNewer || choice.made === "Newer") return restore(act(newer))
      if (choice.made === "Older") return restore(Effect.flatMap(openOlder, act))
      const { trial } = choice
      // What this connection says besides is no more than the first message, and finds out for itself.
      return trial === undefined || isTrying ? tryBoth(act, restore) : restore(Effect.andThen(trial, pass(act)))
    })

  const ask = (message: JsonRpc.Request): Work =>
    pass((connection) => connection.request?.(message) ?? waiting.ask(connection, message))

  const hear = (deliver: (inbound: Inbound) => void) => (inbound: Inbound): void => {
    deliver(inbound)
    waiting.hear(inbound)
  }

  return {
    run: (deliver, hooks) => {
      const hearFirst = (inbound: Inbound) => {
        chooseNewer()
        deliver(inbound)
      }
      const first = Effect.suspend((): Effect.Effect<Connection | End, TransportError.TransportError> =>
        older === undefined
          ? Effect.raceFirst(newer.run(hearFirst, hooks), Deferred.await(opened))
          : Effect.succeed(older)
      )
      return Effect.flatMap(first, (connectionOrEnd) =>
        "run" in connectionOrEnd
          ? Effect.ensuring(connectionOrEnd.run(hear(deliver), hooks), Effect.sync(() => waiting.end()))
          : Effect.succeed(connectionOrEnd))
    },
    send: (outbound) => pass((connection) => connection.send(outbound)),
    request: ask,
    onHandshake: (profile) => (older ?? newer).onHandshake?.(profile),
    onSessionEnd: (reason) => (older ?? newer).onSessionEnd?.(reason)
  }
})

/** A transport that speaks as the server does: the newer way, or the older one where it knows no newer. */
export const make = (newer: Port, older: Port): Port => {
  const choice = new Choice()
  return {
    connect: Effect.suspend(() => {
      switch (choice.made) {
        case "Newer":
          return newer.connect
        case "Older":
          return older.connect
        case undefined:
          return open(choice, newer, older)
      }
    })
  }
}
