import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "SSE-01",
    file: "packages/transport/src/internal/http/server/sse/HttpSseHandler.ts",
    original: "messages: protect([\"POST\", post])",
    broken: "messages: protect([\"PUT\", post])",
    test: "packages/transport/test/http/server/sse/messages.test.ts",
    name: "names the endpoint for POSTs, and responds on its stream"
  },
  {
    id: "SSE-02",
    file: "packages/transport/src/internal/http/server/sse/HttpSseServerConnection.ts",
    original: "Sse.event(undefined, endpoint, \"endpoint\")",
    broken: "Sse.event(undefined, endpoint, \"address\")",
    test: "packages/transport/test/http/server/sse/messages.test.ts",
    name: "names the endpoint for POSTs, and responds on its stream (2024-11-05)"
  },
  {
    id: "SSE-03",
    file: "packages/transport/src/internal/http/client/sse/HttpSseClientConnection.ts",
    original: "messages.post(json",
    broken: "stream.post(json",
    test: "packages/transport/test/http/client/sse/endpoint.test.ts",
    name: "that is named as"
  },
  {
    id: "SSE-04",
    file: "packages/transport/src/internal/http/server/sse/HttpSseServerConnection.ts",
    original: "Sse.event(undefined, data, \"message\")",
    broken: "Sse.event(undefined, data)",
    test: "packages/transport/test/http/server/sse/messages.test.ts",
    name: "names the endpoint for POSTs, and responds on its stream"
  },
  {
    id: "SSE-05",
    file: "packages/transport/src/internal/http/server/HttpGuard.ts",
    original: "    if (problem !== undefined) return Effect.succeed(HttpResponses.error(403, problem))\n",
    broken: "",
    test: "packages/transport/test/http/server/sse/originPolicy.test.ts",
    name: "rejects a request of a page of another origin with 403 at both endpoints"
  },
  {
    id: "SSE-06",
    file: "packages/transport/src/internal/http/server/NodeListener.ts",
    original: "hostname = \"127.0.0.1\"",
    broken: "hostname = \"0.0.0.0\"",
    test: "packages/transport/test/http/server/sse/originPolicy.test.ts",
    name: "on its own port listens on this machine only"
  },
  {
    id: "SSE-07",
    file: "packages/transport/src/internal/http/client/fallback/HttpFallbackConnection.ts",
    original: "reason.status >= 400 && reason.status < 500",
    broken: "reason.status === 404",
    test: "packages/transport/test/http/client/fallback/fallback.test.ts",
    name: "falls back after 405, which may mean that POST is not supported"
  },
  {
    id: "SSE-09",
    file: "packages/transport/src/HttpSseServer.ts",
    original: "stream: streamAt = \"/sse\"",
    broken: "stream: streamAt = \"/mcp\"",
    test: "packages/transport/test/http/server/sse/mounting.test.ts",
    name: "serves sessions of the same host as Streamable HTTP"
  },
  {
    id: "SSE-08",
    file: "packages/transport/src/internal/http/client/HttpErrorResponse.ts",
    original: "modernCodes.has(code) ? failureFor(id, rejection) : undefined",
    broken: "modernCodes.has(0) ? failureFor(id, rejection) : undefined",
    test: "packages/transport/test/http/client/fallback/modern.test.ts",
    name: "does not continue after a body that is"
  },
  {
    id: "SSE-08",
    file: "packages/transport/src/internal/http/client/fallback/HttpFallbackConnection.ts",
    original: "reason.status >= 400 && reason.status < 500",
    broken: "reason.status === 400 || reason.status === 404",
    test: "packages/transport/test/http/client/fallback/modern.test.ts",
    name: "continues with HTTP+SSE if initialize is rejected"
  },
  {
    id: "SSE-01",
    file: "packages/transport/src/internal/http/server/sse/HttpSseHandler.ts",
    original: "stream: protect([\"GET\", get])",
    broken: "stream: protect([\"PUT\", get])",
    test: "packages/transport/test/http/server/sse/messages.test.ts",
    name: "names the endpoint for POSTs, and responds on its stream"
  },
  {
    id: "SSE-02",
    file: "packages/transport/src/internal/http/server/sse/HttpSseServerConnection.ts",
    original: "this.#body.put(Sse.event(undefined, endpoint, \"endpoint\"))",
    broken:
      "this.#body.put(Sse.event(undefined, \"{}\", \"message\"))\n    this.#body.put(Sse.event(undefined, endpoint, \"endpoint\"))",
    test: "packages/transport/test/internal/http/server/sse/HttpSseServerConnection.test.ts",
    name: "sends the endpoint event first, and ends its stream after the last message"
  },
  {
    id: "SSE-02",
    file: "packages/transport/src/internal/http/server/sse/HttpSseServerConnection.ts",
    original: "Sse.event(undefined, endpoint, \"endpoint\")",
    broken: "Sse.event(undefined, \"/\", \"endpoint\")",
    test: "packages/transport/test/internal/http/server/sse/HttpSseServerConnection.test.ts",
    name: "sends the endpoint event first, and ends its stream after the last message"
  },
  {
    id: "SSE-04",
    file: "packages/transport/src/internal/http/server/sse/HttpSseServerConnection.ts",
    original: "const data = encoded.success\n",
    broken: "const data = encoded.success.replace(\"{\", \"(\")\n",
    test: "packages/transport/test/internal/http/server/sse/HttpSseServerConnection.test.ts",
    name: "sends the endpoint event first, and ends its stream after the last message"
  },
  {
    id: "SSE-06",
    file: "packages/transport/src/internal/http/server/HttpGuard.ts",
    original: "Effect.flatMapEager(authenticate(request), (principal)",
    broken: "Effect.flatMapEager(Effect.succeed(undefined), (principal)",
    test: "packages/transport/test/http/server/sse/originPolicy.test.ts",
    name: "rejects a request without a valid token with 401"
  },
  {
    id: "SSE-07",
    file: "packages/transport/src/internal/http/client/fallback/HttpFallbackConnection.ts",
    original: " || reason.status === notImplemented)",
    broken: ")",
    test: "packages/transport/test/http/client/fallback/fallback.test.ts",
    name: "falls back after 501, which may mean that POST is not supported"
  }
]
