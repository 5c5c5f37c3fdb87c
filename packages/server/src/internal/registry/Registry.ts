/** The members that a server has now. Groups add and remove them while it runs. */

import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { RequestServices } from "../../McpMiddleware.ts"
import * as UriTemplate from "../../UriTemplate.ts"
import type {
  Entry,
  Kind,
  PromptEntry,
  Registration,
  ResourceEntry,
  ServerContext,
  TemplateEntry,
  ToolEntry,
  Variables
} from "./Entry.ts"
import { Members } from "./Members.ts"
import { RegistrationError } from "./RegistrationError.ts"

/** The capabilities that depend on the members. */
export type Declarable = "tools" | "resources" | "prompts" | "completions"

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

const isCompletable = (entry: Entry): boolean => "isCompletable" in entry && entry.isCompletable

/** The members of all registered groups. */
export class Registry {
  readonly tools = new Members<ToolEntry>(({ name }) => name)
  readonly resources = new Members<ResourceEntry>(({ definition }) => definition.uri)
  readonly templates = new Members<TemplateEntry>(({ definition }) => definition.uriTemplate)
  readonly prompts = new Members<PromptEntry>(({ name }) => name)
  /** The registration of each member, if it decides about the visibility of some. */
  readonly #deciders = new Map<Entry, Registration>()
  /** The capabilities that clients were told. `undefined` until a server runs. */
  #declared: ReadonlySet<Declarable> | undefined

  /** Adds the members of a group until the scope closes. Dies with a `RegistrationError`, and then adds none. */
  register(
    registration: Registration,
    changed: (kinds: ReadonlySet<Kind>) => Effect.Effect<void>
  ): Effect.Effect<void, never, Scope.Scope> {
    const kinds = new Set(registration.entries.map(({ kind }) => kind))
    return Effect.asVoid(Effect.acquireRelease(
      Effect.andThen(Effect.sync(() => this.#add(registration)), changed(kinds)),
      () => Effect.andThen(Effect.sync(() => this.#remove(registration)), changed(kinds))
    ))
  }

  /** Fixes the capabilities that the server declares: those of its members, and further ones. */
  declare(further: ReadonlyArray<Declarable>): ReadonlySet<Declarable> {
    const declared = new Set(further)
    for (const entry of this.#all()) for (const capability of this.#needed(entry)) declared.add(capability)
    this.#declared = new Set([...declared, ...this.#declared ?? []])
    return declared
  }

  /** Returns the members that the client of the request sees, in the same order. */
  visible<E extends Entry>(
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
    return this.templates.sorted
      .flatMap((entry) => {
        const variables = entry.template.match(uri)
        return variables === undefined ? [] : [{ entry, variables }]
      })
      .toSorted((a, b) => UriTemplate.precedence(a.entry.template, b.entry.template))
  }

  #all(): ReadonlyArray<Entry> {
    return [...this.tools.sorted, ...this.resources.sorted, ...this.templates.sorted, ...this.prompts.sorted]
  }

  #needed(entry: Entry): ReadonlyArray<Declarable> {
    const capability = capabilityOf(entry.kind)
    return isCompletable(entry) ? [capability, "completions"] : [capability]
  }

  #add(registration: Registration): void {
    const added: Array<Entry> = []
    try {
      for (const entry of registration.entries) {
        this.#check(entry)
        this.#put(entry)
        added.push(entry)
        if (registration.visible !== undefined) this.#deciders.set(entry, registration)
      }
    } catch (error) {
      for (const entry of added) this.#take(entry)
      throw error
    }
  }

  #remove(registration: Registration): void {
    for (const entry of registration.entries) this.#take(entry)
  }

  /** Throws a `RegistrationError` if the member cannot be added to those that are there. */
  #check(entry: Entry): void {
    const fail = (problem: string) => {
      throw new RegistrationError({ group: entry.group, problem })
    }
    const missing = this.#needed(entry).find((capability) => this.#declared?.has(capability) === false)
    if (missing !== undefined) {
      fail(
        `the server runs already and has not declared "${missing}", which the ${entry.kind} "${entry.name}" needs; ` +
          `set its option declare: ["${missing}"]`
      )
    }
    const same = this.#named(entry.kind).named(entry.name)
    if (same !== undefined) {
      fail(`it has a ${entry.kind} "${entry.name}", and so has the group "${same.group}"; rename one of them`)
    }
    if (entry.kind === "resource") {
      const other = this.resources.get(entry.definition.uri)
      if (other !== undefined) {
        fail(
          `its resource "${entry.name}" has the URI ${entry.definition.uri}, and so has "${other.name}" of the group ` +
            `"${other.group}"`
        )
      }
    }
    if (entry.kind === "template") {
      for (const other of this.templates.sorted) {
        const conflict = UriTemplate.conflict(other.template, entry.template)
        if (conflict !== undefined) fail(`${conflict.message} (the first one belongs to the group "${other.group}")`)
      }
    }
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

  #take(entry: Entry): void {
    this.#deciders.delete(entry)
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
