/** The files within a directory. Only their real paths decide what is within it. */

import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import * as FileUris from "./FileUris.ts"

/** The bounds of a directory, and the files that are served. */
export interface Options {
  readonly hidden: boolean
  readonly followLinks: boolean
  readonly maxBytes: number
  readonly maxFiles: number
  readonly maxVisited: number
  readonly maxDepth: number
}

/** A file or a directory within the root. */
interface Located {
  readonly real: string
  readonly info: FileSystem.File.Info
}

/** A file in a list. */
export interface Listed {
  readonly names: ReadonlyArray<string>
  readonly size: number
  readonly changed: Date | undefined
}

/** The result of reading a file: its bytes, unless it is too large. */
export type Read = { readonly bytes: Uint8Array } | { readonly tooLarge: true }

const isSame = (one: FileSystem.File.Info, other: FileSystem.File.Info): boolean =>
  one.dev === other.dev && Option.getOrUndefined(one.ino) === Option.getOrUndefined(other.ino)

/** The result of an operation on a file. `undefined` if the file is not there, is not permitted, or is not within. */
type Found<A> = Effect.Effect<A | undefined>

/** Files that cannot be used are not distinguished: a client must not learn which of them exist. */
const found = <A>(operation: Effect.Effect<A | undefined, PlatformError>): Found<A> =>
  Effect.orElseSucceed(operation, () => undefined)

const joined = (chunks: ReadonlyArray<Uint8Array>, length: number): Uint8Array => {
  const bytes = new Uint8Array(length)
  let offset = 0
  for (const chunk of chunks) {
    bytes.set(chunk, offset)
    offset += chunk.length
  }
  return bytes
}

/** The files of one directory. */
export class ConfinedFiles {
  readonly rules: FileUris.Rules
  readonly #files: FileSystem.FileSystem
  readonly #path: Path.Path
  /** The real path of the directory. */
  readonly #root: string
  readonly #options: Options

  constructor(files: FileSystem.FileSystem, path: Path.Path, root: string, options: Options) {
    this.#files = files
    this.#path = path
    this.#root = root
    this.#options = options
    this.rules = { hidden: options.hidden, windows: path.sep === "\\" }
  }

  /** Returns whether the file exists and is a regular one. */
  has(names: ReadonlyArray<string>): Effect.Effect<boolean> {
    return Effect.map(found(this.#locate(names)), (located) => located?.info.type === "File")
  }

  /**
   * Reads a regular file. Another process may replace a part of the path between two steps, so the open file is
   * compared with the one at the real path afterwards: bytes of a file outside the directory are never returned.
   */
  read(names: ReadonlyArray<string>): Found<Read> {
    return found(Effect.scoped(Effect.gen({ self: this }, function*() {
      const located = yield* this.#locate(names)
      // A FIFO would block the thread that opens it, and a device may act when it is opened.
      if (located?.info.type !== "File") return undefined
      const file = yield* this.#files.open(located.real, { flag: "r", noFollow: !this.rules.windows })
      const opened = yield* file.stat
      const again = yield* this.#locate(names)
      if (opened.type !== "File" || again === undefined || !isSame(opened, again.info)) return undefined
      const { maxBytes } = this.#options
      if (Number(opened.size) > maxBytes) return { tooLarge: true }
      // The size may be wrong: the file may grow, and those of /proc have the size 0.
      const chunks: Array<Uint8Array> = []
      let length = 0
      while (length <= maxBytes) {
        const chunk = yield* file.readAlloc(Math.min(65_536, maxBytes + 1 - length))
        if (Option.isNone(chunk)) return { bytes: joined(chunks, length) }
        chunks.push(chunk.value)
        length += chunk.value.length
      }
      return { tooLarge: true }
    })))
  }

  /** Returns the regular files, those near the root first. Stops at the bounds, and then `isComplete` is false. */
  readonly list: Effect.Effect<{ readonly listed: ReadonlyArray<Listed>; readonly isComplete: boolean }> = Effect.gen(
    { self: this },
    function*() {
      const { maxDepth, maxFiles, maxVisited } = this.#options
      const listed: Array<Listed> = []
      const directories: Array<ReadonlyArray<string>> = [[]]
      let visited = 0
      let isComplete = true
      for (const directory of directories) {
        for (const name of yield* this.#namesIn(directory)) {
          if (listed.length >= maxFiles || visited >= maxVisited) return { listed, isComplete: false }
          visited++
          const names = [...directory, name]
          const located = yield* found(this.#locate(names))
          if (located?.info.type === "File") {
            const changed = Option.getOrUndefined(located.info.mtime)
            listed.push({ names, size: Number(located.info.size), changed })
          } else if (located?.info.type === "Directory") {
            if (names.length < maxDepth) directories.push(names)
            else isComplete = false
          }
        }
      }
      return { listed, isComplete }
    }
  )

  /** Returns at most `limit` paths in a directory, of which the last name has this beginning. */
  complete(directory: ReadonlyArray<string>, beginning: string, limit: number): Effect.Effect<ReadonlyArray<string>> {
    return Effect.gen({ self: this }, function*() {
      const paths: Array<string> = []
      let visited = 0
      for (const name of yield* this.#namesIn(directory, beginning)) {
        if (paths.length >= limit || visited++ >= this.#options.maxVisited) break
        const names = [...directory, name]
        const located = yield* found(this.#locate(names))
        if (located?.info.type === "File") paths.push(FileUris.path(names))
        if (located?.info.type === "Directory") paths.push(`${FileUris.path(names)}/`)
      }
      return paths
    })
  }

  /**
   * Returns names in a directory with this beginning, sorted. Of a directory with more names than may be visited, it
   * takes one more than these: to sort 300,000 names occupies the process for 100 ms.
   */
  #namesIn(directory: ReadonlyArray<string>, beginning = ""): Effect.Effect<ReadonlyArray<string>> {
    return Effect.map(
      found(Effect.flatMap(
        this.#locate(directory),
        (located) => located?.info.type === "Directory" ? this.#files.readDirectory(located.real) : Effect.undefined
      )),
      (names) => {
        const served: Array<string> = []
        for (const name of names ?? []) {
          if (served.length > this.#options.maxVisited) break
          if (name.startsWith(beginning) && FileUris.isServed(name, this.rules)) served.push(name)
        }
        return served.toSorted()
      }
    )
  }

  /** Returns the real path, if it is within the root and no name in it is one that is not served. */
  #locate(names: ReadonlyArray<string>): Effect.Effect<Located | undefined, PlatformError> {
    return Effect.gen({ self: this }, function*() {
      const path = this.#path
      const candidate = path.join(this.#root, ...names)
      const real = yield* this.#files.realPath(candidate)
      if (real !== candidate && !this.#options.followLinks) return undefined
      const relative = path.relative(this.#root, real)
      if (path.isAbsolute(relative)) return undefined
      const within = relative === "" ? [] : relative.split(path.sep)
      if (!within.every((name) => FileUris.isServed(name, this.rules))) return undefined
      return { real, info: yield* this.#files.stat(real) }
    })
  }
}
