/** The parts of a server that all of its sessions, or all of its sessionless exchanges, share. */

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
  readonly revisions?: readonly [Revision.LegacyRevision, ...ReadonlyArray<Revision.LegacyRevision>]
  readonly projection?: RevisionProjection.Projection
  readonly limits?: Limits.Options
  readonly instructions?: string
  readonly capabilities?: Handlers.ServerDeclarations
  readonly extensions?: ReadonlyArray<Extension<"client" | "either", unknown>>
  readonly middleware?: Middleware<unknown, unknown>
}

/** A server with its limits and its checked handlers. */
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
  hasSessions: boolean
): ServerDefinition => {
  const capabilities = Handlers.serverCapabilities(handlers, options.capabilities)
  const { extensions, middleware, projection } = options
  return {
    description: ServerHandshake.describe({ ...options, capabilities }),
    limits,
    dispatch: Dispatch.make(
      "client",
      capabilities.logging === undefined ? handlers : LogLevel.settable(handlers, { storesLevel: hasSessions }),
      { middleware: middleware?.inbound, extensions, projection }
    ),
    middleware
  }
}

/** Defines a server with sessions. */
export const make = (handlers: Handlers.Handlers<"client", unknown>, options: Options): ServerDefinition =>
  define(handlers, options, Limits.make(options.limits), true)

/** Defines a server without sessions. It stores no log level and no profile, so that a profile needs no limit. */
export const makeSessionless = (handlers: Handlers.Handlers<"client", unknown>, options: Options): ServerDefinition =>
  define(handlers, options, { ...Limits.make(options.limits), maxProfileBytes: Number.POSITIVE_INFINITY }, false)

/** The state of a server without sessions. Its machine never leaves it. */
export const sessionless: { readonly _tag: "Sessionless" } = { _tag: "Sessionless" }

/** The machine of a server without sessions. */
export const sessionlessMachine = Handshake.sessionlessServer

/** Returns the profile of a client without a session: only its revision is known. */
export const unknownClient = (revision: Revision.Revision): Profile.ClientProfile => ({
  revision,
  capabilities: {},
  info: undefined
})
