import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "STD-02",
    file: "packages/transport/src/internal/shared/OutgoingFrame.ts",
    original: "JSON.stringify(frame)\n",
    broken: "JSON.stringify(frame, undefined, 1)\n",
    test: "packages/transport/test/JsonLines.test.ts",
    name: "an encoded line has no newline except its last character, and decodes to the same message"
  },
  {
    id: "STD-03",
    file: "packages/transport/src/internal/stdio/consoleToStderr.ts",
    original:
      "  Object.defineProperty(globalThis.console, output, { configurable: true, get: () => process.stderr })\n",
    broken: "",
    test: "packages/transport/test/stdio/StdioServer.test.ts",
    name: "writes only messages to standard output, and all logs to standard error, at any time"
  },
  {
    id: "STD-04",
    file: "packages/transport/src/internal/shared/LineWriter.ts",
    original: "OutgoingFrame.encodeForBytes(outbound.message, \"\\n\")",
    broken: "OutgoingFrame.encodeForBytes(outbound.message, \"\\n# a remark\\n\")",
    test: "packages/transport/test/stdio/StdioClient.test.ts",
    name: "are written to the child's input and read from its output, one on each line",
    hangs: true
  },
  {
    id: "STD-05",
    file: "packages/transport/src/internal/stdio/ServerProcess.ts",
    original: "stderr: command.stderr === \"inherit\" ? \"inherit\" : \"pipe\"",
    broken: "stderr: \"inherit\"",
    test: "packages/transport/test/stdio/StdioClient.test.ts",
    name: "is passed to a function line by line, and is never a failure"
  },
  {
    id: "STD-06",
    file: "packages/transport/src/internal/stdio/StdioClientConnection.ts",
    original: "      return { exit, writable: false }\n",
    broken:
      "      if (exit !== undefined && exit.stderr.length > 0) {\n        return yield* TransportError.make({ _tag: \"ReadFailed\", cause: exit.stderr })\n      }\n      return { exit, writable: false }\n",
    test: "packages/transport/test/stdio/StdioClient.test.ts",
    name: "is passed to a function line by line, and is never a failure"
  },
  {
    id: "STD-07",
    file: "packages/transport/src/internal/stdio/ServerProcess.ts",
    original: "killSignal: \"SIGTERM\"",
    broken: "killSignal: \"SIGKILL\"",
    test: "packages/transport/test/stdio/StdioClient.test.ts",
    name: "sends SIGTERM to a child that does not exit after the end of its input"
  },
  {
    id: "STD-08",
    file: "packages/transport/src/internal/stdio/StdioClientConnection.ts",
    original: "      return { exit, writable: false }\n",
    broken: "      return yield* TransportError.make({ _tag: \"ReadFailed\", cause: exit })\n",
    test: "packages/transport/test/stdio/StdioClient.test.ts",
    name: "the exit report has the exit code and the last lines of standard error"
  },
  {
    id: "STD-09",
    file: "packages/transport/src/internal/stdio/StdioClientConnection.ts",
    original: "Effect.andThen(output.begin, atMost(ended,",
    broken:
      "Effect.andThen(Effect.andThen(output.begin, Effect.forkDetach(handle.kill(), { startImmediately: true })), atMost(ended,",
    test: "packages/transport/test/stdio/StdioClient.test.ts",
    name: "ends the child's input, and sends no signal to a child that exits then"
  },
  {
    id: "STD-10",
    file: "packages/transport/src/StdioServer.ts",
    original: "    decoder.finish()\n    return {",
    broken: "    decoder.finish()\n    yield* Effect.never\n    return {",
    test: "packages/transport/test/stdio/StdioServer.test.ts",
    name: "responds to the messages before the end of input, and exits with 0",
    hangs: true
  },
  {
    id: "STD-12",
    file: "packages/session/src/internal/server/ServerSessionImplementation.ts",
    original: "    new ModernExchange.ModernExchange(this.modern, carrier, message, principal)",
    broken:
      "    carrier.fork(this.sender.send(JsonRpc.request(\"q\", \"roots/list\", undefined) as never, origin))\n    new ModernExchange.ModernExchange(this.modern, carrier, message, principal)",
    test: "packages/session/test/twoEras.test.ts",
    name: "asks in the way of the era"
  },
  {
    id: "STD-15",
    file: "packages/session/src/internal/engine/Cancellation.ts",
    original: "  IncomingRequests.interrupt(request)\n",
    broken: "",
    test: "packages/session/test/twoEras.test.ts",
    name: "cancels a request of either era"
  },
  {
    id: "STD-16",
    file: "packages/session/src/internal/engine/Cancellation.ts",
    original: "if (claimed) return false",
    broken: "return false",
    test: "packages/session/test/twoEras.test.ts",
    name: "cancels a request of either era"
  },
  {
    id: "STD-17",
    file: "packages/client/src/internal/supervision/Supervisor.ts",
    original: "    if (retryMillis === undefined) return\n",
    broken: "    if (problem._tag === \"Ended\") return\n",
    test: "packages/client/test/supervision.test.ts",
    name: "calls wait for the server, and the next ones find it again after it was killed"
  },
  {
    id: "STD-18",
    file: "packages/client/src/internal/lists/WatchedResources.ts",
    original: "      this.#dependencies.board.sessions,\n",
    broken: "      Stream.take(this.#dependencies.board.sessions, 1),\n",
    test: "packages/client/test/listsInVirtualTime.test.ts",
    name: "is subscribed to again after the server was started again, and read again"
  },
  {
    id: "STD-19",
    file: "packages/session/src/internal/client/ClientHandshake.ts",
    original: "if (probe === undefined) return this.#initialize",
    broken: "if (probe === undefined || this.#owner.description.offer !== undefined) return this.#initialize",
    test: "packages/session/test/modernClient.test.ts",
    name: "begins with server/discover alone, and has"
  },
  {
    id: "STD-11",
    file: "packages/session/src/internal/engine/Replies.ts",
    original: "    this.#isMuted = true\n",
    broken: "",
    test: "packages/session/test/modernClient.test.ts",
    name: "requests of the server get no response"
  },
  {
    id: "STD-14",
    file: "packages/session/src/internal/engine/Sender.ts",
    original: "!(this.#isModern && stream !== undefined)",
    broken: "!this.#isModern",
    test: "packages/session/test/modernClient.test.ts",
    name: "an interrupted call is cancelled by a notification"
  },
  {
    id: "STD-20",
    file: "packages/session/src/internal/client/Discovery.ts",
    original: "if (supported === undefined) return legacy(",
    broken:
      "if (supported === undefined && error.code !== ErrorCode.MethodNotFound) return rejected()\n  if (supported === undefined) return legacy(",
    test: "packages/session/test/modernClient.test.ts",
    name: "to the probe leads to initialize"
  },
  {
    id: "STD-22",
    file: "packages/session/src/internal/client/Discovery.ts",
    original: "if (supported === undefined) return legacy(",
    broken: "if (supported === undefined) return rejected()\n  if (supported === null) return legacy(",
    test: "packages/session/test/modernClient.test.ts",
    name: "to the probe leads to initialize"
  },
  {
    id: "STD-22",
    file: "packages/session/src/internal/client/Discovery.ts",
    original: "      return mayNeedHandshake\n",
    broken: "      return mayNeedHandshake && false\n",
    test: "packages/session/test/modernClient.test.ts",
    name: "silence until discoverTimeout leads"
  },
  {
    id: "STD-21",
    file: "packages/session/src/internal/client/Discovery.ts",
    original: "  if (isModern(error)) return rejected()\n",
    broken: "",
    test: "packages/session/test/modernClient.test.ts",
    name: "an error of 2026-07-28 is no reason"
  },
  {
    id: "STD-13",
    file: "packages/session/src/internal/client/Listening.ts",
    original: "    const id = Subscription.idIn(metaOf(message))\n    if (id === undefined) return false\n",
    broken: "    const id = this.#current?.id\n    if (id === undefined) return false\n",
    test: "packages/session/test/modernListening.test.ts",
    name: "a notification of a stream that is not open"
  },
  {
    id: "STD-07",
    file: "packages/transport/src/internal/stdio/StdioClientConnection.ts",
    original: "Effect.andThen(writer.close, Effect.never)",
    broken: "Effect.never",
    test: "packages/transport/test/stdio/StdioClient.test.ts",
    name: "sends SIGTERM to a child that does not exit after the end of its input"
  },
  {
    id: "STD-07",
    file: "packages/transport/src/internal/stdio/ServerProcess.ts",
    original: "forceKillAfter: command.terminateTimeout ?? \"2 seconds\"",
    broken: "forceKillAfter: undefined",
    test: "packages/transport/test/stdio/StdioClient.test.ts",
    name: "sends SIGKILL to a child that ignores SIGTERM",
    hangs: true
  },
  {
    id: "STD-09",
    file: "packages/transport/src/internal/stdio/ServerProcess.ts",
    original: "Effect.forkDetach(Scope.close(group, exit), { startImmediately: true })",
    broken: "Effect.forkDetach(Effect.void, { startImmediately: true })",
    test: "packages/transport/test/stdio/StdioClient.test.ts",
    name: "sends SIGTERM to a child that does not exit after the end of its input"
  }
]
