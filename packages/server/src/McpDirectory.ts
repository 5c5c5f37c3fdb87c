/**
 * Directories as resources: their regular files, and nothing outside of them.
 *
 * @stability unstable
 */
import { McpError, Resource } from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
import { NumericOption } from "@effect-mcp/session/internal"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import * as PlatformError from "effect/PlatformError"
import * as Result from "effect/Result"
import * as Semaphore from "effect/Semaphore"
import { ConfinedFiles, type Listed } from "./internal/directory/ConfinedFiles.ts"
import * as FileUris from "./internal/directory/FileUris.ts"
import * as MediaTypes from "./internal/directory/MediaTypes.ts"
import type { Entry, ResourceEntry, Suggestions, TemplateEntry } from "./internal/registry/Entry.ts"
import { McpServer } from "./McpServer.ts"
import * as UriTemplate from "./UriTemplate.ts"

/**
 * Options of {@link layer}.
 *
 * @category models
 */
export interface Options {
  /**
   * The directories, by the names that clients use for them: small letters, digits and hyphens. Clients never receive
   * the paths.
   */
  readonly roots: { readonly [name: string]: string }
  /** The scheme of the URIs. Default `files`. Two Layers of one server need different schemes or root names. */
  readonly scheme?: string
  /** `true` also serves files and directories whose names begin with a dot. */
  readonly hidden?: true
  /** `true` follows symbolic links to targets within the same root. By default, the server follows no links. */
  readonly followLinks?: true
  /** The greatest size of a file that can be read, in bytes. Default 1,048,576. */
  readonly maxBytes?: number
  /** The files of one root in the list. Further ones can be read, and are not listed. Default 1,000. */
  readonly maxFiles?: number
  /** The names of one root that are visited for the list, and those for a completion. Default 10,000. */
  readonly maxVisited?: number
  /** The depth of the list: 1 lists only the files in the root itself. Default 8. */
  readonly maxDepth?: number
  /** The operations on files at the same time. Further ones wait. Default 4. */
  readonly concurrency?: number
  /** The time for one request, with its wait. Later, the client gets the error −32603. Default 10 seconds. */
  readonly timeout?: Duration.Input
  /**
   * The interval at which the roots are listed again. Clients are notified of a changed list, and of changed files in
   * it to which they subscribed. By default, the files are listed once, when the server starts.
   */
  readonly refresh?: Duration.Input
}

const rules = {
  maxBytes: NumericOption.count,
  maxFiles: NumericOption.countFromZero,
  maxVisited: NumericOption.count,
  maxDepth: NumericOption.count,
  concurrency: NumericOption.count,
  timeout: NumericOption.interval,
  refresh: NumericOption.interval
}

/** A root with its name and its files. */
interface Root {
  readonly name: string
  readonly base: string
  readonly files: ConfinedFiles
}

const badArgument = (description: string) =>
  PlatformError.badArgument({ module: "McpDirectory", method: "layer", description })

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** Returns the text of bytes. `undefined` if they are not UTF-8, or contain a NUL, which text does not. */
const textOf = (bytes: Uint8Array): string | undefined => {
  if (bytes.includes(0)) return undefined
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}

const contents = (uri: string, name: string, bytes: Uint8Array): Resource.ResourceContents => {
  const type = MediaTypes.ofName(name)
  const text = MediaTypes.isBinary(name) ? undefined : textOf(bytes)
  return text === undefined
    ? Resource.blob(uri, bytes, type ?? "application/octet-stream")
    : Resource.text(uri, text, type ?? "text/plain")
}

const definitionOf = ({ base, name }: Root, { changed, names, size }: Listed): Resource.Resource => {
  const mimeType = MediaTypes.ofName(names.at(-1) ?? "")
  return {
    name: `${name}/${names.join("/")}`,
    uri: `${base}${FileUris.path(names)}`,
    size,
    ...(mimeType === undefined ? undefined : { mimeType }),
    ...(changed === undefined ? undefined : { annotations: { lastModified: changed.toISOString() } })
  }
}

/** The requests of one Layer: their bounds, and the operations that they share. */
class Requests {
  readonly #id: string
  readonly #maxBytes: number
  readonly #timeout: Duration.Input
  readonly #semaphore: Semaphore.Semaphore

  constructor(id: string, maxBytes: number, { concurrency = 4, timeout = Duration.seconds(10) }: Options) {
    this.#id = id
    this.#maxBytes = maxBytes
    this.#timeout = timeout
    this.#semaphore = Semaphore.makeUnsafe(concurrency)
  }

  /** Returns the URI's names. `undefined` if it is none of a file in the root. */
  names(root: Root, uri: string): ReadonlyArray<string> | undefined {
    return uri.startsWith(root.base) ? FileUris.names(uri.slice(root.base.length), root.files.rules) : undefined
  }

