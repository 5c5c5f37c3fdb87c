import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "TMO-01",
    file: "packages/session/src/internal/engine/Sender.ts",
    original: "        ? limits.requestTimeout\n",
    broken: "        ? Number.POSITIVE_INFINITY\n",
    test: "packages/session/test/deadlines.test.ts",
    name: "a request waits 60 seconds, to the millisecond",
    hangs: true
  },
  {
    id: "TMO-02",
    file: "packages/session/src/internal/engine/Sender.ts",
    original: "        ? limits.requestTimeout\n",
    broken: "        ? Number.POSITIVE_INFINITY\n",
    test: "packages/session/test/deadlines.test.ts",
    name: "a server's requests have deadlines, too",
    hangs: true
  },
  {
    id: "TMO-03",
    file: "packages/session/src/internal/engine/Sender.ts",
    original: "    if (entry !== undefined && !outbox.withdraw(entry) && exchange.method !== \"initialize\") {",
    broken:
      "    if (entry !== undefined && !outbox.withdraw(entry) && exchange.method !== \"initialize\" && exchange.deadline > runtime.timer.now()) {",
    test: "packages/session/test/deadlines.test.ts",
    name: "then the peer is told to cancel it, once, and why"
  },
  {
    id: "TMO-04",
    file: "packages/session/src/internal/engine/Sender.ts",
    original: "        : Duration.toMillis(options.timeout)\n",
    broken: "        : limits.requestTimeout\n",
    test: "packages/session/test/deadlines.test.ts",
    name: "[TMO-04] per call, in every form a duration takes",
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
  }
]
