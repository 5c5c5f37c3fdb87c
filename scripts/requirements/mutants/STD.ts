import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "STD-02",
    at: "OutgoingFrame.encodeWith",
    original: "text: string | undefined = JSON.stringify(frame)",
    broken: "text: string | undefined = JSON.stringify(frame, undefined, 1)",
    test: "packages/transport/test/JsonLines.test.ts",
    name: "an encoded line has no newline except its last character, and decodes to the same message"
  },
  {
    id: "STD-03",
    at: "consoleToStderr.redirect",
    original: "Object.defineProperty(globalThis.console, output, { configurable: true, get: () => process.stderr })",
    broken: "",
    test: "packages/transport/test/stdio/StdioServer.test.ts",
    name: "writes only messages to standard output, and all logs to standard error, at any time"
  },
  {
    id: "STD-04",
    at: "LineWriter.make",
    original: "OutgoingFrame.encodeForBytes(outbound.message, \"\\n\")",
    broken: "OutgoingFrame.encodeForBytes(outbound.message, \"\\n# a remark\\n\")",
    test: "packages/transport/test/stdio/StdioClient.test.ts",
    name: "are written to the child's input and read from its output, one on each line",
    hangs: true
  },
  {
    id: "STD-05",
    at: "ServerProcess.started",
    original: "command.stderr === \"inherit\" ? \"inherit\" : \"pipe\"",
    broken: "\"inherit\"",
    test: "packages/transport/test/stdio/StdioClient.test.ts",
    name: "is passed to a function line by line, and is never a failure"
  },
  {
    id: "STD-06",
    at: "StdioClientConnection.open",
    original: "output.finish()",
    broken:
      "output.finish()\n      if (exit !== undefined && exit.stderr.length > 0) {\n        return yield* TransportError.make({ _tag: \"ReadFailed\", cause: exit.stderr })\n      }",
    test: "packages/transport/test/stdio/StdioClient.test.ts",
    name: "is passed to a function line by line, and is never a failure"
  },
  {
    id: "STD-07",
    at: "ServerProcess.started",
    original: "killSignal: \"SIGTERM\"",
    broken: "killSignal: \"SIGKILL\"",
    test: "packages/transport/test/stdio/StdioClient.test.ts",
    name: "sends SIGTERM to a child that does not exit after the end of its input"
  },
  {
    id: "STD-08",
    at: "StdioClientConnection.open",
    original: "{ exit, writable: false }",
    broken: "yield* TransportError.make({ _tag: \"ReadFailed\", cause: exit })",
    test: "packages/transport/test/stdio/StdioClient.test.ts",
    name: "the exit report has the exit code and the last lines of standard error"
  },
  {
    id: "STD-09",
    at: "StdioClientConnection.open",
    original: "Effect.andThen(output.begin, atMost(ended, settings.exitTimeout ?? \"2 seconds\"))",
    broken:
      "Effect.andThen(Effect.andThen(output.begin, Effect.forkDetach(handle.kill(), { startImmediately: true })), atMost(ended, settings.exitTimeout ?? \"2 seconds\"))",
    test: "packages/transport/test/stdio/StdioClient.test.ts",
    name: "ends the child's input, and sends no signal to a child that exits then"
  },
  {
    id: "STD-10",
    at: "StdioServer.open",
    original: "return { exit: undefined, writable: true }",
    broken: "yield* Effect.never\n    return { exit: undefined, writable: true }",
    test: "packages/transport/test/stdio/StdioServer.test.ts",
    name: "responds to the messages before the end of input, and exits with 0",
    hangs: true
  },
  {
    id: "STD-12",
    at: "ServerSessionImplementation.#serveModern",
    original: "requests.serve(gate, message, origin, bytes, principal)",
    broken:
      "runtime.fork(this.sender.send(JsonRpc.request(\"q\", \"roots/list\", undefined) as never, origin))\n    requests.serve(gate, message, origin, bytes, principal)",
    test: "packages/session/test/twoEras.test.ts",
    name: "asks in the way of the era"
  },
  {
    id: "STD-15",
    at: "Cancellation.endWithoutReply",
    original: "IncomingRequests.interrupt(request)",
    broken: "",
    test: "packages/session/test/twoEras.test.ts",
    name: "cancels a request of either era"
  },
  {
    id: "STD-16",
    at: "Cancellation.dropReplyUnlessClaimed",
    original: "if (claimed) return false",
    broken: "return false",
    test: "packages/session/test/twoEras.test.ts",
    name: "cancels a request of either era"
  },
  {
    id: "STD-17",
    at: "Supervisor.run",
    original: "if (retryMillis === undefined) return",
    broken: "if (problem._tag === \"Ended\") return",
    test: "packages/client/test/supervision.test.ts",
    name: "calls wait for the server, and the next ones find it again after it was killed"
  },
  {
    id: "STD-18",
    at: "WatchedResources.follow",
    original: "this.#board.sessions",
    broken: "Stream.take(this.#board.sessions, 1)",
    test: "packages/client/test/listsInVirtualTime.test.ts",
    name: "is subscribed to again after the server was started again, and read again"
  },
  {
    id: "STD-19",
    at: "ClientHandshake.run",
    original: "probe === undefined",
    broken: "probe === undefined || this.#dependencies.description.offer !== undefined",
    test: "packages/session/test/modernClient.test.ts",
    name: "begins with server/discover alone, and has"
  },
  {
    id: "STD-11",
    at: "Replies.mute",
    original: "this.#isMuted = true",
    broken: "",
    test: "packages/session/test/modernClient.test.ts",
    name: "requests of the server get no response"
  },
  {
    id: "STD-14",
    at: "RequestSender.#isCancelled",
    original: "stream !== undefined && peer !== undefined",
    broken: "peer !== undefined",
    test: "packages/session/test/modernClient.test.ts",
    name: "an interrupted call is cancelled by a notification"
  },
  {
    id: "STD-20",
    at: "Discovery.judgeError",
    original: "supported = supportedIn(error)",
    broken:
      "supported = supportedIn(error)\n  if (supported === undefined && error.code !== ErrorCode.MethodNotFound) return rejected()",
    test: "packages/session/test/modernClient.test.ts",
    name: "to the probe leads to initialize"
  },
  {
    id: "STD-22",
    at: "Discovery.judgeError",
    original: "legacy(`it answered server/discover with error ${error.code}`)",
    broken:
      "rejected()\n  if (supported === null) return legacy(`it answered server/discover with error ${error.code}`)",
    test: "packages/session/test/modernClient.test.ts",
    name: "to the probe leads to initialize"
  },
  {
    id: "STD-22",
    at: "Discovery.judgeSilence",
    original: "return mayNeedHandshake",
    broken: "return mayNeedHandshake && false",
    test: "packages/session/test/modernClient.test.ts",
    name: "silence until discoverTimeout leads"
  },
  {
    id: "STD-21",
    at: "Discovery.judgeError",
    original: "if (isModern(error)) return rejected()",
    broken: "",
    test: "packages/session/test/modernClient.test.ts",
    name: "an error of 2026-07-28 is no reason"
  },
  {
    id: "STD-13",
    at: "Listening.intercept",
    original: "Subscription.idIn(metaOf(message))",
    broken: "this.#current?.id",
    test: "packages/session/test/modernListening.test.ts",
    name: "a notification of a stream that is not open"
  },
  {
    id: "STD-07",
    at: "StdioClientConnection.open",
    original: "Effect.andThen(writer.close, Effect.never)",
    broken: "Effect.never",
    test: "packages/transport/test/stdio/StdioClient.test.ts",
    name: "sends SIGTERM to a child that does not exit after the end of its input"
  },
  {
    id: "STD-07",
    at: "ServerProcess.started",
    original: "command.terminateTimeout ?? \"2 seconds\"",
    broken: "undefined",
    test: "packages/transport/test/stdio/StdioClient.test.ts",
    name: "sends SIGKILL to a child that ignores SIGTERM",
    hangs: true
  },
  {
    id: "STD-09",
    at: "ServerProcess.spawn",
    original: "Scope.close(group, exit)",
    broken: "Effect.void",
    test: "packages/transport/test/stdio/StdioClient.test.ts",
    name: "sends SIGTERM to a child that does not exit after the end of its input"
  }
]
