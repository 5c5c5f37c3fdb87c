import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "SSE-01",
    at: "HttpSseHandler.make",
    original: "protect([\"POST\", post])",
    broken: "protect([\"PUT\", post])",
    test: "packages/transport/test/http/server/sse/messages.test.ts",
    name: "names the endpoint for POSTs, and responds on its stream"
  },
  {
    id: "SSE-02",
    at: "HttpSseServerConnection.constructor",
    original: "Sse.event(undefined, endpoint, \"endpoint\")",
    broken: "Sse.event(undefined, endpoint, \"address\")",
    test: "packages/transport/test/http/server/sse/messages.test.ts",
    name: "names the endpoint for POSTs, and responds on its stream (2024-11-05)"
  },
  {
    id: "SSE-03",
    at: "HttpSseClientConnection.open",
    original: "messages.post",
    broken: "stream.post",
    test: "packages/transport/test/http/client/sse/endpoint.test.ts",
    name: "that is named as"
  },
  {
    id: "SSE-04",
    at: "HttpSseServerConnection.send",
    original: "Sse.event(undefined, data, \"message\")",
    broken: "Sse.event(undefined, data)",
    test: "packages/transport/test/http/server/sse/messages.test.ts",
    name: "names the endpoint for POSTs, and responds on its stream"
  },
  {
    id: "SSE-05",
    at: "HttpGuard.make",
    original: "if (problem !== undefined) return Effect.succeed(HttpResponses.error(403, problem))",
    broken: "",
    test: "packages/transport/test/http/server/sse/originPolicy.test.ts",
    name: "rejects a request of a page of another origin with 403 at both endpoints"
  },
  {
    id: "SSE-06",
    at: "NodeListener.listening",
    original: "hostname = \"127.0.0.1\"",
    broken: "hostname = \"0.0.0.0\"",
    test: "packages/transport/test/http/server/sse/originPolicy.test.ts",
    name: "on its own port listens on this machine only"
  },
  {
    id: "SSE-07",
    at: "HttpFallbackConnection.mayLackStreamable",
    original: "reason.status >= 400 && reason.status < 500",
    broken: "reason.status === 404",
    test: "packages/transport/test/http/client/fallback/fallback.test.ts",
    name: "falls back after 405, which may mean that POST is not supported"
  },
  {
    id: "SSE-09",
    at: "HttpSseServer.layer",
    original: "stream: streamAt = \"/sse\"",
    broken: "stream: streamAt = \"/mcp\"",
    test: "packages/transport/test/http/server/sse/mounting.test.ts",
    name: "serves sessions of the same host as Streamable HTTP"
  },
  {
    id: "SSE-08",
    at: "HttpErrorResponse.discoveryIn",
    original: "modernCodes.has(code)",
    broken: "modernCodes.has(0)",
    test: "packages/transport/test/http/client/fallback/modern.test.ts",
    name: "does not continue after a body that is"
  },
  {
    id: "SSE-08",
    at: "HttpFallbackConnection.mayLackStreamable",
    original: "reason.status >= 400 && reason.status < 500",
    broken: "reason.status === 400 || reason.status === 404",
    test: "packages/transport/test/http/client/fallback/modern.test.ts",
    name: "continues with HTTP+SSE if initialize is rejected"
  },
  {
    id: "SSE-01",
    at: "HttpSseHandler.make",
    original: "protect([\"GET\", get])",
    broken: "protect([\"PUT\", get])",
    test: "packages/transport/test/http/server/sse/messages.test.ts",
    name: "names the endpoint for POSTs, and responds on its stream"
  },
  {
    id: "SSE-02",
    at: "HttpSseServerConnection.constructor",
    original: "this.#body.put",
    broken: "this.#body.put(Sse.event(undefined, \"{}\", \"message\"))\n    this.#body.put",
    test: "packages/transport/test/internal/http/server/sse/HttpSseServerConnection.test.ts",
    name: "sends the endpoint event first, and ends its stream after the last message"
  },
  {
    id: "SSE-02",
    at: "HttpSseServerConnection.constructor",
    original: "Sse.event(undefined, endpoint, \"endpoint\")",
    broken: "Sse.event(undefined, \"/\", \"endpoint\")",
    test: "packages/transport/test/internal/http/server/sse/HttpSseServerConnection.test.ts",
    name: "sends the endpoint event first, and ends its stream after the last message"
  },
  {
    id: "SSE-04",
    at: "HttpSseServerConnection.send",
    original: "data = encoded.success",
    broken: "data = encoded.success.replace(\"{\", \"(\")",
    test: "packages/transport/test/internal/http/server/sse/HttpSseServerConnection.test.ts",
    name: "sends the endpoint event first, and ends its stream after the last message"
  },
  {
    id: "SSE-06",
    at: "HttpGuard.make",
    original: "authenticator.identify(request)",
    broken: "Effect.succeed(undefined)",
    test: "packages/transport/test/http/server/sse/originPolicy.test.ts",
    name: "rejects a request without a valid token with 401"
  },
  {
    id: "SSE-07",
    at: "HttpFallbackConnection.mayLackStreamable",
    original: "(reason.status >= 400 && reason.status < 500) || reason.status === notImplemented",
    broken: "(reason.status >= 400 && reason.status < 500)",
    test: "packages/transport/test/http/client/fallback/fallback.test.ts",
    name: "falls back after 501, which may mean that POST is not supported"
  }
]
