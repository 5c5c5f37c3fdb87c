/** Two servers that keep no sessions: a session that is none, and what serves each frame for itself. */
import { JsonRpc, type Revision } from "@effect-mcp/protocol"
import {
  type Handlers,
  type RequestContext,
  type ServerSession,
  type SessionEvent,
  SessionlessServer
} from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { info, recorder, settled, start, withRawClient } from "./sessions.ts"

type Given = Handlers.Handlers<"client", RequestContext.RequestContext>

export interface Sessionless {
  /** Sends a frame, and says all that has come back when nothing more will happen. */
  readonly say: (frame: unknown) => Effect.Effect<ReadonlyArray<JsonRpc.Message>, never, Scope.Scope>
  readonly events: ReadonlyArray<SessionEvent.SessionEvent>
}

type Options = Omit<Partial<ServerSession.Options>, "sessionless" | "observe">

const asSession = Effect.fnUntraced(function*(handlers: Given, revision: Revision.Revision, options: Options) {
  const { link, raw, record } = yield* withRawClient({ handlers, server: { ...options, sessionless: { revision } } })
  yield* settled
  const served: Sessionless = {
    say: (frame) => Effect.andThen(Effect.sync(() => link.deliver(frame)), Effect.andThen(settled, raw.pending)),
    events: record.events
  }
  return served
})

const byFrame = Effect.fnUntraced(function*(handlers: Given, revision: Revision.Revision, options: Options) {
  const record = recorder()
  const server = yield* SessionlessServer.make(handlers, { info, ...options, observe: record.observe })
  const served: Sessionless = {
    say: Effect.fnUntraced(function*(frame) {
      const messages: Array<JsonRpc.Message> = []
      const say = (message: JsonRpc.Message) => Effect.sync(() => void messages.push(message))
      yield* start(Effect.map(server.handle(frame, { revision, notify: say }), (reply) => {
        if (reply !== undefined) messages.push(...JsonRpc.messages(reply))
      }))
      yield* settled
      return messages
    }),
    events: record.events
  }
  return served
})

export const servers = [
  { server: "a session that is none", make: asSession },
  { server: "a server of frames", make: byFrame }
] as const
