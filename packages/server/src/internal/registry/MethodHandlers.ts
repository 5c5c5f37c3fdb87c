/** The handlers of the protocol's methods, which serve the members of a registry. */

import {
  Completion,
  McpError,
  type Prompt,
  type Resource,
  type Subscription,
  TaskExtension,
  type Tool
} from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
import type { Handlers } from "@effect-mcp/session"
import { PreparedResult } from "@effect-mcp/session/internal"
import * as Listener from "@effect-mcp/session/Listener"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type { CacheHint, ListHints } from "../../McpCaching.ts"
import type { RequestServices } from "../../McpMiddleware.ts"
import * as Tasks from "../tasks/Tasks.ts"
import type { ConnectedClients } from "./ConnectedClients.ts"
import * as Cursor from "./Cursor.ts"
import {
  type Declarable,
  type Entry,
  hidden,
  type Registration,
  type ServerContext,
  type TemplateEntry,
  type ToolEntry
} from "./Entry.ts"
import * as Hinted from "./Hinted.ts"
import type { MemberScopes } from "./MemberScopes.ts"
import type { Registry } from "./Registry.ts"
import type { Client } from "./Subscriptions.ts"

type ServerHandlers = Handlers.Handlers<"client", RequestServices>

/** The parts of a server that its handlers use. */
export interface Server {
  readonly registry: Registry
  readonly clients: ConnectedClients
  readonly scopes: MemberScopes
  /** Whether calls of tools can become tasks. */
  readonly hasTasks: boolean
  /** Whether each client has a session. Otherwise changes reach only clients that listen. */
  readonly hasSessions: boolean
  readonly context: ServerContext
  readonly pageSize: number
  readonly caching: ListHints
}

/** The longest URI that a client can subscribe to, in characters. */
const maxUriLength = 8_192

const unknownTool = (name: string) => McpError.invalidParams(`Unknown tool: ${Excerpt.of(name)}`)

const unknownPrompt = (name: string) => McpError.invalidParams(`Unknown prompt: ${Excerpt.of(name)}`)

const unknownTemplate = (uri: string) => McpError.invalidParams(`Unknown resource template: ${Excerpt.of(uri)}`)

/** Fails if the client does not see the member: in the same way as if it did not exist. */
const unless =
  (error: () => McpError.McpError) => <A>(result: A | typeof hidden): Effect.Effect<A, McpError.McpError> =>
    result === hidden ? Effect.fail(error()) : Effect.succeed(result)

/** The members that a client can use, before it is decided which of them it sees. */
interface Offer<E> {
  readonly entries: ReadonlyArray<E>
  /** Whether every client can use the same members. */
  readonly isForAll: boolean
}

type Offered<E> = (entries: ReadonlyArray<E>) => Effect.Effect<Offer<E>, never, RequestContext.RequestContext>

const everything = <E>(entries: ReadonlyArray<E>): Effect.Effect<Offer<E>> =>
  Effect.succeed({ entries, isForAll: true })

/** Returns the function that leaves out the tools that a client without tasks cannot call. */
const callable = (): Offered<ToolEntry> => {
  // The same array for the same tools, because the pages of a list are prepared for its array.
  const withoutRequired = new WeakMap<ReadonlyArray<ToolEntry>, ReadonlyArray<ToolEntry>>()
  return (tools) => {
    const plain = withoutRequired.get(tools) ?? tools.filter(({ task }) => task?.support !== "required")
    withoutRequired.set(tools, plain)
    return plain.length === tools.length
      ? everything(tools)
      : Effect.map(RequestContext.RequestContext, ({ profile }) => ({
        entries: TaskExtension.isCallable("required", profile) ? tools : plain,
        isForAll: false
      }))
  }
}

/**
 * Returns a function that lists the members of one kind, page by page. The pages of a list that is the same for every
 * client are prepared: a server of 500 tools describes them anew only after a change.
 */
