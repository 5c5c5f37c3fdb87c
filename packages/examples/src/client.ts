/**
 * The client's session as a Layer. It stands on any transport; what it lets us see is printed, and what the program
 * wants to look at later is kept.
 */
import { JsonRpc, type Logging } from "@effect-mcp/protocol"
import { ClientSession, Recording } from "@effect-mcp/session"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Transcript from "./transcript.ts"

/** What crossed the wire without being the answer to anything. */
export class Witness extends Context.Service<Witness, {
  /** What the client has sent, oldest first. */
  readonly sent: Array<JsonRpc.Message>
  /** The log messages of the server. */
  readonly logs: Queue.Queue<Logging.LogMessageParams>
}>()("@effect-mcp/examples/Witness") {}

const witness = Layer.effect(
  Witness,
  Effect.map(Queue.unbounded<Logging.LogMessageParams>(), (logs) => ({ sent: [], logs }))
)

/** The same transport, with someone watching what goes out. */
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

/** The session, and its witness. */
export const layer = session.pipe(
  Layer.provide(witnessed),
  Layer.provideMerge(witness)
)
