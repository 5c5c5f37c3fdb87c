import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "LOG-01",
    at: "Outgoing.notification",
    original: "blocked !== undefined",
    broken: "blocked !== undefined && row.name !== \"notifications/message\"",
    test: "packages/session/test/logging.test.ts",
    name: "with the capability switched off, logging fails with an error that names the option"
  },
  {
    id: "LOG-02",
    at: "LogLevel.admits",
    original: "Logging.isAtLeast(level, current.threshold)",
    broken: "Logging.isAtLeast(level, \"debug\")",
    test: "packages/session/test/logging.test.ts",
    name: "a client can raise and lower the level"
  },
  {
    id: "LOG-03",
    at: "LogLevel.make",
    original: "{ threshold: \"debug\" }",
    broken: "{ threshold: \"info\" }",
    test: "packages/session/test/logging.test.ts",
    name: "a server sends all levels before the client sets one"
  },
  {
    id: "LOG-04",
    at: "Logging.Level",
    original: "Schema.Literals(levels)",
    broken: "Schema.Literals([...levels, \"loud\" as never])",
    test: "packages/session/test/logging.test.ts",
    name: "\"loud\"} is rejected with -32602"
  },
  {
    id: "LOG-07",
    at: "ModernRequestGate.#isLogged",
    original: "threshold !== undefined && Logging.isAtLeast(level, threshold)",
    broken: "threshold === undefined || Logging.isAtLeast(level, threshold)",
    test: "packages/session/test/modernRequests.test.ts",
    name: "gets log messages from its own level"
  },
  {
    id: "LOG-08",
    at: "StatelessPosts.#post",
    original: "new PostedFrame(exchange,",
    broken: "new PostedFrame([...this.#fibers.keys(), exchange][0],",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "in the stream of their request only"
  },
  {
    id: "LOG-04",
    at: "RequestMetadata.Fields",
    original: "Schema.optionalKey(Level)",
    broken: "Schema.optionalKey(Schema.String)",
    test: "packages/session/test/modernRequests.test.ts",
    name: "if its level of log messages is unknown"
  }
]
