/**
 * The store of tokens in a directory of files.
 */
import { webCrypto } from "@effect-mcp/session/internal"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { type Entry, type Key, type TokenStore, TokenStoreError } from "../../TokenStore.ts"
import * as Lease from "../keys/Lease.ts"
import * as EntryRecord from "./EntryRecord.ts"
import { FileRegister } from "./FileRegister.ts"
import * as KeyDigest from "./KeyDigest.ts"
import * as LeaseRecord from "./LeaseRecord.ts"

type Store = TokenStore["Service"]

type Operation = TokenStoreError["operation"]

/** The number of times that an owner tries to acquire a lease while others do. */
const maxAttempts = 20

const failure = (operation: Operation, reason: TokenStoreError["reason"]) => new TokenStoreError({ operation, reason })

/** Runs an operation of files. Its errors are those of the store, or name a path. */
const attempt = <A>(operation: Operation, run: () => Promise<A>): Effect.Effect<A, TokenStoreError> =>
  Effect.tryPromise({
    try: run,
    catch: (cause) => cause instanceof TokenStoreError ? cause : failure(operation, { _tag: "Unavailable", cause })
  })

/** Returns a record; `undefined` for one that is damaged, or of a newer version. */
const readable = async (
  record: Promise<EntryRecord.EntryRecord | undefined>
): Promise<EntryRecord.EntryRecord | undefined> => {
  try {
    return await record
  } catch (error) {
    if (error instanceof TokenStoreError) return undefined
    throw error
  }
}

/** Returns the permissions in the notation of `chmod`. */
const octal = (mode: number): string => (mode & 0o777).toString(8)

/**
 * Throws if other users can reach the directory, or own it: its owner can replace what is in it, and change its mode.
 * Returns false if it does not exist.
 */
const isPrivate = async (directory: string): Promise<boolean> => {
  const stats = await fs.stat(directory).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined
    throw error
  })
  if (stats === undefined) return false
  if (!stats.isDirectory()) throw new Error(`${directory} is no directory`)
  // Windows has no such permissions: the directory inherits those of the profile.
  if (process.platform !== "win32" && (stats.mode & 0o077) !== 0) {
    throw new Error(`${directory} has mode ${octal(stats.mode)}, so that other users reach its tokens; set mode 700`)
  }
  const own = process.geteuid?.()
  if (own !== undefined && stats.uid !== own) {
    throw new Error(
      `${directory} belongs to the user ${stats.uid}, and not to ${own}, who runs this program; use chown`
    )
  }
  return true
}

/**
 * Creates a directory, and those above it. The recursive operation of Node does not end where no directory can be
 * created, such as in `/proc`.
 */
const makeDirectory = async (directory: string): Promise<void> => {
  const created = () =>
    fs.mkdir(directory, { mode: 0o700 }).then(
      () => undefined,
      (error: unknown) => {
        const code = error instanceof Error && "code" in error ? error.code : undefined
        if (code !== "EEXIST" && code !== "ENOENT") throw error
        return code === "ENOENT" ? error : undefined
      }
    )
  const missing = await created()
  if (missing === undefined) return
  const parent = path.dirname(directory)
  if (parent === directory) throw missing
  await makeDirectory(parent)
  const stillMissing = await created()
  if (stillMissing !== undefined) throw stillMissing
}

