import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "SHE-02",
    at: "StatelessPosts.#post",
    original: "new PostedFrame(exchange,",
    broken: "new PostedFrame([...this.#fibers.keys(), exchange][0],",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "in the stream of their request only"
  },
  {
    id: "SHE-03",
    at: "StatelessPosts.#post",
    original: "sendReply(exchange, reply)",
    broken:
      "Effect.andThen(reply !== undefined && \"result\" in reply ? exchange.write({ jsonrpc: \"2.0\", id: \"q\", method: \"roots/list\" }, false) : Effect.void, sendReply(exchange, reply))",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "asks in the result at the end of the stream"
  },
  {
    id: "SHE-04",
    at: "PostExchange.finish",
    original: "this.#stream?.end()",
    broken: "",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "sends progress in a stream that ends with the reply (adaptive)",
    hangs: true
  },
  {
    id: "SHE-05",
    at: "HttpResponses.streamHeaders",
    original: "\"x-accel-buffering\": \"no\"",
    broken: "",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "sends progress in a stream that ends with the reply (adaptive)"
  },
  {
    id: "SHE-07",
    at: "PostExchange.#markDetached",
    original: "if (this.#rules.isCancelledByLoss) return this.#owner.abandon(this)",
    broken: "",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "a client that closes the response cancels its request",
    hangs: true
  },
  {
    id: "SHE-08",
    at: "Cancellation.endWithoutReply",
    original: "IncomingRequests.interrupt(request)",
    broken: "",
    test: "packages/session/test/replay/questions.test.ts",
    name: "is interrupted if its client leaves",
    hangs: true
  },
  {
    id: "SHE-09",
    at: "HandlerContext.progress",
    original: "if (incoming.ended) return dropped(\"ExchangeEnded\")",
    broken: "",
    test: "packages/session/test/replay/questions.test.ts",
    name: "is interrupted if its client leaves, and sends nothing more (resources/list)"
  },
  {
    id: "SHE-12",
    at: "RequestHeaders.difference",
    original: "mismatch(names.version, received[names.version], version, \"the version in the metadata\") ??",
    broken: "",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects headers that differ from the body"
  },
  {
    id: "SHE-13",
    at: "PostRules.rejected",
    original: "400",
    broken: "404",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects metadata, revisions and methods with"
  },
  {
    id: "SHE-14",
    at: "PostRules.statuses",
    original: "[ErrorCode.MethodNotFound, 404]",
    broken: "[ErrorCode.MethodNotFound, 200]",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects metadata, revisions and methods with"
  },
  {
    id: "SHE-15",
    at: "InboundEra.headerError",
    original: "problem === undefined",
    broken: "problem === undefined || headers[RequestHeaders.names.version] === undefined",
    test: "packages/transport/test/http/server/streamable/twoEras.test.ts",
    name: "of the new era only rejects requests without a version"
  },
  {
    id: "SHE-17",
    at: "RequestHeaders.mismatch",
    original: "`the header ${name} is missing`",
    broken: "undefined",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects headers that differ from the body"
  },
  {
    id: "SHE-18",
    at: "RequestHeaders.mismatch",
    original: "header === value",
    broken: "header.toLowerCase() === value.toLowerCase()",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects headers that differ from the body"
  },
  {
    id: "SHE-20",
    at: "RequestHeaders.difference",
    original: "HeaderValue.decode(header)",
    broken: "Option.some(header)",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects headers that differ from the body"
  },
  {
    id: "SHE-21",
    at: "ParameterHeader.#annotation",
    original: "typeof value !== \"string\" || !token.test(value)",
    broken: "typeof value !== \"string\"",
    test: "packages/server/test/parameterHeaders.test.ts",
    name: "the name of a header is a token"
  },
  {
    id: "SHE-22",
    at: "ParameterHeader.#annotation",
    original: "this.found.has(name)",
    broken: "path.length > 9",
    test: "packages/server/test/parameterHeaders.test.ts",
    name: "no two arguments have one header"
  },
  {
    id: "SHE-23",
    at: "ParameterHeader.primitive",
    original: "type === \"boolean\" || type === \"integer\" || type === \"string\" ? type",
    broken: "typeof type === \"string\" ? type as \"string\"",
    test: "packages/server/test/parameterHeaders.test.ts",
    name: "that `properties` alone lead to have a header"
  },
  {
    id: "SHE-23",
    at: "ParameterHeader.#annotation",
    original: "path === undefined || path.length === 0",
    broken: "path === null",
    test: "packages/server/test/parameterHeaders.test.ts",
    name: "that `properties` alone lead to have a header"
  },
  {
    id: "SHE-28",
    at: "ArgumentHeaders.checked",
    original: "problem === undefined",
    broken: "problem !== null",
    test: "packages/server/test/parameterHeaders.test.ts",
    name: "of a group rejects a call whose header is missing"
  },
  {
    id: "SHE-28",
    at: "RemoteEntries.#tool",
    original: "headers.success",
    broken: "[]",
    test: "packages/gateway/test/proxyDefinitions.test.ts",
    name: "rejects a call whose header is missing"
  },
  {
    id: "SHE-28",
    at: "StatelessPosts.parameterHeaders",
    original: "this.era._tag === \"Modern\" ? ParameterHeader.from(this.#request.headers) : undefined",
    broken: "undefined",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "passes the headers of arguments to handlers"
  },
  {
    id: "SHE-28",
    at: "PostRules.statuses",
    original: "[ErrorCode.HeaderMismatch, 400]",
    broken: "[ErrorCode.HeaderMismatch, 200]",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "passes the headers of arguments to handlers"
  },
  {
    id: "SHE-29",
    at: "ParameterHeader.isEqual",
    original: "type === \"integer\"",
    broken: "type === null",
    test: "packages/protocol/test/internal/headers/ParameterHeader.test.ts",
    name: "integers are equal by value"
  },
  {
    id: "SHE-31",
    at: "StatefulHandler.make",
    original: "hasSessions ? [getting, posting, deleting] : [posting]",
    broken: "[getting, posting, deleting]",
    test: "packages/transport/test/http/server/streamable/twoEras.test.ts",
    name: "of the new era only rejects requests without a version"
  },
  {
    id: "SHE-30",
    at: "HeaderMismatchRetry.layer",
    original: "Option.isNone(Option.flatten(listed)) || time.left() === 0",
    broken: "true",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "lists the tools again and calls once more"
  },
  {
    id: "SHE-30",
    at: "HeaderMismatchRetry.layer",
    original: "return Effect.catchIf(called, isMismatch",
    broken: "return Effect.catchIf(Effect.retry(called, { times: 1 }), isMismatch",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "fails with the error of the server after the second attempt"
  },
  {
    id: "SHE-13",
    at: "InboundEra.headerError",
    original: "declared === undefined || served.includes(declared)",
    broken: "declared !== undefined || served.length > 0",
    test: "packages/transport/test/http/server/streamable/twoEras.test.ts",
    name: "of the new era only rejects requests without metadata"
  },
  {
    id: "SHE-32",
    at: "InboundEra.ofPost",
    original: "!isModern",
    broken: "!isModern || headers[\"mcp-session-id\"] !== undefined",
    test: "packages/transport/test/http/server/streamable/twoEras.test.ts",
    name: "without the session or event that they name"
  },
  {
    id: "SHE-32",
    at: "InboundEra.ofPost",
    original: "!isModern",
    broken: "!isModern || headers[\"last-event-id\"] !== undefined",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "serves requests of it and of other revisions"
  },
  {
    id: "SHE-11",
    at: "RequestHeaders.encode",
    original: "[names.version]: version",
    broken: "[names.version]: \"2025-11-25\"",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "has headers that repeat its version"
  },
  {
    id: "SHE-16",
    at: "RequestHeaders.encode",
    original: "[names.method]: method",
    broken: "[names.method]: \"message\"",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "has headers that repeat its version"
  },
  {
    id: "SHE-16",
    at: "RequestHeaders.nameSources",
    original: "\"resources/read\": \"uri\",",
    broken: "",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "has headers that repeat its version"
  },
  {
    id: "SHE-19",
    at: "HeaderValue.encode",
    original: "plain.test(text) && !isEncoded(text)",
    broken: "plain.test(text)",
    test: "packages/protocol/test/internal/headers/HeaderValue.test.ts",
    name: "a text as the value of a header"
  },
  {
    id: "SHE-19",
    at: "HeaderValue.encode",
    original: "plain.test(text)",
    broken: "/^[\\x20-\\x7E]*$/.test(text)",
    test: "packages/protocol/test/internal/headers/HeaderValue.test.ts",
    name: "a text as the value of a header"
  },
  {
    id: "SHE-25",
    at: "ModernCall.request",
    original: "{ ...RequestHeaders.encode({ method, params, version }), ...own.success }",
    broken: "{ ...RequestHeaders.encode({ method, params, version }) }",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "repeats the arguments that the listed tool"
  },
  {
    id: "SHE-27",
    at: "ParameterHeader.argumentAt",
    original: "value ?? undefined",
    broken: "value",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "repeats the arguments that the listed tool"
  },
  {
    id: "SHE-27",
    at: "ParameterHeader.encode",
    original: "if (value === undefined) continue",
    broken: "if (value === undefined) {\n      encoded[name] = \"\"\n      continue\n    }",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "repeats the arguments that the listed tool"
  },
  {
    id: "SHE-24",
    at: "ParameterHeader.textOf",
    original: "Number.isSafeInteger(value)",
    broken: "Number.isInteger(value)",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "an argument that cannot be its header"
  },
  {
    id: "SHE-26",
    at: "ToolHeaders.#store",
    original: "false",
    broken: "true",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "a tool with invalid annotations"
  },
  {
    id: "SHE-26",
    at: "ToolHeaders.#store",
    original: "this.#report({ _tag: \"ToolDropped\", tool: Excerpt.of(name), problem: headers.failure })",
    broken: "",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "a tool with invalid annotations"
  },
  {
    id: "SHE-33",
    at: "HttpErrorResponse.discoveryIn",
    original: "modernCodes.has(code)",
    broken: "modernCodes.has(0)",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "400 with error -32020"
  },
  {
    id: "SHE-33",
    at: "HttpErrorResponse.discoveryIn",
    original: "modernCodes.has(code) ? failureFor(id, rejection) : undefined",
    broken:
      "status === 400 ? failureFor(id, { ...rejection, failure: { ...failure, error: { ...failure.error, code: ErrorCode.HeaderMismatch } } }) : undefined",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "400 with error -32000"
  },
  {
    id: "SHE-01",
    at: "Replies.mute",
    original: "this.#isMuted = true",
    broken: "",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "a request of the server in its stream gets no response"
  },
  {
    id: "SHE-06",
    at: "Sse.decoder",
    original: "if (nameLength === 0) return",
    broken: "if (nameLength === 0) return append(valueOf(line, 0))",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "comments in its stream have no effect"
  },
  {
    id: "SHE-10",
    at: "ModernClient.onceMoreIfLost",
    original: "ResendPolicy.isStreamLost",
    broken: "() => false",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "a request that reads is sent once more with a new id"
  },
  {
    id: "SHE-10",
    at: "ModernClient.onceMoreIfLost",
    original: "ResendPolicy.isReading(call.row.name)",
    broken: "true",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "a call whose stream is lost has an unknown outcome"
  },
  {
    id: "SHE-10",
    at: "PendingRequests.#nextNumber",
    original: "return this.#nextId++",
    broken: "return Math.min(this.#nextId++, 1)",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "a request that reads is sent once more with a new id"
  },
  {
    id: "SHE-21",
    at: "ParameterHeader.#annotation",
    original: "token.test(value)",
    broken: "token.test(value.replace(/[\\t\\x01\\x7f]/, \"\"))",
    test: "packages/server/test/parameterHeaders.test.ts",
    name: "the name of a header is a token"
  },
  {
    id: "SHE-21",
    at: "ParameterHeader.#annotation",
    original: "!token.test(value)",
    broken: "(value !== \"\" && !token.test(value))",
    test: "packages/server/test/parameterHeaders.test.ts",
    name: "the name of a header is a token"
  },
  {
    id: "SHE-12",
    at: "ErrorCode.HeaderMismatch",
    original: "HeaderMismatch = -32020",
    broken: "HeaderMismatch = -32602",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects headers that differ from the body"
  },
  {
    id: "SHE-17",
    at: "RequestHeaders.mismatch",
    original: "header === value",
    broken: "header.length > 0",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects headers that differ from the body"
  },
  {
    id: "SHE-22",
    at: "ParameterHeader.#annotation",
    original: "`${namePrefix}${value.toLowerCase()}`",
    broken: "`${namePrefix}${value}`",
    test: "packages/server/test/parameterHeaders.test.ts",
    name: "no two arguments have one header"
  },
  {
    id: "SHE-31",
    at: "StatefulHandler.make",
    original: "[posting]",
    broken: "[posting, deleting]",
    test: "packages/transport/test/http/server/streamable/twoEras.test.ts",
    name: "of the new era only rejects requests without a version"
  },
  {
    id: "SHE-14",
    at: "ErrorCode.MethodNotFound",
    original: "MethodNotFound = -32601",
    broken: "MethodNotFound = -32602",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects metadata, revisions and methods with"
  },
  {
    id: "SHE-18",
    at: "RequestHeaders.names",
    original: "name: \"mcp-name\"",
    broken: "name: \"Mcp-Name\"",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects headers that differ from the body"
  },
  {
    id: "SHE-20",
    at: "RequestHeaders.difference",
    original: "`the header ${names.name} has a value that is no text`",
    broken: "undefined",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects headers that differ from the body"
  }
]