  /**
   * Reads a file. A URI that names none, or none that may be served, gives `undefined`, so that the error of each is
   * the same.
   */
  read(root: Root, uri: string): Effect.Effect<Resource.ReadResourceResult | undefined, McpError.McpError> {
    const names = this.names(root, uri)
    if (names === undefined) return Effect.undefined
    return Effect.flatMap(this.#bounded("resources/read", root.files.read(names)), (read) => {
      if (read === undefined) return Effect.undefined
      return "tooLarge" in read
        ? Effect.fail(McpError.invalidParams(
          `resources/read ${Excerpt.of(uri)}: the file has more than ${this.#maxBytes} bytes, the limit of this server`
        ))
        : Effect.succeed({ contents: [contents(uri, names.at(-1) ?? "", read.bytes)] })
    })
  }

  /** Returns whether a client can read the resource. */
  has(root: Root, uri: string): Effect.Effect<boolean> {
    const names = this.names(root, uri)
    return names === undefined
      ? Effect.succeed(false)
      : Effect.orElseSucceed(this.#bounded("resources/subscribe", root.files.has(names)), () => false)
  }

  /** Returns the paths that begin as the client has typed. */
  complete(root: Root, typed: string): Effect.Effect<Suggestions, McpError.McpError> {
    const end = typed.lastIndexOf("/")
    const directory = end === -1 ? [] : FileUris.names(typed.slice(0, end), root.files.rules)
    const beginning = FileUris.beginning(typed.slice(end + 1))
    if (directory === undefined || beginning === undefined) return Effect.succeed({ values: [] })
    return Effect.map(
      this.#bounded("completion/complete", root.files.complete(directory, beginning, 101)),
      (paths) => ({ values: paths.slice(0, 100), hasMore: paths.length > 100 })
    )
  }

  /**
   * Runs an operation apart from the request, with a deadline. An operation of the system cannot be interrupted, so
   * without this a request would wait for a file system that does not respond.
   */
  #bounded<A>(method: string, operation: Effect.Effect<A>): Effect.Effect<A, McpError.McpError> {
    return Effect.flatMap(
      Effect.forkDetach(this.#semaphore.withPermits(1)(operation)),
      (fiber) =>
        Effect.timeoutOrElse(Fiber.join(fiber), {
          duration: this.#timeout,
          orElse: () =>
            Effect.andThen(
              Effect.logWarning(`${method}: the directories of "${this.#id}" did not respond before the timeout`),
              Effect.fail(McpError.internalError)
            )
        }).pipe(Effect.onExit(() => Effect.forkDetach(Fiber.interrupt(fiber))))
    )
  }
}

const templateOf = (group: string, root: Root, requests: Requests): TemplateEntry => {
  const uriTemplate = `${root.base}{+path}`
  return {
    kind: "template",
    group,
    name: root.name,
    definition: { name: root.name, uriTemplate, description: `The files of ${root.name}` },
    template: Result.getOrThrow(UriTemplate.make<string>(uriTemplate)),
    read: (_, uri) => requests.read(root, uri),
    fits: (_, uri) => requests.has(root, uri),
    complete: ({ argument, typed }) =>
      argument === "path" ? requests.complete(root, typed) : Effect.succeed({ values: [] }),
    isCompletable: true
  }
}

/** The listed files of a root. A file that has not changed keeps its entry, so that its list stays the same. */
class ListedEntries {
  #known: ReadonlyMap<string, { readonly key: string; readonly entry: ResourceEntry }> = new Map()