/** Makes a store of the texts as they are. */
export const make = (directory: string): Store => {
  const folderOf = async (key: Key): Promise<string> => path.join(directory, await KeyDigest.of(key))

  const entryIn = (folder: string) => new FileRegister(folder, "entry", { isDurable: true })

  /** A lease is worth nothing after a loss of power. */
  const leaseIn = (folder: string) => new FileRegister(folder, "lease", { isDurable: false })

  /** Returns a record, removed or not. A record that was copied from another folder is damaged. */
  const decoded = async (operation: Operation, text: string, folder: string): Promise<EntryRecord.EntryRecord> => {
    const place = `the entry in the folder ${folder}`
    const record = Result.getOrThrowWith(EntryRecord.decode(text, place), (reason) => failure(operation, reason))
    if (await folderOf(record.key) === folder) return record
    throw failure(operation, { _tag: "Corrupt", problem: `${place} is that of another key` })
  }

  const recordIn = async (operation: Operation, folder: string): Promise<EntryRecord.EntryRecord | undefined> => {
    const numbered = await entryIn(folder).read()
    return numbered && await decoded(operation, numbered.text, folder)
  }

  const open = async (key: Key): Promise<string> => {
    await makeDirectory(directory)
    await isPrivate(directory)
    const folder = await folderOf(key)
    await makeDirectory(folder)
    return folder
  }

  /** Replaces the entry, or fails with `Conflict` if its version is another one. */
  const change = async (
    operation: "remove" | "write",
    key: Key,
    text: Redacted.Redacted<string> | undefined,
    isExpected: (found: EntryRecord.EntryRecord | undefined) => boolean
  ): Promise<string> => {
    const folder = await open(key)
    const version = webCrypto.randomUUID()
    const isReplaced = await entryIn(folder).replace(async (newest) => {
      const record = newest && await decoded(operation, newest.text, folder)
      const found = record?.text === undefined ? undefined : record
      if (!isExpected(found)) throw failure(operation, { _tag: "Conflict" })
      return text === undefined && found === undefined ? undefined : EntryRecord.encode({ key, text, version })
    })
    if (!isReplaced) throw failure(operation, { _tag: "Conflict" })
    return version
  }

  /** Replaces the lease. Returns false if `decide` returns no other. */
  const changeLease = async (
    key: Key,
    decide: (lease: Lease.Lease | undefined) => { readonly lease: Lease.Lease | undefined } | undefined
  ): Promise<boolean> => {
    const folder = await open(key)
    for (let attempts = 0; attempts < maxAttempts; attempts++) {
      let isDecided = true
      const isReplaced = await leaseIn(folder).replace(async (newest) => {
        const decision = decide(LeaseRecord.decode(newest?.text))
        isDecided = decision !== undefined
        return decision && LeaseRecord.encode(decision.lease)
      })
      if (isReplaced) return isDecided
    }
    // Others are always faster: one of them has the lease.
    return false
  }

  return {
    read: (key) =>
      attempt("read", async (): Promise<Entry | undefined> => {
        if (!await isPrivate(directory)) return undefined
        const record = await recordIn("read", await folderOf(key))
        return record?.text === undefined ? undefined : { text: record.text, version: record.version }
      }),
    write: (key, text, expected) =>
      attempt("write", () => change("write", key, text, (found) => found?.version === expected)),
    remove: (key, expected) =>
      attempt("remove", async () => {
        if (!await isPrivate(directory)) return
        await change("remove", key, undefined, (found) => found === undefined || found.version === expected)
      }),
    keys: attempt("keys", async () => {
      if (!await isPrivate(directory)) return []
      const keys: Array<Key> = []
      for (const name of await fs.readdir(directory)) {
        if (!/^[\da-f]{64}$/.test(name)) continue
        const record = await readable(recordIn("keys", path.join(directory, name)))
        if (record?.text !== undefined) keys.push(record.key)
      }
      return keys
    }),
    acquire: (key, owner, millis) =>
      Effect.flatMap(
        Clock.currentTimeMillis,
        (now) =>
          attempt("acquire", () =>
            changeLease(key, (lease) =>
              Lease.isHeldByOther(lease, owner, now) ? undefined : { lease: Lease.of(owner, now, millis) }))
      ),
    release: (key, owner) =>
      attempt("release", async () => {
        if (!await isPrivate(directory)) return
        await changeLease(key, (lease) => lease?.owner === owner ? { lease: undefined } : undefined)
      })
  }
}
