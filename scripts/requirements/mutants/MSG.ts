import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "MSG-01",
    file: "packages/protocol/src/JsonRpc.ts",
    original: "  if (envelope.jsonrpc !== \"2.0\") return malformed(id, true, \"jsonrpc must be \\\"2.0\\\"\")\n",
    broken: "",
    test: "packages/protocol/test/JsonRpc.test.ts",
    name: "[MSG-01] a request with another jsonrpc version"
  },
  {
    id: "MSG-01",
    file: "packages/protocol/src/JsonRpc.ts",
    original: "? { jsonrpc: \"2.0\", method } :",
    broken: "? trust({ method }) :",
    test: "packages/protocol/test/JsonRpc.test.ts",
    name: "undefined params are omitted"
  },
  {
    id: "MSG-02",
    file: "packages/transport/src/internal/shared/FrameText.ts",
    original: "text = utf8.decode(bytes)",
    broken: "text = new TextDecoder(\"latin1\").decode(bytes)",
    test: "packages/testing/test/hostileLines.test.ts",
    name: "each hostile line is a frame, is unreadable or is blank"
  },
  {
    id: "MSG-03",
    file: "packages/protocol/src/RequestId.ts",
    original: "Number.isSafeInteger(value)",
    broken: "Number.isFinite(value)",
    test: "packages/protocol/test/RequestId.test.ts",
    name: "is not a request id"
  },
  {
    id: "MSG-04",
    file: "packages/protocol/src/RequestId.ts",
    original: "  typeof value === \"string\" || (typeof",
    broken: "  value === null || typeof value === \"string\" || (typeof",
    test: "packages/protocol/test/JsonRpc.test.ts",
    name: "a request whose id is null"
  },
  {
    id: "MSG-05",
    file: "packages/session/src/internal/engine/PendingRequests.ts",
    original: "return this.#nextId++",
    broken: "return this.#nextId++ % 3",
    test: "packages/session/test/requestIds.test.ts",
    name: "no request id is used twice, whatever the outcome of its request",
    hangs: true
  },
  {
    id: "MSG-05",
    file: "packages/session/src/internal/host/SessionOpener.ts",
    original: "isRestored: handshakeMessages !== undefined",
    broken: "isRestored: false",
    test: "packages/session/test/hostRestoring.test.ts",
    name: "has other request ids than in its earlier lives, and takes no answers to those"
  },
  {
    id: "MSG-05",
    file: "packages/session/src/internal/engine/RequestServer.ts",
    original:
      "    if (this.#runtime.inflight.isTaken(message.id)) {\n      return reject(this.#runtime, message, RequestRejections.duplicate, origin)\n    }\n    const prepared",
    broken: "    const prepared",
    test: "packages/session/test/sessionlessServers.test.ts",
    name:
      "a server without sessions (ServerSession) > law 5: [MSG-05] [CAN-04] [CAN-07] rejects a duplicate id in a batch, and cancels its request",
    hangs: true
  },
  {
    id: "MSG-05",
    file: "packages/session/src/internal/engine/RequestServer.ts",
    original: "  runtime.replies.reply(JsonRpc.failure(id, error), origin)",
    broken: "  for (const _ of \"12\") runtime.replies.reply(JsonRpc.failure(id, error), origin)",
    test: "packages/session/test/sessionlessServers.test.ts",
    name:
      "a server without sessions (ServerSession) > law 5: [MSG-05] [CAN-04] [CAN-07] rejects a duplicate id in a batch, and cancels its request"
  },
  {
    id: "MSG-05",
    file: "packages/session/src/internal/engine/IncomingRequests.ts",
    original: "    request.hasReply = true",
    broken: "    this.claim(request)",
    test: "packages/session/test/sessionlessServers.test.ts",
    name: "a server without sessions (ServerSession) > law 5: [MSG-05] an id is in flight until its reply is sent"
  },
  {
    id: "MSG-05",
    file: "packages/session/src/internal/engine/RequestServer.ts",
    original:
      "    if (this.#runtime.inflight.isTaken(message.id)) {\n      return reject(this.#runtime, message, RequestRejections.duplicate, origin)\n    }\n    const prepared",
    broken: "    const prepared",
    test: "packages/session/test/sessionlessServers.test.ts",
    name:
      "a server without sessions (SessionlessServer) > law 5: [MSG-05] [CAN-04] [CAN-07] rejects a duplicate id in a batch, and cancels its request",
    hangs: true
  },
  {
    id: "MSG-05",
    file: "packages/session/src/internal/engine/RequestServer.ts",
    original: "  runtime.replies.reply(JsonRpc.failure(id, error), origin)",
    broken: "  for (const _ of \"12\") runtime.replies.reply(JsonRpc.failure(id, error), origin)",
    test: "packages/session/test/sessionlessServers.test.ts",
    name:
      "a server without sessions (SessionlessServer) > law 5: [MSG-05] [CAN-04] [CAN-07] rejects a duplicate id in a batch, and cancels its request"
  },
  {
    id: "MSG-05",
    file: "packages/session/src/internal/engine/IncomingRequests.ts",
    original: "    request.hasReply = true",
    broken: "    this.claim(request)",
    test: "packages/session/test/sessionlessServers.test.ts",
    name: "a server without sessions (SessionlessServer) > law 5: [MSG-05] an id is in flight until its reply is sent"
  },
  {
    id: "MSG-07",
    file: "packages/protocol/src/JsonRpc.ts",
    original: "=> ({ jsonrpc: \"2.0\", id, result })",
    broken: "=> ({ jsonrpc: \"2.0\", id: String(id), result })",
    test: "packages/testing/test/hostilePeer.test.ts",
    name: "a hostile client gets one reply to each request"
  },
  {
    id: "MSG-07",
    file: "packages/session/src/internal/engine/PendingRequests.ts",
    original: "Option.getOrUndefined(HashMap.get(this.#current, id))",
    broken: "Array.from(HashMap.values(this.#current))[0] ?? Option.getOrUndefined(HashMap.get(this.#current, id))",
    test: "packages/session/test/responseMatching.test.ts",
    name: "responses complete their requests in any order"
  },
  {
    id: "MSG-08",
    file: "packages/protocol/src/JsonRpc.ts",
    original: "  if (carriesResult && carriesError) {",
    broken: "  if (carriesResult && carriesError && error === null) {",
    test: "packages/protocol/test/JsonRpc.test.ts",
    name: "[MSG-08] a result and an error"
  },
  {
    id: "MSG-09",
    file: "packages/session/src/internal/engine/RequestRejections.ts",
    original: "JsonRpc.failure(id ?? unreadable, error)",
    broken: "JsonRpc.failure(unreadable, error)",
    test: "packages/session/test/unreadableFrames.test.ts",
    name: "replies with -32700 or -32600"
  },
  {
    id: "MSG-10",
    file: "packages/protocol/src/JsonRpc.ts",
    original: "!Number.isSafeInteger(error.code) || ",
    broken: "",
    test: "packages/protocol/test/JsonRpc.test.ts",
    name: "an error whose code is a fraction"
  },
  {
    id: "MSG-10",
    file: "packages/protocol/src/McpError.ts",
    original: "code: Schema.Int,",
    broken: "code: Schema.Number,",
    test: "packages/protocol/test/McpError.test.ts",
    name: "cannot be created"
  },
  {
    id: "MSG-11",
    file: "packages/protocol/src/JsonRpc.ts",
    original: ": { jsonrpc: \"2.0\", method, params }",
    broken: ": trust({ jsonrpc: \"2.0\", id: 1, method, params })",
    test: "packages/protocol/test/JsonRpc.test.ts",
    name: "classify returns the kind of each constructed message"
  },
  {
    id: "MSG-12",
    file: "packages/session/src/internal/engine/InboundProcessor.ts",
    original: "    this.#runtime.emit({ _tag: \"NotificationIgnored\", method, problem })\n",
    broken:
      "    this.#runtime.emit({ _tag: \"NotificationIgnored\", method, problem })\n    this.#runtime.replies.reply(JsonRpc.failure(null, { code: -32601, message: method }), undefined)\n",
    test: "packages/session/test/notifications.test.ts",
    name: "by a server"
  },
  {
    id: "MSG-12",
    file: "packages/session/src/internal/engine/InboundProcessor.ts",
    original: "    this.#runtime.emit({ _tag: \"NotificationIgnored\", method, problem })\n",
    broken:
      "    this.#runtime.emit({ _tag: \"NotificationIgnored\", method, problem })\n    this.#runtime.replies.reply(JsonRpc.failure(null, { code: -32601, message: method }), undefined)\n",
    test: "packages/session/test/notifications.test.ts",
    name: "by a client"
  },
  {
    id: "MSG-13",
    file: "packages/session/src/internal/engine/RequestServer.ts",
    original: "    const outcome = this.#runtime.apply(receivePing)\n",
    broken:
      "    const outcome = this.#runtime.apply(receivePing)\n    if (this.#gate.dispatch.prepare(JsonRpc.request(0, \"tools/list\", {}), this.#gate.peer())._tag !== \"Success\") return this.#rejectNotReady(message, origin)\n",
    test: "packages/session/test/sessionsWithoutHandlers.test.ts",
    name: "complete the handshake, answer pings, and close"
  },
  {
    id: "MSG-15",
    file: "packages/session/src/internal/engine/InboundProcessor.ts",
    original: "for (const frame of frames) this",
    broken: "for (const frame of frames.slice(0, 1)) this",
    test: "packages/session/test/batches.test.ts",
    name: "gets the replies to its pings in one frame"
  },
  {
    id: "MSG-16",
    file: "packages/session/src/internal/server/ServerHandshake.ts",
    original: "  if (isBatch(origin)) return reject(runtime, message, notInBatch, origin)\n",
    broken: "",
    test: "packages/session/test/sessionlessServers.test.ts",
    name: "answers a batch in one frame, and rejects initialize in it"
  },
  {
    id: "MSG-17",
    file: "packages/session/src/internal/engine/Batch.ts",
    original: " || !Revision.envelopes[revision].batches",
    broken: "",
    test: "packages/session/test/batches.test.ts",
    name: "[MSG-17] is rejected as a whole in"
  },
  {
    id: "MSG-25",
    file: "packages/session/src/internal/engine/PendingRequests.ts",
    original: "error: McpError.received(response.error)",
    broken: "error: response.error.code === -32001 ? McpError.internalError : McpError.received(response.error)",
    test: "packages/session/test/responses.test.ts",
    name: "with a code from -32000 to -32019 fails only its request, with this code"
  },
  {
    id: "MSG-27",
    file: "packages/session/src/internal/engine/PendingRequests.ts",
    original: "else fail(exchange, { _tag: \"Timeout\", afterMillis: waited(exchange) })",
    broken: "else fail(exchange, { _tag: \"ErrorResponse\", error: McpError.internalError })",
    test: "packages/session/test/deadlines.test.ts",
    name: "a request times out after exactly 60 seconds"
  },
  {
    id: "MSG-28",
    file: "packages/protocol/src/Meta.ts",
    original: "Schema.Struct({ progressToken: Schema.optionalKey(ProgressToken) })",
    broken:
      "Schema.Struct({\n    progressToken: Schema.optionalKey(ProgressToken),\n    \"io.modelcontextprotocol/related-task\": Schema.optionalKey(Schema.Struct({ taskId: Schema.String }))\n  })",
    test: "packages/session/test/meta.test.ts",
    name: "a server accepts any _meta"
  },
  {
    id: "MSG-28",
    file: "packages/protocol/src/Meta.ts",
    original: "!Array.isArray(value) && typeof value !== \"function\"",
    broken:
      "!Array.isArray(value) && typeof value !== \"function\" && !(\"io.modelcontextprotocol/related-task\" in value)",
    test: "packages/session/test/meta.test.ts",
    name: "a client accepts any _meta of requests and results"
  },
  {
    id: "MSG-29",
    file: "packages/protocol/src/Task.ts",
    original: "\"io.modelcontextprotocol/related-task\"",
    broken: "\"io.modelcontextprotocol/related task\"",
    test: "packages/session/test/meta.test.ts",
    name: "a session writes valid keys"
  },
  {
    id: "MSG-30",
    file: "packages/protocol/src/Task.ts",
    original: "\"io.modelcontextprotocol/related-task\"",
    broken: "\"io.modelcontextprotocol/effect-task\"",
    test: "packages/session/test/meta.test.ts",
    name: "a session writes valid keys"
  },
  {
    id: "MSG-31",
    file: "packages/protocol/src/TraceContext.ts",
    original: "${sampled ? \"01\" : \"00\"}",
    broken: "${sampled ? \"1\" : \"0\"}",
    test: "packages/protocol/test/TraceContext.test.ts",
    name: "fromMeta reads what toMeta writes"
  },
  {
    id: "MSG-31",
    file: "packages/protocol/src/TraceContext.ts",
    original: "-(?!0{16})",
    broken: "-",
    test: "packages/protocol/test/TraceContext.test.ts",
    name: "[MSG-31] an invalid traceparent is ignored: "
  },
  {
    id: "MSG-32",
    file: "packages/json-schema/src/internal/CountedAjv.ts",
    original: "if ($schema === undefined) return Result.succeed(newest)",
    broken: "if ($schema === undefined) return Result.succeed(dialects[2] ?? newest)",
    test: "packages/json-schema/test/AjvValidator.test.ts",
    name: "[MSG-32]"
  },
  {
    id: "MSG-33",
    file: "packages/json-schema/src/internal/CountedAjv.ts",
    original: "withoutScheme(uri) === withoutScheme($schema))",
    broken: "withoutScheme(uri) === withoutScheme($schema)) ?? newest",
    test: "packages/json-schema/test/AjvValidator.test.ts",
    name: "an unsupported dialect is named"
  },
  {
    id: "MSG-34",
    file: "packages/json-schema/src/internal/CountedAjv.ts",
    original: "const validate = ajv.compile(schema)",
    broken: "void fetch(String(schema[\"$ref\"])).catch(() => {})\n    const validate = ajv.compile(schema)",
    test: "packages/json-schema/test/AjvValidator.test.ts",
    name: "a server that a schema refers to gets no request"
  },
  {
    id: "MSG-35",
    file: "packages/json-schema/src/internal/CountedAjv.ts",
    original: "const validate = ajv.compile(schema)",
    broken: "const validate = ajv.addSchema({}, \"https://example.com/schema\").compile(schema)",
    test: "packages/json-schema/test/AjvValidator.test.ts",
    name: "a reference to the outside is rejected"
  },
  {
    id: "MSG-35",
    file: "packages/json-schema/src/AjvValidator.ts",
    original: "if (length > maxSchemaCharacters) {",
    broken: "if (length > 2 * maxSchemaCharacters) {",
    test: "packages/json-schema/test/AjvValidator.test.ts",
    name: "a schema of more than maxSchemaCharacters is rejected"
  },
  {
    id: "MSG-35",
    file: "packages/json-schema/src/internal/CountedAjv.ts",
    original: "charge(context, meter, unevaluated)\n",
    broken: "void meter\n",
    test: "packages/json-schema/test/AjvValidator.test.ts",
    name: "each visit counts as a step: items x allOf"
  },
  {
    id: "MSG-18",
    file: "packages/session/src/internal/server/ModernReplies.ts",
    original: "        resultType,\n",
    broken: "        ...(resultType === \"complete\" ? undefined : { resultType }),\n",
    test: "packages/session/test/modernRequests.test.ts",
    name: "is answered with the type of the result"
  },
  {
    id: "MSG-21",
    file: "packages/session/src/internal/server/ModernReplies.ts",
    original: "        resultType,\n",
    broken: "        resultType: resultType === \"complete\" ? result[\"resultType\"] ?? \"complete\" : resultType,\n",
    test: "packages/session/test/modernRequests.test.ts",
    name: "has the type of its result, whatever type"
  },
  {
    id: "MSG-22",
    file: "packages/session/src/internal/engine/ModernErrorCode.ts",
    original: "return isReserved && !assigned.has(code) ? ErrorCode.InternalError : code",
    broken: "return code === ErrorCode.UrlElicitationRequired ? ErrorCode.InternalError : code",
    test: "packages/session/test/modernRequests.test.ts",
    name: "has no codes of the specification's range"
  },
  {
    id: "MSG-23",
    file: "packages/session/src/internal/engine/ModernErrorCode.ts",
    original: "  if (code === ErrorCode.ResourceNotFound) return ErrorCode.InvalidParams\n",
    broken: "",
    test: "packages/session/test/modernRequests.test.ts",
    name: "has no codes of errors that only other revisions have"
  },
  {
    id: "MSG-23",
    file: "packages/session/src/internal/engine/ModernErrorCode.ts",
    original: "code >= -32099",
    broken: "code > ErrorCode.UrlElicitationRequired",
    test: "packages/session/test/modernRequests.test.ts",
    name: "has no codes of the specification's range"
  },
  {
    id: "MSG-03",
    file: "packages/protocol/src/RequestId.ts",
    original: "Number.isSafeInteger(value)",
    broken: "Number.isFinite(value)",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects an id that is none, and a batch"
  },
  {
    id: "MSG-04",
    file: "packages/protocol/src/RequestId.ts",
    original: "  typeof value === \"string\" || (typeof",
    broken: "  value === null || typeof value === \"string\" || (typeof",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects an id that is none, and a batch"
  },
  {
    id: "MSG-17",
    file: "packages/session/src/internal/engine/Batch.ts",
    original: " || !Revision.envelopes[revision].batches",
    broken: "",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects an id that is none, and a batch"
  },
  {
    id: "MSG-19",
    file: "packages/protocol/src/ResultType.ts",
    original: "accepted.has(resultType) ? resultType : undefined",
    broken: "accepted.has(resultType) ? resultType : \"complete\"",
    test: "packages/session/test/modernClient.test.ts",
    name: "a result without resultType is complete"
  },
  {
    id: "MSG-20",
    file: "packages/protocol/src/ResultType.ts",
    original: "const { resultType = \"complete\" } = result",
    broken: "const { resultType } = result",
    test: "packages/session/test/modernClient.test.ts",
    name: "a result without resultType is complete"
  },
  {
    id: "MSG-06",
    file: "packages/session/src/internal/engine/PendingRequests.ts",
    original: "    return this.#nextId++\n",
    broken: "    return this.#nextId === this.#firstId ? this.#nextId++ : this.#nextId\n",
    test: "packages/session/test/modernClient.test.ts",
    name: "requests that are in flight at the same time"
  },
  {
    id: "MSG-14",
    file: "packages/session/src/internal/client/InputRounds.ts",
    original: "    if (type === \"complete\") return undefined\n",
    broken: "    if (type !== undefined) return undefined\n",
    test: "packages/transport/test/bothEras.test.ts",
    name: "speak 2026-07-28, with questions and"
  },
  {
    id: "MSG-14",
    file: "packages/session/src/internal/server/ModernExchange.ts",
    original: "    if (!InputRequired.methods.has(method)) return dispatch.prepare(message, profile)\n",
    broken: "    if (params !== null) return dispatch.prepare(message, profile)\n",
    test: "packages/transport/test/bothEras.test.ts",
    name: "speak 2026-07-28, with questions and"
  },
  {
    id: "MSG-26",
    file: "packages/protocol/src/ErrorCode.ts",
    original: "export const Overloaded = -31010",
    broken: "export const Overloaded = -32010",
    test: "packages/protocol/test/ErrorCode.test.ts",
    name: "a code that only this library has"
  },
  {
    id: "MSG-24",
    file: "packages/protocol/src/McpError.ts",
    original: "  code === ErrorCode.ResourceNotFound ||\n",
    broken: "",
    test: "packages/session/test/modernClient.test.ts",
    name: "a missing resource has the code of this revision"
  },
  {
    id: "MSG-21",
    file: "packages/session/src/internal/tasks/TaskDispatch.ts",
    original: "support === \"forbidden\" || !DeclaredExtension.isIn(profile) ? undefined : begins",
    broken: "support === \"forbidden\" ? undefined : begins",
    test: "packages/session/test/tasks/taskExtension.test.ts",
    name: "[TKX-01] [TKX-02] [MSG-21] [VER-18]"
  },
  {
    id: "MSG-23",
    file: "packages/session/src/internal/tasks/TaskState.ts",
    original: "code: ModernErrorCode.of(outcome.error.code) }",
    broken: "code: outcome.error.code }",
    test: "packages/session/test/tasks/taskExtension.test.ts",
    name: "[TKX-08] [TKX-12] [TKX-16] [MSG-22] [MSG-23]"
  },
  {
    id: "MSG-22",
    file: "packages/session/src/internal/tasks/TaskState.ts",
    original: "code: ModernErrorCode.of(outcome.error.code) }",
    broken: "code: outcome.error.code }",
    test: "packages/session/test/tasks/taskExtension.test.ts",
    name: "[TKX-08] [TKX-12] [TKX-16] [MSG-22] [MSG-23]"
  },
  {
    id: "MSG-08",
    file: "packages/protocol/src/JsonRpc.ts",
    original: "return rejected(\"no method, no result and no error\")",
    broken: "return { _tag: \"Response\", message: trust<Success>(frame) }",
    test: "packages/protocol/test/JsonRpc.test.ts",
    name: "classify returns the kind of each combination"
  },
  {
    id: "MSG-15",
    file: "packages/session/src/internal/engine/InboundProcessor.ts",
    original: "    for (const frame of frames) this",
    broken:
      "    if (frames.some((frame) => JsonRpc.classify(frame)._tag === \"Malformed\")) {\n      return this.#runtime.replies.reject(origin)\n    }\n    for (const frame of frames) this",
    test: "packages/session/test/batches.test.ts",
    name: "a malformed message in it affects only itself"
  }
]
