/** The host with an official server: the conditions of its tests, and observations of it. */
import { Model, parrot } from "@effect-mcp/examples/src/host/model.ts"
import * as Notifications from "@effect-mcp/examples/src/host/notifications.ts"
import * as Session from "@effect-mcp/examples/src/host/session.ts"
import { accepting, User } from "@effect-mcp/examples/src/host/user.ts"
import * as Workspace from "@effect-mcp/examples/src/host/workspace.ts"
import type { Elicitation, Revision, Sampling } from "@effect-mcp/protocol"
import {
  type ClientRequestContext,
  type ClientSession,
  type Limits,
  Recording,
  type SessionEvent
} from "@effect-mcp/session"
import type { Vitest } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Child from "../fixtures/child.ts"

/** Handlers of one test, in place of the parrot and of the accepting user. */
export interface Script {
  createMessage?: (
    params: Sampling.CreateMessageParams
  ) => Effect.Effect<Sampling.CreateMessageResult, never, ClientRequestContext.ClientRequestContext>
  fillForm?: (params: Elicitation.FormParams) => Effect.Effect<Elicitation.ElicitResult>
  openUrl?: (params: Elicitation.UrlParams, serverName: string) => Effect.Effect<Elicitation.ElicitResult>
}

export interface Host {
  readonly layer: Layer.Layer<
    ClientSession.ClientSession | Notifications.Notifications | Workspace.Workspace,
    Layer.Error<ReturnType<typeof Session.layer>>
  >
  readonly script: Script
  readonly events: ReadonlyArray<SessionEvent.SessionEvent>
  /** All sent and received messages. */
  readonly entries: ReadonlyArray<Recording.Entry>
  readonly server: Child.Server
}

const scripted = (script: Script) =>
  Layer.mergeAll(
    Layer.effect(
      Model,
      Effect.map(Model, ({ createMessage }) => ({
        createMessage: (params) => (script.createMessage ?? createMessage)(params)
      }))
    ),
    Layer.effect(
      User,
      Effect.map(User, ({ fillForm, openUrl }) => ({
        fillForm: (params, serverName) => (script.fillForm ?? fillForm)(params, serverName),
        openUrl: (params, serverName) => (script.openUrl ?? openUrl)(params, serverName)
      }))
    )
  ).pipe(Layer.provide(Layer.merge(parrot, accepting)))

/** Creates the host with this server at one revision. */
export const make = (
  revision: Revision.LegacyRevision,
  server: Child.Server,
  limits: Limits.Options = {}
): Host => {
  const script: Script = {}
  const events: Array<SessionEvent.SessionEvent> = []
  const entries: Array<Recording.Entry> = []
  const transport = Layer.provide(Recording.layer((entry) => entries.push(entry)), server.transport)
  const layer = Session.layer({ revisions: [revision], limits, observe: (event) => events.push(event) }).pipe(
    Layer.provide(Layer.merge(transport, scripted(script))),
    Layer.provideMerge(
      Layer.merge(Notifications.layer, Workspace.layer({ uri: "file:///home/ada", name: "home" }))
    ),
    Layer.tap(() => server.ready)
  )
  return { layer, script, events, entries, server }
}

/** Runs a program with other handlers. */
export const withScript = <A, E, R>({ script }: Host, handlers: Script, program: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => Object.assign(script, handlers)),
    () => program,
    () =>
      Effect.sync(() => {
        delete script.createMessage
        delete script.fillForm
        delete script.openUrl
      })
  )

/** An official server, and its differences from the others. */
export interface Peer {
  readonly name: string
  readonly file: string
  /** The message of the server for an error of a handler. */
  readonly errorMessage: (code: number, message: string) => string
  /** The code of the server for invalid params. JSON-RPC defines −32602. */
  readonly invalidParamsCode: number
  /** The code of the server for a missing resource. These revisions define −32002. */
  readonly notFoundCode: number
}

export interface Conditions {
  readonly it: Vitest.MethodsNonLive<ClientSession.ClientSession | Notifications.Notifications | Workspace.Workspace>
  readonly host: Host
  readonly peer: Peer
  readonly revision: Revision.LegacyRevision
  readonly over: "stdio" | "http"
}
