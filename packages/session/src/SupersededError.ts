/**
 * The error of a write to a store by a process that no longer owns the session.
 *
 * @stability unstable
 */
import * as Data from "effect/Data"

/**
 * The error of a write that belongs to an earlier epoch of its session than the store knows: another process owns the
 * session now. The write has changed nothing. The process that made it closes its copy of the session, and deletes
 * nothing, because the session goes on elsewhere.
 *
 * @example
 * ```ts
 * import { SupersededError } from "@effect-mcp/session"
 *
 * export const message = new SupersededError.SupersededError({ epoch: 2 }).message
 * // => "the session has a later owner: a write of epoch 2 changed nothing"
 * ```
 *
 * @category errors
 */
export class SupersededError extends Data.TaggedError("SupersededError")<{
  /** The epoch of the write. */
  readonly epoch: number
}> {
  override get message(): string {
    return `the session has a later owner: a write of epoch ${this.epoch} changed nothing`
  }
}
