/**
 * The client's session as a Layer over any transport. It prints events, and keeps what the program looks at later.
 */
import { JsonRpc, type Logging } from "@effect-mcp/protocol"
import { ClientSession, Recording } from "@effect-mcp/session"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Transcript from "./transcript.ts"

/** The messages of a session that are no responses. */
export class Witness extends Context.Service<Witness, {
  /** The messages that the client has sent, oldest first. */
  readonly sent: Array<JsonRpc.Message>
  /** The log messages of the server. */
  readonly logs: Queue.Queue<Logging.LogMessageParams>
}>()("@effect-mcp/examples/Witness") {}

const witness = Layer.effect(
  Witness,
  Effect.map(Queue.unbounded<Logging.LogMessageParams>(), (logs) => ({ sent: [], logs }))
)

/** Wraps a transport and records the messages that it sends. */
const witnessed = Layer.unwrap(
  Effect.map(Witness, ({ sent }) =>
    Recording.layer((entry) => {
      if (entry._tag === "Sent") sent.push(...JsonRpc.messages(entry.frame))
    }))
)

const session = ClientSession.layer({
  info: { name: "effect-mcp-demo", version: "0.1.0" },
  limits: { handshakeTimeout: "10 seconds", requestTimeout: "10 seconds" },
  observe: Transcript.event,
  handlers: {
    "notifications/message": (message) => Effect.flatMap(Witness, ({ logs }) => Queue.offer(logs, message))
  }
})

/** The session, and the record of its messages. */
export const layer = session.pipe(
  Layer.provide(witnessed),
  Layer.provideMerge(witness)
)
