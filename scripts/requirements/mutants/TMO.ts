import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "TMO-01",
    file: "packages/session/src/internal/engine/Sender.ts",
    original: "        ? limits.requestTimeout\n",
    broken: "        ? Number.POSITIVE_INFINITY\n",
    test: "packages/session/test/deadlines.test.ts",
    name: "a request times out after exactly 60 seconds",
    hangs: true
  },
  {
    id: "TMO-02",
    file: "packages/session/src/internal/engine/Sender.ts",
    original: "        ? limits.requestTimeout\n",
    broken: "        ? Number.POSITIVE_INFINITY\n",
    test: "packages/session/test/deadlines.test.ts",
    name: "requests of a server have deadlines",
    hangs: true
  },
  {
    id: "TMO-03",
    file: "packages/session/src/internal/engine/Sender.ts",
    original: "    if (entry !== undefined && !outbox.withdraw(entry) && this.#isCancelled(exchange)) {",
    broken:
      "    if (entry !== undefined && !outbox.withdraw(entry) && this.#isCancelled(exchange) && exchange.deadline > runtime.timer.now()) {",
    test: "packages/session/test/deadlines.test.ts",
    name: "a request that times out sends one cancellation with a reason"
  },
  {
    id: "TMO-04",
    file: "packages/session/src/internal/engine/Sender.ts",
    original: "        : Duration.toMillis(options.timeout)\n",
    broken: "        : limits.requestTimeout\n",
    test: "packages/session/test/deadlines.test.ts",
    name: "[TMO-04] timeout sets the deadline for a call, in every form of a duration",
    hangs: true
  },
  {
    id: "TMO-05",
    file: "packages/session/src/internal/engine/Sender.ts",
    original: "extendsTo: options?.extendOnProgress === true ? total : undefined",
    broken: "extendsTo: undefined",
    test: "packages/session/test/progressExtendedDeadlines.test.ts",
    name: "each step restarts the timeout"
  },
  {
    id: "TMO-06",
    file: "packages/session/src/internal/engine/ProgressMatcher.ts",
    original: "Math.min(runtime.timer.now() + exchange.allowedMillis, exchange.extendsTo)",
    broken: "runtime.timer.now() + exchange.allowedMillis",
    test: "packages/session/test/progressExtendedDeadlines.test.ts",
    name: "totalTimeout ends the call despite progress",
    hangs: true
  },
  {
    id: "TMO-02",
    file: "packages/session/src/internal/engine/Sender.ts",
    original: "const allowedMillis = options?.timeout === undefined\n",
    broken:
      "const allowedMillis = options?.onProgress !== undefined && options.timeout === undefined\n        ? Number.POSITIVE_INFINITY\n        : options?.timeout === undefined\n",
    test: "packages/session/test/deadlines.test.ts",
    name: "a request with a consumer of progress has a deadline",
    hangs: true
  },
  {
    id: "TMO-03",
    file: "packages/session/src/internal/engine/PendingRequests.ts",
    original: "else fail(exchange, { _tag: \"Timeout\", afterMillis: waited(exchange) })",
    broken: "else void waited(exchange)",
    test: "packages/session/test/deadlines.test.ts",
    name: "a request that times out sends one cancellation with a reason",
    hangs: true
  },
  {
    id: "TMO-05",
    file: "packages/session/src/internal/engine/ProgressMatcher.ts",
    original: "Math.min(runtime.timer.now() + exchange.allowedMillis, exchange.extendsTo)",
    broken: "exchange.deadline",
    test: "packages/session/test/progressExtendedDeadlines.test.ts",
    name: "each step restarts the timeout"
  }
]
