/**
 * Many servers as one: each has a supervised client of its own, and the group merges their lists and names their tools.
 *
 * @stability unstable
 */
import type { Prompt, Resource, Tool } from "@effect-mcp/protocol"
import type * as Handlers from "@effect-mcp/session/Handlers"
import { NumericOption } from "@effect-mcp/session/internal"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { DuplicateServerError, type NoSuchNameError, NoSuchServerError } from "./GroupError.ts"
import type * as GroupList from "./GroupList.ts"
import { CallResolution } from "./internal/groups/CallResolution.ts"
import { GroupNames } from "./internal/groups/GroupNames.ts"
import * as Member from "./internal/groups/Member.ts"
import * as PublicNames from "./internal/groups/PublicNames.ts"
import type { BoundedList } from "./internal/lists/BoundedList.ts"
import { LatestByKey } from "./internal/lists/LatestByKey.ts"
import * as ListChanges from "./internal/lists/ListChanges.ts"
import * as SupervisedClient from "./internal/supervision/SupervisedClient.ts"
import { trust } from "./internal/trust.ts"
import type * as McpAnswers from "./McpAnswers.ts"
import type * as McpCall from "./McpCall.ts"
import type * as McpClient from "./McpClient.ts"
import type { McpTarget } from "./McpTarget.ts"
import type * as ServerStatus from "./ServerStatus.ts"

/**
 * The status of a server of a group.
 *
 * @category models
 */
export interface MemberStatus {
  readonly status: ServerStatus.ServerStatus
  /** The lists that the group was asked for, and that it returned without those of this server. */
  readonly omissions: ReadonlyArray<GroupList.Omission>
}

/**
 * A change of the status of one server.
 *
 * @category models
 */
export interface StatusChange {
  readonly server: string
  readonly status: ServerStatus.ServerStatus
}

/**
 * Options of the client of one server of a group.
 *
 * @category models
 */
export interface ServerOptions<H = Handlers.Handlers<"server">, R = never, A = McpAnswers.Answers>
  extends Partial<Omit<McpClient.Options<H, R, A>, "name">>
{}

/**
 * Options of a group. Those of a client hold for the clients of all servers, except its tasks: a server must not see
 * those of another, so they are an option of a single server.
 *
 * @category models
 */
export interface Options<
  Names extends string = string,
  H = Handlers.Handlers<"server">,
  R = never,
  A = McpAnswers.Answers
> extends Omit<McpClient.Options<H, R, A>, "name" | "tasks"> {
  /**
   * Options of single servers. They replace those of the group. Their answers may use the services that the answers of
   * the group need.
   */
  readonly servers?: {
    readonly [Name in Names]?: ServerOptions<H, R, McpAnswers.Answers<McpAnswers.ServicesOf<A>>>
  }
  /**
   * Leaves tools out, and renames them. Receives a tool with the name that the group would give it, and returns its
   * name, or `undefined` to leave it out. It runs again for each list, and before each attempt of a call after the
   * tools of the server may have changed. Of two tools with the same name, the one that is listed second gets a name
   * with a hash. Default: all tools, with the names that the group gives.
   */
  readonly toolName?: (tool: GroupList.GroupTool) => string | undefined
  /**
   * The characters and the length of names. `"protocol"`: up to 128 of `A-Z`, `a-z`, `0-9`, `_`, `-` and `.` (TOOL-10).
   * `"model"`: up to 64 of these without `.`, which the interfaces of all large model providers accept. Default
   * `"protocol"`.
   */
  readonly names?: "protocol" | "model"
  /** The time that a list waits for each server. Servers are asked at the same time. Default 2 seconds. */
  readonly listWaitTimeout?: Duration.Input
}

/**
 * The errors of a call by the name that the group gives.
 *
 * @category errors
 */
export type GroupCallError = McpCall.CallError | NoSuchNameError

/**
 * The servers of a group.
 *
 * @category models
 */
