import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "CAN-01",
    at: "RequestSender.#abandon",
    original: "exchange.outcome === \"Answered\" || exchange.outcome === \"Lost\"",
    broken: "exchange.outcome === \"Lost\"",
    test: "packages/session/test/cancellationRaces.test.ts",
    name: "a caller that is interrupted after the response sends no cancellation"
  },
  {
    id: "CAN-01",
    at: "RequestSender.#abandon",
    original: "!isWithdrawn",
    broken: "(!isWithdrawn || true)",
    test: "packages/session/test/deadlines.test.ts",
    name: "a request whose caller is interrupted before it is sent is neither sent nor cancelled"
  },
  {
    id: "CAN-02",
    at: "RequestSender.#abandon",
    original: "!isWithdrawn && this.#isCancelled(exchange)",
    broken: "!isWithdrawn",
    test: "packages/session/test/clientHandshake.test.ts",
    name: "fails as Timeout after 30 seconds, and initialize is not cancelled"
  },
  {
    id: "CAN-04",
    at: "IncomingRequests.interrupt",
    original: "request.fiber?.interruptUnsafe()",
    broken: "",
    test: "packages/session/test/cancelledServerRequests.test.ts",
    name: "interrupts the handler, sends no reply, and reports the reason",
    hangs: true
  },
  {
    id: "CAN-04",
    at: "IncomingRequests.claimForReply",
    original: "request.hasReply || !this.#isOpen(request)",
    broken: "request.hasReply",
    test: "packages/session/test/cancelledServerRequests.test.ts",
    name: "sends no reply later, if the handler cannot be interrupted"
  },
  {
    id: "CAN-04",
    at: "Cancellation.endWithoutReply",
    original: "IncomingRequests.interrupt(request)",
    broken: "",
    test: "packages/session/test/statelessServers.test.ts",
    name:
      "a server without sessions (ServerSession) > law 5: [MSG-05] [CAN-04] [CAN-07] rejects a duplicate id in a batch, and cancels its request"
  },
  {
    id: "CAN-04",
    at: "Cancellation.endWithoutReply",
    original: "IncomingRequests.interrupt(request)",
    broken: "",
    test: "packages/session/test/statelessServers.test.ts",
    name:
      "a server without sessions (StatelessServer) > law 5: [MSG-05] [CAN-04] [CAN-07] rejects a duplicate id in a batch, and cancels its request"
  },
  {
    id: "CAN-05",
    at: "Cancellation.cancel",
    original: "runtime.emit({ _tag: \"CancelIgnored\", id })",
    broken:
      "runtime.replies.reply({ jsonrpc: \"2.0\", id: id ?? 0, error: { code: -32600, message: \"a cancellation\" } }, undefined)",
    test: "packages/session/test/cancellationRaces.test.ts",
    name: "a cancellation after the reply is ignored"
  },
  {
    id: "CAN-06",
    at: "ResponseMatcher.match",
    original: "unmatched(runtime, exchange, message)",
    broken: "runtime.end({ _tag: \"Close\", reason: { _tag: \"Requested\" } })",
    test: "packages/session/test/lateResponses.test.ts",
    name: "a response after the cancellation is late"
  },
  {
    id: "CAN-07",
    at: "IncomingRequests.claimForReply",
    original: "request.hasReply || !this.#isOpen(request)",
    broken: "request.hasReply",
    test: "packages/session/test/cancellationRaces.test.ts",
    name: "the reply of a cancelled handler that cannot be interrupted is not sent"
  },
  {
    id: "CAN-07",
    at: "PendingRequests.settle",
    original: "if (exchange.outcome !== \"Pending\") return false",
    broken: "",
    test: "packages/session/test/cancellationRaces.test.ts",
    name: "a response that crosses the cancellation is reported as late"
  },
  {
    id: "CAN-07",
    at: "Cancellation.dropReplyUnlessClaimed",
    original: "inflight.release(request)\n  return true",
    broken: "inflight.release(request)\n  return false",
    test: "packages/session/test/statelessServers.test.ts",
    name:
      "a server without sessions (ServerSession) > law 5: [MSG-05] [CAN-04] [CAN-07] rejects a duplicate id in a batch, and cancels its request"
  },
  {
    id: "CAN-07",
    at: "Cancellation.dropReplyUnlessClaimed",
    original: "inflight.release(request)\n  return true",
    broken: "inflight.release(request)\n  return false",
    test: "packages/session/test/statelessServers.test.ts",
    name:
      "a server without sessions (StatelessServer) > law 5: [MSG-05] [CAN-04] [CAN-07] rejects a duplicate id in a batch, and cancels its request"
  },
  {
    id: "CAN-08",
    at: "Cancellation.claimAndEnd",
    original: "{ _tag: \"Cancelled\", method, id, reason }",
    broken: "{ _tag: \"Cancelled\", method, id, reason: undefined }",
    test: "packages/session/test/cancelledServerRequests.test.ts",
    name: "interrupts the handler, sends no reply, and reports the reason"
  },
  {
    id: "CAN-08",
    at: "RequestSender.#abandon",
    original: "{ requestId: exchange.id, reason }",
    broken: "{ requestId: exchange.id }",
    test: "packages/session/test/deadlines.test.ts",
    name: "a request that times out sends one cancellation with a reason"
  },
  {
    id: "CAN-09",
    at: "InboundProcessor.#cancellation",
    original: "this.ignoreNotification(message.method, params.failure)",
    broken: "this.#malformed({ id: undefined, answerable: true, problem: \"a cancellation\" }, undefined)",
    test: "packages/session/test/cancellationRaces.test.ts",
    name: "invalid cancellations, and a cancellation of initialize, have no effect"
  },
  {
    id: "CAN-12",
    at: "Cancellation.endWithoutReply",
    original: "IncomingRequests.interrupt(request)",
    broken: "",
    test: "packages/session/test/twoEras.test.ts",
    name: "cancels a request of either era"
  },
  {
    id: "CAN-10",
    at: "RequestSender.#abandon",
    original: "exchange.outcome === \"Answered\" || exchange.outcome === \"Lost\"",
    broken: "exchange.outcome === \"Lost\"",
    test: "packages/session/test/modernClient.test.ts",
    name: "a cancellation names a request in flight"
  },
  {
    id: "CAN-10",
    at: "RequestSender.#abandon",
    original: "requestId: exchange.id",
    broken: "requestId: Number(exchange.id) - 1",
    test: "packages/session/test/modernClient.test.ts",
    name: "a cancellation names a request in flight"
  },
  {
    id: "CAN-11",
    at: "ModernRequestGate.constructor",
    original:
      "this.#run?.isSuspended === true ? \"input_required\" : this.#isTask ? TaskExtension.resultType : \"complete\"",
    broken:
      "{\n        const isSuspended = this.#run?.isSuspended === true\n        if (isSuspended) carrier.runtime.fork(carrier.send(JsonRpc.notification(\"notifications/cancelled\", { requestId: message.id })))\n        return isSuspended ? \"input_required\" : \"complete\"\n      }",
    test: "packages/session/test/twoEras.test.ts",
    name: "asks in the way of the era"
  },
  {
    id: "CAN-03",
    at: "TaskRuns.#launch",
    original: "Effect.forkIn(Effect.ignoreCause(running), this.#scope, { uninterruptible: true })",
    broken: "Effect.forkChild(Effect.ignoreCause(running))",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[CAN-03] goes on after"
  },
  {
    id: "CAN-03",
    at: "TaskCreation.untilAnswered",
    original: "Effect.asVoid(Effect.forkDetach(Effect.ignore(Effect.flatMap(Fiber.join(fiber), cancel))))",
    broken: "Fiber.interrupt(fiber)",
    test: "packages/tasks/test/clientTasks.test.ts",
    name: "[CAN-03] and cancels"
  },
  {
    id: "CAN-03",
    at: "RequestSender.#isCancelled",
    original: "isTask !== true && !uncancelled.has(method)",
    broken: "!uncancelled.has(method)",
    test: "packages/tasks/test/clientTasks.test.ts",
    name: "[CAN-03] and cancels"
  },
  {
    id: "CAN-03",
    at: "RequestedTasks.create",
    original: "this.#requests.cancelsCreated === true",
    broken: "true",
    test: "packages/tasks/test/questionTasks.test.ts",
    name: "[CAN-03]",
    hangs: true
  }
]
