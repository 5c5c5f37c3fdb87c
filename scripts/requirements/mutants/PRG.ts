import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "PRG-01",
    file: "packages/protocol/src/Meta.ts",
    original: "export const ProgressToken: Schema.Codec<ProgressToken> = Schema.Union([Schema.String, Schema.Int])",
    broken: "export const ProgressToken: Schema.Codec<ProgressToken> = Schema.Union([Schema.String, Schema.Number])",
    test: "packages/session/test/handlerProgress.test.ts",
    name: "an invalid token is rejected before the handler runs"
  },
  {
    id: "PRG-01",
    file: "packages/session/src/internal/engine/Sender.ts",
    original: "const token = onProgress === undefined ? undefined : exchange.id",
    broken: "const token = onProgress === undefined ? undefined : Number(exchange.id) + 0.5",
    test: "packages/session/test/serverRequests.test.ts",
    name: "each request has its own progress token"
  },
  {
    id: "PRG-02",
    file: "packages/session/src/internal/engine/Sender.ts",
    original: "const token = onProgress === undefined ? undefined : exchange.id",
    broken: "const token = onProgress === undefined ? undefined : 1",
    test: "packages/session/test/serverRequests.test.ts",
    name: "each request has its own progress token"
  },
  {
    id: "PRG-02",
    file: "packages/session/src/internal/engine/Outgoing.ts",
    original: "const { progressToken: _, ...unchecked }: JsonRpc.Params",
    broken: "const { ...unchecked }: JsonRpc.Params",
    test: "packages/session/test/regressions.test.ts",
    name: "a progress token in the given _meta is not sent"
  },
  {
    id: "PRG-03",
    file: "packages/session/src/internal/engine/HandlerContext.ts",
    original: " || step.progress <= incoming.highest) return",
    broken: ") return",
    test: "packages/session/test/handlerProgress.test.ts",
    name: "a step that does not grow is dropped with an event"
  },
  {
    id: "PRG-03",
    file: "packages/session/src/internal/engine/ProgressMailbox.ts",
    original: "      if (step.progress <= highest) return \"NotIncreasing\"\n",
    broken: "",
    test: "packages/session/test/clientProgress.test.ts",
    name: "that does not grow, or is malformed, is dropped"
  },
  {
    id: "PRG-04",
    file: "packages/session/src/internal/engine/HandlerContext.ts",
    original: "if (progressToken === undefined) return Effect.void",
    broken:
      "if (progressToken === undefined) return Effect.ignore(sender.notify(MethodTable.notifications[\"notifications/progress\"], { ...step, progressToken: 0 }))",
    test: "packages/session/test/handlerProgress.test.ts",
    name: "is not sent if the request has no token"
  },
  {
    id: "PRG-04",
    file: "packages/session/src/internal/engine/HandlerContext.ts",
    original: "{ ...sent, progressToken }",
    broken: "{ ...sent, progressToken: \"another\" }",
    test: "packages/session/test/handlerProgress.test.ts",
    name: "is sent with the token, on the request's own stream, and before the result"
  },
  {
    id: "PRG-05",
    file: "packages/session/src/internal/engine/HandlerContext.ts",
    original: "        if (incoming.ended) return dropped(\"ExchangeEnded\")\n",
    broken: "",
    test: "packages/session/test/handlerProgress.test.ts",
    name: "a step after the reply is dropped with an event"
  },
  {
    id: "PRG-05",
    file: "packages/session/src/internal/engine/ProgressMatcher.ts",
    original: "exchange?.progress === undefined || exchange.outcome !== \"Pending\"",
    broken: "exchange?.progress === undefined",
    test: "packages/session/test/clientProgress.test.ts",
    name: "after the response is dropped, even while the consumer processes earlier steps"
  },
  {
    id: "PRG-06",
    file: "packages/session/src/internal/engine/HandlerContext.ts",
    original: "now - incoming.reportedAt < runtime.limits.progressInterval",
    broken: "now < incoming.reportedAt",
    test: "packages/session/test/handlerProgress.test.ts",
    name: "steps within progressInterval are dropped, except one that reaches the total"
  },
  {
    id: "PRG-06",
    file: "packages/session/src/internal/engine/Sender.ts",
    original: "{ capacity: limits.maxProgressSteps,",
    broken: "{ capacity: Number.POSITIVE_INFINITY,",
    test: "packages/session/test/inboundLimits.test.ts",
    name: "256 steps wait for a slow consumer; then the oldest are dropped, with an event each"
  },
  {
    id: "PRG-09",
    file: "packages/transport/src/internal/http/server/streamable/SessionlessExchanges.ts",
    original: "new PostedFrame(exchange, ",
    broken: "new PostedFrame([...this.#fibers.keys(), exchange][0], ",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "in the stream of their request only"
  },
  {
    id: "PRG-03",
    file: "packages/session/src/internal/server/replay/ReplayedRun.ts",
    original:
      "        if (this.incoming !== undefined && state.progress !== undefined) this.incoming.highest = state.progress\n",
    broken: "",
    test: "packages/session/test/replay/questions.test.ts",
    name: "sends progress and logs once"
  },
  {
    id: "PRG-08",
    file: "packages/session/src/internal/tasks/TaskResult.ts",
    original: "{ ...message.step, progressToken, _meta }",
    broken: "{ ...message.step, progressToken: context.meta?.progressToken, _meta }",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[PRG-08]"
  },
  {
    id: "PRG-08",
    file: "packages/session/src/internal/tasks/RequestedTasks.ts",
    original: "exchanges.follow(progress.token, mailbox)",
    broken: "exchanges.follow(-1, mailbox)",
    test: "packages/session/test/tasks/clientTasks.test.ts",
    name: "[PRG-08] and receives"
  },
  {
    id: "PRG-08",
    file: "packages/session/src/internal/tasks/AnswerDispatch.ts",
    original:
      "!Number.isFinite(step.progress) || step.progress <= this.#highest) return Effect.void\n        this.#highest",
    broken: "step.progress < 2) return Effect.void\n        this.#highest",
    test: "packages/session/test/tasks/questionTasks.test.ts",
    name: "[PRG-08] [TSK-17]"
  },
  {
    id: "PRG-03",
    file: "packages/session/src/internal/engine/Sender.ts",
    original: "      request.highest = step.progress\n",
    broken: "",
    test: "packages/session/test/requestStreams.test.ts",
    name: "progress that its receiver would drop fails with the reason"
  }
]
