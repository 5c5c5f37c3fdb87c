import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "SHE-02",
    file: "packages/transport/src/internal/http/server/streamable/SessionlessExchanges.ts",
    original: "new PostedFrame(exchange, ",
    broken: "new PostedFrame([...this.#fibers.keys(), exchange][0], ",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "in the stream of their request only"
  },
  {
    id: "SHE-03",
    file: "packages/transport/src/internal/http/server/streamable/SessionlessExchanges.ts",
    original: "(reply) => sendReply(exchange, reply)",
    broken:
      "(reply) => Effect.andThen(reply !== undefined && \"result\" in reply ? exchange.write({ jsonrpc: \"2.0\", id: \"q\", method: \"roots/list\" }, false) : Effect.void, sendReply(exchange, reply))",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "asks in the result at the end of the stream"
  },
  {
    id: "SHE-04",
    file: "packages/transport/src/internal/http/server/streamable/PostExchange.ts",
    original: "    this.#stream?.end()\n",
    broken: "",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "sends progress in a stream that ends with the reply (adaptive)",
    hangs: true
  },
  {
    id: "SHE-05",
    file: "packages/transport/src/internal/http/server/HttpResponses.ts",
    original: "  \"x-accel-buffering\": \"no\"\n",
    broken: "",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "sends progress in a stream that ends with the reply (adaptive)"
  },
  {
    id: "SHE-07",
    file: "packages/transport/src/internal/http/server/streamable/PostExchange.ts",
    original: "    if (this.#isModern) return this.#owner.abandon(this)\n",
    broken: "",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "a client that closes the response cancels its request",
    hangs: true
  },
  {
    id: "SHE-08",
    file: "packages/session/src/internal/engine/Cancellation.ts",
    original: "  IncomingRequests.interrupt(request)\n",
    broken: "",
    test: "packages/session/test/replay/questions.test.ts",
    name: "is interrupted if its client leaves",
    hangs: true
  },
  {
    id: "SHE-09",
    file: "packages/session/src/internal/engine/HandlerContext.ts",
    original: "        if (incoming.ended) return dropped(\"ExchangeEnded\")\n",
    broken: "",
    test: "packages/session/test/replay/questions.test.ts",
    name: "is interrupted if its client leaves, and sends nothing more (resources/list)"
  },
  {
    id: "SHE-12",
    file: "packages/protocol/src/RequestHeaders.ts",
    original: "mismatch(names.version, received[names.version], version, \"the version in the metadata\") ??\n",
    broken: "",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects headers that differ from the body"
  },
  {
    id: "SHE-13",
    file: "packages/transport/src/internal/http/server/streamable/ModernPost.ts",
    original: "[ErrorCode.UnsupportedProtocolVersion, 400]",
    broken: "[ErrorCode.UnsupportedProtocolVersion, 404]",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects metadata, revisions and methods with"
  },
  {
    id: "SHE-14",
    file: "packages/transport/src/internal/http/server/streamable/ModernPost.ts",
    original: "[ErrorCode.MethodNotFound, 404]",
    broken: "[ErrorCode.MethodNotFound, 200]",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects metadata, revisions and methods with"
  },
  {
    id: "SHE-15",
    file: "packages/transport/src/internal/http/server/streamable/ModernPost.ts",
    original: "  return problem === undefined\n",
    broken: "  return problem === undefined || headers[RequestHeaders.names.version] === undefined\n",
    test: "packages/transport/test/http/server/streamable/twoEras.test.ts",
    name: "of the new era only rejects requests without a version"
  },
  {
    id: "SHE-17",
    file: "packages/protocol/src/RequestHeaders.ts",
    original: "if (header === undefined) return `the header ${name} is missing`",
    broken: "if (header === undefined) return undefined",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects headers that differ from the body"
  },
  {
    id: "SHE-18",
    file: "packages/protocol/src/RequestHeaders.ts",
    original: "return header === value ? undefined",
    broken: "return header.toLowerCase() === value.toLowerCase() ? undefined",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects headers that differ from the body"
  },
  {
    id: "SHE-20",
    file: "packages/protocol/src/RequestHeaders.ts",
    original: "Option.some(undefined) : HeaderValue.decode(header)",
    broken: "Option.some(undefined) : Option.some(header)",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects headers that differ from the body"
  },
  {
    id: "SHE-21",
    file: "packages/protocol/src/ParameterHeader.ts",
    original: "typeof value !== \"string\" || !token.test(value)",
    broken: "typeof value !== \"string\"",
    test: "packages/server/test/parameterHeaders.test.ts",
    name: "the name of a header is a token"
  },
  {
    id: "SHE-22",
    file: "packages/protocol/src/ParameterHeader.ts",
    original: "if (this.found.has(name)) this.problem",
    broken: "if (path.length > 9) this.problem",
    test: "packages/server/test/parameterHeaders.test.ts",
    name: "no two arguments have one header"
  },
  {
    id: "SHE-23",
    file: "packages/protocol/src/ParameterHeader.ts",
    original: "type === \"boolean\" || type === \"integer\" || type === \"string\" ? type",
    broken: "typeof type === \"string\" ? type as \"string\"",
    test: "packages/server/test/parameterHeaders.test.ts",
    name: "that `properties` alone lead to have a header"
  },
  {
    id: "SHE-23",
    file: "packages/protocol/src/ParameterHeader.ts",
    original: "path === undefined || path.length === 0",
    broken: "path === null",
    test: "packages/server/test/parameterHeaders.test.ts",
    name: "that `properties` alone lead to have a header"
  },
  {
    id: "SHE-28",
    file: "packages/server/src/internal/entries/ArgumentHeaders.ts",
    original: "return problem === undefined ? call",
    broken: "return problem !== null ? call",
    test: "packages/server/test/parameterHeaders.test.ts",
    name: "of a group rejects a call whose header is missing"
  },
  {
    id: "SHE-28",
    file: "packages/server/src/internal/proxy/RemoteEntries.ts",
    original: "          headers.success,\n",
    broken: "          [],\n",
    test: "packages/server/test/parameterHeaders.test.ts",
    name: "of a proxied server rejects a call whose header is missing"
  },
  {
    id: "SHE-28",
    file: "packages/transport/src/internal/http/server/streamable/SessionlessExchanges.ts",
    original: "return Revision.isModern(this.revision) ? ParameterHeader.from(this.#request.headers) : undefined",
    broken: "return undefined",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "passes the headers of arguments to handlers"
  },
  {
    id: "SHE-28",
    file: "packages/transport/src/internal/http/server/streamable/ModernPost.ts",
    original: "[ErrorCode.HeaderMismatch, 400]",
    broken: "[ErrorCode.HeaderMismatch, 200]",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "passes the headers of arguments to handlers"
  },
  {
    id: "SHE-29",
    file: "packages/protocol/src/ParameterHeader.ts",
    original: "type === \"integer\" ? ",
    broken: "type === null ? ",
    test: "packages/protocol/test/ParameterHeader.test.ts",
    name: "integers are equal by value"
  },
  {
    id: "SHE-31",
    file: "packages/transport/src/internal/http/server/streamable/StatefulHandler.ts",
    original: "hasSessions ? [[\"GET\", get], posting, [\"DELETE\", remove]] : [posting]",
    broken: "[[\"GET\", get], posting, [\"DELETE\", remove]]",
    test: "packages/transport/test/http/server/streamable/twoEras.test.ts",
    name: "of the new era only rejects requests without a version"
  },
  {
    id: "SHE-30",
    file: "packages/session/src/internal/client/HeaderMismatchRetry.ts",
    original: "if (Option.isNone(Option.flatten(listed)) || left(allowed) === 0) return",
    broken: "return",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "lists the tools again and calls once more"
  },
  {
    id: "SHE-30",
    file: "packages/session/src/internal/client/HeaderMismatchRetry.ts",
    original: "return Effect.catchIf(called, isMismatch",
    broken: "return Effect.catchIf(Effect.retry(called, { times: 1 }), isMismatch",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "fails with the error of the server after the second attempt"
  },
  {
    id: "SHE-13",
    file: "packages/transport/src/internal/http/server/streamable/ModernPost.ts",
    original: "declared === undefined || served.includes(declared)",
    broken: "declared !== undefined || served.length > 0",
    test: "packages/transport/test/http/server/streamable/twoEras.test.ts",
    name: "of the new era only rejects requests without metadata"
  },
  {
    id: "SHE-32",
    file: "packages/transport/src/internal/http/server/streamable/SessionlessExchanges.ts",
    original: "if (!this.#servesModern) return",
    broken: "if (!this.#servesModern || headers[\"mcp-session-id\"] !== undefined) return",
    test: "packages/transport/test/http/server/streamable/twoEras.test.ts",
    name: "without the session or event that they name"
  },
  {
    id: "SHE-32",
    file: "packages/transport/src/internal/http/server/streamable/SessionlessExchanges.ts",
    original: "if (!this.#servesModern) return",
    broken: "if (!this.#servesModern || headers[\"last-event-id\"] !== undefined) return",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "serves requests of it and of other revisions"
  },
  {
    id: "SHE-11",
    file: "packages/protocol/src/RequestHeaders.ts",
    original: "    [names.version]: version,\n",
    broken: "    [names.version]: \"2025-11-25\",\n",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "has headers that repeat its version"
  },
  {
    id: "SHE-16",
    file: "packages/protocol/src/RequestHeaders.ts",
    original: "    [names.method]: method,\n",
    broken: "    [names.method]: \"message\",\n",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "has headers that repeat its version"
  },
  {
    id: "SHE-16",
    file: "packages/protocol/src/RequestHeaders.ts",
    original: "  \"resources/read\": \"uri\",\n",
    broken: "",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "has headers that repeat its version"
  },
  {
    id: "SHE-19",
    file: "packages/protocol/src/HeaderValue.ts",
    original: "plain.test(text) && !isEncoded(text) ? text",
    broken: "plain.test(text) ? text",
    test: "packages/protocol/test/HeaderValue.test.ts",
    name: "a text as the value of a header"
  },
  {
    id: "SHE-19",
    file: "packages/protocol/src/HeaderValue.ts",
    original: "  plain.test(text) && !isEncoded(text) ? text",
    broken: "  /^[\\x20-\\x7E]*$/.test(text) && !isEncoded(text) ? text",
    test: "packages/protocol/test/HeaderValue.test.ts",
    name: "a text as the value of a header"
  },
  {
    id: "SHE-25",
    file: "packages/transport/src/internal/http/client/streamable/ModernExchange.ts",
    original: ", ...own.success }",
    broken: " }",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "repeats the arguments that the listed tool"
  },
  {
    id: "SHE-27",
    file: "packages/protocol/src/ParameterHeader.ts",
    original: "  return value ?? undefined\n",
    broken: "  return value\n",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "repeats the arguments that the listed tool"
  },
  {
    id: "SHE-27",
    file: "packages/protocol/src/ParameterHeader.ts",
    original: "    if (value === undefined) continue\n",
    broken: "    if (value === undefined) {\n      encoded[name] = \"\"\n      continue\n    }\n",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "repeats the arguments that the listed tool"
  },
  {
    id: "SHE-24",
    file: "packages/protocol/src/ParameterHeader.ts",
    original: "Number.isSafeInteger(value)",
    broken: "Number.isInteger(value)",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "an argument that cannot be its header"
  },
  {
    id: "SHE-26",
    file: "packages/transport/src/internal/http/client/streamable/ToolHeaders.ts",
    original: "      return false\n",
    broken: "      return true\n",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "a tool with invalid annotations"
  },
  {
    id: "SHE-26",
    file: "packages/transport/src/internal/http/client/streamable/ToolHeaders.ts",
    original: "      this.#report({ _tag: \"ToolDropped\", tool: Excerpt.of(name), problem: headers.failure })\n",
    broken: "",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "a tool with invalid annotations"
  },
  {
    id: "SHE-33",
    file: "packages/transport/src/internal/http/client/HttpErrorResponse.ts",
    original: "modernCodes.has(code) ? failureFor(id, rejection) : undefined",
    broken: "modernCodes.has(0) ? failureFor(id, rejection) : undefined",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "400 with error -32020"
  },
  {
    id: "SHE-33",
    file: "packages/transport/src/internal/http/client/HttpErrorResponse.ts",
    original: "modernCodes.has(code) ? failureFor(id, rejection) : undefined",
    broken:
      "status === 400 ? failureFor(id, { ...rejection, failure: { ...failure, error: { ...failure.error, code: ErrorCode.HeaderMismatch } } }) : undefined",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "400 with error -32000"
  },
  {
    id: "SHE-01",
    file: "packages/session/src/internal/engine/Replies.ts",
    original: "    this.#isMuted = true\n",
    broken: "",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "a request of the server in its stream gets no response"
  },
  {
    id: "SHE-06",
    file: "packages/transport/src/Sse.ts",
    original: "    if (nameLength === 0) return\n",
    broken: "    if (nameLength === 0) return append(valueOf(line, 0))\n",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "comments in its stream have no effect"
  },
  {
    id: "SHE-10",
    file: "packages/session/src/internal/engine/Sender.ts",
    original: "      (error) => isStreamLost(error) && this.#isModern,\n",
    broken: "      () => false,\n",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "a request that reads is sent once more with a new id"
  },
  {
    id: "SHE-10",
    file: "packages/session/src/internal/engine/Sender.ts",
    original: "    if (!MethodTable.readingMethods.has(row.name)) return sent\n",
    broken: "",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "a call whose stream is lost has an unknown outcome"
  },
  {
    id: "SHE-10",
    file: "packages/session/src/internal/engine/PendingRequests.ts",
    original: "    return this.#nextId++\n",
    broken: "    return Math.min(this.#nextId++, 1)\n",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "a request that reads is sent once more with a new id"
  },
  {
    id: "SHE-21",
    file: "packages/protocol/src/ParameterHeader.ts",
    original: "!token.test(value)",
    broken: "!token.test(value.replace(/[\\t\\x01\\x7f]/, \"\"))",
    test: "packages/server/test/parameterHeaders.test.ts",
    name: "the name of a header is a token"
  },
  {
    id: "SHE-21",
    file: "packages/protocol/src/ParameterHeader.ts",
    original: "!token.test(value)",
    broken: "(value !== \"\" && !token.test(value))",
    test: "packages/server/test/parameterHeaders.test.ts",
    name: "the name of a header is a token"
  },
  {
    id: "SHE-12",
    file: "packages/protocol/src/ErrorCode.ts",
    original: "export const HeaderMismatch = -32020",
    broken: "export const HeaderMismatch = -32602",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects headers that differ from the body"
  },
  {
    id: "SHE-17",
    file: "packages/protocol/src/RequestHeaders.ts",
    original: "return header === value ? undefined",
    broken: "return header.length > 0 ? undefined",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects headers that differ from the body"
  },
  {
    id: "SHE-22",
    file: "packages/protocol/src/ParameterHeader.ts",
    original: "${namePrefix}${value.toLowerCase()}",
    broken: "${namePrefix}${value}",
    test: "packages/server/test/parameterHeaders.test.ts",
    name: "no two arguments have one header"
  },
  {
    id: "SHE-31",
    file: "packages/transport/src/internal/http/server/streamable/StatefulHandler.ts",
    original: "hasSessions ? [[\"GET\", get], posting, [\"DELETE\", remove]] : [posting]",
    broken: "hasSessions ? [[\"GET\", get], posting, [\"DELETE\", remove]] : [posting, [\"DELETE\", remove]]",
    test: "packages/transport/test/http/server/streamable/twoEras.test.ts",
    name: "of the new era only rejects requests without a version"
  },
  {
    id: "SHE-14",
    file: "packages/protocol/src/ErrorCode.ts",
    original: "export const MethodNotFound = -32601",
    broken: "export const MethodNotFound = -32602",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects metadata, revisions and methods with"
  },
  {
    id: "SHE-18",
    file: "packages/protocol/src/RequestHeaders.ts",
    original: "name: \"mcp-name\" } as const",
    broken: "name: \"Mcp-Name\" } as const",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects headers that differ from the body"
  },
  {
    id: "SHE-20",
    file: "packages/protocol/src/RequestHeaders.ts",
    original: "? `the header ${names.name} has a value that is no text`",
    broken: "? undefined",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects headers that differ from the body"
  }
]