export interface McpClientsShape<Names extends string = string> {
  /** Returns the client of a server that the group was made with. Throws `NoSuchServerError` for another name. */
  readonly client: (server: Names) => McpClient.McpClientShape
  /** Returns the client of any server, also of one that was added. */
  readonly find: (server: string) => Effect.Effect<McpClient.McpClientShape, NoSuchServerError>
  /** Returns the status of all servers. */
  readonly status: Effect.Effect<
    { readonly [server: string]: MemberStatus } & { readonly [Name in Names]: MemberStatus }
  >
  /** Streams the present status of each server, and then the changes. A slow follower gets the latest of each. */
  readonly statuses: Stream.Stream<StatusChange>
  /** Waits until each server is ready, or its first attempt has failed, but not longer than `within`. */
  readonly settled: (within: Duration.Input) => Effect.Effect<void>
  /**
   * Returns the tools of all servers. A server that is down is left out, and one that is slow is waited for until
   * `listWaitTimeout`. `status` has what was left out.
   */
  readonly tools: Effect.Effect<ReadonlyArray<GroupList.GroupTool>>
  /** Returns the prompts of all servers, likewise. */
  readonly prompts: Effect.Effect<ReadonlyArray<GroupList.GroupPrompt>>
  /** Returns the resources of all servers, likewise. */
  readonly resources: Effect.Effect<ReadonlyArray<GroupList.GroupResource>>
  /** Returns the resource templates of all servers, likewise. */
  readonly resourceTemplates: Effect.Effect<ReadonlyArray<GroupList.GroupResourceTemplate>>
  /**
   * Streams the lists that may have changed, with their servers. Of several changes of one list, a slow follower gets
   * one.
   */
  readonly changes: Stream.Stream<GroupList.ListChange>
  /**
   * Calls a tool by the name that the group gives it. With a tool of the list, the call fails as `NoSuchNameError` if
   * the name belongs to another tool meanwhile.
   */
  readonly callTool: <R = never>(
    tool: string | GroupList.GroupTool,
    input?: { readonly [name: string]: unknown },
    options?: McpCall.CallOptions<R>
  ) => Effect.Effect<Tool.CallToolResult, GroupCallError, R>
  /** Gets a prompt by the name that the group gives it. */
  readonly getPrompt: <R = never>(
    name: string,
    input?: { readonly [name: string]: string },
    options?: McpCall.CallOptions<R>
  ) => Effect.Effect<Prompt.GetPromptResult, GroupCallError, R>
  /** Reads a resource of a server. */
  readonly readResource: <R = never>(
    server: string,
    uri: string,
    options?: McpCall.CallOptions<R>
  ) => Effect.Effect<Resource.ReadResourceResult, McpCall.CallError | NoSuchServerError, R>
  /** Streams the contents of a resource of a server: those now, and those after each update. */
  readonly watch: (
    server: string,
    uri: string
  ) => Stream.Stream<Resource.ReadResourceResult, McpCall.CallError | NoSuchServerError>
  /** Adds a server until the scope closes. Fails if the group has a server of this name. */
  readonly add: <E, R>(
    server: string,
    target: McpTarget<E, R>,
    options?: ServerOptions
  ) => Effect.Effect<McpClient.McpClientShape, DuplicateServerError, Scope.Scope | R>
}

/**
 * The servers of a program.
 *
 * @example
 * ```ts
 * import { McpClients } from "@effect-mcp/client"
 * import * as Effect from "effect/Effect"
 *
 * export const callTool = (name: string, input: { readonly [name: string]: unknown }) =>
 *   Effect.flatMap(McpClients.McpClients, (clients) => clients.callTool(name, input))
 * ```
 *
 * @category services
 */
export class McpClients extends Context.Service<McpClients, McpClientsShape>()("@effect-mcp/client/McpClients") {}

/**
 * The services that the targets of a group need.
 *
 * @category models
 */
export type TargetServices<Targets> = Targets[keyof Targets] extends infer Target
  ? Target extends McpTarget<infer _E, infer R> ? R : never
  : never

type AnyTargets = { readonly [server: string]: McpTarget<unknown, unknown> }

type AnyOptions = Options<string, Handlers.Handlers<"server", unknown>, unknown, McpAnswers.Answers<unknown>>

type AnyServerOptions = ServerOptions<unknown, unknown, unknown>

const defaultListWaitTimeout = Duration.seconds(2)

