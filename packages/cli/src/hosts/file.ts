/**
 * The file of a host, which is changed as a whole: a copy of it stays beside it, and a new file takes its place.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { randomUUID } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import type { LocalFile } from "./place.ts"

/** The error of a file that is not changed. */
export class HostFileError extends Data.TaggedError("HostFileError")<{
  readonly file: string
  readonly problem: string
}> {
  override get message(): string {
    return `${this.file} is not changed: ${this.problem}`
  }
}

/** The greatest size of a file, in bytes. */
const maxBytes = 1_048_576

/** A file as it was read. */
export interface Read {
  readonly text: string
  readonly bytes: Buffer
  readonly stats: fs.Stats
}

const statsOf = (file: string): fs.Stats | undefined => fs.lstatSync(file, { throwIfNoEntry: false })

/** Returns the real path of a folder, or of the next one above that exists. */
const realFolder = (folder: string): string => {
  if (statsOf(folder) !== undefined) return fs.realpathSync(folder)
  const above = path.dirname(folder)
  return above === folder ? folder : realFolder(above)
}

const isBelow = (folder: string, base: string): boolean => {
  const relative = path.relative(base, folder)
  return relative === "" || (!relative.startsWith("..") && !path.isAbsolute(relative))
}

const attempt = <A>({ file }: LocalFile, run: () => A): Effect.Effect<A, HostFileError> =>
  Effect.try({
    try: run,
    catch: (error) =>
      error instanceof HostFileError
        ? error
        : new HostFileError({ file, problem: error instanceof Error ? error.message : String(error) })
  })

/** Reads a file. Returns nothing if there is none. */
export const read = (at: LocalFile): Effect.Effect<Read | undefined, HostFileError> =>
  attempt(at, () => {
    const fail = (problem: string): never => {
      throw new HostFileError({ file: at.file, problem })
    }
    const folder = realFolder(path.dirname(at.file))
    if (!isBelow(folder, realFolder(at.base))) {
      return fail(`its folder is a symbolic link to ${folder}; name a file there with --file to change it`)
    }
    const stats = statsOf(at.file)
    if (stats === undefined) return undefined
    if (stats.isSymbolicLink()) {
      return fail(`it is a symbolic link to ${fs.readlinkSync(at.file)}; name this file with --file to change it`)
    }
    if (!stats.isFile()) return fail("it is not a file; remove it, or name another one with --file")
    if (stats.size > maxBytes) {
      return fail(`it has more than ${maxBytes} bytes; add the entry by hand, or by a command of the host`)
    }
    const bytes = fs.readFileSync(at.file)
    try {
      return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes), bytes, stats }
    } catch {
      return fail("it is not UTF-8; add the entry by hand")
    }
  })

/** Writes the bytes of a file into a new one, which then takes its place. */
const replace = (file: string, text: string, before: Read | undefined, mode: number): void => {
  const part = `${file}.${randomUUID()}.tmp`
  try {
    const descriptor = fs.openSync(part, "wx", mode)
    try {
      fs.writeFileSync(descriptor, text)
      // The mask of the process does not count for a file that exists already.
      if (before !== undefined) fs.fchmodSync(descriptor, before.stats.mode & 0o7777)
      const { gid, uid } = fs.fstatSync(descriptor)
      // Without this, a file of a person that root changes would belong to root.
      if (before !== undefined && (uid !== before.stats.uid || gid !== before.stats.gid)) {
        fs.fchownSync(descriptor, before.stats.uid, before.stats.gid)
      }
      fs.fsyncSync(descriptor)
    } finally {
      fs.closeSync(descriptor)
    }
    fs.renameSync(part, file)
  } finally {
    fs.rmSync(part, { force: true })
  }
}

/**
 * Copies a file, and returns the path of the copy. There is one copy for each day, from before the first change of this
 * day: later changes leave it, so that it has the original.
 */
const copyOf = (file: string): string => {
  const copy = `${file}.${new Date().toISOString().slice(0, 10)}.bak`
  if (statsOf(copy) === undefined) fs.copyFileSync(file, copy, fs.constants.COPYFILE_EXCL)
  return copy
}

/**
 * Writes the new text of a file that was read before, and returns the path of its copy. A file that another program has
 * changed meanwhile is not written. A new file of a person can be read by this person only.
 */
export const write = (
  at: LocalFile,
  text: string,
  before: Read | undefined,
  isShared: boolean
): Effect.Effect<string | undefined, HostFileError> =>
  Effect.flatMap(read(at), (now) =>
    attempt(at, () => {
      if (now === undefined ? before !== undefined : before === undefined || !now.bytes.equals(before.bytes)) {
        throw new HostFileError({ file: at.file, problem: "another program has changed it meanwhile; try again" })
      }
      fs.mkdirSync(path.dirname(at.file), { recursive: true })
      const copy = before === undefined ? undefined : copyOf(at.file)
      replace(at.file, text, before, isShared ? 0o666 : 0o600)
      return copy
    }))
