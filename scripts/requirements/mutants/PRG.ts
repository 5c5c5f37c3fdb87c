import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "PRG-01",
    at: "Meta.ProgressToken",
    original: "Schema.Int",
    broken: "Schema.Number",
    test: "packages/session/test/handlerProgress.test.ts",
    name: "an invalid token is rejected before the handler runs"
  },
  {
    id: "PRG-01",
    at: "RequestSender.send",
    original: "onProgress === undefined ? undefined : exchange.id",
    broken: "onProgress === undefined ? undefined : Number(exchange.id) + 0.5",
    test: "packages/session/test/serverRequests.test.ts",
    name: "each request has its own progress token"
  },
  {
    id: "PRG-02",
    at: "RequestSender.send",
    original: "onProgress === undefined ? undefined : exchange.id",
    broken: "onProgress === undefined ? undefined : 1",
    test: "packages/session/test/serverRequests.test.ts",
    name: "each request has its own progress token"
  },
  {
    id: "PRG-02",
    at: "Outgoing.params",
    original: "{ progressToken: _, ...unchecked }: JsonRpc.Params",
    broken: "{ ...unchecked }: JsonRpc.Params",
    test: "packages/session/test/regressions.test.ts",
    name: "a progress token in the given _meta is not sent"
  },
  {
    id: "PRG-03",
    at: "HandlerContext.progress",
    original: "!Number.isFinite(step.progress) || step.progress <= incoming.highest",
    broken: "!Number.isFinite(step.progress)",
    test: "packages/session/test/handlerProgress.test.ts",
    name: "a step that does not grow is dropped with an event"
  },
  {
    id: "PRG-03",
    at: "ProgressMailbox.make",
    original: "if (step.progress <= highest) return \"NotIncreasing\"",
    broken: "",
    test: "packages/session/test/clientProgress.test.ts",
    name: "that does not grow, or is malformed, is dropped"
  },
  {
    id: "PRG-04",
    at: "HandlerContext.progress",
    original: "Effect.void",
    broken:
      "Effect.ignore(sender.notify(MethodTable.notifications[\"notifications/progress\"], { ...step, progressToken: 0 }))",
    test: "packages/session/test/handlerProgress.test.ts",
    name: "is not sent if the request has no token"
  },
  {
    id: "PRG-04",
    at: "HandlerContext.progress",
    original: "{ ...sent, progressToken }",
    broken: "{ ...sent, progressToken: \"another\" }",
    test: "packages/session/test/handlerProgress.test.ts",
    name: "is sent with the token, on the request's own stream, and before the result"
  },
  {
    id: "PRG-05",
    at: "HandlerContext.progress",
    original: "if (incoming.ended) return dropped(\"ExchangeEnded\")",
    broken: "",
    test: "packages/session/test/handlerProgress.test.ts",
    name: "a step after the reply is dropped with an event"
  },
  {
    id: "PRG-05",
    at: "ProgressMatcher.match",
    original: "exchange?.progress === undefined || exchange.outcome !== \"Pending\"",
    broken: "exchange?.progress === undefined",
    test: "packages/session/test/clientProgress.test.ts",
    name: "after the response is dropped, even while the consumer processes earlier steps"
  },
  {
    id: "PRG-06",
    at: "HandlerContext.progress",
    original: "now - incoming.reportedAt < runtime.limits.progressInterval",
    broken: "now < incoming.reportedAt",
    test: "packages/session/test/handlerProgress.test.ts",
    name: "steps within progressInterval are dropped, except one that reaches the total"
  },
  {
    id: "PRG-06",
    at: "RequestSender.send",
    original: "capacity: limits.maxProgressSteps",
    broken: "capacity: Number.POSITIVE_INFINITY",
    test: "packages/session/test/inboundLimits.test.ts",
    name: "256 steps wait for a slow consumer; then the oldest are dropped, with an event each"
  },
  {
    id: "PRG-09",
    at: "StatelessPosts.#post",
    original: "new PostedFrame(exchange,",
    broken: "new PostedFrame([...this.#fibers.keys(), exchange][0],",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "in the stream of their request only"
  },
  {
    id: "PRG-03",
    at: "ReplayedRun.serve",
    original: "if (this.incoming !== undefined && state.progress !== undefined) this.incoming.highest = state.progress",
    broken: "",
    test: "packages/session/test/replay/questions.test.ts",
    name: "sends progress and logs once"
  },
  {
    id: "PRG-08",
    at: "TaskResult.deliverMessages",
    original: "{ ...message.step, progressToken, _meta }",
    broken: "{ ...message.step, progressToken: context.meta?.progressToken, _meta }",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[PRG-08]"
  },
  {
    id: "PRG-08",
    at: "RequestedTasks.#following",
    original: "exchanges.follow(progress.token, mailbox)",
    broken: "exchanges.follow(-1, mailbox)",
    test: "packages/tasks/test/clientTasks.test.ts",
    name: "[PRG-08] and receives"
  },
  {
    id: "PRG-08",
    at: "ClientTaskDispatch.progress",
    original: "!Number.isFinite(step.progress) || step.progress <= highest",
    broken: "step.progress < 2",
    test: "packages/tasks/test/questionTasks.test.ts",
    name: "[PRG-08] [TSK-17]"
  },
  {
    id: "PRG-03",
    at: "Sender.progress",
    original: "request.highest = step.progress",
    broken: "",
    test: "packages/session/test/requestStreams.test.ts",
    name: "progress that its receiver would drop fails with the reason"
  }
]