/** Returns the options of the client of one server. */
const clientOptions = (options: AnyOptions, server: string, own: AnyServerOptions | undefined) => {
  const given: AnyOptions & Pick<McpClient.Options, "tasks"> = options
  // A value of a wider type may have tasks, which several servers would share.
  const { listWaitTimeout: _within, names: _names, servers: _servers, tasks: _tasks, toolName: _toolName, ...shared } =
    given
  return trust<SupervisedClient.AnyOptions>({ ...shared, ...own, name: server })
}

/** Returns whether the first attempt to connect has ended, or waits for a person. */
const hasBeenTried = (status: ServerStatus.ServerStatus): boolean => status._tag !== "Connecting" || status.attempt > 1

const makeAny = Effect.fnUntraced(function*(
  targets: AnyTargets,
  options: AnyOptions
): Effect.fn.Return<McpClientsShape, never, Scope.Scope> {
  NumericOption.check({ listWaitTimeout: options.listWaitTimeout }, { listWaitTimeout: NumericOption.duration })
  const listWaitMillis = Duration.toMillis(options.listWaitTimeout ?? defaultListWaitTimeout)
  const members = new Map<string, Member.Member>()
  const reserved = new Set<string>()
  const names = new GroupNames({
    rules: PublicNames.rules[options.names ?? "protocol"],
    toolName: options.toolName
  })
  const changes = new LatestByKey<GroupList.ListChange>()
  const statuses = new LatestByKey<StatusChange>()
  const latest = new Map<string, StatusChange>()
  const context = yield* Effect.context<never>()
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      changes.end()
      statuses.end()
    })
  )
  const changed = (server: string, list: McpClient.ListName): void =>
    changes.publish(JSON.stringify([server, list]), { server, list })

  /** Takes a name until the scope closes. Nothing of the server that had it is left then. */
  const reserve = (server: string): Effect.Effect<void, DuplicateServerError, Scope.Scope> =>
    Effect.acquireRelease(
      Effect.suspend(() => {
        if (reserved.has(server)) return Effect.fail(new DuplicateServerError({ server }))
        reserved.add(server)
        return Effect.void
      }),
      () => Effect.sync(() => reserved.delete(server))
    )

  /** Adds a member until the scope closes. */
  const join = (server: string, target: McpTarget<unknown, unknown>, own?: AnyServerOptions) =>
    Effect.gen(function*() {
      yield* reserve(server)
      // The context of the caller has the services of the target, as the types of `make` and `add` demand.
      const supervised = yield* SupervisedClient.make(target, clientOptions(options, server, own))
      const member = yield* Member.make(server, supervised, {
        listWaitMillis,
        changed,
        statusChanged: (name, status) => {
          latest.set(name, { server: name, status })
          statuses.publish(name, { server: name, status })
        }
      })
      yield* Effect.acquireRelease(
        Effect.sync(() => members.set(server, member)),
        () =>
          Effect.sync(() => {
            members.delete(server)
            latest.delete(server)
            names.remove(server)
            for (const list of ListChanges.listNames) changed(server, list)
          })
      )
      return member.client
    })
  for (const [server, target] of Object.entries(targets)) {
    // The names of a record differ.
    yield* Effect.orDie(join(server, target, options.servers?.[server]))
  }

  const memberOf = (server: string): Effect.Effect<Member.Member, NoSuchServerError> =>
    Effect.suspend(() => {
      const member = members.get(server)
      return member === undefined
        ? Effect.fail(new NoSuchServerError({ server, servers: [...members.keys()] }))
        : Effect.succeed(member)
    })

  /** Merges a list of all servers, in their order. Each server has the same time. */
  const merged = <A, B>(
    listOf: (lists: Member.Member["lists"]) => BoundedList<A>,
    toGroup: (server: string, list: ReadonlyArray<A>) => ReadonlyArray<B>
  ): Effect.Effect<ReadonlyArray<B>> =>
    Effect.suspend(() =>
      Effect.map(
        Effect.forEach(
          members.values(),
          (member) => Effect.map(listOf(member.lists).all, (list) => ({ member, list })),
          { concurrency: "unbounded" }
        ),
        // A server that was removed meanwhile gets no names any more. One that is absent keeps its names.
        (all) =>
          all.flatMap(({ list, member }) =>
            list !== undefined && members.get(member.name) === member ? toGroup(member.name, list) : []
          )
      )
    )
  const tools = merged(({ tools }) => tools, (server, list) => names.tools(server, list))
  const prompts = merged(({ prompts }) => prompts, (server, list) => names.prompts(server, list))

  const resolution = new CallResolution({
    members,
    names,
    tools,
    prompts,
    isFiltered: options.toolName !== undefined
  })

  const group: McpClientsShape = {
    client: (server) => {
      const member = members.get(server)
      if (member === undefined) throw new NoSuchServerError({ server, servers: [...members.keys()] })
      return member.client
    },
    find: (server) => Effect.map(memberOf(server), ({ client }) => client),
    status: Effect.suspend(() =>
      Effect.map(
        Effect.forEach(members.values(), (member) =>
          Effect.map(
            member.client.status,
            (
              status
            ): readonly [string, MemberStatus] => [member.name, { status, omissions: Member.omissionsOf(member) }]
          )),
        (all) => Object.fromEntries(all)
      )
    ),
    statuses: statuses.stream(() => latest),
    settled: (within) =>
      Effect.suspend(() =>
        Effect.asVoid(Effect.timeoutOption(
          Effect.forEach(
            members.values(),
            ({ client }) => Stream.runHead(Stream.filter(client.statuses, hasBeenTried)),
            { concurrency: "unbounded", discard: true }
          ),
          within
        ))
      ),
    tools,
    prompts,
    resources: merged(({ resources }) => resources, (server, list) => list.map((one) => ({ ...one, server }))),
    resourceTemplates: merged(
      ({ resourceTemplates }) => resourceTemplates,
      (server, list) => list.map((one) => ({ ...one, server }))
    ),
    changes: changes.stream(),
    callTool: (tool, input, options) =>
      Effect.flatMap(
        resolution.tool(tool, options),
        ({ member, original }) => member.callTool(original, input, options)
      ),
    getPrompt: (name, input, options) =>
      Effect.flatMap(
        resolution.prompt(name, options),
        ({ member, original }) => member.client.getPrompt(original, input, options)
      ),
    readResource: (server, uri, options) =>
      Effect.flatMap(memberOf(server), ({ client }) => client.readResource(uri, options)),
    watch: (server, uri) => Stream.unwrap(Effect.map(memberOf(server), ({ client }) => client.watch(uri))),
    add: (server, target, own) =>
      Effect.updateContext(
        join(server, target, own),
        // The handlers of the group may need services of its context.
        (own: Context.Context<Scope.Scope>) => Context.merge(context, own)
      )
  }
  return group
})

