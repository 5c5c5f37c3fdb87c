/** The seam to the tasks of a server: what they add to the server, and the gate in front of its handlers. */

import type { Capabilities, JsonRpc, McpError, Profile, RequestId, RevisionProjection } from "@effect-mcp/protocol"
import type * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Extension } from "../../Extension.ts"
import type { Handlers } from "../../Handlers.ts"
import type { Principal } from "../../Principal.ts"
import type { RequestContext } from "../../RequestContext.ts"
import type { Dispatch } from "../engine/Dispatch.ts"
import type { ReplayedRun } from "./replay/ReplayedRun.ts"

/** The server of tasks, as far as the messages of their handlers depend on it. */
export interface TaskServer {
  readonly declared: Capabilities.ServerCapabilities
  readonly projection: RevisionProjection.Projection | undefined
  /** The characters that all results of `once` may have together. */
  readonly maxStepCharacters: number
}

/**
 * When a call becomes a task, in the revision in which the server decides: as soon as it arrives, if its handler says
 * so, or after a time in milliseconds.
 */
export type Beginning = "atOnce" | "explicitly" | number

/** The run of a handler whose call may become a task. */
export type BecomingRun = Pick<ReplayedRun, "answers" | "detach" | "isOpen" | "steps">

/** A call that its process has stored, so that the next owner of its session goes on with it. */
export interface StoredCall {
  readonly message: JsonRpc.Request
  readonly principal: Principal | undefined
  /** The task of the call. */
  readonly task: unknown
}

/** A session and its owner: each next owner has a higher epoch. */
export interface OwnedSession {
  readonly session: string
  readonly epoch: number
}

/** The calls that go on at the next owner of their session. */
export interface StoredCalls {
  /**
   * Takes a request of a session over from its earlier owner, which can change it no more. Returns `undefined` for one
   * that is not stored, or was started too often.
   */
  readonly take: (owned: OwnedSession, id: RequestId.RequestId) => Effect.Effect<StoredCall | undefined, unknown>
  /** Deletes a call that this owner has taken over and does not serve. */
  readonly drop: (owned: OwnedSession, id: RequestId.RequestId) => Effect.Effect<void, unknown>
  /** Deletes the calls of earlier owners of a session, which have no stream to go on in. */
  readonly clean: (owned: OwnedSession, principal: string | undefined) => Effect.Effect<void, unknown>
}

/** The gate between the requests of clients and the handlers of one server. Calls of tools become tasks in it. */
export interface ServerTaskGate {
  /** Prepares all requests. The program of a call that becomes a task returns the task. */
  readonly dispatch: Dispatch<unknown>
  /** Returns when a call becomes a task, in a revision in which the server decides. `undefined` for never. */
  readonly beginningOf: (message: JsonRpc.Request, profile: Profile.Profile) => Beginning | undefined
  /** Returns the program that serves a call which may become a task while its handler runs. */
  readonly becoming: (
    message: JsonRpc.Request,
    run: BecomingRun,
    begins: Exclude<Beginning, "atOnce">,
    handling: Effect.Effect<unknown, McpError.McpError, unknown>,
    becameTask: () => void
  ) => Effect.Effect<unknown, McpError.McpError, unknown>
  /** The calls that go on when their process has ended. */
  readonly calls: StoredCalls
  /** Runs tasks again with these services, until the returned function is called. */
  readonly resumeWith: (context: Context.Context<never>) => () => void
}

/** The tasks of a server, as its sessions use them. */
export interface GatedServerTasks {
  /** The requests that may become tasks. The capabilities of the methods follow from their handlers (TSK-01). */
  readonly capabilities: Capabilities.ServerTasks
  /**
   * Returns the handlers of revision 2025-11-25. With `listsAnonymous`, clients without a principal list the tasks of
   * all such clients: a server with one client permits that.
   */
  readonly handlers: (options: { readonly listsAnonymous: boolean }) => Handlers<"client", RequestContext | Scope.Scope>
  /** The handlers of the extension of revision 2026-07-28. */
  readonly extensions: ReadonlyArray<Extension<"client", RequestContext>>
  /** Puts a gate in front of the handlers of a server. */
  readonly gate: (dispatch: Dispatch<unknown>, server: TaskServer) => ServerTaskGate
}
