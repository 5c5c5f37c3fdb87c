/**
 * The two messages of the handshake: `initialize` and `notifications/initialized`.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { ClientCapabilities, ServerCapabilities } from "./Capabilities.ts"
import { Implementation } from "./Implementation.ts"
import { Meta, RequestMeta } from "./Meta.ts"

/**
 * What a client opens with (INIT-02).
 *
 * @category models
 * @since 0.1.0
 */
export interface InitializeParams {
  readonly protocolVersion: string
  readonly capabilities: ClientCapabilities
  readonly clientInfo: Implementation
  readonly _meta?: RequestMeta
}

/**
 * The schema of {@link InitializeParams}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const InitializeParams: Schema.Codec<InitializeParams> = Schema.Struct({
  protocolVersion: Schema.String,
  capabilities: ClientCapabilities,
  clientInfo: Implementation,
  _meta: Schema.optionalKey(RequestMeta)
})

/**
 * What a server answers (INIT-07). `instructions` tells a model how to use this server.
 *
 * @category models
 * @since 0.1.0
 */
export interface InitializeResult {
  readonly protocolVersion: string
  readonly capabilities: ServerCapabilities
  readonly serverInfo: Implementation
  readonly instructions?: string
  readonly _meta?: Meta
}

/**
 * The schema of {@link InitializeResult}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const InitializeResult: Schema.Codec<InitializeResult> = Schema.Struct({
  protocolVersion: Schema.String,
  capabilities: ServerCapabilities,
  serverInfo: Implementation,
  instructions: Schema.optionalKey(Schema.String),
  _meta: Schema.optionalKey(Meta)
})
