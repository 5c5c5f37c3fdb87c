/** Replies in the form of a revision without a handshake. */

import { Caching, ErrorCode, type Implementation, JsonRpc, RequestMetadata } from "@effect-mcp/protocol"
import * as PreparedResult from "../../PreparedResult.ts"
import type { StreamOrigin } from "../../Transport.ts"
import type { ReplySink } from "../engine/RequestServer.ts"

const isMembers = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Returns a result with its type, its hint for caches, and the server that it is from (MSG-18, CCH-01, VER-05). */
const typed = (
  method: string,
  result: unknown,
  info: Implementation.Implementation,
  isSuspended: boolean
): unknown =>
  // A prepared result is that of one method, and has no questions.
  isMembers(result)
    ? PreparedResult.derive(result, info, (result) => {
      const { _meta: meta } = result
      const form = {
        ...result,
        resultType: isSuspended ? "input_required" : "complete",
        _meta: { ...(isMembers(meta) ? meta : undefined), [RequestMetadata.keys.serverInfo]: info }
      }
      // A handler may give a hint of its own; a time that is none counts as 0 (CCH-02).
      return Caching.methods.has(method) && !isSuspended ? { ...form, ...Caching.read(result) } : form
    })
    : result

/** The codes of the specification's range, −32020 to −32099, that have a meaning in this revision. */
const assigned: ReadonlySet<number> = new Set([
  ErrorCode.HeaderMismatch,
  ErrorCode.MissingRequiredClientCapability,
  ErrorCode.UnsupportedProtocolVersion
])

/** Returns the code in the place of one that this revision does not have: MSG-23, and MSG-22 for its range. */
const codeOf = (code: number): number => {
  if (code === ErrorCode.ResourceNotFound) return ErrorCode.InvalidParams
  const isReserved = code <= -32020 && code >= -32099
  return isReserved && !assigned.has(code) ? ErrorCode.InternalError : code
}

/**
 * Gives the reply to one request its form. `isSuspended` returns whether the result has questions. `whenEnded` calls a
 * function when the handler has ended, which may be after the reply.
 */
export class ModernReplies implements ReplySink {
  readonly #replies: ReplySink
  readonly #info: Implementation.Implementation
  readonly #method: string
  readonly #isSuspended: () => boolean
  readonly #whenEnded: (then: () => void) => void

  constructor(
    replies: ReplySink,
    info: Implementation.Implementation,
    method: string,
    isSuspended: () => boolean,
    whenEnded: (then: () => void) => void
  ) {
    this.#replies = replies
    this.#info = info
    this.#method = method
    this.#isSuspended = isSuspended
    this.#whenEnded = whenEnded
  }

  reply(response: JsonRpc.Response, origin: StreamOrigin | undefined, handed?: () => void): void {
    // Otherwise a client could start any number of handlers whose finalizers do not end.
    const released = handed === undefined ? undefined : () => this.#whenEnded(handed)
    this.#replies.reply(this.#formOf(response), origin, released)
  }

  settle(origin: StreamOrigin | undefined): void {
    this.#replies.settle(origin)
  }

  #formOf(response: JsonRpc.Response): JsonRpc.Response {
    if ("result" in response) {
      return JsonRpc.success(response.id, typed(this.#method, response.result, this.#info, this.#isSuspended()))
    }
    const { error } = response
    const code = codeOf(error.code)
    return code === error.code ? response : { ...response, error: { ...error, code } }
  }
}
