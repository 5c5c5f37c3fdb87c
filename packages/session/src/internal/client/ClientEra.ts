/** The part of a client's session that depends on whether its revision has a handshake. */

import type { Capabilities, CloseReason, Handshake, JsonRpc, Profile, Revision } from "@effect-mcp/protocol"
import type * as Context from "effect/Context"
import type { JsonSchemaValidatorShape } from "../../JsonSchemaValidator.ts"
import type { Dispatch } from "../engine/Dispatch.ts"
import type { IncomingRequest } from "../engine/IncomingRequests.ts"
import type { Layers } from "../engine/Layers.ts"
import type { Sender } from "../engine/Sender.ts"
import type { SessionRuntime, SharedMember } from "../engine/SessionRuntime.ts"
import * as ClientDescription from "./ClientDescription.ts"
import type { ClientSessionShape } from "./ClientSessionShape.ts"
import type { Notifications } from "./EarlyLogs.ts"

/** The session of either era. */
export interface EraDependencies {
  readonly runtime: Pick<SessionRuntime<Handshake.ClientState>, SharedMember | "fork" | "subscriptions">
  readonly sender: Sender
  readonly description: ClientDescription.ClientDescription
  readonly notifications: Notifications
  readonly validator: JsonSchemaValidatorShape | undefined
  readonly dispatch: Dispatch<unknown>
  /** Returns the services of a handler. */
  readonly contextOf: (
    request: IncomingRequest,
    message: JsonRpc.Request,
    profile: Profile.ServerProfile
  ) => Context.Context<unknown>
  /** Returns whether the program has a handler for this notification. */
  readonly isHandled: (notification: string) => boolean
}

/** The members of a session that are different in the two eras. */
export type EraMembers = Pick<
  ClientSessionShape,
  "notifications" | "rootsListChanged" | "setLogLevel" | "subscribeResource" | "taskRequests" | "unsubscribeResource"
>

/** The client of one era, after its handshake or its probe. */
export interface ClientEra {
  readonly server: Profile.ServerProfile
  /** The layers around its requests. */
  readonly layers: Layers
  readonly members: EraMembers
  /** Returns whether a tool is known to run as a task only. */
  readonly requiresTask: (tool: string) => boolean
  /** Handles a notification before its handler does. Returns `true` if it goes no further. */
  readonly intercept: (message: JsonRpc.Notification) => boolean
  /** Starts what the session does by itself, because it is established. */
  readonly start: () => void
  /** Ends what depends on the session. */
  readonly end: (reason: CloseReason.CloseReason) => void
}

/** Returns the capabilities of the client, in the form of a revision. */
export const declaredIn = (
  description: ClientDescription.ClientDescription,
  revision: Revision.Revision
): Capabilities.ClientCapabilities => ClientDescription.initializeParams(description, revision).capabilities
