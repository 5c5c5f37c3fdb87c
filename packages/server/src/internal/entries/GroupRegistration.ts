/** The registration of a group: each member with its handler. */

import * as Tool from "effect/ai/Tool"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as McpMiddleware from "../../McpMiddleware.ts"
import * as McpPrompt from "../../McpPrompt.ts"
import * as McpResource from "../../McpResource.ts"
import type { Demand, Entry, Kind, Registration } from "../registry/Entry.ts"
import { RegistrationError } from "../registry/RegistrationError.ts"
import { trust } from "../trust.ts"
import type { Member } from "./Definition.ts"
import { GroupRuntime } from "./GroupRuntime.ts"
import type { Handled } from "./HandlerRecord.ts"
import * as PromptEntry from "./PromptEntry.ts"
import * as ResourceEntry from "./ResourceEntry.ts"
import * as ToolEntry from "./ToolEntry.ts"

/** A group, its handlers, and the services of its Layer. */
export interface Implementation {
  readonly id: string
  /** The beginning that `McpMount` gives the names. */
  readonly mount: string
  readonly members: ReadonlyArray<Member>
  readonly middlewares: ReadonlyArray<McpMiddleware.AnyService>
  /** The scopes that all members need. Default: none. */
  readonly demand?: Demand
  readonly handlers: ReadonlyArray<Handled>
  readonly context: Context.Context<never>
}

const kindOf = (member: Member): Kind => {
  if (Tool.TypeId in member) return "tool"
  if (McpPrompt.PromptTypeId in member) return "prompt"
  return member[McpResource.ResourceTypeId] === "Resource" ? "resource" : "template"
}

const entry = (runtime: GroupRuntime, member: Member, handled: Handled): Entry => {
  if (Tool.TypeId in member) return ToolEntry.make(runtime, member, handled)
  if (McpPrompt.PromptTypeId in member) return PromptEntry.make(runtime, member, handled)
  return member[McpResource.ResourceTypeId] === "Resource"
    ? ResourceEntry.make(runtime, member, handled)
    : ResourceEntry.makeTemplate(runtime, member, handled)
}

/** Returns the handler of a member. The types find a missing or a second handler, unless they were circumvented. */
const handlerOf = (group: string, member: Member, handlers: ReadonlyArray<Handled>): Handled => {
  const kind = kindOf(member)
  const [handled, second] = handlers.filter((one) => one.kind === kind && one.name === member.name)
  if (handled === undefined || second !== undefined) {
    const found = handled === undefined ? "no handler" : "two handlers"
    throw new RegistrationError({ group, problem: `the ${kind} "${member.name}" has ${found}` })
  }
  return handled
}

/** Returns the middleware of a group from the services of its Layer. */
export const implementationsOf = (
  group: string,
  middlewares: ReadonlyArray<McpMiddleware.AnyService>,
  context: Context.Context<never>
): ReadonlyArray<McpMiddleware.McpMiddleware<unknown, unknown>> =>
  middlewares.map(({ key }) => {
    const middleware = context.mapUnsafe.get(key)
    // A program that is not type-checked would find out at the first request.
    if (middleware === undefined) {
      throw new RegistrationError({ group, problem: `its middleware "${key}" has no Layer; provide one` })
    }
    // The type of the group's Layer states what its context has under this key.
    return trust<McpMiddleware.McpMiddleware<unknown, unknown>>(middleware)
  })

/** Returns the function that filters the members of a list, or `undefined` if all of them are always visible. */
export const visibility = (
  runtime: GroupRuntime,
  entries: ReadonlyArray<Entry>,
  handlers: ReadonlyArray<Pick<Handled, "kind" | "name" | "visible">>
): Registration["visible"] => {
  const conditions = new Map(entries.map((one) => [
    one,
    handlers.find(({ kind, name }) => kind === one.kind && name === one.name)?.visible
  ]))
  if ([...conditions.values()].every((condition) => condition === undefined)) return undefined
  const isVisible = (one: Entry) => {
    const condition = conditions.get(one)
    return condition === undefined ? Effect.succeed(true) : runtime.isVisible(condition)
  }
  return (listed, method, context) => {
    if (listed.every((one) => conditions.get(one) === undefined)) return Effect.succeed(listed)
    return Effect.matchCauseEffect(
      // One run of the middleware decides about all members, so that a list costs one lookup of the user.
      runtime.runList(Effect.filter(listed, isVisible, { concurrency: "unbounded" }), method, context),
      {
        onSuccess: (visible) => Effect.succeed(visible),
        // The middleware rejects the client, so it may see nothing that depends on the client. A middleware that dies
        // or hangs hides the same members: without this, the lists of all other groups would fail or wait with it.
        onFailure: (cause) =>
          Effect.as(
            Option.exists(Cause.findErrorOption(cause), ({ _tag }) => _tag === "McpError")
              ? Effect.void
              : Effect.logError(
                `members of the group "${runtime.id}" are hidden, because its middleware failed`,
                cause
              ),
            listed.filter((one) => conditions.get(one) === undefined)
          )
      }
    )
  }
}

/** Prepares a group. Throws a `RegistrationError` if a member cannot be served. */
export const make = ({ context, demand, handlers, id, members, middlewares, mount }: Implementation): Registration => {
  const runtime = new GroupRuntime(id, mount, implementationsOf(id, middlewares, context), context)
  const entries = members.map((member) => entry(runtime, member, handlerOf(id, member, handlers)))
  return {
    group: id,
    entries,
    visible: visibility(runtime, entries, handlers),
    scopes: demand,
    ...(middlewares.length === 0 ? undefined : { permits: (uri, server) => runtime.permits(uri, server) })
  }
}