const lister = <E extends Entry, Result extends object>(
  { context, pageSize, registry }: Server,
  method: string,
  hint: CacheHint | undefined,
  members: { readonly sorted: ReadonlyArray<E>; readonly keyOf: (entry: E) => string },
  toResult: (definitions: ReadonlyArray<E["definition"]>, next: { readonly nextCursor?: string }) => Result,
  offered: Offered<E> = everything
) => {
  const hinted = Hinted.make(hint, `caching of ${method}`)
  const prepared = new WeakMap<ReadonlyArray<E>, Map<number, Result>>()
  const result = (entries: ReadonlyArray<E>, start: number): Result => {
    const { items, nextCursor } = Cursor.page(method, entries, members.keyOf, start, pageSize)
    const definitions = items.map(({ definition }): E["definition"] => definition)
    return toResult(definitions, nextCursor === undefined ? {} : { nextCursor })
  }
  const preparedResult = (entries: ReadonlyArray<E>, start: number): Result => {
    const pages = prepared.get(entries) ?? new Map<number, Result>()
    prepared.set(entries, pages)
    const known = pages.get(start)
    if (known !== undefined) return known
    const made = PreparedResult.make(result(entries, start))
    pages.set(start, made)
    return made
  }
  return ({ cursor }: { readonly cursor?: string | undefined }) =>
    Effect.flatMap(offered(members.sorted), (offer) =>
      Effect.flatMap(
        registry.visible(offer.entries, method, context),
        (entries) =>
          Effect.flatMap(Cursor.startOf(method, entries, members.keyOf, cursor), (start) => {
            const isSeenByAll = entries === offer.entries
            return hinted(
              // A client can make a cursor for any item. Only the pages of a client that follows the cursors are kept.
              isSeenByAll && start % pageSize === 0 ? preparedResult(entries, start) : result(entries, start),
              isSeenByAll && offer.isForAll
            )
          })
      ))
}

const tools = (server: Server): ServerHandlers => ({
  "tools/list": lister(
    server,
    "tools/list",
    server.caching.tools,
    server.registry.tools,
    (tools, next) => ({ tools: server.hasTasks ? tools : tools.map(Tasks.withoutTasks), ...next }),
    server.hasTasks ? callable() : undefined
  ),
  "tools/call": server.scopes.attach(({ arguments: input, name }: Tool.CallToolParams) => {
    const error = () => unknownTool(name)
    const tool = server.registry.tools.get(name)
    if (tool === undefined) return Effect.fail(error())
    const served = Effect.flatMap(tool.call(input, server.context), unless(error))
    return server.scopes.check(tool, "tools/call", server.context, error, served)
  }, server.scopes.ofTool)
})

const prompts = (server: Server): ServerHandlers => ({
  "prompts/list": lister(
    server,
    "prompts/list",
    server.caching.prompts,
    server.registry.prompts,
    (prompts, next) => ({ prompts, ...next })
  ),
  "prompts/get": server.scopes.attach(({ arguments: input = {}, name }: Prompt.GetPromptParams) => {
    const error = () => unknownPrompt(name)
    const prompt = server.registry.prompts.get(name)
    if (prompt === undefined) return Effect.fail(error())
    const served = Effect.flatMap(prompt.get(input, server.context), unless(error))
    return server.scopes.check(prompt, "prompts/get", server.context, error, served)
  }, server.scopes.ofPrompt)
})

/**
 * Reads the resource with this URI. It belongs to the resource with this URI, or else to the most literal template
 * whose parameters it fits. A client that does not see this member reads nothing: if another template read the URI,
 * hiding a resource would not protect it.
 */
const read = Effect.fnUntraced(function*(
  { context, registry, scopes }: Server,
  uri: string
): Effect.fn.Return<Resource.ReadResourceResult, McpError.McpError, RequestServices> {
  const resource = registry.resources.get(uri)
  const unknown = () => McpError.resourceNotFound(uri)
  const method = "resources/read"
  if (resource !== undefined) {
    return yield* unless(unknown)(yield* scopes.check(resource, method, context, unknown, resource.read(context)))
  }
  for (const { entry, variables } of registry.matching(uri)) {
    const matched = yield* scopes.check(entry, method, context, unknown, entry.read(variables, uri, context))
    if (matched !== undefined) return yield* unless(unknown)(matched)
  }
  let failure = unknown()
  for (const group of registry.unlisted) {
    const missing = yield* scopes.missingOf(group)
    if (missing !== undefined) {
      if (!missing.isHiding) failure = McpError.insufficientScope(missing.scopes)
      continue
    }
    const found = yield* Effect.result(group.unlisted?.(uri, context) ?? Effect.undefined)
    // Another group may have the resource. Servers have several codes for one that they do not have.
    if (Result.isFailure(found)) failure = found.failure
    else if (found.success !== hidden && found.success !== undefined) return found.success
  }
  return yield* failure
})

