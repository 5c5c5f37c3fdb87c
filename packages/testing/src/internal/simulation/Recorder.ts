/** The recorder of one side of one session. */

import { JsonRpc, type MethodDefinition } from "@effect-mcp/protocol"
import type { RequestError, Transport } from "@effect-mcp/session"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import type { End, Event, HandlerEnd, Journal } from "./Journal.ts"

/** Records the history of one side of one session. */
export interface Recorder {
  readonly note: (event: Event) => void
  /** Wraps a transport so that its messages are recorded. */
  readonly transport: (transport: Transport.Transport["Service"]) => Transport.Transport["Service"]
  /** Runs a handler, and records its start and its end. */
  readonly serving: <A, E, R>(of: ServedRequest, serve: () => Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Runs a request of the program, and records its start and its end. */
  readonly requesting: <A>(
    of: ProgramRequest,
    request: (nonce: number) => Effect.Effect<A, RequestError.RequestError>,
    nonceOf: (result: A) => unknown
  ) => Effect.Effect<void>
  /** The last messages of the peer. */
  readonly last: Last
  /** Sends the id of the next reply as text, if it is a number. */
  readonly textualReply: () => void
  /** Runs an action directly after the next reply. */
  readonly afterReply: (action: (id: JsonRpc.Response["id"]) => void) => void
}

/** The request that a handler serves. */
export interface ServedRequest {
  readonly method: string
  readonly id: JsonRpc.Request["id"]
  readonly nonce: unknown
}

/** A request of a program. */
export interface ProgramRequest {
  readonly what: string
  readonly deadline: number
  /** The greatest extension of the deadline by progress; `undefined` if progress does not extend it. */
  readonly total: number | undefined
  readonly probe: boolean
}

/** The last messages of the peer, for repetitions and references. */
export interface Last {
  request: JsonRpc.Request | undefined
  response: JsonRpc.Response | undefined
}

const endOf = (exit: Exit.Exit<unknown, RequestError.RequestError>, nonce: unknown): End => {
  if (Exit.isSuccess(exit)) return { kind: "Success", code: undefined, nonce }
  const found = Cause.findError(exit.cause)
  if (Result.isFailure(found)) {
    return { kind: Cause.hasInterruptsOnly(exit.cause) ? "Interrupted" : "Died", code: undefined, nonce: undefined }
  }
  const { reason } = found.success
  const code = reason._tag === "ErrorResponse" ? reason.error.code : undefined
  return { kind: reason._tag, code, nonce: undefined }
}

const handlerEndOf = (exit: Exit.Exit<unknown, unknown>): HandlerEnd => {
  if (Exit.isSuccess(exit)) return "Answered"
  if (Exit.hasFails(exit)) return "Failed"
  return Cause.hasInterruptsOnly(exit.cause) ? "Interrupted" : "Died"
}

/** A value that JSON cannot represent never reaches the wire. */
const isWritable = (frame: JsonRpc.Frame): boolean => {
  try {
    JSON.stringify(frame)
    return true
  } catch {
    return false
  }
}

export const make = <Command>(
  journal: Journal<Command>,
  session: number,
  side: MethodDefinition.Role
): Recorder => {
  const last: Last = { request: undefined, response: undefined }
  const note: Recorder["note"] = (event) => {
    journal.entries.push({ at: journal.now(), session, side, event })
  }
  const streams = new Map<Transport.StreamOrigin, JsonRpc.Request["id"]>()
  /** The numbers of the requests that arrived on a stream. Requests are counted from 0, in the order of arrival. */
  const numbers = new Map<Transport.StreamOrigin, Array<number>>()
  let requests = 0
  const sent = (frame: JsonRpc.Frame, carried: JsonRpc.Frame, replyTo?: Transport.StreamOrigin) => {
    const stream = replyTo === undefined ? undefined : streams.get(replyTo)
    const writable = isWritable(frame)
    const onWire = JsonRpc.messages(carried)
    for (const [index, message] of JsonRpc.messages(frame).entries()) {
      note(
        writable
          ? { _tag: "Sent", message, carried: onWire[index] ?? message, stream }
          : { _tag: "Unwritable", id: "id" in message ? message.id : undefined }
      )
    }
  }
  let isNextTextual = false
  const carriedFor = (frame: JsonRpc.Frame): JsonRpc.Frame => {
    if (!isNextTextual || JsonRpc.isBatch(frame) || "method" in frame || typeof frame.id !== "number") return frame
    isNextTextual = false
    return { ...frame, id: String(frame.id) }
  }
  let onReply: ((id: JsonRpc.Response["id"]) => void) | undefined
  const replied = (frame: JsonRpc.Frame) => {
    const [reply] = JsonRpc.messages(frame)
    if (reply === undefined || "method" in reply) return
    note({ _tag: "ReplyHandedOver", id: reply.id })
    if (onReply === undefined) return
    const action = onReply
    onReply = undefined
    action(reply.id)
  }
  const received = ({ frame, origin }: Transport.Inbound) => {
    if (Result.isFailure(frame)) return note({ _tag: "Unreadable", error: frame.failure })
    for (const message of JsonRpc.messages(frame.success)) {
      note({ _tag: "Received", message })
      if (!("method" in message)) last.response = message
      else if ("id" in message) {
        last.request = message
        const number = requests++
        if (origin === undefined) continue
        streams.set(origin, message.id)
        numbers.set(origin, [...numbers.get(origin) ?? [], number])
      }
    }
  }
  return {
    note,
    last,
    textualReply: () => {
      isNextTextual = true
    },
    afterReply: (action) => {
      onReply = action
    },
    transport: (transport) => ({
      connect: Effect.map(transport.connect, (connection): Transport.Connection => {
        const { request } = connection
        return {
          ...connection,
          run: (deliver, hooks) =>
            connection.run(
              (inbound) => {
                received(inbound)
                deliver(inbound)
              },
              hooks === undefined ? undefined : {
                ...hooks,
                abandon: (origin) => {
                  const id = streams.get(origin)
                  if (id !== undefined) note({ _tag: "StreamLeft", id, received: numbers.get(origin) ?? [] })
                  hooks.abandon(origin)
                }
              }
            ),
          send: (outbound) =>
            Effect.suspend(() => {
              const message = carriedFor(outbound.message)
              sent(outbound.message, message, outbound.replyTo)
              return Effect.ensuring(
                connection.send({ ...outbound, message }),
                Effect.sync(() => replied(outbound.message))
              )
            }),
          ...(request === undefined ? undefined : {
            request: (message: JsonRpc.Request) =>
              Effect.suspend(() => {
                sent(message, message)
                return Effect.onInterrupt(request(message), () =>
                  Effect.sync(() => note({ _tag: "StreamLeft", id: message.id, received: [] })))
              })
          })
        }
      })
    }),
    serving: (of, serve) =>
      Effect.suspend(() => {
        const run = journal.runs++
        note({ _tag: "HandlerStarted", run, ...of })
        return Effect.onExit(Effect.suspend(serve), (exit) =>
          Effect.sync(() => note({ _tag: "HandlerEnded", run, how: handlerEndOf(exit) })))
      }),
    requesting: (of, request, nonceOf) =>
      Effect.suspend(() => {
        const nonce = journal.nonces++
        note({ _tag: "Started", nonce, ...of })
        return Effect.exit(Effect.onExit(request(nonce), (exit) =>
          Effect.sync(() =>
            note({ _tag: "Ended", nonce, end: endOf(exit, Exit.isSuccess(exit) ? nonceOf(exit.value) : undefined) })
          )))
      })
  }
}
