import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "SHS-01",
    at: "Batch.end",
    original: "--this.#unended === 0 ? this.#replies : undefined",
    broken: "--this.#unended === 0 ? this.#replies.slice(1) : undefined",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "a batch of revision 2025-03-26 is answered with one batch"
  },
  {
    id: "SHS-02",
    at: "StreamableHttpServerConnection.sendsPrimingEvents",
    original: "Revision.isAtLeast(this.#revision, \"2025-11-25\")",
    broken: "Revision.isAtLeast(this.#revision, \"2025-03-26\")",
    test: "packages/transport/test/http/server/streamable/resumption.test.ts",
    name: "releases no stream of a client with an earlier revision"
  },
  {
    id: "SHS-03",
    at: "PostExchange.#openStream",
    original: "if (this.#owner.sendsPrimingEvents) stream.sendPrimingEvent()",
    broken: "",
    test: "packages/transport/test/http/server/streamable/resumption.test.ts",
    name: "begins each stream with a priming event and a retry field from 2025-11-25 on"
  },
  {
    id: "SHS-04",
    at: "PostExchange.detachStream",
    original: "this.#stream === undefined ? Effect.succeed(false) : this.#stream.detach()",
    broken: "Effect.succeed(false)",
    test: "packages/transport/test/http/server/streamable/resumption.test.ts",
    name: "continues a stream that its handler has released"
  },
  {
    id: "SHS-05",
    at: "SseStream.sendPrimingEvent",
    original: "this.#body?.put(Sse.retry(retryMillis))",
    broken: "",
    test: "packages/transport/test/http/server/streamable/resumption.test.ts",
    name: "begins each stream with a priming event and a retry field from 2025-11-25 on"
  },
  {
    id: "SHS-06",
    at: "ReconnectDelay.make",
    original: "retryMillis === undefined ? undefined : bounded(retryMillis, withoutMessage)",
    broken: "retryMillis !== undefined ? undefined : bounded(retryMillis, withoutMessage)",
    test: "packages/transport/test/internal/http/client/streamable/ReconnectDelay.test.ts",
    name: "is at least the server's delay"
  },
  {
    id: "SHS-07",
    at: "Exchange.#request",
    original: "yield* resume(state, this.#renew, stream)",
    broken: "unexpectedResponse(response)",
    test: "packages/transport/test/http/client/streamable/resumption.test.ts",
    name: "a stream that ends before the response is resumed after its last event"
  },
  {
    id: "SHS-08",
    at: "StreamableHttpServerConnection.send",
    original: "replyTo instanceof PostExchange",
    broken: "replyTo instanceof PostExchange && last",
    test: "packages/transport/test/http/server/streamable/responses.test.ts",
    name: "carries all messages of its request, and no others"
  },
  {
    id: "SHS-09",
    at: "PostExchange.finish",
    original: "this.#stream?.end()",
    broken: "",
    test: "packages/transport/test/http/server/streamable/stateless.test.ts",
    name: "responds in the form of its responseMode",
    hangs: true
  },
  {
    id: "SHS-10",
    at: "PostExchange.#markDetached",
    original: "this.#timeout = watchdog.schedule(detachedMillis, () => this.#owner.abandon(this))",
    broken: "this.#owner.abandon(this)",
    test: "packages/transport/test/http/server/streamable/stateless.test.ts",
    name: "interrupts a request after a lost connection only after detachedRequestTimeout",
    hangs: true
  },
  {
    id: "SHS-11",
    at: "RequestSender.#abandon",
    original: "!isWithdrawn",
    broken: "exchange.stream === undefined && !isWithdrawn",
    test: "packages/transport/test/http/client/streamable/session.test.ts",
    name: "an interrupted call sends a cancellation, and its request is closed",
    hangs: true
  },
  {
    id: "SHS-12",
    at: "McpEndpoint.endpointAt",
    original: "accept: \"text/event-stream\"",
    broken: "accept: \"application/json\"",
    test: "packages/transport/test/http/client/streamable/standaloneStream.test.ts",
    name: "the stream is opened after the handshake, and its messages are delivered"
  },
  {
    id: "SHS-13",
    at: "HttpResponses.withoutSessions",
    original: "error(405, `${message}: there are no sessions; connect with a client of Streamable HTTP`, { headers })",
    broken: "error(404, `${message}: there are no sessions; connect with a client of Streamable HTTP`, { headers })",
    test: "packages/transport/test/http/server/streamable/stateless.test.ts",
    name: "answers GET, DELETE and every other method than POST with 405"
  },
  {
    id: "SHS-13",
    at: "StatefulHandler.make",
    original: "[getting, posting, deleting]",
    broken: "[posting, deleting]",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "a second GET is answered with 409, and the first stream continues"
  },
  {
    id: "SHS-14",
    at: "StreamableHttpServerConnection.send",
    original: "if (replyTo instanceof PostExchange) return replyTo.write(message, last)",
    broken:
      "if (replyTo instanceof PostExchange && (last || this.#standalone === undefined)) return replyTo.write(message, last)\n    replyTo = undefined",
    test: "packages/transport/test/http/server/streamable/responses.test.ts",
    name: "carries all messages of its request, and no others",
    hangs: true
  },
  {
    id: "SHS-15",
    at: "StreamableHttpServerConnection.send",
    original: "if (replyTo instanceof PostExchange) return replyTo.write(message, last)",
    broken:
      "if (replyTo instanceof PostExchange && (!last || this.#standalone === undefined)) return replyTo.write(message, last)\n    if (last && replyTo instanceof PostExchange) replyTo.settle()\n    replyTo = undefined",
    test: "packages/transport/test/http/server/streamable/responses.test.ts",
    name: "never carries messages outside of requests, which need the standalone stream"
  },
  {
    id: "SHS-16",
    at: "StreamableHttpServerConnection.send",
    original: "return replyTo.write(message, last)",
    broken:
      "{\n      if (!last) void this.#standalone?.write(JSON.stringify(message))\n      return replyTo.write(message, last)\n    }",
    test: "packages/transport/test/http/server/streamable/responses.test.ts",
    name: "carries all messages of its request, and no others"
  },
  {
    id: "SHS-17",
    at: "EventLog.append",
    original: "stream.prefix + event.number",
    broken: "`${this.#name}.${stream.events}`",
    test: "packages/testing/test/memoryStores.test.ts",
    name: "the ids of all events of a session are distinct"
  },
  {
    id: "SHS-18",
    at: "EventLog.replay",
    original: "stream: stream.name",
    broken: "stream: \"\"",
    test: "packages/testing/test/memoryStores.test.ts",
    name: "an id is printable ASCII without a space, and identifies its stream"
  },
  {
    id: "SHS-19",
    at: "ResumableStream.resumptionHeaders",
    original: "lastEventId === undefined ? undefined : { \"last-event-id\": lastEventId }",
    broken: "undefined",
    test: "packages/transport/test/http/client/streamable/resumption.test.ts",
    name: "a stream whose connection breaks is resumed, also before any message"
  },
  {
    id: "SHS-20",
    at: "EventLog.replay",
    original: "let event = stream.oldest",
    broken: "let event = Array.from(stream.session.streams.values())[0]?.oldest",
    test: "packages/testing/test/memoryStores.test.ts",
    name: "streams that are appended to alternately are replayed separately"
  },
  {
    id: "SHS-21",
    at: "SessionId.make",
    original: "(): string => webCrypto.randomUUID()",
    broken: "(): string => String(performance.now() * 1e15).padStart(32, \"0\")",
    test: "packages/session/test/SessionHost.test.ts",
    name: "assigns random ids in visible ASCII to sessions"
  },
  {
    id: "SHS-22",
    at: "PostRoute.make",
    original: "SessionId.make()",
    broken: "`${SessionId.make()} 1`",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "session ids are visible ASCII and unique"
  },
  {
    id: "SHS-23",
    at: "HttpCall.make",
    original: "[...redacted, \"mcp-session-id\"]",
    broken: "redacted",
    test: "packages/transport/test/http/client/streamable/messages.test.ts",
    name: "spans show no session id, also if the program traces all headers"
  },
  {
    id: "SHS-24",
    at: "McpEndpoint.memberHeaders",
    original: "session === undefined ? {} : { \"mcp-session-id\": session }",
    broken: "{}",
    test: "packages/transport/test/http/client/streamable/messages.test.ts",
    name: "every request after the handshake has the session id and the revision"
  },
  {
    id: "SHS-25",
    at: "SessionLookup.noSessionId",
    original: "400",
    broken: "404",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "a message without a session id is answered with 400, unless it is initialize"
  },
  {
    id: "SHS-26",
    at: "SessionLookup.unknownSession",
    original: "404",
    broken: "410",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "an unknown session, and one that has ended, is answered with 404"
  },
  {
    id: "SHS-27",
    at: "SessionRenewal.indicatesLoss",
    original: "status === 404",
    broken: "status === 410",
    test: "packages/transport/test/http/client/streamable/sessionRenewal.test.ts",
    name: "a request that is rejected with 404 is sent again in a new session"
  },
  {
    id: "SHS-28",
    at: "StreamableHttpClientConnection.open",
    original: "yield* Scope.addFinalizer(scope, sessions.end)",
    broken: "",
    test: "packages/transport/test/http/client/streamable/closing.test.ts",
    name: "closing sends a DELETE for the session, after all other requests have ended"
  },
  {
    id: "SHS-29",
    at: "StatelessHandler.undeclared",
    original: "undeclared: Revision.LegacyRevision = \"2025-03-26\"",
    broken: "undeclared: Revision.LegacyRevision = \"2025-11-25\"",
    test: "packages/transport/test/http/server/streamable/stateless.test.ts",
    name: "serves a request without a revision with 2025-03-26"
  },
  {
    id: "SHS-30",
    at: "StreamableHttpClientConnection.open",
    original: "state.revision = profile.revision",
    broken: "state.revision = \"2025-11-25\"",
    test: "packages/transport/test/http/client/streamable/messages.test.ts",
    name: "the header has the negotiated revision, not the one that the client requested"
  },
  {
    id: "SHS-03",
    at: "SseStream.sendPrimingEvent",
    original: "this.write(\"\")",
    broken: "this.write(\"{}\")",
    test: "packages/transport/test/http/server/streamable/resumption.test.ts",
    name: "begins each stream with a priming event and a retry field from 2025-11-25 on"
  },
  {
    id: "SHS-03",
    at: "SseStream.#send",
    original: "Sse.event(id, data)",
    broken: "Sse.event(data === \"\" ? undefined : id, data)",
    test: "packages/transport/test/http/server/streamable/resumption.test.ts",
    name: "begins each stream with a priming event and a retry field from 2025-11-25 on"
  },
  {
    id: "SHS-08",
    at: "StreamableHttpServerConnection.send",
    original: "stream = this.#standalone",
    broken:
      "[exchange] = this.#exchanges ?? []\n    if (replyTo === undefined && exchange !== undefined) return exchange.write(message, false)\n    const stream = this.#standalone",
    test: "packages/transport/test/http/server/streamable/responses.test.ts",
    name: "carries all messages of its request, and no others"
  },
  {
    id: "SHS-19",
    at: "StandaloneStream.#keepOpen",
    original: "resumptionHeaders(lastEventId)",
    broken: "undefined",
    test: "packages/transport/test/http/client/streamable/standaloneStream.test.ts",
    name: "the stream is resumed after its last event, after an end or a break"
  },
  {
    id: "SHS-25",
    at: "PostRoute.make",
    original: "request.headers[\"mcp-session-id\"] === undefined",
    broken: "request.headers[\"mcp-session-id\"] === \"\"",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "a message without a session id is answered with 400, unless it is initialize"
  },
  {
    id: "SHS-27",
    at: "SessionRenewal.#handshake",
    original: "outside = { session: undefined, revision: undefined }",
    broken: "outside = this.#state.membership(this.#state.session)",
    test: "packages/transport/test/http/client/streamable/sessionRenewal.test.ts",
    name: "a request that is rejected with 404 is sent again in a new session"
  },
  {
    id: "SHS-28",
    at: "HttpResponses.withoutSessions",
    original: "error(405, `${message}: there are no sessions; connect with a client of Streamable HTTP`, { headers })",
    broken: "error(404, `${message}: there are no sessions; connect with a client of Streamable HTTP`, { headers })",
    test: "packages/transport/test/http/server/streamable/stateless.test.ts",
    name: "answers GET, DELETE and every other method than POST with 405"
  },
  {
    id: "SHS-28",
    at: "StatefulHandler.make",
    original: "connection.endByClient()",
    broken: "if (connection === undefined)",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "[SHS-26] [SHS-28] an unknown session"
  }
]
