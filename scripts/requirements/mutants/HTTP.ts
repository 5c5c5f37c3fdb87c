import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "HTTP-01",
    file: "packages/transport/src/StreamableHttpServer.ts",
    original: "Effect.flatMap(make(options), (handle) => router.add(\"*\", path, handle))",
    broken: "Effect.flatMap(make(options), (handle) => router.add(\"*\", `${path}/:kind`, handle))",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "[HTTP-01] [HTTP-06] [HTTP-09] serves a session at one path"
  },
  {
    id: "HTTP-02",
    file: "packages/transport/src/internal/http/client/streamable/Exchange.ts",
    original: "      const response = yield* state.endpoint.post(json, state.membership(session))\n",
    broken:
      "      yield* Effect.ignore(state.endpoint.post(json, state.membership(session)))\n      const response = yield* state.endpoint.post(json, state.membership(session))\n",
    test: "packages/transport/test/http/client/streamable/messages.test.ts",
    name: "each POST carries exactly one message"
  },
  {
    id: "HTTP-03",
    file: "packages/transport/src/internal/http/client/McpEndpoint.ts",
    original: "{ accept: \"application/json, text/event-stream\", ...own }",
    broken: "{ accept: \"application/json\", ...own }",
    test: "packages/transport/test/http/client/streamable/messages.test.ts",
    name: "each POST accepts JSON and SSE streams"
  },
  {
    id: "HTTP-04",
    file: "packages/transport/src/internal/http/client/streamable/Exchange.ts",
    original: "      const response = yield* state.endpoint.post(json, state.membership(session))\n",
    broken: "      const response = yield* state.endpoint.post(`[${json}]`, state.membership(session))\n",
    test: "packages/transport/test/http/client/streamable/messages.test.ts",
    name: "each POST carries exactly one message"
  },
  {
    id: "HTTP-06",
    file: "packages/transport/src/internal/http/server/streamable/PostResponse.ts",
    original: "HttpResponses.empty(202)",
    broken: "HttpResponses.empty(200)",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "[HTTP-01] [HTTP-06] [HTTP-09] serves a session at one path"
  },
  {
    id: "HTTP-08",
    file: "packages/transport/src/internal/http/server/streamable/PostExchange.ts",
    original: "if (classified._tag !== \"Request\") return 400",
    broken: "if (classified._tag !== \"Request\") return 200",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "every body that is not a message is answered with 400, and the session continues"
  },
  {
    id: "HTTP-09",
    file: "packages/transport/src/internal/http/server/HttpResponses.ts",
    original: "contentType: \"text/event-stream\"",
    broken: "contentType: \"text/plain\"",
    test: "packages/transport/test/http/server/streamable/responses.test.ts",
    name: "is JSON in adaptive mode if the reply is the first message, and otherwise a stream"
  },
  {
    id: "HTTP-10",
    file: "packages/transport/src/internal/http/client/streamable/Exchange.ts",
    original: "      if (type !== \"text/event-stream\") return yield* unexpectedResponse(response)\n",
    broken: "      if (type !== \"text/json\") return yield* unexpectedResponse(response)\n",
    test: "packages/transport/test/http/client/streamable/responses.test.ts",
    name: "a response is JSON or an SSE stream, whose messages are delivered in order"
  },
  {
    id: "HTTP-10",
    file: "packages/transport/src/internal/http/client/streamable/Exchange.ts",
    original: "      if (type === \"application/json\") {\n",
    broken: "      if (type === \"text/json\") {\n",
    test: "packages/transport/test/http/client/streamable/responses.test.ts",
    name: "a response is JSON or an SSE stream, whose messages are delivered in order"
  },
  {
    id: "HTTP-11",
    file: "packages/transport/src/internal/http/server/OriginPolicy.ts",
    original: "return origin === undefined || isOrigin(origin, host)",
    broken: "return origin !== undefined || isHost(host)",
    test: "packages/transport/test/http/server/originPolicy.test.ts",
    name: "requests of all methods are checked"
  },
  {
    id: "HTTP-12",
    file: "packages/transport/src/internal/http/server/HttpGuard.ts",
    original: "HttpResponses.error(403, problem)",
    broken: "HttpResponses.error(400, problem)",
    test: "packages/transport/test/http/server/streamable/sessionless.test.ts",
    name: "checks requests as with sessions, and forwards the principal"
  },
  {
    id: "HTTP-13",
    file: "packages/transport/src/internal/http/server/NodeListener.ts",
    original: "hostname = \"127.0.0.1\"",
    broken: "hostname = \"0.0.0.0\"",
    test: "packages/transport/test/http/server/originPolicy.test.ts",
    name: "a server on its own port listens on this machine only"
  },
  {
    id: "HTTP-14",
    file: "packages/transport/src/internal/http/server/HttpGuard.ts",
    original: "Effect.flatMapEager(authenticate(request), (principal)",
    broken:
      "Effect.flatMapEager(Effect.option(authenticate(request)), () => serve({ request, principal: undefined })) ?? Effect.flatMapEager(authenticate(request), (principal)",
    test: "packages/transport/test/http/server/streamable/principals.test.ts",
    name: "rejects a request without a valid token with 401 and a challenge"
  },
  {
    id: "HTTP-15",
    file: "packages/transport/src/internal/http/server/HttpGuard.ts",
    original: "if (version === undefined || Revision.isLegacy(version)) return Effect.succeed(version)",
    broken:
      "if (version === undefined || Revision.isLegacy(version) || version !== \"\") return Effect.succeed(undefined)",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "an unsupported version header is answered with 400, and a mismatch is reported"
  },
  {
    id: "HTTP-07",
    file: "packages/transport/src/internal/http/server/streamable/PostResponse.ts",
    original: "HttpResponses.empty(202)",
    broken: "HttpResponses.empty(200)",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "accepts a notification with 202 and no body"
  },
  {
    id: "HTTP-08",
    file: "packages/transport/src/internal/http/server/streamable/PostExchange.ts",
    original: "rejected ? tooManyRejected : accepted",
    broken: "accepted",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "a rejected batch with requests is never answered with 202"
  },
  {
    id: "HTTP-05",
    file: "packages/transport/src/internal/http/client/streamable/Exchange.ts",
    original: "      const response = yield* state.endpoint.post(json, state.membership(session))\n",
    broken: "      const response = yield* state.endpoint.post(`[[${json}]]`, state.membership(session))\n",
    test: "packages/transport/test/http/client/streamable/messages.test.ts",
    name: "each POST carries exactly one message"
  },
  {
    id: "HTTP-03",
    file: "packages/transport/src/internal/http/client/McpEndpoint.ts",
    original: "{ accept: \"application/json, text/event-stream\", ...own }",
    broken: "{ accept: \"text/event-stream\", ...own }",
    test: "packages/transport/test/http/client/streamable/messages.test.ts",
    name: "each POST accepts JSON and SSE streams"
  },
  {
    id: "HTTP-06",
    file: "packages/transport/src/internal/http/server/streamable/PostResponse.ts",
    original: "HttpResponses.empty(202)",
    broken: "HttpResponses.text(202, \"accepted\")",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "[HTTP-01] [HTTP-06] [HTTP-09] serves a session at one path"
  },
  {
    id: "HTTP-09",
    file: "packages/transport/src/internal/http/server/HttpResponses.ts",
    original: "contentType: \"application/json\"",
    broken: "contentType: \"text/plain\"",
    test: "packages/transport/test/http/server/streamable/responses.test.ts",
    name: "is JSON in adaptive mode if the reply is the first message, and otherwise a stream"
  },
  {
    id: "HTTP-15",
    file: "packages/transport/src/internal/http/server/HttpGuard.ts",
    original: "        400,\n        `MCP-Protocol-Version ",
    broken: "        200,\n        `MCP-Protocol-Version ",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "an unsupported version header is answered with 400, and a mismatch is reported"
  }
]
