import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "SHS-01",
    file: "packages/session/src/internal/engine/Batch.ts",
    original: "? this.#replies : undefined",
    broken: "? this.#replies.slice(1) : undefined",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "batches are answered together at 2025-03-26"
  },
  {
    id: "SHS-02",
    file: "packages/transport/src/internal/http/server/streamable/StreamableHttpServerConnection.ts",
    original: "Revision.isAtLeast(this.#revision, \"2025-11-25\")",
    broken: "Revision.isAtLeast(this.#revision, \"2025-03-26\")",
    test: "packages/transport/test/http/server/streamable/resumption.test.ts",
    name: "a client that does not know of it is not let go"
  },
  {
    id: "SHS-03",
    file: "packages/transport/src/internal/http/server/streamable/PostExchange.ts",
    original: "    if (this.#owner.sendsPrimingEvents) stream.sendPrimingEvent()\n",
    broken: "",
    test: "packages/transport/test/http/server/streamable/resumption.test.ts",
    name: "a stream begins with an id and when to come back, for a client that knows of that"
  },
  {
    id: "SHS-04",
    file: "packages/transport/src/internal/http/server/streamable/PostExchange.ts",
    original: "return this.#stream === undefined ? Effect.succeed(false) : this.#stream.detach()",
    broken: "return Effect.succeed(false)",
    test: "packages/transport/test/http/server/streamable/resumption.test.ts",
    name: "a handler may let go of its stream, and the client fetches the rest"
  },
  {
    id: "SHS-05",
    file: "packages/transport/src/internal/http/server/SseStream.ts",
    original: "    this.#body?.put(Sse.retry(retryMillis))\n",
    broken: "",
    test: "packages/transport/test/http/server/streamable/resumption.test.ts",
    name: "a stream begins with an id and when to come back, for a client that knows of that"
  },
  {
    id: "SHS-06",
    file: "packages/transport/src/internal/http/client/streamable/ReconnectDelay.ts",
    original: "const byField = retryMillis === undefined ? undefined",
    broken: "const byField = retryMillis !== undefined ? undefined",
    test: "packages/transport/test/internal/http/client/streamable/ReconnectDelay.test.ts",
    name: "is at least what the server asks for"
  },
  {
    id: "SHS-07",
    file: "packages/transport/src/internal/http/client/streamable/Exchange.ts",
    original: "reader.isAnswered ? undefined : yield* resume(state, this.#renew, stream)",
    broken: "reader.isAnswered ? undefined : unexpectedResponse(response)",
    test: "packages/transport/test/http/client/streamable/resumption.test.ts",
    name: "a stream that ends before the response is taken up again behind its last event"
  },
  {
    id: "SHS-08",
    file: "packages/transport/src/internal/http/server/streamable/StreamableHttpServerConnection.ts",
    original: "if (replyTo instanceof PostExchange) return replyTo.write(message, last)",
    broken: "if (replyTo instanceof PostExchange && last) return replyTo.write(message, last)",
    test: "packages/transport/test/http/server/streamable/responses.test.ts",
    name: "what belongs to a request goes on its stream only, questions included",
    hangs: true
  },
  {
    id: "SHS-09",
    file: "packages/transport/src/internal/http/server/streamable/PostExchange.ts",
    original: "    this.#stream?.end()\n",
    broken: "",
    test: "packages/transport/test/http/server/streamable/sessionless.test.ts",
    name: "answers in the way that it is told to",
    hangs: true
  },
  {
    id: "SHS-10",
    file: "packages/transport/src/internal/http/server/streamable/PostExchange.ts",
    original: "    this.#timeout = watchdog.schedule(detachedMillis, () => this.#owner.abandon(this))\n",
    broken: "    this.#owner.abandon(this)\n",
    test: "packages/transport/test/http/server/streamable/sessionless.test.ts",
    name: "takes no lost connection for a cancellation, until it has waited long",
    hangs: true
  },
  {
    id: "SHS-11",
    file: "packages/session/src/internal/engine/Sender.ts",
    original: "    if (entry !== undefined && !outbox.withdraw(entry) && exchange.method !== \"initialize\") {",
    broken:
      "    if (entry !== undefined && exchange.stream === undefined && !outbox.withdraw(entry) && exchange.method !== \"initialize\") {",
    test: "packages/transport/test/http/client/streamable/session.test.ts",
    name: "a call that is given up is cancelled by a message, and its request does not stay open",
    hangs: true
  },
  {
    id: "SHS-12",
    file: "packages/transport/src/internal/http/client/McpEndpoint.ts",
    original: "{ accept: \"text/event-stream\", ...",
    broken: "{ accept: \"application/json\", ...",
    test: "packages/transport/test/http/client/streamable/standaloneStream.test.ts",
    name: "once the handshake is done a stream is opened, and what comes on it is delivered"
  },
  {
    id: "SHS-13",
    file: "packages/transport/src/internal/http/server/HttpGuard.ts",
    original: "HttpResponses.error(405, message, { headers })",
    broken: "HttpResponses.error(404, message, { headers })",
    test: "packages/transport/test/http/server/streamable/sessionless.test.ts",
    name: "answers GET and DELETE, and whatever else is no POST, with 405"
  },
  {
    id: "SHS-13",
    file: "packages/transport/src/internal/http/server/streamable/StatefulHandler.ts",
    original: "      [\"GET\", get],\n",
    broken: "",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "a GET gets a stream; a second one gets 409, and the first goes on"
  },
  {
    id: "SHS-14",
    file: "packages/transport/src/internal/http/server/streamable/StreamableHttpServerConnection.ts",
    original: "if (replyTo instanceof PostExchange) return replyTo.write(message, last)",
    broken:
      "if (replyTo instanceof PostExchange && (last || this.#standalone === undefined)) return replyTo.write(message, last)\n    replyTo = undefined",
    test: "packages/transport/test/http/server/streamable/responses.test.ts",
    name: "what belongs to a request goes on its stream only, questions included",
    hangs: true
  },
  {
    id: "SHS-15",
    file: "packages/transport/src/internal/http/server/streamable/StreamableHttpServerConnection.ts",
    original: "if (replyTo instanceof PostExchange) return replyTo.write(message, last)",
    broken:
      "if (replyTo instanceof PostExchange && (!last || this.#standalone === undefined)) return replyTo.write(message, last)\n    if (last && replyTo instanceof PostExchange) replyTo.settle()\n    replyTo = undefined",
    test: "packages/transport/test/http/server/streamable/responses.test.ts",
    name: "what belongs to no request goes on the standalone stream, or nowhere"
  },
  {
    id: "SHS-16",
    file: "packages/transport/src/internal/http/server/streamable/StreamableHttpServerConnection.ts",
    original: "if (replyTo instanceof PostExchange) return replyTo.write(message, last)",
    broken:
      "if (replyTo instanceof PostExchange) {\n      if (!last) void this.#standalone?.write(JSON.stringify(message))\n      return replyTo.write(message, last)\n    }",
    test: "packages/transport/test/http/server/streamable/responses.test.ts",
    name: "what belongs to a request goes on its stream only, questions included"
  },
  {
    id: "SHS-17",
    file: "packages/session/src/internal/stores/EventLog.ts",
    original: "return stream.prefix + event.number\n",
    broken: "return `${this.#name}.${stream.events}`\n",
    test: "packages/testing/test/memoryStores.test.ts",
    name: "no two events of a session have the same id, whatever their streams"
  },
  {
    id: "SHS-18",
    file: "packages/session/src/internal/stores/EventLog.ts",
    original: "return { stream: stream.name, events,",
    broken: "return { stream: \"\", events,",
    test: "packages/testing/test/memoryStores.test.ts",
    name: "an id is printable ASCII without a space, and leads to its stream"
  },
  {
    id: "SHS-19",
    file: "packages/transport/src/internal/http/client/McpEndpoint.ts",
    original: "...lastEventId === undefined ? {} : { \"last-event-id\": lastEventId }",
    broken: "...{}",
    test: "packages/transport/test/http/client/streamable/resumption.test.ts",
    name: "so is one whose connection breaks, also before any message"
  },
  {
    id: "SHS-20",
    file: "packages/session/src/internal/stores/EventLog.ts",
    original: "let event = stream.oldest\n",
    broken: "let event = Array.from(stream.session.streams.values())[0]?.oldest\n",
    test: "packages/testing/test/memoryStores.test.ts",
    name: "of streams that are appended to in turns, each is replayed by itself"
  },
  {
    id: "SHS-21",
    file: "packages/session/src/SessionId.ts",
    original: "=> crypto.randomUUID()",
    broken: "=> String(performance.now() * 1e15).padStart(32, \"0\")",
    test: "packages/session/test/hostedSessions.test.ts",
    name: "names sessions by ids that nobody can guess, in visible ASCII"
  },
  {
    id: "SHS-22",
    file: "packages/transport/src/internal/http/server/streamable/StatefulHandler.ts",
    original: "const id = SessionId.make()",
    broken: "const id = `${SessionId.make()} 1`",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "ids of sessions are visible ASCII, and no two are alike"
  },
  {
    id: "SHS-23",
    file: "packages/transport/src/internal/http/client/HttpCall.ts",
    original: "[...redacted, \"mcp-session-id\"]",
    broken: "redacted",
    test: "packages/transport/test/http/client/streamable/messages.test.ts",
    name: "a program that has its headers traced does not have the session id traced"
  },
  {
    id: "SHS-24",
    file: "packages/transport/src/internal/http/client/McpEndpoint.ts",
    original: "...session === undefined ? {} : { \"mcp-session-id\": session }",
    broken: "...{}",
    test: "packages/transport/test/http/client/streamable/messages.test.ts",
    name: "what comes after the handshake carries the session id and the revision"
  },
  {
    id: "SHS-25",
    file: "packages/transport/src/internal/http/server/streamable/StatefulHandler.ts",
    original: "HttpResponses.error(400, \"The header Mcp-Session-Id is missing\"",
    broken: "HttpResponses.error(404, \"The header Mcp-Session-Id is missing\"",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "a message without a session id gets 400, unless it is initialize"
  },
  {
    id: "SHS-26",
    file: "packages/transport/src/internal/http/server/streamable/StatefulHandler.ts",
    original: "HttpResponses.error(404, \"There is no session",
    broken: "HttpResponses.error(410, \"There is no session",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "a session that nobody knows, or that has ended, gets 404"
  },
  {
    id: "SHS-27",
    file: "packages/transport/src/internal/http/client/streamable/ClientState.ts",
    original: "response.status === 404 && session.id !== undefined",
    broken: "response.status === 410 && session.id !== undefined",
    test: "packages/transport/test/http/client/streamable/sessionRenewal.test.ts",
    name: "a message that is refused with 404 is sent again in a new session"
  },
  {
    id: "SHS-28",
    file: "packages/transport/src/internal/http/client/streamable/StreamableHttpClientConnection.ts",
    original: "  yield* Scope.addFinalizer(scope, sessions.end)\n",
    broken: "",
    test: "packages/transport/test/http/client/streamable/closing.test.ts",
    name: "leaving ends the session at the server, behind everything else"
  },
  {
    id: "SHS-29",
    file: "packages/transport/src/internal/http/server/streamable/StatelessHandler.ts",
    original: "const undeclared: Revision.Revision = \"2025-03-26\"",
    broken: "const undeclared: Revision.Revision = \"2025-11-25\"",
    test: "packages/transport/test/http/server/streamable/sessionless.test.ts",
    name: "takes what says no revision to be in 2025-03-26"
  },
  {
    id: "SHS-30",
    file: "packages/transport/src/internal/http/client/streamable/StreamableHttpClientConnection.ts",
    original: "      state.revision = profile.revision\n",
    broken: "      state.revision = \"2025-11-25\"\n",
    test: "packages/transport/test/http/client/streamable/messages.test.ts",
    name: "the revision in the header is the one that was agreed on"
  }
]