/** Returns the function that lists resources: the fixed ones, and those that templates list for this client. */
const resourceLister = (server: Server) => {
  const method = "resources/list"
  const { context, pageSize, registry } = server
  const fixedOnly = lister(
    server,
    method,
    server.caching.resources,
    registry.resources,
    (resources, next) => ({ resources, ...next })
  )
  const hinted = Hinted.make(server.caching.resources, "caching of resources/list")
  const all = Effect.fnUntraced(function*(
    listing: ReadonlyArray<TemplateEntry>,
    cursor: string | undefined
  ): Effect.fn.Return<Resource.ListResourcesResult, McpError.McpError, RequestServices> {
    const [fixed, templates] = yield* Effect.all([
      registry.visible(registry.resources.sorted, method, context),
      registry.visible(listing, method, context)
    ], { concurrency: "unbounded" })
    // The URIs are contents of the template, which a client without its scopes may not read.
    const readable = yield* Effect.filter(
      templates,
      (entry) => Effect.map(server.scopes.missing(entry), (missing) => missing === undefined)
    )
    const listed = yield* Effect.forEach(readable, ({ list }) => list?.(context) ?? Effect.succeed([]), {
      concurrency: "unbounded"
    })
    // A fixed resource is read instead of one of a template with the same URI.
    // The same holds for one that this client does not see.
    const others = listed.flat().filter(({ uri }) => registry.resources.get(uri) === undefined)
    const byUri = new Map([...others, ...fixed.map(({ definition }) => definition)].map((one) => [one.uri, one]))
    const sorted = [...byUri.values()].toSorted((a, b) => a.uri < b.uri ? -1 : 1)
    const keyOf = ({ uri }: { readonly uri: string }) => uri
    const start = yield* Cursor.startOf(method, sorted, keyOf, cursor)
    const { items, nextCursor } = Cursor.page(method, sorted, keyOf, start, pageSize)
    // The templates list what this client sees.
    return yield* hinted({ resources: items, ...(nextCursor === undefined ? undefined : { nextCursor }) }, false)
  })
  return (params: { readonly cursor?: string | undefined }) => {
    const listing = registry.templates.sorted.filter(({ list }) => list !== undefined)
    return listing.length === 0 ? fixedOnly(params) : all(listing, params.cursor)
  }
}

const resources = (server: Server): ServerHandlers => ({
  "resources/list": resourceLister(server),
  "resources/templates/list": lister(
    server,
    "resources/templates/list",
    server.caching.resourceTemplates,
    server.registry.templates,
    (resourceTemplates, next) => ({ resourceTemplates, ...next })
  ),
  "resources/read": server.scopes.attach(
    ({ uri }: Resource.ResourceParams) => read(server, uri),
    server.scopes.ofResource
  )
})

/** Returns the member that a URI belongs to, as `read` decides it, if the client may subscribe to it. */
const subscribable = Effect.fnUntraced(function*(
  { context, registry }: Server,
  uri: string
): Effect.fn.Return<Entry | "rejected" | undefined, never, RequestServices> {
  const resource = registry.resources.get(uri)
  if (resource !== undefined) return resource
  for (const { entry, variables } of registry.matching(uri)) {
    const fits = entry.fits === undefined ? true : yield* entry.fits(variables, uri, context)
    if (fits !== undefined) return fits ? entry : "rejected"
  }
  return undefined
})

/**
 * Returns the groups that prepare the subscriptions to a URI, the one that reads it first. A group that needs no
 * preparation is `undefined`. Without a group, the client sees no resource with this URI.
 */
const observersOf = Effect.fnUntraced(function*(
  server: Server,
  uri: string
): Effect.fn.Return<ReadonlyArray<Registration | undefined>, McpError.McpError, RequestServices> {
  const { context, registry, scopes } = server
  const permitted = (group: Registration | undefined) => group?.permits?.(uri, context) ?? Effect.succeed(true)
  const entry = yield* subscribable(server, uri)
  if (entry === undefined) {
    const observing = [...registry.unlisted].filter(({ observe }) => observe !== undefined)
    return yield* Effect.filter(observing, (group) =>
      Effect.flatMap(
        scopes.missingOf(group),
        (missing) => missing === undefined ? permitted(group) : Effect.succeed(false)
      ))
  }
  // The updates of a URI go to all its subscribers, so a member that rejects the client may not be circumvented.
  if (entry === "rejected") return []
  const visible = yield* registry.visible([entry], "resources/subscribe", context)
  if (visible.length === 0) return []
  const missing = yield* scopes.missing(entry)
  if (missing !== undefined) return yield* McpError.insufficientScope(missing.scopes)
  const group = registry.observerOf(entry)
  // The middleware of the group has run with `fits` of a template.
  return "fits" in entry || (yield* permitted(group)) ? [group] : []
})

/** Prepares a subscription by the first group that has the resource. */
const observe = Effect.fnUntraced(function*(
  observers: ReadonlyArray<Registration | undefined>,
  uri: string
): Effect.fn.Return<void, McpError.McpError, Scope.Scope> {
  let failure = McpError.resourceNotFound(uri)
  for (const observer of observers) {
    if (observer?.observe === undefined) return
    const outcome = yield* Effect.result(observer.observe(uri))
    if (Result.isSuccess(outcome)) return
    failure = outcome.failure
  }
  return yield* failure
})

