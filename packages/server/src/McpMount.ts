/**
 * The groups of another program, mounted under a prefix.
 *
 * @stability unstable
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as MountedRegistration from "./internal/mount/MountedRegistration.ts"
import * as PrefixedUris from "./internal/mount/PrefixedUris.ts"
import { RegistrationError } from "./internal/registry/RegistrationError.ts"
import { McpServer } from "./McpServer.ts"

/**
 * Options of {@link prefixed}.
 *
 * @category models
 */
export interface Options {
  /** The characters between the prefix and a name. Default `"_"`. */
  readonly separator?: string
  /**
   * `"prefixed"` inserts the prefix after the scheme of URIs and templates. `"unchanged"` keeps them, for URIs that
   * have a meaning elsewhere, such as `https:` and `file:`; then one Layer cannot be mounted twice. Default
   * `"prefixed"`.
   */
  readonly uris?: "prefixed" | "unchanged"
}

/**
 * The names and URIs of a mounted group, as clients see them.
 *
 * @category models
 */
export interface Naming {
  /** Returns the name of a tool, a prompt, a resource or a template. */
  readonly name: (name: string) => string
  /** Returns a URI, or the text of a URI template. One without a scheme cannot be mounted, and is returned as it is. */
  readonly uri: (uri: string) => string
}

/**
 * Returns the names and URIs that {@link prefixed} gives to a group.
 *
 * @example
 * ```ts
 * import { McpMount } from "@effect-mcp/server"
 *
 * const work = McpMount.naming("work")
 *
 * export const outer = [work.name("add"), work.uri("tasks://{id}")] // => ["work_add", "tasks://work/{id}"]
 * ```
 *
 * @category constructors
 */
export const naming = (prefix: string, { separator = "_", uris = "prefixed" }: Options = {}): Naming => {
  const mapping = uris === "prefixed" ? PrefixedUris.prefixed(prefix) : PrefixedUris.unchanged
  return { name: (name) => `${prefix}${separator}${name}`, uri: (uri) => mapping.outer(uri) ?? uri }
}

/** The characters of a prefix and of a separator: those of a tool's name (TOOL-10), which a URI also allows. */
const allowed = /^[A-Za-z0-9_.-]*$/

/**
 * Mounts groups under a prefix. A tool `add` becomes `tasks_add`; prompts, resources and templates get their names in
 * the same way. The URI `tasks://7` becomes `tasks://work/7` under the prefix `work`, and so do URIs of the group in
 * its results, `McpServer.resourceUpdated` and subscriptions. Handlers and middleware see the names and URIs of their
 * definitions.
 *
 * The groups are built for this mount alone, together with the Layers that are provided to them inside of it. So one
 * Layer can be mounted under several prefixes. Services that the mounts share are provided outside of them.
 *
 * A prefix with other characters than `A-Z`, `a-z`, `0-9`, `_`, `.` and `-`, a name that becomes longer than 128
 * characters (TOOL-10), and a template that does not begin with a scheme are defects of the Layer.
 *
 * @example
 * ```ts
 * import { McpGroup, McpMount, McpServer } from "@effect-mcp/server"
 * import { ClientSession } from "@effect-mcp/session"
 * import * as Tool from "effect/ai/Tool"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 * import * as Schema from "effect/Schema"
 *
 * const Clock = McpGroup.make("clock", Tool.make("now", { success: Schema.String }))
 * const ClockLive = Clock.toLayer((handlers) =>
 *   handlers.tool("now", () => Effect.sync(() => new Date().toISOString()))
 * )
 *
 * const both = Layer.merge(McpMount.prefixed("work", ClockLive), McpMount.prefixed("home", ClockLive))
 * const info = { name: "example", version: "1.0.0" }
 *
 * export const names = Effect.gen(function*() {
 *   const session = yield* ClientSession.ClientSession
 *   return (yield* session.listTools()).tools.map(({ name }) => name)
 * }).pipe(Effect.provide(Layer.provide(ClientSession.layer({ info }), McpServer.layerMemory(both, { info }))))
 * // => ["home_now", "work_now"]
 * ```
 *
 * @category layers
 */
export const prefixed = <A, E, R>(
  prefix: string,
  groups: Layer.Layer<A, E, R>,
  options: Options = {}
): Layer.Layer<A, E, Exclude<R, McpServer> | McpServer> => {
  const { separator = "_", uris = "prefixed" } = options
  const mapping = uris === "prefixed" ? PrefixedUris.prefixed(prefix) : PrefixedUris.unchanged
  const mounted = Layer.effect(
    McpServer,
    Effect.gen(function*() {
      const server = yield* McpServer
      if (prefix === "" || !allowed.test(`${prefix}${separator}`)) {
        return yield* Effect.die(
          new RegistrationError({
            group: prefix,
            problem: `it cannot be mounted under ${JSON.stringify(`${prefix}${separator}`)}; ` +
              "use a prefix and a separator of the characters A-Z, a-z, 0-9, _, . and -"
          })
        )
      }
      const mount: MountedRegistration.Mount = {
        namePrefix: `${prefix}${separator}`,
        uris: mapping,
        groups: new Set()
      }
      return {
        mount: `${server.mount}${mount.namePrefix}`,
        register: Effect.fnUntraced(function*(inner) {
          const { entries, group, registration } = MountedRegistration.make(inner, mount)
          yield* Effect.acquireRelease(
            Effect.sync(() => mount.groups.add(group)),
            () => Effect.sync(() => mount.groups.delete(group))
          )
          const { replace } = yield* server.register(registration)
          return { replace: (replacing) => Effect.suspend(() => replace(entries(replacing))) }
        }),
        resourceUpdated: (uri) => server.resourceUpdated(mapping.outer(uri) ?? uri),
        listChanged: server.listChanged,
        visibilityChanged: server.visibilityChanged,
        needsSessions: server.needsSessions
      }
    })
  )
  return Layer.fresh(Layer.provide(groups, mounted))
}
