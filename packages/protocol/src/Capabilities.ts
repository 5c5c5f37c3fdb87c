/**
 * The capabilities that each side declares in the handshake.
 *
 * @stability unstable
 */
import * as Equal from "effect/Equal"
import * as Schema from "effect/Schema"
import { isAtLeast, type Revision } from "./Revision.ts"

/**
 * A capability without settings.
 *
 * @category models
 */
export interface Declared {
  readonly [name: string]: unknown
}

export const Declared: Schema.Codec<Declared> = Schema.Record(Schema.String, Schema.Unknown)

/**
 * A capability whose list may change during the session.
 *
 * @category models
 */
export interface Listed {
  readonly listChanged?: boolean
}

export const Listed: Schema.Codec<Listed> = Schema.Struct({ listChanged: Schema.optionalKey(Schema.Boolean) })

/**
 * The requests to a client that may become tasks, and the task methods that the client supports (TSK-01).
 *
 * @category models
 */
export interface ClientTasks {
  readonly list?: Declared
  readonly cancel?: Declared
  readonly requests?: {
    readonly sampling?: { readonly createMessage?: Declared }
    readonly elicitation?: { readonly create?: Declared }
  }
}

export const ClientTasks: Schema.Codec<ClientTasks> = Schema.Struct({
  list: Schema.optionalKey(Declared),
  cancel: Schema.optionalKey(Declared),
  requests: Schema.optionalKey(Schema.Struct({
    sampling: Schema.optionalKey(Schema.Struct({ createMessage: Schema.optionalKey(Declared) })),
    elicitation: Schema.optionalKey(Schema.Struct({ create: Schema.optionalKey(Declared) }))
  }))
})

/**
 * The requests to a server that may become tasks, and the task methods that the server supports (TSK-01).
 *
 * @category models
 */
export interface ServerTasks {
  readonly list?: Declared
  readonly cancel?: Declared
  readonly requests?: { readonly tools?: { readonly call?: Declared } }
}

export const ServerTasks: Schema.Codec<ServerTasks> = Schema.Struct({
  list: Schema.optionalKey(Declared),
  cancel: Schema.optionalKey(Declared),
  requests: Schema.optionalKey(Schema.Struct({
    tools: Schema.optionalKey(Schema.Struct({ call: Schema.optionalKey(Declared) }))
  }))
})

/**
 * The capabilities of a client.
 *
 * @category models
 */
export interface ClientCapabilities {
  readonly experimental?: { readonly [name: string]: Declared }
  /** The extensions of the protocol, by their names (VER-17), with their settings. */
  readonly extensions?: { readonly [name: string]: Declared }
  readonly roots?: Listed
  readonly sampling?: { readonly context?: Declared; readonly tools?: Declared }
  readonly elicitation?: { readonly form?: Declared; readonly url?: Declared }
  readonly tasks?: ClientTasks
}

export const ClientCapabilities: Schema.Codec<ClientCapabilities> = Schema.Struct({
  experimental: Schema.optionalKey(Schema.Record(Schema.String, Declared)),
  extensions: Schema.optionalKey(Schema.Record(Schema.String, Declared)),
  roots: Schema.optionalKey(Listed),
  sampling: Schema.optionalKey(Schema.Struct({
    context: Schema.optionalKey(Declared),
    tools: Schema.optionalKey(Declared)
  })),
  elicitation: Schema.optionalKey(Schema.Struct({
    form: Schema.optionalKey(Declared),
    url: Schema.optionalKey(Declared)
  })),
  tasks: Schema.optionalKey(ClientTasks)
})

/**
 * The capabilities of a server.
 *
 * @category models
 */
export interface ServerCapabilities {
  readonly experimental?: { readonly [name: string]: Declared }
  /** The extensions of the protocol, by their names (VER-17), with their settings. */
  readonly extensions?: { readonly [name: string]: Declared }
  readonly logging?: Declared
  readonly completions?: Declared
  readonly prompts?: Listed
  readonly resources?: Listed & { readonly subscribe?: boolean }
  readonly tools?: Listed
  readonly tasks?: ServerTasks
}

export const ServerCapabilities: Schema.Codec<ServerCapabilities> = Schema.Struct({
  experimental: Schema.optionalKey(Schema.Record(Schema.String, Declared)),
  extensions: Schema.optionalKey(Schema.Record(Schema.String, Declared)),
  logging: Schema.optionalKey(Declared),
  completions: Schema.optionalKey(Declared),
  prompts: Schema.optionalKey(Listed),
  resources: Schema.optionalKey(Schema.Struct({
    listChanged: Schema.optionalKey(Schema.Boolean),
    subscribe: Schema.optionalKey(Schema.Boolean)
  })),
  tools: Schema.optionalKey(Listed),
  tasks: Schema.optionalKey(ServerTasks)
})

/** A prefix of labels that dots separate, a slash, and a name: a key of `_meta` with a prefix. */
const extensionName = /^[a-z](?:[a-z\d-]*[a-z\d])?(?:\.[a-z](?:[a-z\d-]*[a-z\d])?)*\/[a-z\d](?:[\w.-]*[a-z\d])?$/i

/**
 * Tests whether a text is the name of an extension: a key in the grammar of `_meta`, with a prefix (VER-17).
 *
 * @example
 * ```ts
 * import { Capabilities } from "@effect-mcp/protocol"
 *
 * export const answers = ["com.example/search", "search", "com.example/"].map(Capabilities.isExtensionName)
 * // => [true, false, false]
 * ```
 *
 * @category guards
 */
export const isExtensionName = (text: string): boolean => extensionName.test(text)

/**
 * The path of a capability of either side. A dot separates a capability from its part.
 *
 * @category models
 */
