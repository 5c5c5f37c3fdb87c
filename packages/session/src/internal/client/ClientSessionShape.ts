/** The interface of a client's session. */

import type {
  Completion,
  Handshake,
  InputRequired,
  JsonRpc,
  Logging,
  Meta,
  MethodDefinition,
  MethodTable,
  Pagination,
  Profile,
  Progress,
  Prompt,
  Resource,
  Tool
} from "@effect-mcp/protocol"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { RequestError } from "../../RequestError.ts"
import type { RequestOptions } from "../../RequestOptions.ts"
import type * as Session from "../../Session.ts"
import type * as HandledMethods from "../HandledMethods.ts"
import type { CallTaskRequests } from "./CallTaskRequests.ts"

/** A session of a client, after its handshake: no value of this type exists before. */
export interface ClientSessionShape extends Session.Session<Handshake.ClientState> {
  /** The profile of the server. */
  readonly profile: Profile.ServerProfile
  /**
   * Sends any request that a client may send, and waits for its result. If the caller is interrupted, the client
   * cancels the request at the server (CAN-04). A request that a server answers with questions is repeated with
   * `inputResponses` and `requestState` among its params (`InputRequired.Retry`), with the option `questions`.
   */
  readonly request: <Name extends Exclude<MethodTable.RequestName<"client">, "initialize">, R = never>(
    name: Name,
    params: MethodTable.ParamsOf<Name> & InputRequired.AdditionsOf<Name>,
    options?: RequestOptions<R>
  ) => Effect.Effect<MethodTable.ResultOf<Name>, RequestError, R>
  /** Sends a request of a method that is not in the method table, by a row of your own. */
  readonly extension: <Params extends object, Result, R = never>(
    row: MethodDefinition.RequestMethod<string, "client" | "either", Params, Result>,
    params: Params,
    options?: RequestOptions<R>
  ) => Effect.Effect<Result, RequestError, R>
  /** Sends a ping, and waits for its response (PING-01). */
  readonly ping: <R = never>(options?: RequestOptions<R>) => Effect.Effect<void, RequestError, R>
  /** Lists one page of the server's tools. */
  readonly listTools: <R = never>(
    params?: Pagination.ListParams,
    options?: RequestOptions<R>
  ) => Effect.Effect<Tool.ListToolsResult, RequestError, R>
  /** Streams all tools of the server, and requests each page on demand. A repeated cursor fails as `InvalidResult`. */
  readonly tools: Stream.Stream<Tool.Tool, RequestError>
  /**
   * Calls a tool. A failure of the tool is a result with `isError`; a failure of the call is a `RequestError`. With a
   * `validator`, structured content that does not match the tool's output schema, or is missing, fails as
   * `InvalidResult`.
   */
  readonly callTool: <R = never>(
    name: string,
    input?: { readonly [name: string]: unknown },
    options?: RequestOptions<R>
  ) => Effect.Effect<Tool.CallToolResult, RequestError, R>
  /** Lists one page of the server's resources. */
  readonly listResources: <R = never>(
    params?: Pagination.ListParams,
    options?: RequestOptions<R>
  ) => Effect.Effect<Resource.ListResourcesResult, RequestError, R>
  /** Streams all resources of the server, and requests each page on demand. */
  readonly resources: Stream.Stream<Resource.Resource, RequestError>
  /** Lists one page of the server's resource templates. */
  readonly listResourceTemplates: <R = never>(
    params?: Pagination.ListParams,
    options?: RequestOptions<R>
  ) => Effect.Effect<Resource.ListResourceTemplatesResult, RequestError, R>
  /** Streams all resource templates of the server, and requests each page on demand. */
  readonly resourceTemplates: Stream.Stream<Resource.ResourceTemplate, RequestError>
  /** Reads a resource. */
  readonly readResource: <R = never>(
    uri: string,
    options?: RequestOptions<R>
  ) => Effect.Effect<Resource.ReadResourceResult, RequestError, R>
  /**
   * Subscribes to changes of a resource. The server's notifications arrive in
   * `notifications("notifications/resources/updated")`. In revision 2026-07-28, it waits until the server has
   * acknowledged a stream with this resource (SUB-04), and fails as `NotSubscribable` if the server leaves it out.
   */
  readonly subscribeResource: <R = never>(
    uri: string,
    options?: RequestOptions<R>
  ) => Effect.Effect<void, RequestError, R>
  /** Ends a subscription to a resource. */
  readonly unsubscribeResource: <R = never>(
    uri: string,
    options?: RequestOptions<R>
  ) => Effect.Effect<void, RequestError, R>
  /** Lists one page of the server's prompts. */
  readonly listPrompts: <R = never>(
    params?: Pagination.ListParams,
    options?: RequestOptions<R>
  ) => Effect.Effect<Prompt.ListPromptsResult, RequestError, R>
  /** Streams all prompts of the server, and requests each page on demand. */
  readonly prompts: Stream.Stream<Prompt.Prompt, RequestError>
  /** Gets a prompt, with its arguments filled in. */
  readonly getPrompt: <R = never>(
    name: string,
    input?: { readonly [name: string]: string },
    options?: RequestOptions<R>
  ) => Effect.Effect<Prompt.GetPromptResult, RequestError, R>
  /** Requests completions for an argument of a prompt or of a resource template. */
  readonly complete: <R = never>(
    params: Completion.CompleteParams,
    options?: RequestOptions<R>
  ) => Effect.Effect<Completion.CompleteResult, RequestError, R>
  /** The calls of tools that become tasks of the server: use `RemoteTasks.of`. */
  readonly taskRequests: CallTaskRequests
  /**
   * Sets the lowest level of the log messages that the server sends. In revision 2026-07-28 later requests ask for that
   * level. Unless it is set, they ask for all messages while a handler or a stream of the program receives them, and
   * otherwise for none.
   */
  readonly setLogLevel: <R = never>(
    level: Logging.Level,
    options?: RequestOptions<R>
  ) => Effect.Effect<void, RequestError, R>
  /**
   * Reports a step of progress of the server's request with this progress token (PRG-04). In a handler use
   * `ClientRequestContext.progress`: it drops steps that do not increase, and steps after the reply.
   */
  readonly progress: (token: Meta.ProgressToken, step: Progress.Progress) => Effect.Effect<void, RequestError>
  /**
   * Notifies the server that the roots have changed. Needs the declared capability `roots.listChanged` (ROOT-02). In
   * revision 2026-07-28 it sends nothing, because a server asks for the roots whenever it needs them.
   */
  readonly rootsListChanged: Effect.Effect<void, RequestError>
  /**
   * Streams the server's notifications of one method, from the start of the stream to the end of the session, beside
   * their handlers. A consumer that lags by more than the limits allow loses the oldest. A forked stream misses what
   * arrives before its fiber starts: fork it with `startImmediately`. In revision 2026-07-28, the client asks for
   * changes of a list by `subscriptions/listen`, while a stream or a handler of the program receives them.
   */
  readonly notifications: <Name extends HandledMethods.NotificationName<"server">>(
    name: Name
  ) => Stream.Stream<MethodTable.NotificationParamsOf<Name>>
  /** Sends a message as it is, unchecked and unmatched. If it is a request, its response is reported as unmatched. */
  readonly send: (message: JsonRpc.Message) => Effect.Effect<void, RequestError>
}
