/** The registry of a server with its clients. */

import type { Capabilities } from "@effect-mcp/protocol"
import type { Handlers, ServerSession } from "@effect-mcp/session"
import type { ChangeBusShape } from "@effect-mcp/session/ChangeBus"
import type { ServerTasks } from "@effect-mcp/tasks"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { ListHints } from "../../McpCaching.ts"
import type { RequestServices } from "../../McpMiddleware.ts"
import { ConnectedClients } from "./ConnectedClients.ts"
import type { Declarable, Kind, Registered, Registration } from "./Entry.ts"
import type { GivenReferences } from "./GivenReferences.ts"
import { MemberScopes } from "./MemberScopes.ts"
import * as MethodHandlers from "./MethodHandlers.ts"
import { Registry } from "./Registry.ts"
import * as SharedChanges from "./SharedChanges.ts"

/** Options of the lists and subscriptions; all have a default. */
export interface Options {
  readonly pageSize?: number | undefined
  readonly maxSubscriptions?: number | undefined
  readonly declare?: ReadonlyArray<Declarable> | undefined
  readonly caching?: ListHints | undefined
}

/** Why a program needs sessions, and whether it can do without them. */
export interface SessionNeed {
  readonly reason: string
  readonly isRequired: boolean
}

/** The handlers and capabilities of a server that is about to start. */
export interface Serving {
  readonly handlers: Handlers.Handlers<"client", RequestServices>
  readonly capabilities: Handlers.ServerDeclarations
  /** Why the program needs sessions; empty if it does not. */
  readonly needsSessions: ReadonlyArray<SessionNeed>
}

/** The kind of the members of each list. */
const kindOf: { readonly [List in "tools" | "resources" | "prompts"]: Kind } = {
  tools: "tool",
  resources: "resource",
  prompts: "prompt"
}

/** The groups of a server, and the clients that use them. */
export class ServerRegistry {
  /** The groups have the names that they define. */
  readonly mount = ""
  readonly #registry = new Registry()
  readonly #clients: ConnectedClients
  readonly #options: Options
  readonly #references: GivenReferences
  readonly #sessionNeeds: Array<SessionNeed> = []
  /** The bus, while the server runs. Its start and its end change nothing at the other processes. */
  #shared: SharedChanges.SharedChanges | undefined

  constructor(options: Options, references: GivenReferences, scope: Scope.Scope) {
    this.#options = options
    this.#references = references
    this.#clients = new ConnectedClients(scope, options.maxSubscriptions ?? 1_000)
  }

  register = (registration: Registration): Effect.Effect<Registered, never, Scope.Scope> =>
    Effect.contextWith((context: Context.Context<Scope.Scope>) => {
      this.#references.take(registration.group, context)
      return this.#registry.register(registration, (kinds) => this.#listsChanged(kinds))
    })

  resourceUpdated = (uri: string): Effect.Effect<void> =>
    Effect.suspend(() => {
      const notified = this.#clients.resourceUpdated(uri)
      return this.#shared === undefined ? notified : Effect.andThen(this.#shared.publishResource(uri), notified)
    })

  listChanged = (list: keyof typeof kindOf): Effect.Effect<void> => this.#listsChanged(new Set([kindOf[list]]))

  readonly visibilityChanged: Effect.Effect<void> = Effect.suspend(() =>
    this.#listsChanged(new Set(Object.values(kindOf)))
  )

  /** Shares the changes of this server with the other processes that use this name on the bus. */
  share(bus: ChangeBusShape, name: string): Effect.Effect<void, never, Scope.Scope> {
    return Effect.gen({ self: this }, function*() {
      const shared = yield* SharedChanges.make(bus, name, yield* this.#clients.fromElsewhere)
      yield* Effect.acquireRelease(
        Effect.sync(() => void (this.#shared = shared)),
        () => Effect.sync(() => void (this.#shared = undefined))
      )
    })
  }

  needsSessions = (need: SessionNeed): Effect.Effect<void> => Effect.sync(() => void this.#sessionNeeds.push(need))

  connected(session: ServerSession.ServerSessionShape): void {
    this.#clients.add(session)
  }

  disconnected(session: ServerSession.ServerSessionShape): void {
    this.#clients.remove(session)
  }

  #listsChanged(kinds: ReadonlySet<Kind>): Effect.Effect<void> {
    return Effect.suspend(() => {
      const notified = this.#clients.listsChanged(kinds)
      return this.#shared === undefined ? notified : Effect.andThen(this.#shared.publishLists(kinds), notified)
    })
  }

  /** Returns whether calls of this tool become tasks. */
  taskOf(tool: string, repeatsReading: boolean): ServerTasks.ToolTasks {
    const found = this.#registry.tools.get(tool)
    const task = found?.task ?? { support: "forbidden" }
    const isRepeated = repeatsReading && task.resumable === undefined &&
      found?.definition.annotations?.readOnlyHint === true
    return isRepeated ? { ...task, resumable: "untilAsked" } : task
  }

  /** Whether the calls of some registered tool become tasks. */
  get hasTaskTools(): boolean {
    return this.#registry.tools.sorted.some(({ task }) =>
      task !== undefined && (task.support !== "forbidden" || task.resumable === true)
    )
  }

  /** Returns the handlers for a server with sessions, or without. They run with the services of this program. */
  serving(hasSessions: boolean, hasTasks = false): Effect.Effect<Serving> {
    return Effect.map(Effect.context(), (context) => {
      const declared = this.#registry.declare(this.#options.declare ?? [])
      const handlers = MethodHandlers.make({
        registry: this.#registry,
        clients: this.#clients,
        scopes: new MemberScopes(this.#registry, this.#clients.subscriptions.limit),
        hasSessions,
        hasTasks,
        context,
        caching: this.#options.caching ?? {},
        pageSize: this.#options.pageSize ?? 100
      }, declared)
      return { handlers, capabilities: hasSessions ? listChanged(declared) : {}, needsSessions: this.#sessionNeeds }
    })
  }
}

/** Returns the capabilities with notifications. Those of the methods follow from the handlers. */
const listChanged = (declared: ReadonlySet<Declarable>): Capabilities.ServerCapabilities => ({
  ...(declared.has("tools") ? { tools: { listChanged: true } } : undefined),
  ...(declared.has("prompts") ? { prompts: { listChanged: true } } : undefined),
  ...(declared.has("resources") ? { resources: { listChanged: true } } : undefined)
})
