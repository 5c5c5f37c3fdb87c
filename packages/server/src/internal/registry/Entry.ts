/** The members of a group as the registry keeps them: their definitions, and the functions that serve them. */

import type { McpError, Prompt, Resource, Tool } from "@effect-mcp/protocol"
import type { ServerTasks } from "@effect-mcp/tasks"
import type * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { RequestServices } from "../../McpMiddleware.ts"
import type * as UriTemplate from "../../UriTemplate.ts"
import type { RegistrationError } from "./RegistrationError.ts"

/** The outcome of using a member that is not visible to the client. The client gets the error of an unknown member. */
export const hidden: unique symbol = Symbol("@effect-mcp/server/hidden")

/** An effect that serves a request with a member. */
export type Served<A> = Effect.Effect<A, McpError.McpError, RequestServices>

/** The services of the program that runs the server. Services of one request are those that differ from them. */
export type ServerContext = Context.Context<never>

/** The values that complete an argument. */
export interface Suggestions {
  readonly values: ReadonlyArray<string>
  readonly total?: number | undefined
  readonly hasMore?: boolean | undefined
}

/** The argument that a client completes, and the arguments that already have a value. */
export interface Completing {
  readonly argument: string
  readonly typed: string
  readonly others: { readonly [argument: string]: string }
}

interface Common {
  /** The id of the group, for errors. */
  readonly group: string
  /** The name that no other member of the same kind has. */
  readonly name: string
  /** The scopes that a principal needs to use the member, beside those of its registration. Default: none. */
  readonly scopes?: ReadonlyArray<string> | undefined
  /** Whether the member decides which clients see it. Default: unknown, if its registration decides about some. */
  readonly isConditional?: boolean | undefined
}

/** A tool. */
export interface ToolEntry extends Common {
  readonly kind: "tool"
  readonly definition: Tool.Tool
  /** Whether its calls become tasks. Default: they do not. */
  readonly task?: ServerTasks.ToolTasks | undefined
  readonly call: (
    input: Tool.CallToolParams["arguments"],
    server: ServerContext
  ) => Served<Tool.CallToolResult | typeof hidden>
}

/** A resource with a fixed URI. */
export interface ResourceEntry extends Common {
  readonly kind: "resource"
  readonly definition: Resource.Resource
  readonly read: (server: ServerContext) => Served<Resource.ReadResourceResult | typeof hidden>
}

/** The values of the variables in a URI. */
export type Variables = { readonly [name: string]: UriTemplate.MatchedValue }

/** Resources with URIs of one form. */
export interface TemplateEntry extends Common {
  readonly kind: "template"
  readonly definition: Resource.ResourceTemplate
  /** `undefined` if no URI belongs to it here: its form cannot be matched, and `unlisted` of its group reads them. */
  readonly template: UriTemplate.UriTemplate | undefined
  /**
   * Reads the resource with these variables. Succeeds with `undefined` if they do not fit the parameters, also if the
   * client does not see the template: then the URI belongs to another one.
   */
  readonly read: (
    variables: Variables,
    uri: string,
    server: ServerContext
  ) => Served<Resource.ReadResourceResult | typeof hidden | undefined>
  /**
   * Returns whether the client may subscribe to the resource with these variables; `undefined` if they do not fit the
   * parameters. Default: all fit, and the client may subscribe.
   */
  readonly fits?: (
    variables: Variables,
    uri: string,
    server: ServerContext
  ) => Effect.Effect<boolean | undefined, never, RequestServices>
  /** Returns the resources of the template that are listed for this client. Default: none. */
  readonly list?: (server: ServerContext) => Effect.Effect<ReadonlyArray<Resource.Resource>, never, RequestServices>
  readonly complete: Complete
  /** Whether some argument has suggestions, so that the server declares `completions`. */
  readonly isCompletable: boolean
}

/** A prompt. */
export interface PromptEntry extends Common {
  readonly kind: "prompt"
  readonly definition: Prompt.Prompt
  readonly get: (
    input: { readonly [argument: string]: string },
    server: ServerContext
  ) => Served<Prompt.GetPromptResult | typeof hidden>
  readonly complete: Complete
  /** Whether some argument has suggestions, so that the server declares `completions`. */
  readonly isCompletable: boolean
}

/** Completes an argument of a prompt or a template. */
export type Complete = (completing: Completing, server: ServerContext) => Served<Suggestions | typeof hidden>

/** A member of a group. */
export type Entry = ToolEntry | ResourceEntry | TemplateEntry | PromptEntry

/** The kinds of members. */
export type Kind = Entry["kind"]

/** The capabilities that depend on the members. */
export type Declarable = "tools" | "resources" | "prompts" | "completions"

/** The scopes that members need. */
export interface Demand {
  /** Each once, and at least one. */
  readonly scopes: ReadonlyArray<string>
  /** Whether the members are hidden from principals that lack one of the scopes. */
  readonly isHiding: boolean
}

/** The members of a group, and the decision which of them a client sees. */
export interface Registration {
  readonly group: string
  readonly entries: ReadonlyArray<Entry>
  /**
   * Returns which of these members the client of the request sees. All of them belong to this group. `undefined` if
   * every client sees every member.
   */
  readonly visible:
    | (<E extends Entry>(
      entries: ReadonlyArray<E>,
      method: string,
      server: ServerContext
    ) => Effect.Effect<ReadonlyArray<E>, never, RequestServices>)
    | undefined
  /** The scopes that a principal needs to use each member. Default: none. */
  readonly scopes?: Demand | undefined
  /** Capabilities that members of the group may need later. The server declares them when it starts. */
  readonly declares?: ReadonlyArray<Declarable>
  /** Receives the members that cannot be added. Without it, such a member is a defect, and no member is added. */
  readonly leaveOut?: (entry: Entry, error: RegistrationError) => void
  /** Reads a resource that is in no list. Succeeds with `undefined` if the group does not have it. */
  readonly unlisted?: (
    uri: string,
    server: ServerContext
  ) => Served<Resource.ReadResourceResult | typeof hidden | undefined>
  /**
   * Prepares the updates of a resource for one session that subscribes to it. The scope closes when this subscription
   * ends. If it fails, the session is not subscribed.
   */
  readonly observe?: (uri: string) => Effect.Effect<void, McpError.McpError, Scope.Scope>
  /**
   * Decides whether the client of the request may subscribe to a resource, unless `fits` of its template has decided.
   * Default: it may.
   */
  readonly permits?: (uri: string, server: ServerContext) => Effect.Effect<boolean, never, RequestServices>
}

/** A group that is registered. */
export interface Registered {
  /** Replaces the members of the group at once. A member that is the same object stays. */
  readonly replace: (entries: ReadonlyArray<Entry>) => Effect.Effect<void>
}
