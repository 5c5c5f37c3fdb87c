import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "TMO-01",
    at: "Deadline.allowedMillis",
    original: "timeout === undefined ? requestTimeout",
    broken: "timeout === undefined ? Number.POSITIVE_INFINITY",
    test: "packages/session/test/deadlines.test.ts",
    name: "a request times out after exactly 60 seconds",
    hangs: true
  },
  {
    id: "TMO-02",
    at: "Deadline.allowedMillis",
    original: "timeout === undefined ? requestTimeout",
    broken: "timeout === undefined ? Number.POSITIVE_INFINITY",
    test: "packages/session/test/deadlines.test.ts",
    name: "requests of a server have deadlines",
    hangs: true
  },
  {
    id: "TMO-03",
    at: "RequestSender.#abandon",
    original: "this.#isCancelled(exchange)",
    broken: "this.#isCancelled(exchange) && exchange.deadline > runtime.timer.now()",
    test: "packages/session/test/deadlines.test.ts",
    name: "a request that times out sends one cancellation with a reason"
  },
  {
    id: "TMO-04",
    at: "Deadline.allowedMillis",
    original: "Duration.toMillis(timeout)",
    broken: "requestTimeout",
    test: "packages/session/test/deadlines.test.ts",
    name: "[TMO-04] timeout sets the deadline for a call, in every form of a duration",
    hangs: true
  },
  {
    id: "TMO-05",
    at: "Deadline.make",
    original: "options.extendOnProgress === true ? startedAt + total : undefined",
    broken: "undefined",
    test: "packages/session/test/progressExtendedDeadlines.test.ts",
    name: "each step restarts the timeout"
  },
  {
    id: "TMO-06",
    at: "ProgressMatcher.extendDeadline",
    original: "Math.min(runtime.timer.now() + exchange.allowedMillis, exchange.extendsTo)",
    broken: "runtime.timer.now() + exchange.allowedMillis",
    test: "packages/session/test/progressExtendedDeadlines.test.ts",
    name: "totalTimeout ends the call despite progress",
    hangs: true
  },
  {
    id: "TMO-02",
    at: "Deadline.make",
    original: "allowedMillis(options, limits)",
    broken:
      "\"onProgress\" in options && options.timeout === undefined ? Number.POSITIVE_INFINITY : allowedMillis(options, limits)",
    test: "packages/session/test/deadlines.test.ts",
    name: "a request with a consumer of progress has a deadline",
    hangs: true
  },
  {
    id: "TMO-03",
    at: "PendingRequests.expire",
    original: "fail(exchange, { _tag: \"Timeout\", afterMillis: waited(exchange) })",
    broken: "void waited(exchange)",
    test: "packages/session/test/deadlines.test.ts",
    name: "a request that times out sends one cancellation with a reason",
    hangs: true
  },
  {
    id: "TMO-05",
    at: "ProgressMatcher.extendDeadline",
    original: "Math.min(runtime.timer.now() + exchange.allowedMillis, exchange.extendsTo)",
    broken: "exchange.deadline",
    test: "packages/session/test/progressExtendedDeadlines.test.ts",
    name: "each step restarts the timeout"
  }
]
