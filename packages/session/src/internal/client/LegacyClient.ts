/** The part of a client's session in a revision with a handshake. */

import { type JsonRpc, MethodTable, type Profile, type Tool } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import type { AttemptLayer, Layers, RequestLayer } from "../engine/Layers.ts"
import * as ResendPolicy from "../engine/ResendPolicy.ts"
import { trust } from "../trust.ts"
import type { ClientEra, EraDependencies, EraMembers } from "./ClientEra.ts"
import * as OutputSchemas from "./OutputSchemas.ts"
import * as Paging from "./Paging.ts"
import { TaskSupport } from "./TaskSupport.ts"

const { notifications, requests } = MethodTable

/** The client of a server with a handshake. */
export class LegacyClient implements ClientEra {
  readonly server: Profile.ServerProfile
  readonly members: EraMembers
  readonly #outputSchemas: OutputSchemas.OutputSchemas | undefined
  /** The tools that run as tasks, if the server runs tools as tasks. */
  readonly #taskSupport: TaskSupport | undefined

  constructor(server: Profile.ServerProfile, { runtime, sender, validator }: EraDependencies) {
    this.server = server
    this.#outputSchemas = OutputSchemas.make(server.revision, validator, {
      capacity: runtime.limits.maxOutputSchemas,
      emit: (event) => runtime.emit(event),
      read: (result) => result,
      onList: () => {}
    })
    this.#taskSupport = server.capabilities.tasks?.requests?.tools?.call === undefined
      ? undefined
      : new TaskSupport(Paging.list(sender, runtime.limits, requests["tools/list"], ({ tools }) => tools))
    this.members = {
      subscribeResource: (uri, options) =>
        Effect.asVoid(sender.request(requests["resources/subscribe"], { uri }, options)),
      unsubscribeResource: (uri, options) =>
        Effect.asVoid(sender.request(requests["resources/unsubscribe"], { uri }, options)),
      setLogLevel: (level, options) => Effect.asVoid(sender.request(requests["logging/setLevel"], { level }, options)),
      taskRequests: {
        request: (row, params, options) => sender.request(row, params, options),
        closed: runtime.closed,
        receiver: runtime,
        results: undefined,
        support: this.#taskSupport,
        checked: (tool, result) => this.#outputSchemas?.checked(tool, result) ?? result
      },
      rootsListChanged: sender.notify(notifications["notifications/roots/list_changed"], {}),
      notifications: (name) => runtime.subscriptions.follow<MethodTable.NotificationParamsOf<typeof name>>(name)
    }
  }

  get layers(): Layers {
    const support = this.#taskSupport
    return {
      requests: [
        ...(support === undefined ? [] : [observing(support)]),
        ...(this.#outputSchemas === undefined ? [] : [this.#outputSchemas.layer])
      ],
      attempts: [onceMoreIfUnknown]
    }
  }

  requiresTask(tool: string): boolean {
    return this.#taskSupport?.known(tool) === "required"
  }

  intercept(message: JsonRpc.Notification): boolean {
    this.#outputSchemas?.observe(message)
    if (message.method === notifications["notifications/tools/list_changed"].name) this.#taskSupport?.clear()
    return false
  }

  start(): void {}

  end(): void {}
}

/**
 * Sends a request that only reads once more if the server replied that its outcome is unknown: another process of the
 * server has the session now. Any other request may have been carried out.
 */
const onceMoreIfUnknown: AttemptLayer = (send) => (call) => {
  const isRepeatable = ResendPolicy.isReading(call.row.name)
  return ResendPolicy.allows({ outcome: "Unknown", isRepeatable, repetitions: 0 })
    ? Effect.catchIf(send(call), ResendPolicy.isReportedUnknown, () => send({ ...call, isHeld: false }))
    : send(call)
}

/** Stores which of the listed tools run as tasks. */
const observing = (support: TaskSupport): RequestLayer => (send) => (row, params, options) =>
  Object.is(row, requests["tools/list"])
    // The row is that of `tools/list`, so the result has its type.
    ? Effect.tap(
      send(row, params, options),
      (result) => Effect.sync(() => support.observe(trust<Tool.ListToolsResult>(result).tools))
    )
    : send(row, params, options)