/**
 * Creates the clients of several servers, supervised until the scope closes. All servers start at the same time, and
 * this neither waits for them nor fails. Dies with an `InvalidOptionError` if a duration or a limit of the options
 * makes no sense.
 *
 * A tool `read` of the server `files` has the name `files__read`. A name that would be ambiguous, too long or not
 * allowed gets a hash instead, so that no tool is lost. A name depends on the server and its tool alone, whatever other
 * servers are there, and does not pass to another tool while its own is listed.
 *
 * @example
 * ```ts
 * import { McpClients, McpTarget } from "@effect-mcp/client"
 * import { Content } from "@effect-mcp/protocol"
 * import { ServerSession } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * const info = { name: "example", version: "1.0.0" }
 * const server = (tool: string) =>
 *   McpTarget.transport(ServerSession.layerMemory({
 *     "tools/list": () => Effect.succeed({ tools: [{ name: tool, inputSchema: { type: "object" } }] }),
 *     "tools/call": ({ name }) => Effect.succeed({ content: [Content.text(`called ${name}`)] })
 *   }, { info }))
 *
 * export const called = Effect.gen(function*() {
 *   const clients = yield* McpClients.make({ files: server("read"), mail: server("send") }, { info })
 *   const names = (yield* clients.tools).map(({ name }) => name)
 *   const { content } = yield* clients.callTool("mail__send")
 *   return { names, content }
 * }).pipe(Effect.scoped)
 * // => { names: ["files__read", "mail__send"], content: [{ type: "text", text: "called send" }] }
 * ```
 *
 * @category constructors
 */
