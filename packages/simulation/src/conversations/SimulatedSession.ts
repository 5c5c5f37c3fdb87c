/** A simulated session: both sides, and a program on each. */

import { type Elicitation, type MethodDefinition, Revision } from "@effect-mcp/protocol"
import {
  ClientRequestContext,
  ClientSession,
  Listener,
  RequestContext,
  ServerSession,
  type Session
} from "@effect-mcp/session"
import type { World } from "@effect-mcp/testing/internal"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { Tool } from "./Command.ts"
import type { Era } from "./Conversation.ts"
import type { Commanded } from "./History.ts"
import * as simulatedTools from "./simulatedTools.ts"

/** One session, with a program on each side. */
export interface SimulatedSession {
  readonly connection: World.Connection
  /** The client's session, after its handshake. */
  readonly client: Effect.Effect<ClientSession.ClientSessionShape, unknown>
  readonly server: Effect.Effect<ServerSession.ServerSessionShape, unknown>
  /** The sessions that exist now. */
  readonly made: { [Side in MethodDefinition.Role]?: Session.Session<{ readonly _tag: string }> }
  readonly close: (side: MethodDefinition.Role) => Effect.Effect<void>
  /** Makes the server notify of a change of a resource. */
  readonly change: (uri: string) => Effect.Effect<void>
}

const info = { name: "simulated", version: "1.0.0" }

/** The greatest number of requests of the other side that each side serves at the same time. */
export const incoming = 6

const isTool = Schema.is(Tool)

/** Returns the URI of a resource of the server. */
export const uriOf = (resource: "a" | "b"): string => `simulated://${resource}`

const uris: ReadonlyArray<string> = [uriOf("a"), uriOf("b")]

export const open = (world: World.World<Commanded>, session: number, era: Era): SimulatedSession => {
  const { journal, runtime } = world
  const connection = world.connect(session)
  const { recorders, scopes } = connection
  const client = Deferred.makeUnsafe<ClientSession.ClientSessionShape, unknown>()
  const server = Deferred.makeUnsafe<ServerSession.ServerSessionShape, unknown>()
  const made: SimulatedSession["made"] = {}

  const limits = { maxIncomingRequests: incoming }

  const close = (side: MethodDefinition.Role): Effect.Effect<void> => Scope.close(scopes[side], Exit.void)

  const subscribed = new Set<string>()
  const listeners = new Set<Listener.ListenerShape>()

  /** Records the run of a handler of the server. */
  const serve = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | RequestContext.RequestContext> =>
    Effect.flatMap(
      RequestContext.RequestContext,
      ({ id, method }) => recorders.server.serving({ method, id, nonce: undefined }, () => work)
    )

  const change = (uri: string): Effect.Effect<void> =>
    Effect.gen(function*() {
      recorders.server.note({ _tag: "Changed", uri })
      for (const listener of listeners) yield* listener.resourceUpdated(uri)
      if (subscribed.has(uri)) {
        yield* Effect.exit(Effect.flatMap(Deferred.await(server), (session) => session.resourceUpdated(uri)))
      }
    })

  const program: simulatedTools.Program = {
    era,
    session: Deferred.await(server),
    step: (id, nonce) =>
      Effect.sync(() => {
        recorders.server.note({ _tag: "Stepped", id, nonce })
        return ++journal.steps
      })
  }

  const serving = ServerSession.make({
    "resources/subscribe": ({ uri }) => serve(Effect.as(Effect.sync(() => subscribed.add(uri)), {})),
    "resources/unsubscribe": ({ uri }) => serve(Effect.as(Effect.sync(() => subscribed.delete(uri)), {})),
    "subscriptions/listen": () =>
      serve(Effect.gen(function*() {
        const listener = yield* Listener.Listener
        yield* Effect.acquireRelease(
          Effect.sync(() => listeners.add(listener)),
          () => Effect.sync(() => listeners.delete(listener))
        )
        return { notifications: { resourceSubscriptions: uris } }
      })),
    "tools/call": ({ arguments: input, name }) => {
      const tool = isTool(name) ? name : "refuse"
      // Before there is an effect.
      if (tool === "throwNull") throw null
      return Effect.flatMap(RequestContext.RequestContext, ({ id, method }) => {
        const nonce = input?.["nonce"]
        return recorders.server.serving({ method, id, nonce }, () =>
          // A handler that waits for the end of its session waits for itself.
          tool === "close"
            ? Effect.as(Effect.forkDetach(close("server")), simulatedTools.resultFor(nonce))
            : simulatedTools.call(tool, nonce, program))
      })
    }
  }, {
    info,
    limits,
    observe: (event) => recorders.server.note({ _tag: "SessionEvent", detail: event })
  })

  /** The user of the client, who behaves as the message demands. */
  const user = ({ answer, behaviour }: simulatedTools.Question): Effect.Effect<Elicitation.ElicitResult> => {
    const accepted: Elicitation.ElicitResult = { action: "accept", content: { answer } }
    switch (behaviour) {
      case "elicitNested":
        return Deferred.await(client).pipe(
          Effect.flatMap((session) => session.callTool("echo", { nonce: "nested" })),
          Effect.as(accepted),
          Effect.orDie
        )
      case "elicitClose":
        return Effect.as(Effect.forkDetach(close("client")), accepted)
      case "elicitDie":
        return Effect.die(new Error("a secret"))
      case "elicitNever":
        return Effect.never
      default:
        return Effect.succeed(accepted)
    }
  }

  const handlers = ClientSession.handlers({
    "elicitation/create": ({ message }) => {
      const question = simulatedTools.questionIn(message)
      return Effect.flatMap(
        ClientRequestContext.ClientRequestContext,
        ({ id, method }) => recorders.client.serving({ method, id, nonce: question.nonce }, () => user(question))
      )
    },
    "roots/list": () =>
      Effect.flatMap(
        ClientRequestContext.ClientRequestContext,
        ({ id, method }) =>
          recorders.client.serving({ method, id, nonce: undefined }, () => Effect.succeed({ roots: [] }))
      ),
    "notifications/message": ({ data }) => Effect.sync(() => recorders.client.note({ _tag: "Logged", data })),
    "notifications/resources/updated": ({ uri }) => Effect.sync(() => recorders.client.note({ _tag: "Updated", uri }))
  })

  const calling = ClientSession.make({
    info,
    revisions: era === "Modern" ? Revision.modern : Revision.legacy,
    limits,
    handlers,
    capabilities: { roots: { listChanged: true } },
    observe: (event) => recorders.client.note({ _tag: "SessionEvent", detail: event })
  })

  const served = Effect.tap(serving, (session) => Effect.sync(() => void (made.server = session)))
  const opened = calling.pipe(
    Effect.tap((session) => Effect.sync(() => void (made.client = session))),
    Effect.onExit((exit) =>
      Effect.sync(() =>
        recorders.client.note({
          _tag: "Opened",
          revision: Exit.isSuccess(exit) ? exit.value.profile.revision : undefined
        })
      )
    )
  )
  runtime.start(Deferred.into(world.attach(connection, "server", served), server))
  runtime.start(Deferred.into(world.attach(connection, "client", opened), client))

  return {
    connection,
    client: Deferred.await(client),
    server: Deferred.await(server),
    made,
    close,
    change
  }
}
