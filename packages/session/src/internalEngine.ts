/**
 * Parts of the engine and of clients that other packages of this project use, above all `tasks`. They change without
 * notice.
 */
export type { CallTaskRequests } from "./internal/client/CallTaskRequests.ts"
export type { AskedSession, GatedClientTasks } from "./internal/client/ClientTaskGate.ts"
export * as ContainedAuthorization from "./internal/client/ContainedAuthorization.ts"
export * as Paging from "./internal/client/Paging.ts"
export * as TaskPolling from "./internal/client/TaskPolling.ts"
export type { TaskResults } from "./internal/client/TaskResults.ts"
export * as SlidingMailbox from "./internal/collections/SlidingMailbox.ts"
export * as ClientQuestion from "./internal/engine/ClientQuestion.ts"
export type { Dispatch } from "./internal/engine/Dispatch.ts"
export { HandlerContext } from "./internal/engine/HandlerContext.ts"
export * as ModernErrorCode from "./internal/engine/ModernErrorCode.ts"
export * as OnceSteps from "./internal/engine/OnceSteps.ts"
export * as Outgoing from "./internal/engine/Outgoing.ts"
export { OwnErrors } from "./internal/engine/OwnErrors.ts"
export * as ProgressMailbox from "./internal/engine/ProgressMailbox.ts"
export * as RequestRejections from "./internal/engine/RequestRejections.ts"
export * as ResendPolicy from "./internal/engine/ResendPolicy.ts"
export * as SemanticChecks from "./internal/engine/SemanticChecks.ts"
export * as TaskRequests from "./internal/engine/TaskRequests.ts"
export { validate } from "./internal/engine/validation.ts"
export { DurableRequest } from "./internal/server/DurableRequest.ts"
export type { AnsweredQuestion } from "./internal/server/replay/QuestionJournal.ts"
export type {
  BecomingRun,
  Beginning,
  GatedServerTasks,
  OwnedSession,
  ServerTaskGate,
  StoredCall,
  StoredCalls,
  TaskServer
} from "./internal/server/ServerTaskGate.ts"