export type Path =
  | "completions"
  | "elicitation"
  | "elicitation.form"
  | "elicitation.url"
  | "logging"
  | "prompts"
  | "prompts.listChanged"
  | "resources"
  | "resources.listChanged"
  | "resources.subscribe"
  | "roots"
  | "roots.listChanged"
  | "sampling"
  | "sampling.context"
  | "sampling.tools"
  | "tasks"
  | "tasks.cancel"
  | "tasks.list"
  | "tools"
  | "tools.listChanged"

/** The revisions that introduced a capability for methods that older revisions have without it. */
const introduced: { readonly [P in Path]?: Revision } = { completions: "2025-03-26" }

const names = new Map<Path, ReadonlyArray<string>>()

/** Returns the names between the dots of a path. It is called for every request, so results are kept. */
const namesIn = (path: Path): ReadonlyArray<string> => {
  const known = names.get(path)
  if (known !== undefined) return known
  const parts = path.split(".")
  names.set(path, parts)
  return parts
}

const isMembers = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === "object" && value !== null

/**
 * Tests whether a side has declared a capability. An `elicitation` without a mode means `form` (ELI-02).
 *
 * @example
 * ```ts
 * import { Capabilities } from "@effect-mcp/protocol"
 *
 * export const answers = [
 *   Capabilities.declares({ resources: { subscribe: true } }, "resources.subscribe"),
 *   Capabilities.declares({ resources: {} }, "resources.subscribe")
 * ] // => [true, false]
 * ```
 *
 * @category guards
 */
export const declares = (declared: ClientCapabilities | ServerCapabilities, path: Path): boolean => {
  if (path === "elicitation.form") {
    const elicitation = "elicitation" in declared ? declared.elicitation : undefined
    return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
  }
  let value: unknown = declared
  for (const name of namesIn(path)) value = isMembers(value) && Object.hasOwn(value, name) ? value[name] : undefined
  return value !== undefined && value !== null && value !== false
}

/**
 * Returns the capabilities of a client that declares no more than this one.
 *
 * @example
 * ```ts
 * import { Capabilities } from "@effect-mcp/protocol"
 *
 * export const needed = Capabilities.ofPath("elicitation.url") // => { elicitation: { url: {} } }
 * ```
 *
 * @category constructors
 */
export const ofPath = (path: string): ClientCapabilities => {
  const [whole = "", part] = path.split(".")
  return { [whole]: part === undefined ? {} : { [part]: {} } }
}

/**
 * Tests whether a revision requires this capability for its methods (INIT-15).
 *
 * @example
 * ```ts
 * import { Capabilities } from "@effect-mcp/protocol"
 *
 * // In the oldest revision, servers complete arguments without a declaration: the capability does not exist yet.
 * export const answers = [
 *   Capabilities.isKnownTo("completions", "2025-03-26"),
 *   Capabilities.isKnownTo("completions", "2024-11-05")
 * ] // => [true, false]
 * ```
 *
 * @category guards
 */
export const isKnownTo = (path: Path, revision: Revision): boolean => {
  const since = introduced[path]
  return since === undefined || isAtLeast(revision, since)
}

/**
 * Tests whether the declared capabilities include every required one. Required experimental capabilities and extensions
 * must be equal by value. The modes of `elicitation` are not compared. Of `tasks`, only the requests that may become
 * tasks are compared.
 *
 * @example
 * ```ts
 * import { Capabilities } from "@effect-mcp/protocol"
 *
 * const declared = { sampling: { tools: {} }, roots: {} }
 *
 * export const answers = [
 *   Capabilities.covers(declared, { sampling: {} }),
 *   Capabilities.covers(declared, { roots: { listChanged: true } })
 * ] // => [true, false]
 * ```
 *
 * @category guards
 */
export const covers = (declared: ClientCapabilities, required: ClientCapabilities): boolean => {
  const { experimental, extensions, roots, sampling, tasks } = required
  if (roots !== undefined && !coversFlags(declared.roots, roots)) return false
  if (sampling !== undefined && !coversNames(declared.sampling, sampling)) return false
  if (required.elicitation !== undefined && declared.elicitation === undefined) return false
  if (experimental !== undefined && !coversValues(declared.experimental, experimental)) return false
  if (extensions !== undefined && !coversValues(declared.extensions, extensions)) return false
  return tasks === undefined || coversTasks(declared.tasks, tasks)
}

/**
 * Tests whether the declared task capabilities include every required one. Only the requests that may become tasks are
 * compared.
 *
 * @example
 * ```ts
 * import { Capabilities } from "@effect-mcp/protocol"
 *
 * const declared = { requests: { elicitation: { create: {} } } }
 *
 * export const answers = [
 *   Capabilities.coversTasks(declared, { requests: { elicitation: { create: {} } } }),
 *   Capabilities.coversTasks(declared, { requests: { sampling: { createMessage: {} } } })
 * ] // => [true, false]
 * ```
 *
 * @category guards
 */
export const coversTasks = (declared: ClientTasks | undefined, required: ClientTasks): boolean => {
  if (declared === undefined) return false
  const { elicitation, sampling } = required.requests ?? {}
  return (elicitation?.create === undefined || declared.requests?.elicitation?.create !== undefined) &&
    (sampling?.createMessage === undefined || declared.requests?.sampling?.createMessage !== undefined)
}

const coversNames = (declared: object | undefined, required: object): boolean =>
  declared !== undefined && Object.keys(required).every((name) => Object.hasOwn(declared, name))

const coversValues = (declared: Declared | undefined, required: Declared): boolean =>
  declared !== undefined &&
  Object.entries(required).every(([name, value]) => Equal.equals(declared[name], value))

const coversFlags = (declared: Listed | undefined, required: Listed): boolean =>
  declared !== undefined && (required.listChanged !== true || declared.listChanged === true)
