/** The lists of one server: cached, with bounds, and their changes. */

import type { Prompt, Resource, Tool } from "@effect-mcp/protocol"
import type * as ClientSession from "@effect-mcp/session/ClientSession"
import type * as RequestError from "@effect-mcp/session/RequestError"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as PlainText from "../../PlainText.ts"
import * as CachedList from "./CachedList.ts"
import { LatestByKey } from "./LatestByKey.ts"
import * as ListChanges from "./ListChanges.ts"
import type * as ListReading from "./ListReading.ts"

type Session = ClientSession.ClientSessionShape

/** Streams the tools. On a server without tasks for calls of tools, no tool supports or requires them (TSK-03). */
const toolsOf = ({ profile, tools }: Session): Session["tools"] =>
  profile.capabilities.tasks?.requests?.tools?.call !== undefined ? tools : Stream.map(tools, (tool) => {
    if (tool.execution === undefined) return tool
    const { execution: _, ...rest } = tool
    return rest
  })

/** The client of the lists. */
export interface ServerListsDependencies {
  /** The name of the client, for warnings. */
  readonly server: string
  /** Sends a reading: waits for the server, and sends it again if needed. */
  readonly send: <A>(
    read: (session: Session) => Effect.Effect<A, RequestError.RequestError>
  ) => Effect.Effect<A, CachedList.ListError>
  readonly bounds: ListReading.Bounds
  readonly fork: CachedList.CachedListDependencies<unknown>["fork"]
}

/** The lists of one server. */
export class ServerLists {
  readonly #dependencies: ServerListsDependencies
  readonly #changes = new LatestByKey<ListChanges.ListName>()
  readonly tools: CachedList.CachedList<Tool.Tool>
  readonly prompts: CachedList.CachedList<Prompt.Prompt>
  readonly resources: CachedList.CachedList<Resource.Resource>
  readonly resourceTemplates: CachedList.CachedList<Resource.ResourceTemplate>

  constructor(dependencies: ServerListsDependencies) {
    this.#dependencies = dependencies
    this.tools = this.#listOf("tools", toolsOf)
    this.prompts = this.#listOf("prompts", ({ prompts }) => prompts)
    this.resources = this.#listOf("resources", ({ resources }) => resources)
    this.resourceTemplates = this.#listOf("resources", ({ resourceTemplates }) => resourceTemplates)
  }

  /** Streams the names of the lists that may have changed. */
  get changes(): Stream.Stream<ListChanges.ListName> {
    return this.#changes.stream()
  }

  /** Drops a list, because it may have changed, and reports that. */
  changed(list: ListChanges.ListName): void {
    this[list].invalidate()
    if (list === "resources") this.resourceTemplates.invalidate()
    this.#changes.publish(list, list)
  }

  allChanged(): void {
    for (const list of ListChanges.listNames) this.changed(list)
  }

  /** Ends the streams of changes. */
  end(): void {
    this.#changes.end()
  }

  #listOf<A>(
    list: ListChanges.ListName,
    pages: (session: Session) => Stream.Stream<A, RequestError.RequestError>
  ): CachedList.CachedList<A> {
    const { bounds, fork, send, server } = this.#dependencies
    return new CachedList.CachedList<A>({
      send,
      pages: (session) => CachedList.orNone(pages(session)),
      bounds,
      cut: (members, problem) =>
        Effect.logWarning(
          PlainText.line(`a list of ${list} of the server ${server} is cut after ${members} members: ${problem}`)
        ),
      isSteady: (session) => ListChanges.isSteady(session, list),
      fork
    })
  }
}
