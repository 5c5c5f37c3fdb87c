import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "SHS-01",
    file: "packages/session/src/internal/engine/Batch.ts",
    original: "? this.#replies : undefined",
    broken: "? this.#replies.slice(1) : undefined",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "a batch of revision 2025-03-26 is answered with one batch"
  },
  {
    id: "SHS-02",
    file: "packages/transport/src/internal/http/server/streamable/StreamableHttpServerConnection.ts",
    original: "Revision.isAtLeast(this.#revision, \"2025-11-25\")",
    broken: "Revision.isAtLeast(this.#revision, \"2025-03-26\")",
    test: "packages/transport/test/http/server/streamable/resumption.test.ts",
    name: "releases no stream of a client with an earlier revision"
  },
  {
    id: "SHS-03",
    file: "packages/transport/src/internal/http/server/streamable/PostExchange.ts",
    original: "    if (this.#owner.sendsPrimingEvents) stream.sendPrimingEvent()\n",
    broken: "",
    test: "packages/transport/test/http/server/streamable/resumption.test.ts",
    name: "begins each stream with a priming event and a retry field from 2025-11-25 on"
  },
  {
    id: "SHS-04",
    file: "packages/transport/src/internal/http/server/streamable/PostExchange.ts",
    original: "return this.#stream === undefined ? Effect.succeed(false) : this.#stream.detach()",
    broken: "return Effect.succeed(false)",
    test: "packages/transport/test/http/server/streamable/resumption.test.ts",
    name: "continues a stream that its handler has released"
  },
  {
    id: "SHS-05",
    file: "packages/transport/src/internal/http/server/SseStream.ts",
    original: "    this.#body?.put(Sse.retry(retryMillis))\n",
    broken: "",
    test: "packages/transport/test/http/server/streamable/resumption.test.ts",
    name: "begins each stream with a priming event and a retry field from 2025-11-25 on"
  },
  {
    id: "SHS-06",
    file: "packages/transport/src/internal/http/client/streamable/ReconnectDelay.ts",
    original: "const byField = retryMillis === undefined ? undefined",
    broken: "const byField = retryMillis !== undefined ? undefined",
    test: "packages/transport/test/internal/http/client/streamable/ReconnectDelay.test.ts",
    name: "is at least the server's delay"
  },
  {
    id: "SHS-07",
    file: "packages/transport/src/internal/http/client/streamable/Exchange.ts",
    original: "reader.isAnswered ? undefined : yield* resume(state, this.#renew, stream)",
    broken: "reader.isAnswered ? undefined : unexpectedResponse(response)",
    test: "packages/transport/test/http/client/streamable/resumption.test.ts",
    name: "a stream that ends before the response is resumed after its last event"
  },
  {
    id: "SHS-08",
    file: "packages/transport/src/internal/http/server/streamable/StreamableHttpServerConnection.ts",
    original: "if (replyTo instanceof PostExchange) return replyTo.write(message, last)",
    broken: "if (replyTo instanceof PostExchange && last) return replyTo.write(message, last)",
    test: "packages/transport/test/http/server/streamable/responses.test.ts",
    name: "carries all messages of its request, and no others"
  },
  {
    id: "SHS-09",
    file: "packages/transport/src/internal/http/server/streamable/PostExchange.ts",
    original: "    this.#stream?.end()\n",
    broken: "",
    test: "packages/transport/test/http/server/streamable/sessionless.test.ts",
    name: "responds in the form of its responseMode",
    hangs: true
  },
  {
    id: "SHS-10",
    file: "packages/transport/src/internal/http/server/streamable/PostExchange.ts",
    original: "    this.#timeout = watchdog.schedule(detachedMillis, () => this.#owner.abandon(this))\n",
    broken: "    this.#owner.abandon(this)\n",
    test: "packages/transport/test/http/server/streamable/sessionless.test.ts",
    name: "interrupts a request after a lost connection only after detachedRequestTimeout",
    hangs: true
  },
  {
    id: "SHS-11",
    file: "packages/session/src/internal/engine/Sender.ts",
    original: "    if (entry !== undefined && !outbox.withdraw(entry) && this.#isCancelled(exchange)) {",
    broken:
      "    if (entry !== undefined && exchange.stream === undefined && !outbox.withdraw(entry) && this.#isCancelled(exchange)) {",
    test: "packages/transport/test/http/client/streamable/session.test.ts",
    name: "an interrupted call sends a cancellation, and its request is closed",
    hangs: true
  },
  {
    id: "SHS-12",
    file: "packages/transport/src/internal/http/client/McpEndpoint.ts",
    original: "{ accept: \"text/event-stream\", ...",
    broken: "{ accept: \"application/json\", ...",
    test: "packages/transport/test/http/client/streamable/standaloneStream.test.ts",
    name: "the stream is opened after the handshake, and its messages are delivered"
  },
  {
    id: "SHS-13",
    file: "packages/transport/src/internal/http/server/HttpResponses.ts",
    original: "error(405, `${message}: there are no sessions",
    broken: "error(404, `${message}: there are no sessions",
    test: "packages/transport/test/http/server/streamable/sessionless.test.ts",
    name: "answers GET, DELETE and every other method than POST with 405"
  },
  {
    id: "SHS-13",
    file: "packages/transport/src/internal/http/server/streamable/StatefulHandler.ts",
    original: "? [[\"GET\", get], posting,",
    broken: "? [posting,",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "a second GET is answered with 409, and the first stream continues"
  },
  {
    id: "SHS-14",
    file: "packages/transport/src/internal/http/server/streamable/StreamableHttpServerConnection.ts",
    original: "if (replyTo instanceof PostExchange) return replyTo.write(message, last)",
    broken:
      "if (replyTo instanceof PostExchange && (last || this.#standalone === undefined)) return replyTo.write(message, last)\n    replyTo = undefined",
    test: "packages/transport/test/http/server/streamable/responses.test.ts",
    name: "carries all messages of its request, and no others",
    hangs: true
  },
  {
    id: "SHS-15",
    file: "packages/transport/src/internal/http/server/streamable/StreamableHttpServerConnection.ts",
    original: "if (replyTo instanceof PostExchange) return replyTo.write(message, last)",
    broken:
      "if (replyTo instanceof PostExchange && (!last || this.#standalone === undefined)) return replyTo.write(message, last)\n    if (last && replyTo instanceof PostExchange) replyTo.settle()\n    replyTo = undefined",
    test: "packages/transport/test/http/server/streamable/responses.test.ts",
    name: "never carries messages outside of requests, which need the standalone stream"
  },
  {
    id: "SHS-16",
    file: "packages/transport/src/internal/http/server/streamable/StreamableHttpServerConnection.ts",
    original: "if (replyTo instanceof PostExchange) return replyTo.write(message, last)",
    broken:
      "if (replyTo instanceof PostExchange) {\n      if (!last) void this.#standalone?.write(JSON.stringify(message))\n      return replyTo.write(message, last)\n    }",
    test: "packages/transport/test/http/server/streamable/responses.test.ts",
    name: "carries all messages of its request, and no others"
  },
  {
    id: "SHS-17",
    file: "packages/session/src/internal/stores/EventLog.ts",
    original: "return stream.prefix + event.number\n",
    broken: "return `${this.#name}.${stream.events}`\n",
    test: "packages/testing/test/memoryStores.test.ts",
    name: "the ids of all events of a session are distinct"
  },
  {
    id: "SHS-18",
    file: "packages/session/src/internal/stores/EventLog.ts",
    original: "return { stream: stream.name, events,",
    broken: "return { stream: \"\", events,",
    test: "packages/testing/test/memoryStores.test.ts",
    name: "an id is printable ASCII without a space, and identifies its stream"
  },
  {
    id: "SHS-19",
    file: "packages/transport/src/internal/http/client/streamable/ResumableStream.ts",
    original: "lastEventId === undefined ? undefined : { \"last-event-id\": lastEventId }",
    broken: "undefined",
    test: "packages/transport/test/http/client/streamable/resumption.test.ts",
    name: "a stream whose connection breaks is resumed, also before any message"
  },
  {
    id: "SHS-20",
    file: "packages/session/src/internal/stores/EventLog.ts",
    original: "let event = stream.oldest\n",
    broken: "let event = Array.from(stream.session.streams.values())[0]?.oldest\n",
    test: "packages/testing/test/memoryStores.test.ts",
    name: "streams that are appended to alternately are replayed separately"
  },
  {
    id: "SHS-21",
    file: "packages/session/src/SessionId.ts",
    original: "=> webCrypto.randomUUID()",
    broken: "=> String(performance.now() * 1e15).padStart(32, \"0\")",
    test: "packages/session/test/SessionHost.test.ts",
    name: "assigns random ids in visible ASCII to sessions"
  },
  {
    id: "SHS-22",
    file: "packages/transport/src/internal/http/server/streamable/StatefulHandler.ts",
    original: "const id = SessionId.make()",
    broken: "const id = `${SessionId.make()} 1`",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "session ids are visible ASCII and unique"
  },
  {
    id: "SHS-23",
    file: "packages/transport/src/internal/http/client/HttpCall.ts",
    original: "[...redacted, \"mcp-session-id\"]",
    broken: "redacted",
    test: "packages/transport/test/http/client/streamable/messages.test.ts",
    name: "spans show no session id, also if the program traces all headers"
  },
  {
    id: "SHS-24",
    file: "packages/transport/src/internal/http/client/McpEndpoint.ts",
    original: "...session === undefined ? {} : { \"mcp-session-id\": session }",
    broken: "...{}",
    test: "packages/transport/test/http/client/streamable/messages.test.ts",
    name: "every request after the handshake has the session id and the revision"
  },
  {
    id: "SHS-25",
    file: "packages/transport/src/internal/http/server/streamable/StatefulHandler.ts",
    original: "HttpResponses.error(400, \"The header Mcp-Session-Id is missing\"",
    broken: "HttpResponses.error(404, \"The header Mcp-Session-Id is missing\"",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "a message without a session id is answered with 400, unless it is initialize"
  },
  {
    id: "SHS-26",
    file: "packages/transport/src/internal/http/server/streamable/StatefulHandler.ts",
    original: "HttpResponses.error(404, \"There is no session",
    broken: "HttpResponses.error(410, \"There is no session",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "an unknown session, and one that has ended, is answered with 404"
  },
  {
    id: "SHS-27",
    file: "packages/transport/src/internal/http/client/streamable/SessionRenewal.ts",
    original: "(status === 404 ||",
    broken: "(status === 410 ||",
    test: "packages/transport/test/http/client/streamable/sessionRenewal.test.ts",
    name: "a request that is rejected with 404 is sent again in a new session"
  },
  {
    id: "SHS-28",
    file: "packages/transport/src/internal/http/client/streamable/StreamableHttpClientConnection.ts",
    original: "  yield* Scope.addFinalizer(scope, sessions.end)\n",
    broken: "",
    test: "packages/transport/test/http/client/streamable/closing.test.ts",
    name: "closing sends a DELETE for the session, after all other requests have ended"
  },
  {
    id: "SHS-29",
    file: "packages/transport/src/internal/http/server/streamable/StatelessHandler.ts",
    original: "const undeclared: Revision.LegacyRevision = \"2025-03-26\"",
    broken: "const undeclared: Revision.LegacyRevision = \"2025-11-25\"",
    test: "packages/transport/test/http/server/streamable/sessionless.test.ts",
    name: "serves a request without a revision with 2025-03-26"
  },
  {
    id: "SHS-30",
    file: "packages/transport/src/internal/http/client/streamable/StreamableHttpClientConnection.ts",
    original: "      state.revision = profile.revision\n",
    broken: "      state.revision = \"2025-11-25\"\n",
    test: "packages/transport/test/http/client/streamable/messages.test.ts",
    name: "the header has the negotiated revision, not the one that the client requested"
  },
  {
    id: "SHS-03",
    file: "packages/transport/src/internal/http/server/SseStream.ts",
    original: "this.write(\"\")",
    broken: "this.write(\"{}\")",
    test: "packages/transport/test/http/server/streamable/resumption.test.ts",
    name: "begins each stream with a priming event and a retry field from 2025-11-25 on"
  },
  {
    id: "SHS-03",
    file: "packages/transport/src/internal/http/server/SseStream.ts",
    original: "    const text = Sse.event(id, data)\n    if (body.isReplaying) {",
    broken: "    const text = Sse.event(data === \"\" ? undefined : id, data)\n    if (body.isReplaying) {",
    test: "packages/transport/test/http/server/streamable/resumption.test.ts",
    name: "begins each stream with a priming event and a retry field from 2025-11-25 on"
  },
  {
    id: "SHS-08",
    file: "packages/transport/src/internal/http/server/streamable/StreamableHttpServerConnection.ts",
    original: "    const stream = this.#standalone\n    if (replyTo !== undefined",
    broken:
      "    const [exchange] = this.#exchanges ?? []\n    if (replyTo === undefined && exchange !== undefined) return exchange.write(message, false)\n    const stream = this.#standalone\n    if (replyTo !== undefined",
    test: "packages/transport/test/http/server/streamable/responses.test.ts",
    name: "carries all messages of its request, and no others"
  },
  {
    id: "SHS-19",
    file: "packages/transport/src/internal/http/client/streamable/StandaloneStream.ts",
    original: "resumptionHeaders(lastEventId), (response)",
    broken: "undefined, (response)",
    test: "packages/transport/test/http/client/streamable/standaloneStream.test.ts",
    name: "the stream is resumed after its last event, after an end or a break"
  },
  {
    id: "SHS-25",
    file: "packages/transport/src/internal/http/server/streamable/StatefulHandler.ts",
    original: "request.headers[\"mcp-session-id\"] === undefined && InitializeRequest.is(frame)",
    broken: "request.headers[\"mcp-session-id\"] === \"\" && InitializeRequest.is(frame)",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "a message without a session id is answered with 400, unless it is initialize"
  },
  {
    id: "SHS-27",
    file: "packages/transport/src/internal/http/client/streamable/SessionRenewal.ts",
    original: "const outside = { session: undefined, revision: undefined }",
    broken: "const outside = this.#state.membership(this.#state.session)",
    test: "packages/transport/test/http/client/streamable/sessionRenewal.test.ts",
    name: "a request that is rejected with 404 is sent again in a new session"
  },
  {
    id: "SHS-28",
    file: "packages/transport/src/internal/http/server/HttpResponses.ts",
    original: "  error(405, `${message}: there are no sessions",
    broken: "  error(404, `${message}: there are no sessions",
    test: "packages/transport/test/http/server/streamable/sessionless.test.ts",
    name: "answers GET, DELETE and every other method than POST with 405"
  },
  {
    id: "SHS-28",
    file: "packages/transport/src/internal/http/server/streamable/StatefulHandler.ts",
    original: "    connection.endByClient()\n    yield* hosted.close(peerEnded)\n    return HttpResponses.empty(204)",
    broken: "    if (connection === undefined) yield* hosted.close(peerEnded)\n    return HttpResponses.empty(204)",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "[SHS-26] [SHS-28] an unknown session"
  }
]
