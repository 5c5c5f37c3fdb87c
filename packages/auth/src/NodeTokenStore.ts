/**
 * A token store in files of Node (AUT-35). An entry point of its own, because it needs Node.
 *
 * @stability unstable
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as EncryptedTokenStore from "./EncryptedTokenStore.ts"
import * as TokenFiles from "./internal/store/TokenFiles.ts"
import { TokenStore } from "./TokenStore.ts"

/**
 * Options of {@link make} and {@link layer}.
 *
 * @category models
 */
export interface Options {
  /** The directory of the files. It is created when the first entry is written, with mode 0700. */
  readonly directory: string
  /**
   * The keys that encrypt the tokens, or `"none"`. Without encryption, programs of the same user, and everything that
   * copies the files, such as a backup, have the tokens.
   */
  readonly encryption: EncryptedTokenStore.Options | "none"
}

/**
 * Makes a store in a directory, which several processes can share. Each entry has a folder, and its files have mode
 * 0600. Their texts are encrypted with AES-256-GCM. Issuers, resources, client ids and accounts are readable.
 *
 * An entry is written to a new file, and synchronized with the disk. The file is then linked to the next number of the
 * entry, which fails if another process has written meanwhile. There is no lock that a killed process could leave, and
 * a process that is killed between any two steps leaves the old entry or the new one. Replaced files are emptied.
 *
 * Operations fail with `Unavailable` if the directory cannot be used: it is read-only, other users can reach it or own
 * it, or its file system has no hard links. An entry that is truncated, damaged, or encrypted with another key fails
 * with `Corrupt`, and one of a newer format with `Newer`. Nothing overwrites it; delete its folder, and sign in again.
 *
 * Throws an `InvalidOptionError` for a key that is not 32 bytes long.
 *
 * @example
 * ```ts
 * import * as NodeTokenStore from "@effect-mcp/auth/NodeTokenStore"
 * import * as Redacted from "effect/Redacted"
 *
 * // `secret` is 64 hexadecimal digits, from the keychain of the system.
 * export const store = (secret: string) =>
 *   NodeTokenStore.make({
 *     directory: "/home/ada/.config/notes/tokens",
 *     encryption: { key: Redacted.make(Uint8Array.from(Buffer.from(secret, "hex"))) }
 *   })
 * ```
 *
 * @category constructors
 */
export const make = ({ directory, encryption }: Options): TokenStore["Service"] => {
  const files = TokenFiles.make(directory)
  return encryption === "none" ? files : EncryptedTokenStore.make(files, encryption)
}

/**
 * Provides a store in a directory; see {@link make}.
 *
 * @example
 * ```ts
 * import { TokenStore } from "@effect-mcp/auth"
 * import * as NodeTokenStore from "@effect-mcp/auth/NodeTokenStore"
 * import * as Effect from "effect/Effect"
 * import * as Redacted from "effect/Redacted"
 *
 * const tokens = NodeTokenStore.layer({
 *   directory: "/tmp/no-such-directory",
 *   encryption: { key: Redacted.make(new Uint8Array(32)) }
 * })
 *
 * export const keys = Effect.flatMap(TokenStore.TokenStore, ({ keys }) => keys).pipe(Effect.provide(tokens)) // => []
 * ```
 *
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<TokenStore> =>
  Layer.effect(TokenStore, Effect.sync(() => make(options)))
