/** The part of a client's session in a revision without a handshake. */

import { type CloseReason, JsonRpc, MethodTable, type Profile, TaskExtension } from "@effect-mcp/protocol"
import { ResultType } from "@effect-mcp/protocol/internal"
import * as Effect from "effect/Effect"
import * as RequestError from "../../RequestError.ts"
import type { AttemptLayer, Layers } from "../engine/Layers.ts"
import * as ResendPolicy from "../engine/ResendPolicy.ts"
import { CallBounds } from "./CallBounds.ts"
import { type ClientEra, declaredIn, type EraDependencies, type EraMembers } from "./ClientEra.ts"
import { ClientMetadata } from "./ClientMetadata.ts"
import * as HeaderMismatchRetry from "./HeaderMismatchRetry.ts"
import { InputRounds } from "./InputRounds.ts"
import { KeptResults } from "./KeptResults.ts"
import * as ListenFilter from "./ListenFilter.ts"
import { Listening } from "./Listening.ts"
import * as OutputSchemas from "./OutputSchemas.ts"
import * as ResultEnvelope from "./ResultEnvelope.ts"
import { TaskResults } from "./TaskResults.ts"

const { notifications, requests } = MethodTable

/** The client of a server without a handshake. */
export class ModernClient implements ClientEra {
  readonly server: Profile.ModernServerProfile
  readonly layers: Layers
  readonly members: EraMembers
  readonly #keptResults: KeptResults
  readonly #outputSchemas: OutputSchemas.OutputSchemas | undefined
  readonly #listening: Listening
  readonly #bounds: CallBounds

  constructor(server: Profile.ModernServerProfile, dependencies: EraDependencies) {
    const { contextOf, description, dispatch, isHandled, runtime, sender, validator } = dependencies
    const hasTasks = TaskExtension.isDeclared(description.capabilities)
    const metadata = new ClientMetadata(
      description,
      server,
      isHandled(notifications["notifications/message"].name) ? 1 : 0
    )
    const bounds = new CallBounds(runtime.timer)
    const kept = new KeptResults(runtime)
    const outputSchemas = OutputSchemas.make(server.revision, validator, {
      capacity: runtime.limits.maxOutputSchemas,
      emit: (event) => {
        // A list that is sent again stores the schema again. A kept one would not.
        if (event._tag === "OutputSchemaDropped") kept.drop(requests["tools/list"].name)
        runtime.emit(event)
      },
      read: ResultEnvelope.remove,
      onList: () => listening.follow("notifications/tools/list_changed")
    })
    const listening = new Listening(runtime, {
      server,
      sender,
      notifications: dependencies.notifications,
      onMissed: (message) => {
        kept.observe(message)
        outputSchemas?.observe(message)
      }
    })
    for (const change of ListenFilter.listChanges) if (isHandled(change)) listening.follow(change)
    const rounds = new InputRounds(runtime, {
      server,
      dispatch,
      bounds,
      contextOf,
      declared: declaredIn(description, server.revision),
      resultTypes: hasTasks ? new Set([...ResultType.core, TaskExtension.resultType]) : ResultType.core
    })
    const tasks = new TaskResults({ runtime, sender, rounds, bounds, isDeclared: hasTasks })
    this.server = server
    this.#keptResults = kept
    this.#outputSchemas = outputSchemas
    this.#listening = listening
    this.#bounds = bounds
    this.layers = {
      requests: [
        kept.layer,
        HeaderMismatchRetry.layer(runtime, () => kept.drop(requests["tools/list"].name)),
        ...(outputSchemas === undefined ? [] : [outputSchemas.layer]),
        listening.layer
      ],
      attempts: [
        withoutEnvelope,
        rounds.layer,
        ...(hasTasks ? [tasks.layer] : []),
        onceMoreIfLost,
        (send) => (call) => Effect.suspend(() => send({ ...call, metadata: metadata.current }))
      ]
    }
    /** Sends nothing, because a server without a handshake needs no such message. Fails if the session has ended. */
    const sendNothing = (name: string): Effect.Effect<void, RequestError.RequestError> =>
      Effect.suspend(() => {
        const state = runtime.state()
        return "reason" in state
          ? Effect.fail(RequestError.make(name, { _tag: "Closed", reason: state.reason, isSent: false }))
          : Effect.void
      })
    const { name: setLevel } = requests["logging/setLevel"]
    this.members = {
      subscribeResource: (uri, options) =>
        Effect.asVoid(
          sender.around(requests["resources/subscribe"], { uri }, ({ uri }) =>
            Effect.as(listening.subscribe(uri, options), {}))
        ),
      unsubscribeResource: (uri) =>
        Effect.asVoid(
          sender.around(requests["resources/unsubscribe"], { uri }, ({ uri }) =>
            Effect.as(listening.unsubscribe(uri), {}))
        ),
      setLogLevel: (level) =>
        Effect.andThen(
          sendNothing(setLevel),
          server.capabilities.logging === undefined
            ? Effect.fail(RequestError.make(setLevel, { _tag: "MissingCapability", capability: "logging" }))
            : Effect.sync(() => metadata.setLevel(level))
        ),
      taskRequests: {
        request: (row, params, options) => sender.request(row, params, options),
        closed: runtime.closed,
        receiver: runtime,
        results: tasks,
        support: undefined,
        checked: (tool, result) => outputSchemas?.checked(tool, result) ?? result
      },
      rootsListChanged: sendNothing(notifications["notifications/roots/list_changed"].name),
      notifications: (name) => {
        const followed = runtime.subscriptions.follow<MethodTable.NotificationParamsOf<typeof name>>(name)
        return name === notifications["notifications/message"].name
          ? metadata.during(followed)
          : listening.during(name, followed)
      }
    }
  }

  requiresTask(): boolean {
    return false
  }

  intercept(message: JsonRpc.Notification): boolean {
    if (this.#listening.intercept(message)) return true
    this.#keptResults.observe(message)
    this.#outputSchemas?.observe(message)
    return false
  }

  start(): void {
    this.#listening.start()
  }

  end(reason: CloseReason.CloseReason): void {
    this.#bounds.end(reason)
    this.#listening.end(reason)
    this.#keptResults.end()
  }
}

/** Removes the members that all results have in this revision. */
const withoutEnvelope: AttemptLayer = (send) => (call) =>
  // The answer to the probe describes the server, and its name is part of that.
  call.row.name === "server/discover"
    ? send(call)
    : Effect.map(send(call), ({ id, result }) => JsonRpc.success(id, ResultEnvelope.remove(result)))

/**
 * Sends a request once more if its stream was lost, because a lost stream cannot be resumed: with a new id, and only if
 * the request reads (SHE-10). Any other request may have been carried out.
 */
const onceMoreIfLost: AttemptLayer = (send) => (call) => {
  const isRepeatable = ResendPolicy.isReading(call.row.name)
  return ResendPolicy.allows({ outcome: "Unknown", isRepeatable, repetitions: 0 })
    ? Effect.catchIf(send(call), ResendPolicy.isStreamLost, () => send({ ...call, isHeld: false }))
    : send(call)
}
