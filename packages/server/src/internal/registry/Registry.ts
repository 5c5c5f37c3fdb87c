/** The members that a server has now. Groups add and remove them while it runs. */

import { Excerpt } from "@effect-mcp/protocol/internal"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { RequestServices } from "../../McpMiddleware.ts"
import * as Matching from "../uri/Matching.ts"
import * as Precedence from "../uri/Precedence.ts"
import * as Demands from "./Demands.ts"
import type {
  Declarable,
  Demand,
  Entry,
  Kind,
  PromptEntry,
  Registered,
  Registration,
  ResourceEntry,
  ServerContext,
  TemplateEntry,
  ToolEntry,
  Variables
} from "./Entry.ts"
import { Members } from "./Members.ts"
import { RegistrationError } from "./RegistrationError.ts"

/** Returns the capability that a member needs, besides that of completions. */
const capabilityOf = (kind: Kind): Declarable => {
  switch (kind) {
    case "tool":
      return "tools"
    case "prompt":
      return "prompts"
    case "resource":
    case "template":
      return "resources"
  }
}

const kindsOf = (entries: ReadonlyArray<Entry>): ReadonlySet<Kind> => new Set(entries.map(({ kind }) => kind))

/** Returns the members that only one of two lists has. */
const difference = (before: ReadonlyArray<Entry>, after: ReadonlyArray<Entry>): ReadonlyArray<Entry> => {
  const one = new Set(before)
  const other = new Set(after)
  return [...before.filter((entry) => !other.has(entry)), ...after.filter((entry) => !one.has(entry))]
}

const isCompletable = (entry: Entry): boolean => "isCompletable" in entry && entry.isCompletable

/** The members of all registered groups. */
export class Registry {
  readonly tools = new Members<ToolEntry>(({ name }) => name)
  readonly resources = new Members<ResourceEntry>(({ definition }) => definition.uri)
  readonly templates = new Members<TemplateEntry>(({ definition }) => definition.uriTemplate)
  readonly prompts = new Members<PromptEntry>(({ name }) => name)
  /** The registration of each member, if it decides about the visibility of some. */
  readonly #deciders = new Map<Entry, Registration>()
  /** The registration of each resource and template, if it permits or prepares subscriptions. */
  readonly #observers = new Map<Entry, Registration>()
  /** The scopes of each member that needs some. */
  readonly #demands = new Map<Entry, Demand>()
  /** The registrations with resources that are in no list, in the order of registration. */
  readonly #unlisted = new Set<Registration>()
  /** The number of members that are hidden from principals without their scopes. */
  #hiding = 0
  /** The capabilities that registered groups may need later. */
  readonly #reserved = new Map<Registration, ReadonlyArray<Declarable>>()
  /** The capabilities that clients were told. `undefined` until a server runs. */
  #declared: ReadonlySet<Declarable> | undefined

  /** Adds the members of a group until the scope closes. Dies with a `RegistrationError`, and then adds none. */
  register(
    registration: Registration,
    changed: (kinds: ReadonlySet<Kind>) => Effect.Effect<void>
  ): Effect.Effect<Registered, never, Scope.Scope> {
    let added: ReadonlyArray<Entry> = []
    let isRegistered = true
    return Effect.as(
      Effect.acquireRelease(
        Effect.suspend(() => {
          added = this.#add(registration, registration.entries)
          if (registration.unlisted !== undefined) this.#unlisted.add(registration)
          if (registration.declares !== undefined) this.#reserved.set(registration, registration.declares)
          return changed(kindsOf(added))
        }),
        () =>
          Effect.suspend(() => {
            isRegistered = false
            this.#unlisted.delete(registration)
            this.#reserved.delete(registration)
            this.#remove(added)
            return changed(kindsOf(added))
          })
      ),
      {
        replace: (entries) =>
          Effect.suspend(() => {
            if (!isRegistered) return Effect.void
            const before = added
            this.#remove(before)
            try {
              added = this.#add(registration, entries)
            } catch (error) {
              // A member that cannot be added does not cost the group those that it had.
              added = this.#add(registration, before)
              throw error
            }
            return changed(kindsOf(difference(before, added)))
          })
      }
    )
  }

