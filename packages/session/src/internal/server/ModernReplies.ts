/** Replies in the form of a revision without a handshake. */

import { Caching, ErrorCode, type Implementation, JsonRpc, RequestMetadata } from "@effect-mcp/protocol"
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
): unknown => {
  if (!isMembers(result)) return result
  const { _meta: meta } = result
  return {
    ...result,
    // A handler may give a hint of its own; a time that is none counts as 0 (CCH-02).
    ...(Caching.methods.has(method) && !isSuspended ? Caching.read(result) : undefined),
    resultType: isSuspended ? "input_required" : "complete",
    _meta: { ...(isMembers(meta) ? meta : undefined), [RequestMetadata.keys.serverInfo]: info }
  }
}

/** The codes of revisions with a handshake that this revision no longer has, with the codes in their place (MSG-23). */
const replaced: ReadonlyMap<number, number> = new Map([
  [ErrorCode.ResourceNotFound, ErrorCode.InvalidParams],
  [ErrorCode.UrlElicitationRequired, ErrorCode.InternalError]
])

/** Gives the reply to one request its form. `isSuspended` returns whether the result has questions. */
export class ModernReplies implements ReplySink {
  readonly #replies: ReplySink
  readonly #info: Implementation.Implementation
  readonly #method: string
  readonly #isSuspended: () => boolean

  constructor(
    replies: ReplySink,
    info: Implementation.Implementation,
    method: string,
    isSuspended: () => boolean
  ) {
    this.#replies = replies
    this.#info = info
    this.#method = method
    this.#isSuspended = isSuspended
  }

  reply(response: JsonRpc.Response, origin: StreamOrigin | undefined, handed?: () => void): void {
    this.#replies.reply(this.#formOf(response), origin, handed)
  }

  settle(origin: StreamOrigin | undefined): void {
    this.#replies.settle(origin)
  }

  #formOf(response: JsonRpc.Response): JsonRpc.Response {
    if ("result" in response) {
      return JsonRpc.success(response.id, typed(this.#method, response.result, this.#info, this.#isSuspended()))
    }
    const code = replaced.get(response.error.code)
    return code === undefined ? response : { ...response, error: { ...response.error, code } }
  }
}
