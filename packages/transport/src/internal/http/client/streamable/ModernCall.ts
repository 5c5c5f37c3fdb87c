/** The exchange of one request of revision 2026-07-28: its POST, its headers, and the delivery of the response. */
import { type JsonRpc, RequestMetadata } from "@effect-mcp/protocol"
import { RequestHeaders } from "@effect-mcp/protocol/internal"
import type { Inbound } from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { encoded } from "../../../shared/OutgoingFrame.ts"
import * as HttpCall from "../HttpCall.ts"
import * as HttpErrorResponse from "../HttpErrorResponse.ts"
import type * as McpEndpoint from "../McpEndpoint.ts"
import type { ClientState } from "./ClientState.ts"
import { readJson, ResponseReader, unexpectedResponse } from "./ResponseReader.ts"
import { named } from "./ResumableStream.ts"
import { ToolHeaders } from "./ToolHeaders.ts"

/** A request of this revision belongs to no session. */
const noMembership = { session: undefined, revision: undefined }

/** Returns the revision of a request without a handshake, or `undefined` for any other request. */
export const versionOf = ({ params }: JsonRpc.Request): string | undefined =>
  RequestMetadata.versionIn(params?.["_meta"])

/**
 * Sends a request again whose connection was lost before the response began: a server closes a kept connection just
 * when the request is sent on it, or is started again. Only for a request that can be repeated.
 */
const onceMore = (called: McpEndpoint.Called): McpEndpoint.Called =>
  Effect.catchIf(called, ({ reason }) => reason._tag === "ExchangeEnded", () => called)

/** The response of a server that sends all its responses on a standalone stream, which needs a handshake. */
const acceptedAsNotification = {
  status: 202,
  error: TransportError.make({
    _tag: "Rejected",
    status: 202,
    problem: "this status is for messages without a response",
    retryAfterMillis: undefined
  })
}

/** Sends requests of revision 2026-07-28. Each belongs to no session, and its stream cannot be resumed (SHE-10). */
export class ModernCall {
  readonly #state: ClientState
  readonly #tools: ToolHeaders

  constructor(state: ClientState) {
    this.#state = state
    this.#tools = new ToolHeaders((event) => state.report(event))
  }

  /** Sends a request of this version, and delivers everything up to its response. */
  request(message: JsonRpc.Request, version: string): Effect.Effect<void, TransportError.TransportError> {
    return Effect.scoped(Effect.gen({ self: this }, function*() {
      const { endpoint, settings } = this.#state
      const { id, method, params = {} } = message
      const json = yield* encoded(message)
      const own = this.#tools.of(message)
      if (Result.isFailure(own)) {
        return yield* TransportError.make({ _tag: "InvalidHeader", problem: own.failure })
      }
      const headers = { ...RequestHeaders.encode({ method, params, version }), ...own.success }
      const isDiscovery = method === "server/discover"
      const posted = endpoint.post(json, noMembership, undefined, headers)
      const response = yield* isDiscovery ? onceMore(posted) : posted
      const deliver = method === "tools/list"
        ? (inbound: Inbound) => this.#state.deliver(this.#tools.listed(inbound, id))
        : this.#state.deliver
      if (!HttpCall.isAccepted(response)) {
        const responseTo = isDiscovery ? HttpErrorResponse.discoveryIn : HttpErrorResponse.responseTo
        return deliver(yield* responseTo(id, response))
      }
      const type = HttpCall.mediaType(response)
      if (type === "application/json") return yield* readJson(response, settings, deliver)
      if (isDiscovery && response.status === acceptedAsNotification.status) return yield* acceptedAsNotification.error
      if (type !== "text/event-stream") return yield* unexpectedResponse(response)
      const reader = new ResponseReader(id, settings, deliver)
      const cause = yield* reader.follow(response)
      if (reader.isAnswered) return
      this.#state.report({ _tag: "StreamLost", ...named(message), cause, retryAfterMillis: undefined })
      return yield* TransportError.make({ _tag: "ExchangeEnded", cause, isStreamLost: true })
    }))
  }
}