  /** Fixes the capabilities that the server declares: those of its members, and further ones. */
  declare(further: ReadonlyArray<Declarable>): ReadonlySet<Declarable> {
    const declared = new Set([...further, ...[...this.#reserved.values()].flat()])
    for (const entry of this.#all()) for (const capability of this.#needed(entry)) declared.add(capability)
    this.#declared = new Set([...declared, ...this.#declared ?? []])
    return declared
  }

  /** The groups with resources that are in no list. */
  get unlisted(): ReadonlySet<Registration> {
    return this.#unlisted
  }

  /** Returns the group that permits or prepares the subscriptions to a resource or to the resources of a template. */
  observerOf(entry: Entry): Registration | undefined {
    return this.#observers.get(entry)
  }

  /** Whether some member needs scopes. */
  get hasDemands(): boolean {
    return this.#demands.size > 0
  }

  /** Returns the scopes that a member needs; `undefined` if it needs none. */
  demandOf(entry: Entry): Demand | undefined {
    return this.#demands.get(entry)
  }

  /** Returns whether a request for a member may be decided by its scopes alone: every client sees the member. */
  isSeenByAll(entry: Entry): boolean {
    return this.#demands.get(entry)?.isHiding !== true && !(entry.isConditional ?? this.#deciders.has(entry))
  }

  /** Returns the members that the client of the request sees, in the same order. */
  visible<E extends Entry>(
    entries: ReadonlyArray<E>,
    method: string,
    server: ServerContext
  ): Effect.Effect<ReadonlyArray<E>, never, RequestServices> {
    return this.#hiding === 0 || !entries.some((entry) => this.#demands.get(entry)?.isHiding === true)
      ? this.#decided(entries, method, server)
      : Effect.flatMap(RequestContext.RequestContext, (request) =>
        this.#decided(
          entries.filter((entry) => {
            const demand = this.#demands.get(entry)
            return demand?.isHiding !== true || !request.lacksScopes(demand.scopes)
          }),
          method,
          server
        ))
  }

  #decided<E extends Entry>(
    entries: ReadonlyArray<E>,
    method: string,
    server: ServerContext
  ): Effect.Effect<ReadonlyArray<E>, never, RequestServices> {
    if (this.#deciders.size === 0) return Effect.succeed(entries)
    const byDecider = new Map<Registration["visible"], Array<E>>()
    for (const entry of entries) {
      const decider = this.#deciders.get(entry)?.visible
      const group = byDecider.get(decider)
      if (group === undefined) byDecider.set(decider, [entry])
      else group.push(entry)
    }
    if (byDecider.size === 1 && byDecider.has(undefined)) return Effect.succeed(entries)
    return Effect.map(
      Effect.forEach(
        byDecider,
        ([visible, group]) => visible === undefined ? Effect.succeed(group) : visible(group, method, server),
        { concurrency: "unbounded" }
      ),
      (groups) => {
        const seen = new Set(groups.flat())
        return entries.filter((entry) => seen.has(entry))
      }
    )
  }

  /** Returns the templates that match a URI, the most literal first, each with its variables. */
  matching(uri: string): ReadonlyArray<{ readonly entry: TemplateEntry; readonly variables: Variables }> {
    const normalized = Matching.normalize(uri)
    if (normalized === undefined) return []
    return this.templates.sorted
      .flatMap((entry) => {
        const { template } = entry
        const variables = template && Matching.match(template[Precedence.TypeId].pattern, normalized)
        return template === undefined || variables === undefined ? [] : [{ entry, template, variables }]
      })
      .toSorted((a, b) => Precedence.order(a.template, b.template))
  }

  #all(): ReadonlyArray<Entry> {
    return [...this.tools.sorted, ...this.resources.sorted, ...this.templates.sorted, ...this.prompts.sorted]
  }

  #needed(entry: Entry): ReadonlyArray<Declarable> {
    const capability = capabilityOf(entry.kind)
    return isCompletable(entry) ? [capability, "completions"] : [capability]
  }

  /** Adds members, and returns those that were added. */
  #add(registration: Registration, entries: ReadonlyArray<Entry>): ReadonlyArray<Entry> {
    const added: Array<Entry> = []
    const demands = entries.map((entry) => Demands.of(registration, entry))
    for (const [index, entry] of entries.entries()) {
      const error = this.#problem(entry, registration)
      if (error !== undefined && registration.leaveOut === undefined) {
        this.#remove(added)
        throw error
      }
      if (error !== undefined) {
        registration.leaveOut?.(entry, error)
        continue
      }
      this.#put(entry)
      added.push(entry)
      const demand = demands[index]
      if (demand !== undefined) this.#demand(entry, demand)
      if (registration.visible !== undefined) this.#deciders.set(entry, registration)
      if (registration.observe !== undefined || registration.permits !== undefined) {
        this.#observers.set(entry, registration)
      }
    }
    return added
  }

