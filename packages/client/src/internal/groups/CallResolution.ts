/** The servers and the original names of the tools and prompts that a group calls. */

import type { Tool } from "@effect-mcp/protocol"
import * as RequestError from "@effect-mcp/session/RequestError"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { NoSuchNameError } from "../../GroupError.ts"
import type * as GroupList from "../../GroupList.ts"
import type * as McpCall from "../../McpCall.ts"
import type { GroupNames, Kind } from "./GroupNames.ts"
import type { Member } from "./Member.ts"
import * as PublicNames from "./PublicNames.ts"

/** The group whose names are resolved. */
export interface CallResolutionDependencies {
  readonly members: ReadonlyMap<string, Member>
  readonly names: GroupNames
  /** Reads and names the lists of all servers. */
  readonly tools: Effect.Effect<unknown>
  readonly prompts: Effect.Effect<unknown>
  /** Whether a function of the program leaves tools out. It has to see each tool before it is called. */
  readonly isFiltered: boolean
}

/** The server of a tool or a prompt, and the name that this server gave it. */
interface Resolved {
  readonly member: Member
  readonly original: string
}

/** The server of a tool. The name that this server gave it is decided before each attempt of a call. */
export interface ResolvedTool {
  readonly member: Member
  readonly original: Effect.Effect<string, McpCall.CallError | NoSuchNameError>
}

/** The number of times that tools are read again before a call, because they have changed meanwhile. */
const maxRereadings = 2

type Options = McpCall.CallOptions<unknown> | undefined

/** Bounds a reading before a call by the deadlines of the call. */
const inTime = <A, E>(
  kind: Kind,
  reading: Effect.Effect<A, E>,
  { timeout, totalTimeout }: NonNullable<Options> = {}
): Effect.Effect<A, E | RequestError.RequestError> => {
  const limits = [timeout, totalTimeout].flatMap((limit) => limit === undefined ? [] : [Duration.toMillis(limit)])
  if (limits.length === 0) return reading
  const afterMillis = Math.min(...limits)
  const method = kind === "tool" ? "tools/call" : "prompts/get"
  return Effect.timeoutOrElse(reading, {
    duration: afterMillis,
    orElse: () => Effect.fail(RequestError.make(method, { _tag: "Timeout", afterMillis }))
  })
}

/** Finds what the names of a group stand for. Reads the list of a server if it has not named its members yet. */
export class CallResolution {
  readonly #dependencies: CallResolutionDependencies

  constructor(dependencies: CallResolutionDependencies) {
    this.#dependencies = dependencies
  }

  /** Finds a tool by its name, or the one that a list of the group has. Fails if the name belongs to another one. */
  tool(
    tool: string | GroupList.GroupTool,
    options: Options
  ): Effect.Effect<ResolvedTool, McpCall.CallError | NoSuchNameError> {
    const name = typeof tool === "string" ? tool : tool.name
    const known = this.#known("tool", name, typeof tool === "string" ? undefined : tool)
    return Effect.map(this.#knownOrLearned("tool", name, known, options), ({ member, original }) => ({
      member,
      original: this.#dependencies.isFiltered
        ? inTime("tool", this.#present(member, name, known), options)
        : Effect.succeed(original)
    }))
  }

  /** Finds a prompt by its name. */
  prompt(name: string, options: Options): Effect.Effect<Resolved, McpCall.CallError | NoSuchNameError> {
    return this.#knownOrLearned("prompt", name, this.#known("prompt", name), options)
  }

  #known(kind: Kind, name: string, listed?: GroupList.GroupTool): Effect.Effect<Resolved, NoSuchNameError> {
    const { members, names } = this.#dependencies
    return Effect.suspend(() => {
      const origin = names.find(kind, name)
      const member = members.get(origin?.server ?? "")
      const isOther = listed !== undefined &&
        (origin?.server !== listed.server || origin.name !== listed.definition.name)
      return origin === undefined || member === undefined || isOther
        ? Effect.fail(new NoSuchNameError({ kind, name, missing: this.#missing(kind, name) }))
        : Effect.succeed({ member, original: origin.name })
    })
  }

  /**
   * Returns the original name of a tool after the function of the program has seen the tools that its server has now.
   * Before each attempt, and not once: the server may have been started again meanwhile, with other tools. Fails if the
   * tools change faster than they can be read.
   */
  #present(
    member: Member,
    name: string,
    known: Effect.Effect<Resolved, NoSuchNameError>
  ): Effect.Effect<string, McpCall.CallError | NoSuchNameError> {
    const attempt = (rereadings: number): Effect.Effect<string, McpCall.CallError | NoSuchNameError> =>
      Effect.suspend(() => {
        const changes = member.toolChanges()
        return Effect.flatMap(member.client.tools, (list) => {
          if (member.toolChanges() !== changes) {
            return rereadings < maxRereadings
              ? attempt(rereadings + 1)
              : Effect.fail(new NoSuchNameError({ kind: "tool", name, missing: [member.name] }))
          }
          if (!this.#dependencies.names.isNamed(member.name, list)) this.#nameTools(member, list)
          return Effect.flatMap(known, (present) =>
            present.member === member
              ? Effect.succeed(present.original)
              : Effect.fail(new NoSuchNameError({ kind: "tool", name, missing: [] })))
        })
      })
    return attempt(0)
  }

  #knownOrLearned(
    kind: Kind,
    name: string,
    known: Effect.Effect<Resolved, NoSuchNameError>,
    options: Options
  ): Effect.Effect<Resolved, McpCall.CallError | NoSuchNameError> {
    return Effect.catchTag(known, "NoSuchNameError", () =>
      Effect.suspend(() => {
        const member = this.#dependencies.members.get(PublicNames.originOf(name)?.server ?? "")
        return Effect.andThen(this.#learn(kind, member, options), known)
      }))
  }

  /** Names the present tools or prompts: those of one server, or of all if the name does not tell whose it is. */
  #learn(kind: Kind, member: Member | undefined, options: Options): Effect.Effect<void, McpCall.CallError> {
    const { prompts, tools } = this.#dependencies
    if (member === undefined) return inTime(kind, Effect.asVoid(kind === "tool" ? tools : prompts), options)
    return Effect.andThen(
      member.ready(options?.waitTimeout),
      inTime(kind, kind === "tool" ? this.#learnTools(member) : this.#learnPrompts(member), options)
    )
  }

  #learnTools(member: Member): Effect.Effect<void, McpCall.CallError> {
    return Effect.map(member.client.tools, (list) => this.#nameTools(member, list))
  }

  #nameTools(member: Member, list: ReadonlyArray<Tool.Tool>): void {
    // A server that was removed meanwhile gets no names any more.
    if (this.#isPresent(member)) this.#dependencies.names.tools(member.name, list)
  }

  #learnPrompts(member: Member): Effect.Effect<void, McpCall.CallError> {
    return Effect.map(member.client.prompts, (list) => {
      if (this.#isPresent(member)) this.#dependencies.names.prompts(member.name, list)
    })
  }

  #isPresent(member: Member): boolean {
    return this.#dependencies.members.get(member.name) === member
  }

  /** Returns the servers whose list is missing, and which may have a tool or a prompt of this name. */
  #missing(kind: Kind, name: string): ReadonlyArray<string> {
    const { isFiltered, members } = this.#dependencies
    return [...members.values()]
      .filter(({ lists }) => (kind === "tool" ? lists.tools : lists.prompts).absence !== undefined)
      .map(({ name }) => name)
      // A function of the program gives any name to a tool.
      .filter((server) => (kind === "tool" && isFiltered) || PublicNames.mayBe(name, server))
  }
}
