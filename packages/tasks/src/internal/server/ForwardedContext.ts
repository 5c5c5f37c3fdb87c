/** A context that passes everything on to another one. */

import type { RequestContext } from "@effect-mcp/session/RequestContext"
import * as Effect from "effect/Effect"
import { trust } from "../trust.ts"

type Service = RequestContext["Service"]

/**
 * The members of a context, by how they are passed on. A handler may keep a member for later, so effects and functions
 * look for the context when they are used.
 */
const members = {
  id: "value",
  method: "value",
  meta: "value",
  principal: "value",
  lacksScopes: "value",
  session: "value",
  profile: "value",
  parameterHeaders: "value",
  taskRequests: "value",
  isOwnError: "value",
  releaseStream: "effect",
  becomeTask: "effect",
  isHandedOn: "effect",
  progress: "function",
  log: "function",
  notify: "function",
  request: "function",
  once: "function"
} satisfies { readonly [Name in keyof Service]: "value" | "effect" | "function" }

type Members = { readonly [name: string]: unknown }

/** The state of a context, beside its getters. */
interface Forwarding {
  readonly current: () => Service
  readonly own: Partial<Service>
}

/** Returns the getter of a member. */
const getterOf = (name: string, kind: "value" | "effect" | "function"): PropertyDescriptor => ({
  get(this: Forwarding) {
    const { current } = this
    const own = trust<Members>(this.own)
    // The table says what each member of the service is.
    const member = <A>() => trust<A>(trust<Members>(current())[name])
    if (name in own) return own[name]
    switch (kind) {
      case "value":
        return member()
      case "effect":
        return Effect.suspend(() => member<Effect.Effect<unknown, unknown>>())
      case "function":
        return (...args: ReadonlyArray<unknown>) =>
          Effect.suspend(() => member<(...args: ReadonlyArray<unknown>) => Effect.Effect<unknown, unknown>>()(...args))
    }
  }
})

// One prototype with getters, because a context is made for each call that may become a task.
let prototype: object | undefined

/** Makes a context that passes everything on to the current one, except for its own members. */
export const make = (current: () => Service, own: Partial<Service>): Service => {
  prototype ??= Object.defineProperties(
    {},
    Object.fromEntries(Object.entries(members).map(([name, kind]) => [name, getterOf(name, kind)]))
  )
  const forwarding: Forwarding = { current, own }
  // The table has a member for each of the service.
  return trust<Service>(Object.assign(Object.create(prototype), forwarding))
}