/** Subscribes a client to a resource that it sees. */
const subscribe = Effect.fnUntraced(function*(
  server: Server,
  client: Client,
  uri: string
): Effect.fn.Return<void, McpError.McpError, RequestServices> {
  if (uri.length > maxUriLength) return yield* McpError.resourceNotFound(uri)
  const observers = yield* observersOf(server, uri)
  if (observers.length === 0) return yield* McpError.resourceNotFound(uri)
  const full = yield* server.clients.subscriptions.add(client, uri, observe(observers, uri))
  if (full !== undefined) return yield* McpError.invalidRequest(full)
})

const subscriptions = (server: Server): ServerHandlers => ({
  "resources/subscribe": server.scopes.attach(
    ({ uri }: Resource.ResourceParams) =>
      Effect.flatMap(
        RequestContext.RequestContext,
        ({ session }) =>
          session === undefined
            ? Effect.fail(McpError.resourceNotFound(uri))
            : Effect.as(subscribe(server, session, uri), {})
      ),
    server.scopes.ofResource
  ),
  "resources/unsubscribe": ({ uri }) =>
    Effect.flatMap(
      RequestContext.RequestContext,
      ({ session }) =>
        Effect.as(session === undefined ? Effect.void : server.clients.subscriptions.remove(session, uri), {})
    )
})

/** Returns those of the URIs that a client is subscribed to now. The others are rejected as a subscription would be. */
const subscribed = (
  server: Server,
  client: Client,
  uris: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<string>, never, RequestServices> =>
  Effect.filter(
    // No client has more subscriptions, so that no more are tried.
    uris.slice(0, server.clients.subscriptions.limit),
    (uri) => Effect.match(subscribe(server, client, uri), { onSuccess: () => true, onFailure: () => false })
  )

/** The handler of the streams of notifications, which take the place of sessions in revision 2026-07-28. */
const streams = (server: Server, declared: ReadonlySet<Declarable>): ServerHandlers => ({
  "subscriptions/listen": server.scopes.attach(
    Effect.fnUntraced(function*({ notifications }: Subscription.ListenParams) {
      const { clients } = server
      const listener = yield* Listener.Listener
      yield* Effect.acquireRelease(
        Effect.sync(() => clients.add(listener)),
        () => Effect.sync(() => clients.remove(listener))
      )
      return {
        notifications: {
          toolsListChanged: declared.has("tools"),
          promptsListChanged: declared.has("prompts"),
          resourcesListChanged: declared.has("resources"),
          resourceSubscriptions: declared.has("resources")
            ? yield* subscribed(server, listener, notifications.resourceSubscriptions ?? [])
            : []
        }
      }
    }),
    server.scopes.ofListen
  )
})

const completions = ({ context, registry, scopes }: Server): ServerHandlers => ({
  "completion/complete": scopes.attach(
    Effect.fnUntraced(function*({ argument, context: filled, ref }: Completion.CompleteParams) {
      const unknown = () => ref.type === "ref/prompt" ? unknownPrompt(ref.name) : unknownTemplate(ref.uri)
      const entry = ref.type === "ref/prompt" ? registry.prompts.get(ref.name) : registry.templates.get(ref.uri)
      if (entry === undefined) return yield* unknown()
      const completing = { argument: argument.name, typed: argument.value, others: filled?.arguments ?? {} }
      const completed = entry.complete(completing, context)
      const result = yield* scopes.check(entry, "completion/complete", context, unknown, completed)
      const { hasMore, total, values } = yield* unless(unknown)(result)
      return {
        completion: {
          values: values.slice(0, Completion.maximumValues),
          ...(total === undefined ? undefined : { total }),
          ...(hasMore === undefined ? undefined : { hasMore })
        }
      }
    }),
    scopes.ofCompletion
  )
})

/**
 * Returns the handlers of these capabilities. A method without a handler is rejected with −32601, and a handler
 * declares its capability, so the two always match.
 */
export const make = (server: Server, declared: ReadonlySet<Declarable>): ServerHandlers => ({
  ...(declared.has("tools") ? tools(server) : undefined),
  ...(declared.has("prompts") ? prompts(server) : undefined),
  ...(declared.has("resources") ? resources(server) : undefined),
  ...(declared.has("resources") && server.hasSessions ? subscriptions(server) : undefined),
  ...(["tools", "prompts", "resources"] as const).some((kind) => declared.has(kind))
    ? streams(server, declared)
    : undefined,
  ...(declared.has("completions") ? completions(server) : undefined)
})
