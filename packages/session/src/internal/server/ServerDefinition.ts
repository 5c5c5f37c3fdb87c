/** A server as its handlers and options define it, shared by all its sessions or by all its sessionless exchanges. */

import {
  Handshake,
  type Implementation,
  type Profile,
  type Revision,
  type RevisionProjection
} from "@effect-mcp/protocol"
import type { Extension } from "../../Extension.ts"
import * as Handlers from "../../Handlers.ts"
import * as Limits from "../../Limits.ts"
import type { Middleware } from "../../Middleware.ts"
import * as Dispatch from "../engine/Dispatch.ts"
import * as LogLevel from "../engine/LogLevel.ts"
import * as ServerHandshake from "./ServerHandshake.ts"

/** The options that define a server. */
export interface Options {
  readonly info: Implementation.Implementation
  readonly revisions?: readonly [Revision.Revision, ...ReadonlyArray<Revision.Revision>]
  readonly projection?: RevisionProjection.Projection
  readonly limits?: Limits.Options
  readonly instructions?: string
  readonly capabilities?: Handlers.ServerDeclarations
  readonly extensions?: ReadonlyArray<Extension<"client" | "either", unknown>>
  readonly middleware?: Middleware<unknown, unknown>
}

/** A server that is ready to serve. */
export interface ServerDefinition {
  readonly description: ServerHandshake.ServerDescription
  readonly limits: Limits.Limits
  readonly dispatch: Dispatch.Dispatch<unknown>
  readonly middleware: Middleware<unknown, unknown> | undefined
}

const define = (
  handlers: Handlers.Handlers<"client", unknown>,
  options: Options,
  limits: Limits.Limits,
  remembers: boolean
): ServerDefinition => {
  const capabilities = Handlers.serverCapabilities(handlers, options.capabilities)
  const { extensions, middleware, projection } = options
  return {
    description: ServerHandshake.describe({ ...options, capabilities }),
    limits,
    dispatch: Dispatch.make(
      "client",
      capabilities.logging === undefined ? handlers : LogLevel.settable(handlers, { remembers }),
      { middleware: middleware?.inbound, extensions, projection }
    ),
    middleware
  }
}

/** Defines a server with sessions. */
export const make = (handlers: Handlers.Handlers<"client", unknown>, options: Options): ServerDefinition =>
  define(handlers, options, Limits.make(options.limits), true)

/**
 * Defines a server without sessions. It remembers nothing of its clients: no log level, and no profile, so that a
 * profile needs no limit.
 */
export const makeSessionless = (handlers: Handlers.Handlers<"client", unknown>, options: Options): ServerDefinition =>
  define(handlers, options, { ...Limits.make(options.limits), maxProfileBytes: Number.POSITIVE_INFINITY }, false)

/** The state of everything that is served without a session. The machine stays in it until the end. */
export const sessionless: Handshake.SessionlessServerState = { _tag: "Sessionless" }

/** The machine of everything that is served without a session. */
export const sessionlessMachine = Handshake.sessionlessServer

/** Returns the profile of a client that is not remembered: its revision is all that is known of it. */
export const unknownClient = (revision: Revision.Revision): Profile.ClientProfile => ({
  revision,
  capabilities: {},
  info: undefined
})
