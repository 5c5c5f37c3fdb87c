import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "CAN-01",
    file: "packages/session/src/internal/engine/Sender.ts",
    original: "if (exchange.outcome === \"Answered\" || exchange.outcome === \"Lost\") return",
    broken: "if (exchange.outcome === \"Lost\") return",
    test: "packages/session/test/cancellationRaces.test.ts",
    name: "a caller that is interrupted after the response sends no cancellation"
  },
  {
    id: "CAN-01",
    file: "packages/session/src/internal/engine/Sender.ts",
    original: "    if (entry !== undefined && !outbox.withdraw(entry) && this.#isCancelled(exchange)) {",
    broken: "    if (entry !== undefined && (!outbox.withdraw(entry) || true) && this.#isCancelled(exchange)) {",
    test: "packages/session/test/deadlines.test.ts",
    name: "a request whose caller is interrupted before it is sent is neither sent nor cancelled"
  },
  {
    id: "CAN-02",
    file: "packages/session/src/internal/engine/Sender.ts",
    original: " && this.#isCancelled(exchange)) {",
    broken: ") {",
    test: "packages/session/test/clientHandshake.test.ts",
    name: "fails as Timeout after 30 seconds, and initialize is not cancelled"
  },
  {
    id: "CAN-04",
    file: "packages/session/src/internal/engine/IncomingRequests.ts",
    original: "  request.fiber?.interruptUnsafe()\n",
    broken: "\n",
    test: "packages/session/test/cancelledServerRequests.test.ts",
    name: "interrupts the handler, sends no reply, and reports the reason",
    hangs: true
  },
  {
    id: "CAN-04",
    file: "packages/session/src/internal/engine/IncomingRequests.ts",
    original: "    if (request.hasReply || !this.#isOpen(request)) return false\n    request.hasReply",
    broken: "    if (request.hasReply) return false\n    request.hasReply",
    test: "packages/session/test/cancelledServerRequests.test.ts",
    name: "sends no reply later, if the handler cannot be interrupted"
  },
  {
    id: "CAN-04",
    file: "packages/session/src/internal/engine/Cancellation.ts",
    original: "  IncomingRequests.interrupt(request)\n  runtime.replies.settle",
    broken: "  runtime.replies.settle",
    test: "packages/session/test/sessionlessServers.test.ts",
    name:
      "a server without sessions (ServerSession) > law 5: [MSG-05] [CAN-04] [CAN-07] rejects a duplicate id in a batch, and cancels its request"
  },
  {
    id: "CAN-04",
    file: "packages/session/src/internal/engine/Cancellation.ts",
    original: "  IncomingRequests.interrupt(request)\n  runtime.replies.settle",
    broken: "  runtime.replies.settle",
    test: "packages/session/test/sessionlessServers.test.ts",
    name:
      "a server without sessions (SessionlessServer) > law 5: [MSG-05] [CAN-04] [CAN-07] rejects a duplicate id in a batch, and cancels its request"
  },
  {
    id: "CAN-05",
    file: "packages/session/src/internal/engine/Cancellation.ts",
    original: "    return runtime.emit({ _tag: \"CancelIgnored\", id })\n",
    broken:
      "    return runtime.replies.reply({ jsonrpc: \"2.0\", id: id ?? 0, error: { code: -32600, message: \"a cancellation\" } }, undefined)\n",
    test: "packages/session/test/cancellationRaces.test.ts",
    name: "a cancellation after the reply is ignored"
  },
  {
    id: "CAN-06",
    file: "packages/session/src/internal/engine/ResponseMatcher.ts",
    original: "if (exchange === undefined) return unmatched(runtime, kindOf(runtime, message.id), message)",
    broken: "if (exchange === undefined) return runtime.end({ _tag: \"Close\", reason: { _tag: \"Requested\" } })",
    test: "packages/session/test/lateResponses.test.ts",
    name: "a response after the cancellation is late"
  },
  {
    id: "CAN-07",
    file: "packages/session/src/internal/engine/IncomingRequests.ts",
    original: "    if (request.hasReply || !this.#isOpen(request)) return false\n    request.hasReply",
    broken: "    if (request.hasReply) return false\n    request.hasReply",
    test: "packages/session/test/cancellationRaces.test.ts",
    name: "the reply of a cancelled handler that cannot be interrupted is not sent"
  },
  {
    id: "CAN-07",
    file: "packages/session/src/internal/engine/PendingRequests.ts",
    original: "  if (exchange.outcome !== \"Pending\") return false\n",
    broken: "",
    test: "packages/session/test/cancellationRaces.test.ts",
    name: "a response that crosses the cancellation is reported as late"
  },
  {
    id: "CAN-07",
    file: "packages/session/src/internal/engine/Cancellation.ts",
    original: "  inflight.release(request)\n  return true",
    broken: "  inflight.release(request)\n  return false",
    test: "packages/session/test/sessionlessServers.test.ts",
    name:
      "a server without sessions (ServerSession) > law 5: [MSG-05] [CAN-04] [CAN-07] rejects a duplicate id in a batch, and cancels its request"
  },
  {
    id: "CAN-07",
    file: "packages/session/src/internal/engine/Cancellation.ts",
    original: "  inflight.release(request)\n  return true",
    broken: "  inflight.release(request)\n  return false",
    test: "packages/session/test/sessionlessServers.test.ts",
    name:
      "a server without sessions (SessionlessServer) > law 5: [MSG-05] [CAN-04] [CAN-07] rejects a duplicate id in a batch, and cancels its request"
  },
  {
    id: "CAN-08",
    file: "packages/session/src/internal/engine/Cancellation.ts",
    original: "_tag: \"Cancelled\", method: request.method, id: request.id, reason }",
    broken: "_tag: \"Cancelled\", method: request.method, id: request.id, reason: undefined }",
    test: "packages/session/test/cancelledServerRequests.test.ts",
    name: "interrupts the handler, sends no reply, and reports the reason"
  },
  {
    id: "CAN-08",
    file: "packages/session/src/internal/engine/Sender.ts",
    original: "{ requestId: exchange.id, reason })",
    broken: "{ requestId: exchange.id })",
    test: "packages/session/test/deadlines.test.ts",
    name: "a request that times out sends one cancellation with a reason"
  },
  {
    id: "CAN-09",
    file: "packages/session/src/internal/engine/InboundProcessor.ts",
    original:
      "    if (Result.isFailure(params)) return this.ignoreNotification(message.method, params.failure)\n    Cancellation.cancel",
    broken:
      "    if (Result.isFailure(params)) return this.#malformed({ id: undefined, answerable: true, problem: \"a cancellation\" }, undefined)\n    Cancellation.cancel",
    test: "packages/session/test/cancellationRaces.test.ts",
    name: "invalid cancellations, and a cancellation of initialize, have no effect"
  },
  {
    id: "CAN-12",
    file: "packages/session/src/internal/engine/Cancellation.ts",
    original: "  IncomingRequests.interrupt(request)\n",
    broken: "",
    test: "packages/session/test/twoEras.test.ts",
    name: "cancels a request of either era"
  },
  {
    id: "CAN-10",
    file: "packages/session/src/internal/engine/Sender.ts",
    original: "if (exchange.outcome === \"Answered\" || exchange.outcome === \"Lost\") return",
    broken: "if (exchange.outcome === \"Lost\") return",
    test: "packages/session/test/modernClient.test.ts",
    name: "a cancellation names a request in flight"
  },
  {
    id: "CAN-10",
    file: "packages/session/src/internal/engine/Sender.ts",
    original: "{ requestId: exchange.id, reason })",
    broken: "{ requestId: Number(exchange.id) - 1, reason })",
    test: "packages/session/test/modernClient.test.ts",
    name: "a cancellation names a request in flight"
  },
  {
    id: "CAN-11",
    file: "packages/session/src/internal/server/ModernExchange.ts",
    original:
      "      () => this.#run?.isSuspended === true ? \"input_required\" : this.#isTask ? TaskExtension.resultType : \"complete\",\n",
    broken:
      "      () => {\n        const isSuspended = this.#run?.isSuspended === true\n        if (isSuspended) this.fork(this.#carrier.send(JsonRpc.notification(\"notifications/cancelled\", { requestId: message.id })))\n        return isSuspended ? \"input_required\" : \"complete\"\n      },\n",
    test: "packages/session/test/twoEras.test.ts",
    name: "asks in the way of the era"
  },
  {
    id: "CAN-03",
    file: "packages/session/src/internal/tasks/TaskRuns.ts",
    original: "const fiber = yield* Effect.forkIn(Effect.ignoreCause(running), this.#scope, { uninterruptible: true })",
    broken: "const fiber = yield* Effect.forkChild(Effect.ignoreCause(running))",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[CAN-03] goes on after"
  },
  {
    id: "CAN-03",
    file: "packages/session/src/internal/tasks/TaskCreation.ts",
    original: "() => Effect.asVoid(Effect.forkDetach(Effect.ignore(Effect.flatMap(Fiber.join(fiber), cancel))))",
    broken: "() => Fiber.interrupt(fiber)",
    test: "packages/session/test/tasks/clientTasks.test.ts",
    name: "[CAN-03] and cancels"
  },
  {
    id: "CAN-03",
    file: "packages/session/src/internal/engine/Sender.ts",
    original: "return isTask !== true && !uncancelled",
    broken: "return !uncancelled",
    test: "packages/session/test/tasks/clientTasks.test.ts",
    name: "[CAN-03] and cancels"
  },
  {
    id: "CAN-03",
    file: "packages/session/src/internal/tasks/RequestedTasks.ts",
    original: "untilAnswered(created, ({ task })",
    broken: "((effect: unknown, _: unknown) => effect as typeof created)(created, ({ task })",
    test: "packages/session/test/tasks/questionTasks.test.ts",
    name: "[CAN-03]",
    hangs: true
  }
]
