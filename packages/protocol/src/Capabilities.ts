/**
 * What each side of a session says it can do.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * A capability that says no more than that it is there.
 *
 * @category models
 * @since 0.1.0
 */
export interface Declared {
  readonly [name: string]: unknown
}

/**
 * The schema of {@link Declared}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Declared: Schema.Codec<Declared> = Schema.Record(Schema.String, Schema.Unknown)

/**
 * A capability whose list may change during the session.
 *
 * @category models
 * @since 0.1.0
 */
export interface Listed {
  readonly listChanged?: boolean
}

/**
 * The schema of {@link Listed}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Listed: Schema.Codec<Listed> = Schema.Struct({ listChanged: Schema.optionalKey(Schema.Boolean) })

/**
 * What a client can do for a server.
 *
 * @category models
 * @since 0.1.0
 */
export interface ClientCapabilities {
  readonly experimental?: { readonly [name: string]: Declared }
  readonly roots?: Listed
  readonly sampling?: { readonly context?: Declared; readonly tools?: Declared }
  readonly elicitation?: { readonly form?: Declared; readonly url?: Declared }
  readonly tasks?: Declared
}

/**
 * The schema of {@link ClientCapabilities}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ClientCapabilities: Schema.Codec<ClientCapabilities> = Schema.Struct({
  experimental: Schema.optionalKey(Schema.Record(Schema.String, Declared)),
  roots: Schema.optionalKey(Listed),
  sampling: Schema.optionalKey(Schema.Struct({
    context: Schema.optionalKey(Declared),
    tools: Schema.optionalKey(Declared)
  })),
  elicitation: Schema.optionalKey(Schema.Struct({
    form: Schema.optionalKey(Declared),
    url: Schema.optionalKey(Declared)
  })),
  tasks: Schema.optionalKey(Declared)
})

/**
 * What a server can do for a client.
 *
 * @category models
 * @since 0.1.0
 */
export interface ServerCapabilities {
  readonly experimental?: { readonly [name: string]: Declared }
  readonly logging?: Declared
  readonly completions?: Declared
  readonly prompts?: Listed
  readonly resources?: Listed & { readonly subscribe?: boolean }
  readonly tools?: Listed
  readonly tasks?: Declared
}

/**
 * The schema of {@link ServerCapabilities}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ServerCapabilities: Schema.Codec<ServerCapabilities> = Schema.Struct({
  experimental: Schema.optionalKey(Schema.Record(Schema.String, Declared)),
  logging: Schema.optionalKey(Declared),
  completions: Schema.optionalKey(Declared),
  prompts: Schema.optionalKey(Listed),
  resources: Schema.optionalKey(Schema.Struct({
    listChanged: Schema.optionalKey(Schema.Boolean),
    subscribe: Schema.optionalKey(Schema.Boolean)
  })),
  tools: Schema.optionalKey(Listed),
  tasks: Schema.optionalKey(Declared)
})

/**
 * The capability of a server that a client's request needs.
 *
 * @category models
 * @since 0.1.0
 */
export type ServerCapability = keyof ServerCapabilities

/**
 * The capability of a client that a server's request needs.
 *
 * @category models
 * @since 0.1.0
 */
export type ClientCapability = keyof ClientCapabilities
