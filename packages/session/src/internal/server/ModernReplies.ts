/** Replies in the form of a revision without a handshake. */

import { type Implementation, JsonRpc, RequestMetadata } from "@effect-mcp/protocol"
import { Caching } from "@effect-mcp/protocol/internal"
import type { StreamOrigin } from "../../Transport.ts"
import * as ModernErrorCode from "../engine/ModernErrorCode.ts"
import * as PreparedResult from "../engine/PreparedResult.ts"
import type { ReplySink } from "../engine/RequestServer.ts"

const isMembers = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Returns a result with its type, its hint for caches, and the server that it is from (MSG-18, CCH-01, VER-05). */
const typed = (
  method: string,
  result: unknown,
  info: Implementation.Implementation,
  resultType: string
): unknown =>
  // A prepared result is that of one method, and has no questions.
  isMembers(result)
    ? PreparedResult.derive(result, info, (result) => {
      const { _meta: meta } = result
      const form = {
        ...result,
        resultType,
        _meta: { ...(isMembers(meta) ? meta : undefined), [RequestMetadata.keys.serverInfo]: info }
      }
      // A handler may give a hint of its own; a time that is none counts as 0 (CCH-02).
      return Caching.methods.has(method) && resultType === "complete" ? { ...form, ...Caching.read(result) } : form
    })
    : result

type Replies = Pick<ReplySink, "reply">

/**
 * Gives the reply to one request its form. `resultType` returns the type of its result. `whenEnded` calls a function
 * when the handler has ended, which may be after the reply.
 */
export class ModernReplies implements Replies {
  readonly #replies: Replies
  readonly #info: Implementation.Implementation
  readonly #method: string
  readonly #resultType: () => string
  readonly #whenEnded: (then: () => void) => void

  constructor(
    replies: Replies,
    info: Implementation.Implementation,
    method: string,
    resultType: () => string,
    whenEnded: (then: () => void) => void
  ) {
    this.#replies = replies
    this.#info = info
    this.#method = method
    this.#resultType = resultType
    this.#whenEnded = whenEnded
  }

  reply(response: JsonRpc.Response, origin: StreamOrigin | undefined, handed?: (isLost: boolean) => void): void {
    // Otherwise a client could start any number of handlers whose finalizers do not end.
    const released = handed === undefined
      ? undefined
      : (isLost: boolean) => this.#whenEnded(() => handed(isLost))
    this.#replies.reply(this.#formOf(response), origin, released)
  }

  #formOf(response: JsonRpc.Response): JsonRpc.Response {
    if ("result" in response) {
      return JsonRpc.success(response.id, typed(this.#method, response.result, this.#info, this.#resultType()))
    }
    const { error } = response
    const code = ModernErrorCode.of(error.code)
    return code === error.code ? response : { ...response, error: { ...error, code } }
  }
}
