/**
 * The calls of a supervised client: their options, and the errors with which they fail.
 *
 * @stability unstable
 */
import type { Completion, Prompt, Resource, Tool } from "@effect-mcp/protocol"
import type * as RequestError from "@effect-mcp/session/RequestError"
import type { RequestOptions } from "@effect-mcp/session/RequestOptions"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { ServerUnavailableError } from "./ServerUnavailableError.ts"

/**
 * The errors of a call: those of its request, and that of a server that is down. A call whose session ended before its
 * response fails with the reason `OutcomeUnknown`, unless it may be sent again.
 *
 * @category errors
 */
export type CallError = RequestError.RequestError | ServerUnavailableError

/**
 * Options of a call.
 *
 * @category models
 */
export interface CallOptions<R = never> extends RequestOptions<R> {
  /** The time that the call waits for a server that is down. Default: that of the client, 10 seconds. */
  readonly waitTimeout?: Duration.Input
  /**
   * Sends the call again if the server may have carried it out before the session ended. Give it only for calls that
   * may have their effect twice. Default: requests that only read are sent again, and tools are if the client trusts
   * its server (`trusted`) and the tool declares itself read-only or idempotent.
   */
  readonly repeat?: boolean
}

/**
 * The calls of one server.
 *
 * @category models
 */
export interface McpCalls {
  readonly callTool: <R = never>(
    name: string,
    input?: { readonly [name: string]: unknown },
    options?: CallOptions<R>
  ) => Effect.Effect<Tool.CallToolResult, CallError, R>
  readonly readResource: <R = never>(
    uri: string,
    options?: CallOptions<R>
  ) => Effect.Effect<Resource.ReadResourceResult, CallError, R>
  readonly getPrompt: <R = never>(
    name: string,
    input?: { readonly [name: string]: string },
    options?: CallOptions<R>
  ) => Effect.Effect<Prompt.GetPromptResult, CallError, R>
  readonly complete: <R = never>(
    params: Completion.CompleteParams,
    options?: CallOptions<R>
  ) => Effect.Effect<Completion.CompleteResult, CallError, R>
  /**
   * Streams the contents of a resource: those now, and those after each update. In each new session the client
   * subscribes again and reads again. The stream fails if the server does not have the resource, or does not serve
   * subscriptions.
   */
  readonly watch: (uri: string) => Stream.Stream<Resource.ReadResourceResult, CallError>
}