export const make = <
  const Targets extends { readonly [server: string]: McpTarget<unknown, unknown> },
  const H extends Handlers.Handlers<"server", unknown> = Handlers.Handlers<"server">,
  R = never,
  const A extends McpAnswers.Answers<unknown> = McpAnswers.Answers
>(
  targets: Targets,
  options: Options<keyof Targets & string, H, R, A> & McpAnswers.Checked<H, A>
): Effect.Effect<
  McpClientsShape<keyof Targets & string>,
  never,
  Scope.Scope | TargetServices<Targets> | Handlers.ServicesOf<H, "server"> | McpAnswers.ServicesOf<A> | R
> =>
  // The context of the caller has the services of the targets and of the handlers, as the type of the result demands.
  trust(makeAny(trust(targets), trust(options)))

/**
 * Provides a group under a key of the program, so that the names of its servers are in the type. Every build of this
 * Layer makes new clients.
 *
 * @example
 * ```ts
 * import { McpClients, McpTarget } from "@effect-mcp/client/node"
 * import * as Context from "effect/Context"
 * import * as Effect from "effect/Effect"
 *
 * class Servers extends Context.Service<Servers, McpClients.McpClientsShape<"files">>()("app/Servers") {}
 *
 * const files = McpTarget.command("node", ["files.mjs"])
 *
 * export const servers = McpClients.layerAs(Servers, { files }, { info: { name: "app", version: "1.0.0" } })
 *
 * export const read = Effect.flatMap(Servers, (all) => all.client("files").callTool("read"))
 * ```
 *
 * @category layers
 */
export const layerAs = <
  Self,
  const Targets extends { readonly [server: string]: McpTarget<unknown, unknown> },
  const H extends Handlers.Handlers<"server", unknown> = Handlers.Handlers<"server">,
  R = never,
  const A extends McpAnswers.Answers<unknown> = McpAnswers.Answers
>(
  key: Context.Key<Self, McpClientsShape<keyof Targets & string>>,
  targets: Targets,
  options: Options<keyof Targets & string, H, R, A> & McpAnswers.Checked<H, A>
): Layer.Layer<
  Self,
  never,
  Exclude<TargetServices<Targets> | Handlers.ServicesOf<H, "server"> | McpAnswers.ServicesOf<A> | R, Scope.Scope>
> => Layer.fresh(Layer.effect(key, make(targets, options)))

/**
 * Provides a group as {@link McpClients}. Every build of this Layer makes new clients.
 *
 * @example
 * ```ts
 * import { McpClients, McpTarget } from "@effect-mcp/client/node"
 * import * as Effect from "effect/Effect"
 *
 * const servers = McpClients.layer({
 *   files: McpTarget.command("node", ["files.mjs"]),
 *   search: McpTarget.url("https://example.com/mcp")
 * }, { info: { name: "app", version: "1.0.0" } })
 *
 * export const toolNames = Effect.gen(function*() {
 *   const { tools } = yield* McpClients.McpClients
 *   return (yield* tools).map(({ name }) => name)
 * }).pipe(Effect.provide(servers))
 * ```
 *
 * @category layers
 */
export const layer = <
  const Targets extends { readonly [server: string]: McpTarget<unknown, unknown> },
  const H extends Handlers.Handlers<"server", unknown> = Handlers.Handlers<"server">,
  R = never,
  const A extends McpAnswers.Answers<unknown> = McpAnswers.Answers
>(
  targets: Targets,
  options: Options<keyof Targets & string, H, R, A> & McpAnswers.Checked<H, A>
): Layer.Layer<
  McpClients,
  never,
  Exclude<TargetServices<Targets> | Handlers.ServicesOf<H, "server"> | McpAnswers.ServicesOf<A> | R, Scope.Scope>
> =>
  // A layer of these targets provides a group that has their names.
  layerAs(trust<Context.Key<McpClients, McpClientsShape<keyof Targets & string>>>(McpClients), targets, options)
