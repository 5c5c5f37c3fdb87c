import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "LOG-01",
    file: "packages/session/src/internal/engine/Outgoing.ts",
    original: "  if (blocked !== undefined) return Result.fail(undeclared(blocked))\n",
    broken:
      "  if (blocked !== undefined && row.name !== \"notifications/message\") return Result.fail(undeclared(blocked))\n",
    test: "packages/session/test/logging.test.ts",
    name: "with the capability switched off, logging fails with an error that names the option"
  },
  {
    id: "LOG-02",
    file: "packages/session/src/internal/engine/LogLevel.ts",
    original: "Logging.isAtLeast(level, current.threshold)",
    broken: "Logging.isAtLeast(level, \"debug\")",
    test: "packages/session/test/logging.test.ts",
    name: "a client can raise and lower the level"
  },
  {
    id: "LOG-03",
    file: "packages/session/src/internal/engine/LogLevel.ts",
    original: "({ threshold: \"debug\" })",
    broken: "({ threshold: \"info\" })",
    test: "packages/session/test/logging.test.ts",
    name: "a server sends all levels before the client sets one"
  },
  {
    id: "LOG-04",
    file: "packages/protocol/src/Logging.ts",
    original: "export const Level: Schema.Codec<Level> = Schema.Literals(levels)",
    broken: "export const Level: Schema.Codec<Level> = Schema.Literals([...levels, \"loud\" as never])",
    test: "packages/session/test/logging.test.ts",
    name: "\"loud\"} is rejected with -32602"
  },
  {
    id: "LOG-07",
    file: "packages/session/src/internal/server/ModernExchange.ts",
    original: "threshold !== undefined && Logging",
    broken: "threshold === undefined || Logging",
    test: "packages/session/test/modernRequests.test.ts",
    name: "gets log messages from its own level"
  },
  {
    id: "LOG-08",
    file: "packages/transport/src/internal/http/server/streamable/SessionlessExchanges.ts",
    original: "new PostedFrame(exchange, ",
    broken: "new PostedFrame([...this.#fibers.keys(), exchange][0], ",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "in the stream of their request only"
  },
  {
    id: "LOG-04",
    file: "packages/protocol/src/RequestMetadata.ts",
    original: "Schema.optionalKey(Level)",
    broken: "Schema.optionalKey(Schema.String)",
    test: "packages/session/test/modernRequests.test.ts",
    name: "if its level of log messages is unknown"
  }
]
