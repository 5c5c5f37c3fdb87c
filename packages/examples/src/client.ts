/**
 * The client of the demonstration, as a Layer over any transport. It prints the events of the session, and records the
 * messages that the program checks later.
 */
import { JsonRpc, type Logging, Revision } from "@effect-mcp/protocol"
import { ClientSession, Recording } from "@effect-mcp/session"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Transcript from "./transcript.ts"

/** The messages that the client has recorded. */
export class ObservedMessages extends Context.Service<ObservedMessages, {
  /** The messages that the client has sent, oldest first. */
  readonly sent: Array<JsonRpc.Message>
  /** The log messages of the server. */
  readonly logs: Queue.Queue<Logging.LogMessageParams>
}>()("@effect-mcp/examples/ObservedMessages") {}

const observedMessages = Layer.effect(
  ObservedMessages,
  Effect.map(Queue.unbounded<Logging.LogMessageParams>(), (logs) => ({ sent: [], logs }))
)

/** Wraps a transport and records the messages that it sends. */
const recording = Layer.unwrap(
  Effect.map(ObservedMessages, ({ sent }) =>
    Recording.layer((entry) => {
      if (entry._tag === "Sent") sent.push(...JsonRpc.messages(entry.frame))
    }))
)

const session = ClientSession.layer({
  info: { name: "effect-mcp-demo", version: "0.1.0" },
  // The conversation shows a handshake and the requests of a server.
  revisions: Revision.legacy,
  limits: { handshakeTimeout: "10 seconds", requestTimeout: "10 seconds" },
  observe: Transcript.event,
  handlers: {
    "notifications/message": (message) => Effect.flatMap(ObservedMessages, ({ logs }) => Queue.offer(logs, message))
  }
})

/** The session, and the record of its messages. */
export const layer = session.pipe(
  Layer.provide(recording),
  Layer.provideMerge(observedMessages)
)
