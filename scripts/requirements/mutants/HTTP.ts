import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "HTTP-01",
    at: "StreamableHttpServer.layer",
    original: "router.add(\"*\", options.path ?? \"/mcp\", handle)",
    broken: "router.add(\"*\", `${options.path ?? \"/mcp\"}/:kind`, handle)",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "[HTTP-01] [HTTP-06] [HTTP-09] serves a session at one path"
  },
  {
    id: "HTTP-02",
    at: "Exchange.#request",
    original: "session = state.session",
    broken: "session = state.session\n      yield* Effect.ignore(state.endpoint.post(json, state.membership(session)))",
    test: "packages/transport/test/http/client/streamable/messages.test.ts",
    name: "each POST carries exactly one message"
  },
  {
    id: "HTTP-03",
    at: "McpEndpoint.endpointAt",
    original: "accept: \"application/json, text/event-stream\"",
    broken: "accept: \"application/json\"",
    test: "packages/transport/test/http/client/streamable/messages.test.ts",
    name: "each POST accepts JSON and SSE streams"
  },
  {
    id: "HTTP-04",
    at: "Exchange.#sendIn",
    original: "state.endpoint.post(json, state.membership(session))",
    broken: "state.endpoint.post(`[${json}]`, state.membership(session))",
    test: "packages/transport/test/http/client/streamable/messages.test.ts",
    name: "each POST carries exactly one message"
  },
  {
    id: "HTTP-06",
    at: "PostResponse.accepted",
    original: "HttpResponses.empty(202)",
    broken: "HttpResponses.empty(200)",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "[HTTP-01] [HTTP-06] [HTTP-09] serves a session at one path"
  },
  {
    id: "HTTP-08",
    at: "PostRules.handshake",
    original: "if (message._tag !== \"Request\") return 400",
    broken: "if (message._tag !== \"Request\") return 200",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "every body that is not a message is answered with 400, and the session continues"
  },
  {
    id: "HTTP-09",
    at: "HttpResponses.eventStream",
    original: "contentType: \"text/event-stream\"",
    broken: "contentType: \"text/plain\"",
    test: "packages/transport/test/http/server/streamable/responses.test.ts",
    name: "is JSON in adaptive mode if the reply is the first message, and otherwise a stream"
  },
  {
    id: "HTTP-10",
    at: "Exchange.#request",
    original: "type !== \"text/event-stream\"",
    broken: "type !== \"text/json\"",
    test: "packages/transport/test/http/client/streamable/responses.test.ts",
    name: "a response is JSON or an SSE stream, whose messages are delivered in order"
  },
  {
    id: "HTTP-10",
    at: "Exchange.#request",
    original: "type === \"application/json\"",
    broken: "type === \"text/json\"",
    test: "packages/transport/test/http/client/streamable/responses.test.ts",
    name: "a response is JSON or an SSE stream, whose messages are delivered in order"
  },
  {
    id: "HTTP-11",
    at: "OriginPolicy.make",
    original: "origin === undefined || isOrigin(origin, host)",
    broken: "origin !== undefined || isHost(host)",
    test: "packages/transport/test/http/server/originPolicy.test.ts",
    name: "requests of all methods are checked"
  },
  {
    id: "HTTP-12",
    at: "HttpGuard.make",
    original: "HttpResponses.error(403, problem)",
    broken: "HttpResponses.error(400, problem)",
    test: "packages/transport/test/http/server/streamable/stateless.test.ts",
    name: "checks requests as with sessions, and forwards the principal"
  },
  {
    id: "HTTP-13",
    at: "NodeListener.listening",
    original: "hostname = \"127.0.0.1\"",
    broken: "hostname = \"0.0.0.0\"",
    test: "packages/transport/test/http/server/originPolicy.test.ts",
    name: "a server on its own port listens on this machine only"
  },
  {
    id: "HTTP-14",
    at: "HttpGuard.route",
    original: "Effect.flatMapEager",
    broken:
      "Effect.flatMapEager(Effect.option(authenticate(request)), () => serve({ request, principal: undefined })) ?? Effect.flatMapEager",
    test: "packages/transport/test/http/server/streamable/principals.test.ts",
    name: "rejects a request without a valid token with 401 and a challenge"
  },
  {
    id: "HTTP-15",
    at: "HttpGuard.declaredVersion",
    original: "if (version === undefined || Revision.isLegacy(version)) return Effect.succeed(version)",
    broken:
      "if (version === undefined || Revision.isLegacy(version) || version !== \"\") return Effect.succeed(undefined)",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "an unsupported version header is answered with 400, and a mismatch is reported"
  },
  {
    id: "HTTP-07",
    at: "PostResponse.accepted",
    original: "HttpResponses.empty(202)",
    broken: "HttpResponses.empty(200)",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "accepts a notification with 202 and no body"
  },
  {
    id: "HTTP-08",
    at: "PostExchange.finish",
    original: "rejected ? tooManyRejected : accepted",
    broken: "accepted",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "a rejected batch with requests is never answered with 202"
  },
  {
    id: "HTTP-05",
    at: "Exchange.#sendIn",
    original: "state.endpoint.post(json, state.membership(session))",
    broken: "state.endpoint.post(`[[${json}]]`, state.membership(session))",
    test: "packages/transport/test/http/client/streamable/messages.test.ts",
    name: "each POST carries exactly one message"
  },
  {
    id: "HTTP-03",
    at: "McpEndpoint.endpointAt",
    original: "accept: \"application/json, text/event-stream\"",
    broken: "accept: \"text/event-stream\"",
    test: "packages/transport/test/http/client/streamable/messages.test.ts",
    name: "each POST accepts JSON and SSE streams"
  },
  {
    id: "HTTP-06",
    at: "PostResponse.accepted",
    original: "HttpResponses.empty(202)",
    broken: "HttpResponses.text(202, \"accepted\")",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "[HTTP-01] [HTTP-06] [HTTP-09] serves a session at one path"
  },
  {
    id: "HTTP-09",
    at: "HttpResponses.json",
    original: "contentType: \"application/json\"",
    broken: "contentType: \"text/plain\"",
    test: "packages/transport/test/http/server/streamable/responses.test.ts",
    name: "is JSON in adaptive mode if the reply is the first message, and otherwise a stream"
  },
  {
    id: "HTTP-15",
    at: "HttpGuard.declaredVersion",
    original: "400",
    broken: "200",
    test: "packages/transport/test/http/server/streamable/statuses.test.ts",
    name: "an unsupported version header is answered with 400, and a mismatch is reported"
  },
  {
    id: "HTTP-16",
    at: "SecretHeaders.make",
    original: "Option.getOrUndefined(provided)",
    broken: "undefined",
    test: "packages/auth/test/authorizedSession.test.ts",
    name: "[HTTP-16] [AUT-33] is authorized as the specification describes"
  },
  {
    id: "HTTP-16",
    at: "RequestIdentity.identify",
    original: "return Effect.fail(unauthenticated(resource, \"Bearer\"))",
    broken: "return Effect.succeed(\"anonymous\")",
    test: "packages/auth/test/authorizedSession.test.ts",
    name: "[HTTP-16] [AUT-33] is authorized as the specification describes"
  },
  {
    id: "HTTP-16",
    at: "StdioClient.make",
    original: "const spawner = yield* ChildProcessSpawner",
    broken:
      "const spawner = yield* ChildProcessSpawner\n  const { ClientAuthorization } = yield* Effect.promise(() => import(\"../ClientAuthorization.ts\"))\n  const authorization = yield* Effect.serviceOption(ClientAuthorization)\n  if (authorization._tag === \"Some\") yield* authorization.value.of(new URL(\"stdio:server\"))",
    test: "packages/transport/test/stdio/StdioClient.test.ts",
    name: "[HTTP-16] that is provided to the client has no part in its connection"
  }
]
