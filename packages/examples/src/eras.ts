/**
 * One client program with servers of both eras: it finds out which revisions a server speaks, and answers the server's
 * question in the way of that revision.
 */
import { JsonRpc, Revision, type Tool } from "@effect-mcp/protocol"
import { ClientSession, Recording } from "@effect-mcp/session"
import { StdioClient } from "@effect-mcp/transport/node"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { fileURLToPath } from "node:url"
import { check } from "./check.ts"
import * as Leaks from "./leaks.ts"
import * as Transcript from "./transcript.ts"

/** A server, and what is expected of a client that speaks every revision. */
interface Server {
  readonly title: string
  /** The revisions that the server serves. */
  readonly serves: ReadonlyArray<Revision.Revision>
  /** The revision that both sides agree on. */
  readonly agreed: Revision.Revision
}

const servers: ReadonlyArray<Server> = [
  { title: "a server of revision 2026-07-28 only", serves: [Revision.latest], agreed: Revision.latest },
  { title: "a server of revisions with a handshake only", serves: Revision.legacy, agreed: Revision.latestLegacy },
  { title: "a server of both eras", serves: Revision.supported, agreed: Revision.latest }
]

/** The messages by which the eras differ: those of the handshake, and those of a call with a question. */
const exchanged: { readonly [era in "modern" | "legacy"]: string } = {
  modern: "→ server/discover, ← result, → tools/call, ← input_required, → tools/call, ← result",
  legacy: "→ server/discover, ← error, → initialize, ← result, → notifications/initialized, → tools/call, " +
    "← elicitation/create, → result, ← result"
}

const nameOf = (message: JsonRpc.Message): string => {
  if ("method" in message) return message.method
  if ("error" in message) return "error"
  const { result } = message
  const isQuestion = typeof result === "object" && result !== null && "resultType" in result &&
    result.resultType === "input_required"
  return isQuestion ? "input_required" : "result"
}

const textOf = ({ content }: Tool.CallToolResult): string =>
  content.map((block) => block.type === "text" ? block.text : `[${block.type}]`).join(" ")

/** Books a journey. Returns the session, so that the caller can inspect it after its Layer is released. */
const conversation = Effect.fnUntraced(function*(agreed: Revision.Revision, messages: ReadonlyArray<string>) {
  const session = yield* ClientSession.ClientSession
  yield* check(session.profile.revision === agreed, `both sides agree on ${session.profile.revision}`)
  Transcript.note("book(\"Oslo\")")
  const booked = textOf(yield* session.callTool("book", { to: "Oslo" }))
  yield* check(booked === "booked a journey to Oslo", booked)
  const all = messages.join(", ")
  yield* check(all === exchanged[Revision.isModern(agreed) ? "modern" : "legacy"], all)
  return session
})

/** Runs the client program with one server. */
const program = ({ agreed, serves, title }: Server) =>
  Effect.suspend(() => {
    Transcript.heading(title)
    const messages: Array<string> = []
    // The client asks a child that starts slowly by `ping` whether it has started. That tells no eras apart.
    const pings = new Set<unknown>()
    const transport = StdioClient.layerNode({
      command: process.execPath,
      args: [fileURLToPath(import.meta.resolve("./reservations.ts")), ...serves],
      stderr: Transcript.serverLog
    })
    const recording = Recording.layer((entry) => {
      if (entry._tag !== "Sent" && entry._tag !== "Received") return
      const arrow = entry._tag === "Sent" ? "→" : "←"
      for (const message of JsonRpc.messages(entry.frame)) {
        const isPing = "method" in message && message.method === "ping"
        if (isPing && "id" in message) pings.add(message.id)
        const isAnswer = entry._tag === "Received" && !("method" in message) && pings.has(message.id)
        if (!isPing && !isAnswer) messages.push(`${arrow} ${nameOf(message)}`)
      }
    })
    const session = ClientSession.layer({
      info: { name: "effect-mcp-demo", version: "0.1.0" },
      revisions: Revision.supported,
      observe: Transcript.event,
      handlers: {
        "elicitation/create": ({ message }) =>
          Effect.sync(() => {
            Transcript.note(`${message} Yes.`)
            return { action: "accept" as const, content: { sure: true } }
          })
      }
    })
    return conversation(agreed, messages).pipe(
      Effect.provide(session.pipe(Layer.provide(recording), Layer.provide(transport))),
      Leaks.checkNone
    )
  })

/** Runs the client program with a server of each kind. */
export const withEachServer = Effect.forEach(servers, program, { discard: true })
