import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "MSG-01",
    at: "JsonRpc.classify",
    original: "if (envelope.jsonrpc !== \"2.0\") return malformed(id, true, \"jsonrpc must be \\\"2.0\\\"\")",
    broken: "",
    test: "packages/protocol/test/JsonRpc.test.ts",
    name: "[MSG-01] a request with another jsonrpc version"
  },
  {
    id: "MSG-01",
    at: "JsonRpc.notification",
    original: "{ jsonrpc: \"2.0\", method }",
    broken: "trust({ method })",
    test: "packages/protocol/test/JsonRpc.test.ts",
    name: "undefined params are omitted"
  },
  {
    id: "MSG-02",
    at: "FrameText.parseBytes",
    original: "utf8.decode(bytes)",
    broken: "new TextDecoder(\"latin1\").decode(bytes)",
    test: "packages/testing/test/hostileLines.test.ts",
    name: "each hostile line is a frame, is unreadable or is blank"
  },
  {
    id: "MSG-03",
    at: "RequestId.isRequestId",
    original: "typeof value === \"number\" && Number.isSafeInteger(value)",
    broken: "typeof value === \"number\" && Number.isFinite(value)",
    test: "packages/protocol/test/RequestId.test.ts",
    name: "is not a request id"
  },
  {
    id: "MSG-04",
    at: "RequestId.isRequestId",
    original: "typeof value === \"string\"",
    broken: "value === null || typeof value === \"string\"",
    test: "packages/protocol/test/JsonRpc.test.ts",
    name: "a request whose id is null"
  },
  {
    id: "MSG-05",
    at: "PendingRequests.#nextNumber",
    original: "return this.#nextId++",
    broken: "return this.#nextId++ % 3",
    test: "packages/session/test/requestIds.test.ts",
    name: "no request id is used twice, whatever the outcome of its request",
    hangs: true
  },
  {
    id: "MSG-05",
    at: "SessionOpener.#connect",
    original: "isRestored: handshakeMessages !== undefined",
    broken: "isRestored: false",
    test: "packages/session/test/hostRestoring.test.ts",
    name: "has other request ids than in its earlier lives, and takes no answers to those"
  },
  {
    id: "MSG-05",
    at: "RequestServer.serve",
    original:
      "if (inflight.isTaken(message.id)) return this.#reject(gate, message, RequestRejections.duplicate, origin)",
    broken: "",
    test: "packages/session/test/statelessServers.test.ts",
    name:
      "a server without sessions (ServerSession) > law 5: [MSG-05] [CAN-04] [CAN-07] rejects a duplicate id in a batch, and cancels its request",
    hangs: true
  },
  {
    id: "MSG-05",
    at: "RequestServer.reject",
    original: "replies.reply(JsonRpc.failure(id, error), origin)",
    broken: "for (const _ of \"12\") replies.reply(JsonRpc.failure(id, error), origin)",
    test: "packages/session/test/statelessServers.test.ts",
    name:
      "a server without sessions (ServerSession) > law 5: [MSG-05] [CAN-04] [CAN-07] rejects a duplicate id in a batch, and cancels its request"
  },
  {
    id: "MSG-05",
    at: "IncomingRequests.claimForReply",
    original: "request.hasReply = true",
    broken: "this.claim(request)",
    test: "packages/session/test/statelessServers.test.ts",
    name: "a server without sessions (ServerSession) > law 5: [MSG-05] an id is in flight until its reply is sent"
  },
  {
    id: "MSG-05",
    at: "RequestServer.serve",
    original:
      "if (inflight.isTaken(message.id)) return this.#reject(gate, message, RequestRejections.duplicate, origin)",
    broken: "",
    test: "packages/session/test/statelessServers.test.ts",
    name:
      "a server without sessions (StatelessServer) > law 5: [MSG-05] [CAN-04] [CAN-07] rejects a duplicate id in a batch, and cancels its request",
    hangs: true
  },
  {
    id: "MSG-05",
    at: "RequestServer.reject",
    original: "replies.reply(JsonRpc.failure(id, error), origin)",
    broken: "for (const _ of \"12\") replies.reply(JsonRpc.failure(id, error), origin)",
    test: "packages/session/test/statelessServers.test.ts",
    name:
      "a server without sessions (StatelessServer) > law 5: [MSG-05] [CAN-04] [CAN-07] rejects a duplicate id in a batch, and cancels its request"
  },
  {
    id: "MSG-05",
    at: "IncomingRequests.claimForReply",
    original: "request.hasReply = true",
    broken: "this.claim(request)",
    test: "packages/session/test/statelessServers.test.ts",
    name: "a server without sessions (StatelessServer) > law 5: [MSG-05] an id is in flight until its reply is sent"
  },
  {
    id: "MSG-07",
    at: "JsonRpc.success",
    original: "{ jsonrpc: \"2.0\", id, result }",
    broken: "{ jsonrpc: \"2.0\", id: String(id), result }",
    test: "packages/testing/test/hostilePeer.test.ts",
    name: "a hostile client gets one reply to each request"
  },
  {
    id: "MSG-07",
    at: "PendingRequests.find",
    original: "Option.getOrUndefined",
    broken: "Array.from(HashMap.values(this.#current))[0] ?? Option.getOrUndefined",
    test: "packages/session/test/responseMatching.test.ts",
    name: "responses complete their requests in any order"
  },
  {
    id: "MSG-08",
    at: "JsonRpc.classifyResponse",
    original: "carriesResult && carriesError",
    broken: "carriesResult && carriesError && error === null",
    test: "packages/protocol/test/JsonRpc.test.ts",
    name: "[MSG-08] a result and an error"
  },
  {
    id: "MSG-09",
    at: "RequestRejections.response",
    original: "id ?? unreadable",
    broken: "unreadable",
    test: "packages/session/test/unreadableFrames.test.ts",
    name: "replies with -32700 or -32600"
  },
  {
    id: "MSG-10",
    at: "JsonRpc.classifyResponse",
    original: "!Number.isSafeInteger(error.code) ||",
    broken: "",
    test: "packages/protocol/test/JsonRpc.test.ts",
    name: "an error whose code is a fraction"
  },
  {
    id: "MSG-10",
    at: "McpError.McpError",
    original: "code: Schema.Int",
    broken: "code: Schema.Number",
    test: "packages/protocol/test/McpError.test.ts",
    name: "cannot be created"
  },
  {
    id: "MSG-11",
    at: "JsonRpc.notification",
    original: "{ jsonrpc: \"2.0\", method, params }",
    broken: "trust({ jsonrpc: \"2.0\", id: 1, method, params })",
    test: "packages/protocol/test/JsonRpc.test.ts",
    name: "classify returns the kind of each constructed message"
  },
  {
    id: "MSG-12",
    at: "InboundProcessor.ignoreNotification",
    original: "this.#runtime.emit({ _tag: \"NotificationIgnored\", method, problem })",
    broken:
      "this.#runtime.emit({ _tag: \"NotificationIgnored\", method, problem })\n    this.#runtime.replies.reply(JsonRpc.failure(null, { code: -32601, message: method }), undefined)",
    test: "packages/session/test/notifications.test.ts",
    name: "by a server"
  },
  {
    id: "MSG-12",
    at: "InboundProcessor.ignoreNotification",
    original: "this.#runtime.emit({ _tag: \"NotificationIgnored\", method, problem })",
    broken:
      "this.#runtime.emit({ _tag: \"NotificationIgnored\", method, problem })\n    this.#runtime.replies.reply(JsonRpc.failure(null, { code: -32601, message: method }), undefined)",
    test: "packages/session/test/notifications.test.ts",
    name: "by a client"
  },
  {
    id: "MSG-13",
    at: "HandshakeGate.#answerPing",
    original: "this.#runtime.apply(receivePing)",
    broken:
      "this.#runtime.apply(receivePing)\n    if (this.#dependencies.dispatch.prepare(JsonRpc.request(0, \"tools/list\", {}), this.#dependencies.peer())._tag !== \"Success\") return this.#rejectNotReady(message, origin)",
    test: "packages/session/test/sessionsWithoutHandlers.test.ts",
    name: "complete the handshake, answer pings, and close"
  },
  {
    id: "MSG-15",
    at: "InboundProcessor.#batch",
    original: "for (const frame of frames) this",
    broken: "for (const frame of frames.slice(0, 1)) this",
    test: "packages/session/test/batches.test.ts",
    name: "gets the replies to its pings in one frame"
  },
  {
    id: "MSG-16",
    at: "ServerHandshake.initializing",
    original: "isBatch(origin)",
    broken: "false",
    test: "packages/session/test/statelessServers.test.ts",
    name: "answers a batch in one frame, and rejects initialize in it"
  },
  {
    id: "MSG-17",
    at: "Batch.open",
    original: "|| !Revision.envelopes[revision].batches",
    broken: "",
    test: "packages/session/test/batches.test.ts",
    name: "[MSG-17] is rejected as a whole in"
  },
  {
    id: "MSG-25",
    at: "PendingRequests.complete",
    original: "McpError.received(response.error)",
    broken: "response.error.code === -32001 ? McpError.internalError : McpError.received(response.error)",
    test: "packages/session/test/responses.test.ts",
    name: "with a code from -32000 to -32019 fails only its request, with this code"
  },
  {
    id: "MSG-27",
    at: "PendingRequests.expire",
    original: "{ _tag: \"Timeout\", afterMillis: waited(exchange) }",
    broken: "{ _tag: \"ErrorResponse\", error: McpError.internalError }",
    test: "packages/session/test/deadlines.test.ts",
    name: "a request times out after exactly 60 seconds"
  },
  {
    id: "MSG-28",
    at: "Meta.RequestMeta",
    original: "Schema.optionalKey(ProgressToken)",
    broken:
      "Schema.optionalKey(ProgressToken),\n    \"io.modelcontextprotocol/related-task\": Schema.optionalKey(Schema.Struct({ taskId: Schema.String }))",
    test: "packages/session/test/meta.test.ts",
    name: "a server accepts any _meta"
  },
  {
    id: "MSG-28",
    at: "Meta.isRecord",
    original: "typeof value !== \"function\"",
    broken: "typeof value !== \"function\" && !(\"io.modelcontextprotocol/related-task\" in value)",
    test: "packages/session/test/meta.test.ts",
    name: "a client accepts any _meta of requests and results"
  },
  {
    id: "MSG-29",
    at: "Task.relatedTaskKey",
    original: "relatedTaskKey = \"io.modelcontextprotocol/related-task\"",
    broken: "relatedTaskKey = \"io.modelcontextprotocol/related task\"",
    test: "packages/session/test/meta.test.ts",
    name: "a session writes valid keys"
  },
  {
    id: "MSG-30",
    at: "Task.relatedTaskKey",
    original: "relatedTaskKey = \"io.modelcontextprotocol/related-task\"",
    broken: "relatedTaskKey = \"io.modelcontextprotocol/effect-task\"",
    test: "packages/session/test/meta.test.ts",
    name: "a session writes valid keys"
  },
  {
    id: "MSG-31",
    at: "TraceContext.toMeta",
    original: "sampled ? \"01\" : \"00\"",
    broken: "sampled ? \"1\" : \"0\"",
    test: "packages/protocol/test/TraceContext.test.ts",
    name: "fromMeta reads what toMeta writes"
  },
  {
    id: "MSG-31",
    at: "TraceContext.pattern",
    original: "pattern = /^(?!ff)[\\da-f]{2}-(?!0{32})[\\da-f]{32}-(?!0{16})[\\da-f]{16}-[\\da-f]{2}(?=$|-)/",
    broken: "pattern = /^(?!ff)[\\da-f]{2}-(?!0{32})[\\da-f]{32}-[\\da-f]{16}-[\\da-f]{2}(?=$|-)/",
    test: "packages/protocol/test/TraceContext.test.ts",
    name: "[MSG-31] an invalid traceparent is ignored: "
  },
  {
    id: "MSG-32",
    at: "CountedAjv.dialectOf",
    original: "Result.succeed(newest)",
    broken: "Result.succeed(dialects[2] ?? newest)",
    test: "packages/json-schema/test/AjvValidator.test.ts",
    name: "[MSG-32]"
  },
  {
    id: "MSG-33",
    at: "CountedAjv.dialectOf",
    original: "dialects.find(({ uri }) => withoutScheme(uri) === withoutScheme($schema))",
    broken: "dialects.find(({ uri }) => withoutScheme(uri) === withoutScheme($schema)) ?? newest",
    test: "packages/json-schema/test/AjvValidator.test.ts",
    name: "an unsupported dialect is named"
  },
  {
    id: "MSG-34",
    at: "CountedAjv.make",
    original: "const validate = ajv.compile(schema)",
    broken: "void fetch(String(schema[\"$ref\"])).catch(() => {})\n    const validate = ajv.compile(schema)",
    test: "packages/json-schema/test/AjvValidator.test.ts",
    name: "a server that a schema refers to gets no request"
  },
  {
    id: "MSG-35",
    at: "CountedAjv.make",
    original: "ajv.compile(schema)",
    broken: "ajv.addSchema({}, \"https://example.com/schema\").compile(schema)",
    test: "packages/json-schema/test/AjvValidator.test.ts",
    name: "a reference to the outside is rejected"
  },
  {
    id: "MSG-35",
    at: "AjvValidator.make",
    original: "length > maxSchemaCharacters",
    broken: "length > 2 * maxSchemaCharacters",
    test: "packages/json-schema/test/AjvValidator.test.ts",
    name: "a schema of more than maxSchemaCharacters is rejected"
  },
  {
    id: "MSG-35",
    at: "CountedAjv.countSteps",
    original: "charge(context, meter, unevaluated)",
    broken: "void meter",
    test: "packages/json-schema/test/AjvValidator.test.ts",
    name: "each visit counts as a step: items x allOf"
  },
  {
    id: "MSG-18",
    at: "ModernReplies.form",
    original: "resultType",
    broken: "...(resultType === \"complete\" ? undefined : { resultType })",
    test: "packages/session/test/modernRequests.test.ts",
    name: "is answered with the type of the result"
  },
  {
    id: "MSG-21",
    at: "ModernReplies.form",
    original: "resultType",
    broken: "resultType: resultType === \"complete\" ? result[\"resultType\"] ?? \"complete\" : resultType",
    test: "packages/session/test/modernRequests.test.ts",
    name: "has the type of its result, whatever type"
  },
  {
    id: "MSG-22",
    at: "ModernErrorCode.of",
    original: "isReserved && !assigned.has(code)",
    broken: "code === ErrorCode.UrlElicitationRequired",
    test: "packages/session/test/modernRequests.test.ts",
    name: "has no codes of the specification's range"
  },
  {
    id: "MSG-23",
    at: "ModernErrorCode.of",
    original: "if (code === ErrorCode.ResourceNotFound) return ErrorCode.InvalidParams",
    broken: "",
    test: "packages/session/test/modernRequests.test.ts",
    name: "has no codes of errors that only other revisions have"
  },
  {
    id: "MSG-23",
    at: "ModernErrorCode.of",
    original: "code >= -32099",
    broken: "code > ErrorCode.UrlElicitationRequired",
    test: "packages/session/test/modernRequests.test.ts",
    name: "has no codes of the specification's range"
  },
  {
    id: "MSG-03",
    at: "RequestId.isRequestId",
    original: "typeof value === \"number\" && Number.isSafeInteger(value)",
    broken: "typeof value === \"number\" && Number.isFinite(value)",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects an id that is none, and a batch"
  },
  {
    id: "MSG-04",
    at: "RequestId.isRequestId",
    original: "typeof value === \"string\"",
    broken: "value === null || typeof value === \"string\"",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects an id that is none, and a batch"
  },
  {
    id: "MSG-17",
    at: "Batch.open",
    original: "|| !Revision.envelopes[revision].batches",
    broken: "",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects an id that is none, and a batch"
  },
  {
    id: "MSG-19",
    at: "ResultType.of",
    original: "accepted.has(resultType) ? resultType : undefined",
    broken: "accepted.has(resultType) ? resultType : \"complete\"",
    test: "packages/session/test/modernClient.test.ts",
    name: "a result without resultType is complete"
  },
  {
    id: "MSG-20",
    at: "ResultType.of",
    original: "{ resultType = \"complete\" }",
    broken: "{ resultType }",
    test: "packages/session/test/modernClient.test.ts",
    name: "a result without resultType is complete"
  },
  {
    id: "MSG-06",
    at: "PendingRequests.#nextNumber",
    original: "return this.#nextId++",
    broken: "return this.#nextId === this.#firstId ? this.#nextId++ : this.#nextId",
    test: "packages/session/test/modernClient.test.ts",
    name: "requests that are in flight at the same time"
  },
  {
    id: "MSG-14",
    at: "InputRounds.layer",
    original: "type === \"complete\"",
    broken: "type !== undefined",
    test: "packages/transport/test/bothEras.test.ts",
    name: "speak 2026-07-28, with questions and"
  },
  {
    id: "MSG-14",
    at: "ModernRequestGate.prepare",
    original: "!InputRequired.methods.has(method)",
    broken: "params !== null",
    test: "packages/transport/test/bothEras.test.ts",
    name: "speak 2026-07-28, with questions and"
  },
  {
    id: "MSG-26",
    at: "ErrorCode.Overloaded",
    original: "Overloaded = -31010",
    broken: "Overloaded = -32010",
    test: "packages/protocol/test/ErrorCode.test.ts",
    name: "a code that only this library has"
  },
  {
    id: "MSG-24",
    at: "McpError.isResourceNotFound",
    original: "code === ErrorCode.ResourceNotFound ||",
    broken: "",
    test: "packages/session/test/modernClient.test.ts",
    name: "a missing resource has the code of this revision"
  },
  {
    id: "MSG-21",
    at: "TaskDispatch.beginningIn",
    original: "support === \"forbidden\" || !TaskExtension.isDeclared(profile.capabilities)",
    broken: "support === \"forbidden\"",
    test: "packages/tasks/test/taskExtension.test.ts",
    name: "[TKX-01] [TKX-02] [MSG-21] [VER-18]"
  },
  {
    id: "MSG-23",
    at: "TaskState.extension",
    original: "ModernErrorCode.of(outcome.error.code)",
    broken: "outcome.error.code",
    test: "packages/tasks/test/taskExtension.test.ts",
    name: "[TKX-08] [TKX-12] [TKX-16] [MSG-22] [MSG-23]"
  },
  {
    id: "MSG-22",
    at: "TaskState.extension",
    original: "ModernErrorCode.of(outcome.error.code)",
    broken: "outcome.error.code",
    test: "packages/tasks/test/taskExtension.test.ts",
    name: "[TKX-08] [TKX-12] [TKX-16] [MSG-22] [MSG-23]"
  },
  {
    id: "MSG-08",
    at: "JsonRpc.classifyResponse",
    original: "return rejected(\"no method, no result and no error\")",
    broken: "return { _tag: \"Response\", message: trust<Success>(frame) }",
    test: "packages/protocol/test/JsonRpc.test.ts",
    name: "classify returns the kind of each combination"
  },
  {
    id: "MSG-15",
    at: "InboundProcessor.#batch",
    original: "for (const frame of frames) this",
    broken:
      "if (frames.some((frame) => JsonRpc.classify(frame)._tag === \"Malformed\")) {\n      return this.#runtime.replies.reject(origin)\n    }\n    for (const frame of frames) this",
    test: "packages/session/test/batches.test.ts",
    name: "a malformed message in it affects only itself"
  },
  {
    id: "MSG-17",
    at: "FrameServer.serve",
    original: "isBatch(origin) ? InboundEra.ofRequest(this.#server, message, origin) : InboundEra.handshake",
    broken: "InboundEra.ofRequest(this.#server, message, undefined)",
    test: "packages/session/test/statelessServers.test.ts",
    name: "rejects a request of 2026-07-28 in a batch, and serves the others"
  }
]
