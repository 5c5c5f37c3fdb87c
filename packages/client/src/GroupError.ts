/**
 * The errors of a group of servers: names that it does not have, and those that it has already.
 *
 * @stability unstable
 */
import { Excerpt } from "@effect-mcp/protocol/internal"
import * as Data from "effect/Data"

const namesOf = (servers: ReadonlyArray<string>): string => Excerpt.line(servers.join(", "))

/**
 * The error of a call with the name of no server of the group.
 *
 * @example
 * ```ts
 * import { GroupError } from "@effect-mcp/client"
 *
 * const failure = new GroupError.NoSuchServerError({ server: "flies", servers: ["files"] })
 *
 * export const message = failure.message
 * // => "the group has no server \"flies\"; its servers are: files"
 * ```
 *
 * @category errors
 */
export class NoSuchServerError extends Data.TaggedError("NoSuchServerError")<{
  readonly server: string
  /** The servers of the group. */
  readonly servers: ReadonlyArray<string>
}> {
  override get message(): string {
    return `the group has no server ${Excerpt.name(this.server)}; ` +
      (this.servers.length === 0
        ? "it has no servers, so add this one first"
        : `its servers are: ${namesOf(this.servers)}`)
  }
}

/**
 * The error of a call with a name that the group gives to no tool or prompt. `missing` has the servers whose lists
 * could not be read, and which may have it.
 *
 * @example
 * ```ts
 * import { GroupError } from "@effect-mcp/client"
 *
 * const failure = new GroupError.NoSuchNameError({ kind: "tool", name: "files__raed", missing: ["mail"] })
 *
 * export const message = failure.message
 * // => "the group has no tool \"files__raed\"; retry later, these servers are down or slow, and may have it: mail"
 * ```
 *
 * @category errors
 */
export class NoSuchNameError extends Data.TaggedError("NoSuchNameError")<{
  readonly kind: "tool" | "prompt"
  readonly name: string
  readonly missing: ReadonlyArray<string>
}> {
  override get message(): string {
    return `the group has no ${this.kind} ${Excerpt.name(this.name)}; ` + (
      this.missing.length === 0
        ? "use a name that it lists"
        : `retry later, these servers are down or slow, and may have it: ${namesOf(this.missing)}`
    )
  }
}

/**
 * The error of a server that is added under a name which another server has.
 *
 * @example
 * ```ts
 * import { GroupError } from "@effect-mcp/client"
 *
 * const failure = new GroupError.DuplicateServerError({ server: "files" })
 *
 * export const message = failure.message
 * // => "the group has a server \"files\" already; close its scope first, or choose another name"
 * ```
 *
 * @category errors
 */
export class DuplicateServerError extends Data.TaggedError("DuplicateServerError")<{ readonly server: string }> {
  override get message(): string {
    return `the group has a server ${Excerpt.name(this.server)} already; ` +
      "close its scope first, or choose another name"
  }
}
