/** The interface of a server's session, and the options of its members. */

import type {
  Capabilities,
  Elicitation,
  ElicitationSchema,
  Handshake,
  JsonRpc,
  Logging,
  Meta,
  MethodDefinition,
  MethodTable,
  Profile,
  Progress,
  RequestId,
  Roots,
  Sampling,
  Task
} from "@effect-mcp/protocol"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { RequestError } from "../../RequestError.ts"
import type { RequestOptions } from "../../RequestOptions.ts"
import type * as Session from "../../Session.ts"
import type { SessionClosedError } from "../../SessionClosedError.ts"
import type { TaskRequests } from "../engine/TaskRequests.ts"
import type * as HandledMethods from "../HandledMethods.ts"

/** The states of a server, with or without sessions, as its handshake knows them. */
export type HandshakeState = Handshake.ServerState | Handshake.StatelessServerState

/** The state of a connection whose client has sent a request of a revision without a handshake, and no `initialize`. */
export interface Modern {
  readonly _tag: "Modern"
  /** The client that the first request names. Each request names its own client. */
  readonly profile: Profile.ClientProfile
}

/** The states of a server, with or without sessions. */
export type State = HandshakeState | Modern

/**
 * Options for a message of the server: the request of the client that it belongs to. Without one, the message takes the
 * standalone stream of the transport, if there is one. In a handler use `RequestContext`, which sets it.
 */
export interface RelatedRequest {
  readonly relatedRequestId?: RequestId.RequestId
}

/** Options for a request of the server. */
export interface ServerRequestOptions<R = never> extends RequestOptions<R>, RelatedRequest {}

/** Options for a request that is built and not sent. */
export interface BuildOptions {
  /** The id of the task of the request. It is put into `_meta` and into the id of the request. */
  readonly relatedTaskId?: string
  /** The task that the request starts. */
  readonly task?: Task.TaskMetadata
}

/**
 * A session of a server, from its connection on: its handshake may not be done yet. Members are lazy getters, so a
 * spread (`{ ...session }`) copies none of them.
 */