  /** Returns the entries, and the URIs of files that have changed since the last time or are no longer there. */
  update(
    group: string,
    root: Root,
    requests: Requests,
    listed: ReadonlyArray<Listed>
  ): { readonly entries: ReadonlyArray<ResourceEntry>; readonly changed: ReadonlyArray<string> } {
    const known = new Map<string, { readonly key: string; readonly entry: ResourceEntry }>()
    for (const file of listed) {
      const definition = definitionOf(root, file)
      const { name, uri } = definition
      const key = JSON.stringify(definition)
      const before = this.#known.get(uri)
      known.set(
        uri,
        before?.key === key ? before : {
          key,
          entry: {
            kind: "resource",
            group,
            name,
            definition,
            read: () =>
              Effect.flatMap(
                requests.read(root, uri),
                (result) => result === undefined ? Effect.fail(McpError.resourceNotFound(uri)) : Effect.succeed(result)
              )
          }
        }
      )
    }
    const changed = [...this.#known].filter(([uri, { key }]) => known.get(uri)?.key !== key).map(([uri]) => uri)
    this.#known = known
    return { entries: [...known.values()].map(({ entry }) => entry), changed }
  }
}

/**
 * Serves the regular files of directories as resources with URIs such as `files://docs/guide/start.md`: a list with
 * sizes and times of the last change, a template for each root, and completion of its paths.
 *
 * A file is served only if its real path is within the real path of its root (RES-09). The path of a URI is decoded
 * once, name by name: a name with a slash, a backslash, or a NUL is that of no file, and so is `..`. The error for each
 * URI that is not served is the same, whether a file is there or not. A file that is valid UTF-8 is text, and any other
 * is a blob. Every client of the server can read the files, so use one server for each group of users.
 *
 * The Layer fails with a `PlatformError` if a root is no directory, or if a name is not valid. An invalid
 * number or duration is a defect.
 *
 * @example
 * ```ts
 * import { McpServer } from "@effect-mcp/server"
 * import * as McpDirectory from "@effect-mcp/server/McpDirectory"
 * import { ClientSession } from "@effect-mcp/session"
 * import * as NodeServices from "@effect/platform-node/NodeServices"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const files = McpDirectory.layer("files", { roots: { docs: "./docs" }, maxBytes: 100_000 })
 * const info = { name: "files", version: "1.0.0" }
 *
 * export const templates = Effect.gen(function*() {
 *   const session = yield* ClientSession.ClientSession
 *   const { resourceTemplates } = yield* session.listResourceTemplates()
 *   return resourceTemplates.map(({ uriTemplate }) => uriTemplate)
 * }).pipe(
 *   Effect.provide(Layer.provide(ClientSession.layer({ info }), McpServer.layerMemory(files, { info }))),
 *   Effect.provide(NodeServices.layer)
 * )
 * // => ["files://docs/{+path}"]
 * ```
 *
 * @category layers
 */
export const layer = (
  id: string,
  options: Options
): Layer.Layer<never, PlatformError.PlatformError, McpServer | FileSystem.FileSystem | Path.Path> =>
  Layer.effectDiscard(Effect.gen(function*() {
    NumericOption.check(options, rules)
    const files = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const server = yield* McpServer
    const { followLinks = false, hidden = false, maxBytes = 1_048_576, scheme = "files" } = options
    if (!/^[a-z][a-z0-9+.-]*$/.test(scheme)) {
      return yield* badArgument(`the scheme ${JSON.stringify(scheme)} is not one of RFC 3986, in small letters`)
    }
    const confinement = {
      followLinks,
      hidden,
      maxBytes,
      maxFiles: options.maxFiles ?? 1_000,
      maxVisited: options.maxVisited ?? 10_000,
      maxDepth: options.maxDepth ?? 8
    }
    const requests = new Requests(id, maxBytes, options)
    const roots: Array<Root> = []
    for (const [name, directory] of Object.entries(options.roots)) {
      if (!/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(name)) {
        return yield* badArgument(
          `the root ${JSON.stringify(name)} has an invalid name; use small letters, digits and hyphens, at most 63`
        )
      }
      const real = yield* files.realPath(directory)
      if ((yield* files.stat(real)).type !== "Directory") {
        return yield* badArgument(`the root ${JSON.stringify(name)} is no directory: ${directory}`)
      }
      const base = `${scheme}://${name}/`
      roots.push({ name, base, files: new ConfinedFiles(files, path, real, confinement) })
    }
    const prepared = roots.map((root) => ({
      root,
      template: templateOf(id, root, requests),
      listed: new ListedEntries()
    }))
    const update = Effect.map(
      Effect.forEach(
        prepared,
        ({ listed, root, template }) =>
          Effect.map(root.files.list, ({ isComplete, listed: found }) => {
            const { changed, entries } = listed.update(id, root, requests, found)
            return { entries: [template, ...entries], changed, incomplete: isComplete ? [] : [root.name] }
          })
      ),
      (updates) => ({
        entries: updates.flatMap(({ entries }): ReadonlyArray<Entry> => entries),
        changed: updates.flatMap(({ changed }) => changed),
        incomplete: updates.flatMap(({ incomplete }) => incomplete)
      })
    )
    const { entries, incomplete } = yield* update
    if (incomplete.length > 0) {
      yield* Effect.logWarning(
        `the list of "${id}" does not contain all files of ${incomplete.join(", ")}; set maxFiles, maxVisited or ` +
          "maxDepth to list more"
      )
    }
    const registered = yield* server.register({ group: id, entries, visible: undefined })
    if (options.refresh === undefined) return
    const again = Effect.flatMap(
      update,
      ({ changed, entries }) =>
        Effect.andThen(registered.replace(entries), Effect.forEach(changed, server.resourceUpdated, { discard: true }))
    )
    yield* Effect.forkScoped(Effect.forever(Effect.delay(again, options.refresh)))
  }))