  #remove(entries: ReadonlyArray<Entry>): void {
    for (const entry of entries) this.#take(entry)
  }

  /** Returns why the member cannot be added to those that are there. */
  #problem(entry: Entry, registration: Registration): RegistrationError | undefined {
    const problem = (problem: string) => new RegistrationError({ group: entry.group, problem })
    const member = `${entry.kind} ${Excerpt.name(entry.name)}`
    const missing = this.#needed(entry).find((capability) => this.#declared?.has(capability) === false)
    if (missing !== undefined) {
      return problem(
        `the server runs already and has not declared "${missing}", which the ${member} needs; ` +
          `set its option declare: ["${missing}"]`
      )
    }
    const same = this.#named(entry.kind).named(entry.name)
    if (same !== undefined) {
      return problem(
        same.group === entry.group
          ? `two members are a ${member}, in it or in a group of the same id; rename one of them`
          : `it has a ${member}, and so has the group "${same.group}"; rename one of them`
      )
    }
    if (entry.kind === "resource") {
      const other = this.resources.get(entry.definition.uri)
      if (other !== undefined) {
        return problem(
          `its ${member} has the URI ${Excerpt.line(entry.definition.uri)}, and so has ` +
            `${Excerpt.name(other.name)} of the group "${other.group}"`
        )
      }
    }
    if (entry.kind === "template") {
      const conflict = this.#conflict(entry, registration)
      if (conflict !== undefined) return problem(conflict)
    }
    return undefined
  }

  /** Returns why a template cannot be added: no URI may belong to two templates. */
  #conflict(entry: TemplateEntry, registration: Registration): string | undefined {
    for (const other of this.templates.sorted) {
      if (other.definition.uriTemplate === entry.definition.uriTemplate) {
        return `it has the template ${
          Excerpt.line(entry.definition.uriTemplate)
        }, and so has the group "${other.group}"`
      }
      // A group that reads its resources by their URIs needs no decision between its own templates.
      if (registration.unlisted !== undefined && other.group === entry.group) continue
      if (other.template === undefined || entry.template === undefined) continue
      const uri = Precedence.conflict(other.template, entry.template)
      if (uri !== undefined) {
        const [one, two, both] = [other.template.template, entry.template.template, uri].map((text) =>
          JSON.stringify(text)
        )
        return `the URI templates ${one} (of the group "${other.group}") and ${two} both match ${both}, ` +
          "and neither is more literal; add literal characters to one of them"
      }
    }
    return undefined
  }

  /** Returns the members of one kind, of which only the names matter. */
  #named(kind: Kind): { named(name: string): Entry | undefined } {
    switch (kind) {
      case "tool":
        return this.tools
      case "resource":
        return this.resources
      case "template":
        return this.templates
      case "prompt":
        return this.prompts
    }
  }

  #put(entry: Entry): void {
    switch (entry.kind) {
      case "tool":
        return this.tools.add(entry)
      case "resource":
        return this.resources.add(entry)
      case "template":
        return this.templates.add(entry)
      case "prompt":
        return this.prompts.add(entry)
    }
  }

  #demand(entry: Entry, demand: Demand): void {
    this.#demands.set(entry, demand)
    if (demand.isHiding) this.#hiding++
  }

  #take(entry: Entry): void {
    if (this.#demands.get(entry)?.isHiding === true) this.#hiding--
    this.#demands.delete(entry)
    this.#deciders.delete(entry)
    this.#observers.delete(entry)
    switch (entry.kind) {
      case "tool":
        return this.tools.remove(entry)
      case "resource":
        return this.resources.remove(entry)
      case "template":
        return this.templates.remove(entry)
      case "prompt":
        return this.prompts.remove(entry)
    }
  }
}