export interface ServerSessionShape extends Session.Session<State> {
  /**
   * The id of the session: the one that its `SessionHost` knows it by, or a random one. It is the same as long as the
   * session lives, and a restored session keeps it. Over Streamable HTTP it is a secret: a client that knows it can act
   * for the client of the session.
   */
  readonly id: string
  /**
   * Returns the profile of the client. Waits for the handshake, or for the first request of a revision without one, in
   * which the client names itself. Then a request of the server fails, except one of a handler.
   */
  readonly profile: Effect.Effect<Profile.ClientProfile, SessionClosedError>
  /**
   * The first 64 characters of the revision that the client requested in `initialize`. The negotiated revision may be
   * another one. In a restored session it is the negotiated one. `undefined` without sessions.
   */
  readonly requestedRevision: Effect.Effect<string | undefined, SessionClosedError>
  /**
   * The `_meta` of the client's `initialize`. `undefined` without sessions, and if it takes more than 4 KiB of memory.
   */
  readonly initializeMeta: Effect.Effect<Meta.RequestMeta | undefined, SessionClosedError>
  /**
   * Returns whether the client has declared all of these capabilities, as `Capabilities.covers` compares them. Returns
   * `false` before the handshake and without sessions.
   */
  readonly hasCapability: (required: Capabilities.ClientCapabilities) => Effect.Effect<boolean>
  /**
   * Sends any request that a server may send, and waits for its result. Until the client is ready, requests other than
   * ping are held (INIT-10).
   */
  readonly request: <Name extends MethodTable.RequestName<"server">, R = never>(
    name: Name,
    params: MethodTable.ParamsOf<Name>,
    options?: ServerRequestOptions<R>
  ) => Effect.Effect<MethodTable.ResultOf<Name>, RequestError, R>
  /** Sends a request of a method that is not in the method table, by a row of your own. */
  readonly extension: <Params extends object, Result, R = never>(
    row: MethodDefinition.RequestMethod<string, "server" | "either", Params, Result>,
    params: Params,
    options?: ServerRequestOptions<R>
  ) => Effect.Effect<Result, RequestError, R>
  /** Sends a ping, and waits for its response (PING-01). */
  readonly ping: <R = never>(options?: ServerRequestOptions<R>) => Effect.Effect<void, RequestError, R>
  /**
   * Requests a message of the client's model. Tools and a choice among them need the client's `sampling.tools`
   * (SMP-02), and uses of tools must match their results (SMP-03, SMP-04). Without `tools` the result has one piece of
   * text, image or audio; any other result fails with `InvalidResult`.
   */
  readonly createMessage: {
    <R = never>(
      params: Sampling.CreateMessageParamsWithoutTools,
      options?: ServerRequestOptions<R>
    ): Effect.Effect<Sampling.CreateMessageResultWithoutTools, RequestError, R>
    <R = never>(
      params: Sampling.CreateMessageParams,
      options?: ServerRequestOptions<R>
    ): Effect.Effect<Sampling.CreateMessageResult, RequestError, R>
  }
  /** Requests the roots of the client. */
  readonly listRoots: <R = never>(
    options?: ServerRequestOptions<R>
  ) => Effect.Effect<Roots.ListRootsResult, RequestError, R>
  /** Requests input of the client's user by a form. */
  readonly elicitForm: <R = never>(
    message: string,
    form: ElicitationSchema.ElicitationSchema,
    options?: ServerRequestOptions<R>
  ) => Effect.Effect<Elicitation.ElicitResult, RequestError, R>
  /** Requests that the client's user visits a page (ELI-10). */
  readonly elicitUrl: <R = never>(
    message: string,
    page: { readonly url: string; readonly elicitationId: string },
    options?: ServerRequestOptions<R>
  ) => Effect.Effect<Elicitation.ElicitResult, RequestError, R>
  /**
   * Requests input by a form. It exists only because the session API of the Python SDK has this name, for programs that
   * come from there.
   *
   * @deprecated The name fits both kinds of elicitation: use `elicitForm`.
   */
  readonly elicit: ServerSessionShape["elicitForm"]
  /** The questions to the client that become tasks: use `RemoteTasks.of`. */
  readonly taskRequests: TaskRequests
  /** Notifies the client that the user is done with a page, so that the client may retry its request (ELI-12). */
  readonly elicitationComplete: (elicitationId: string, options?: RelatedRequest) => Effect.Effect<void, RequestError>
  /**
   * Sends a log message, unless its level is below the one that the client has set (LOG-02). Needs the capability
   * `logging` (LOG-01).
   */
  readonly log: (
    message: Omit<Logging.LogMessageParams, "_meta">,
    options?: RelatedRequest
  ) => Effect.Effect<void, RequestError>
  /** Reports a step of progress of the request with this progress token. In a handler use `RequestContext.progress`. */
  readonly progress: (
    token: Meta.ProgressToken,
    step: Progress.Progress,
    options?: RelatedRequest
  ) => Effect.Effect<void, RequestError>
  /** Notifies a client that subscribed to a resource that the resource has changed (RES-03). */
  readonly resourceUpdated: (uri: string) => Effect.Effect<void, RequestError>
  /** Notifies the client that the list of resources has changed. Needs the capability `resources.listChanged`. */
  readonly resourceListChanged: Effect.Effect<void, RequestError>
  /** Notifies the client that the list of tools has changed. Needs the capability `tools.listChanged` (TOOL-02). */
  readonly toolListChanged: Effect.Effect<void, RequestError>
  /** Notifies the client that the list of prompts has changed. Needs the capability `prompts.listChanged` (PRM-02). */
  readonly promptListChanged: Effect.Effect<void, RequestError>
  /**
   * Streams the client's notifications of one method, from the start of the stream to the end of the session, beside
   * their handlers. A consumer that lags by more than the limits allow loses the oldest. A forked stream misses what
   * arrives before its fiber starts: fork it with `startImmediately`.
   */
  readonly notifications: <Name extends HandledMethods.NotificationName<"client">>(
    name: Name
  ) => Stream.Stream<MethodTable.NotificationParamsOf<Name>>
  /** Sends a message as it is, unchecked and unmatched. If it is a request, its response is reported as unmatched. */
  readonly send: (message: JsonRpc.Message, options?: RelatedRequest) => Effect.Effect<void, RequestError>
  /**
   * Builds the request that `createMessage` would send, with a new id, and does not send it. It exists only for
   * programs that queue such requests, because the session API of the Python SDK has it. This library does not use it.
   */
  readonly buildCreateMessage: (params: Sampling.CreateMessageParams, options?: BuildOptions) => JsonRpc.Request
  /**
   * Builds the request that `elicitForm` would send, with a new id, and does not send it. It exists only for
   * programs that queue such requests, because the session API of the Python SDK has it. This library does not use it.
   */
  readonly buildElicitForm: (
    message: string,
    form: ElicitationSchema.ElicitationSchema,
    options?: BuildOptions
  ) => JsonRpc.Request
  /**
   * Builds the request that `elicitUrl` would send, with a new id, and does not send it. It exists only for
   * programs that queue such requests, because the session API of the Python SDK has it. This library does not use it.
   */
  readonly buildElicitUrl: (
    message: string,
    page: { readonly url: string; readonly elicitationId: string },
    options?: BuildOptions
  ) => JsonRpc.Request
}
