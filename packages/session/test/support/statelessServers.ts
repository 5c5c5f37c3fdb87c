/** The two servers without sessions: `ServerSession` with the option `stateless`, and `StatelessServer`. */
import { JsonRpc, type Revision } from "@effect-mcp/protocol"
import { type ServerSession, type SessionEvent, StatelessServer } from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { info, recorder, type ServerHandlers, settled, start, withRawClient } from "./sessions.ts"

/** A server without sessions, and its events. */
export interface Stateless {
  /** Sends a frame, and returns all messages that the server sends because of it. */
  readonly send: (frame: unknown) => Effect.Effect<ReadonlyArray<JsonRpc.Message>, never, Scope.Scope>
  readonly events: ReadonlyArray<SessionEvent.SessionEvent>
}

type Options = Omit<Partial<ServerSession.Options>, "stateless" | "observe">

const asSession = Effect.fnUntraced(
  function*(handlers: ServerHandlers, revision: Revision.LegacyRevision, options: Options) {
    const { link, raw, record } = yield* withRawClient({ handlers, server: { ...options, stateless: { revision } } })
    yield* settled
    const served: Stateless = {
      send: (frame) => Effect.andThen(Effect.sync(() => link.deliver(frame)), Effect.andThen(settled, raw.pending)),
      events: record.events
    }
    return served
  }
)

const byFrame = Effect.fnUntraced(
  function*(handlers: ServerHandlers, revision: Revision.LegacyRevision, options: Options) {
    const record = recorder()
    const server = yield* StatelessServer.make(handlers, { info, ...options, observe: record.observe })
    const served: Stateless = {
      send: Effect.fnUntraced(function*(frame) {
        const messages: Array<JsonRpc.Message> = []
        const notify = (message: JsonRpc.Message) => Effect.sync(() => void messages.push(message))
        yield* start(Effect.map(server.handle(frame, { revision, notify }), (reply) => {
          if (reply !== undefined) messages.push(...JsonRpc.messages(reply))
        }))
        yield* settled
        return messages
      }),
      events: record.events
    }
    return served
  }
)

export const servers = [
  { server: "ServerSession", make: asSession },
  { server: "StatelessServer", make: byFrame }
] as const
