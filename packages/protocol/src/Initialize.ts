/**
 * The two messages of the handshake: `initialize` and `notifications/initialized`.
 *
 * @stability unstable
 */
import * as Schema from "effect/Schema"
import { ClientCapabilities, ServerCapabilities } from "./Capabilities.ts"
import { Implementation } from "./Implementation.ts"
import { Meta, RequestMeta } from "./Meta.ts"

/**
 * The params of `initialize` (INIT-02).
 *
 * @category models
 */
export interface InitializeParams {
  readonly protocolVersion: string
  readonly capabilities: ClientCapabilities
  readonly clientInfo: Implementation
  readonly _meta?: RequestMeta
}

export const InitializeParams: Schema.Codec<InitializeParams> = Schema.Struct({
  protocolVersion: Schema.String,
  capabilities: ClientCapabilities,
  clientInfo: Implementation,
  _meta: Schema.optionalKey(RequestMeta)
})

/**
 * The result of `initialize` (INIT-07). `instructions` describes to a model how to use this server.
 *
 * @category models
 */
export interface InitializeResult {
  readonly protocolVersion: string
  readonly capabilities: ServerCapabilities
  readonly serverInfo: Implementation
  readonly instructions?: string
  readonly _meta?: Meta
}

export const InitializeResult: Schema.Codec<InitializeResult> = Schema.Struct({
  protocolVersion: Schema.String,
  capabilities: ServerCapabilities,
  serverInfo: Implementation,
  instructions: Schema.optionalKey(Schema.String),
  _meta: Schema.optionalKey(Meta)
})
