import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "VER-03",
    file: "packages/session/src/internal/server/ServerSessionImplementation.ts",
    original: "revisions.length === 0 && \"id\" in message && message.method !== \"initialize\"",
    broken: "false",
    test: "packages/session/test/twoEras.test.ts",
    name: "of the new era alone rejects requests without metadata"
  },
  {
    id: "VER-03",
    file: "packages/protocol/src/RequestMetadata.ts",
    original: "  [keys.clientCapabilities]: ClientCapabilities,\n",
    broken: "  [keys.clientCapabilities]: Schema.optionalKey(ClientCapabilities),\n",
    test: "packages/session/test/modernRequests.test.ts",
    name: "without its metadata, or with invalid"
  },
  {
    id: "VER-03",
    file: "packages/transport/src/internal/http/server/streamable/SessionlessExchanges.ts",
    original: "this.#servesLegacy || InitializeRequest",
    broken: "this.#servesModern || InitializeRequest",
    test: "packages/transport/test/http/server/streamable/twoEras.test.ts",
    name: "of the new era only rejects requests without metadata"
  },
  {
    id: "VER-04",
    file: "packages/protocol/src/RequestMetadata.ts",
    original: "Schema.optionalKey(Implementation)",
    broken: "Implementation",
    test: "packages/session/test/modernRequests.test.ts",
    name: "is served for the client that its own metadata"
  },
  {
    id: "VER-05",
    file: "packages/session/src/internal/server/ModernReplies.ts",
    original: "[RequestMetadata.keys.serverInfo]: info",
    broken: "",
    test: "packages/session/test/modernRequests.test.ts",
    name: "is answered with the type of the result"
  },
  {
    id: "VER-06",
    file: "packages/session/src/internal/server/ModernRequest.ts",
    original: "capabilities: clientCapabilities,",
    broken: "capabilities: clientInfo?.name === \"client\" ? clientCapabilities : {},",
    test: "packages/session/test/replay/questions.test.ts",
    name: "asks clients of every name and version the same"
  },
  {
    id: "VER-07",
    file: "packages/protocol/src/McpError.ts",
    original: "    supported,\n    requested: excerpt\n",
    broken: "    supported\n",
    test: "packages/session/test/modernRequests.test.ts",
    name: "of a revision that the server does not serve"
  },
  {
    id: "VER-07",
    file: "packages/session/src/internal/server/ModernRequest.ts",
    original: "!Revision.isModern(protocolVersion) || ",
    broken: "",
    test: "packages/session/test/modernRequests.test.ts",
    name: "of a revision that the server does not serve"
  },
  {
    id: "VER-09",
    file: "packages/session/src/internal/server/ModernExchange.ts",
    original: "if (method !== \"server/discover\") return false",
    broken: "if (method !== \"server/discovery\") return false",
    test: "packages/session/test/modernRequests.test.ts",
    name: "server/discover returns the revisions"
  },
  {
    id: "VER-10",
    file: "packages/session/src/internal/engine/ClientQuestion.ts",
    original: "Outgoing.validateCapability(row, profile, ({ capabilities }) => capabilities)",
    broken: "undefined",
    test: "packages/session/test/replay/questions.test.ts",
    name: "asks its client only for what the request declares"
  },
  {
    id: "VER-11",
    file: "packages/session/src/internal/server/replay/ReplayedRun.ts",
    original: "McpError.missingCapability(this.#owner.method, Capabilities.ofPath(error.capability))",
    broken: "McpError.missingCapability(this.#owner.method, {})",
    test: "packages/session/test/replay/questions.test.ts",
    name: "is answered with −32021 if it dies"
  },
  {
    id: "VER-12",
    file: "packages/session/src/internal/server/ModernRequest.ts",
    original: "capabilities: clientCapabilities,",
    broken:
      "capabilities: Object.assign(supported, { first: Reflect.get(supported, \"first\") ?? clientCapabilities }).first,",
    test: "packages/session/test/modernRequests.test.ts",
    name: "is served for the client that its own metadata"
  },
  {
    id: "VER-13",
    file: "packages/session/src/internal/server/ServerDefinition.ts",
    original: "audience: description.info.name",
    broken: "audience: `${description.info.name} ${Math.random()}`",
    test: "packages/transport/test/replicas.test.ts",
    name: "serve a call with questions in turn"
  },
  {
    id: "VER-14",
    file: "packages/session/src/internal/server/replay/RequestState.ts",
    original: "onSuccess: (state) => ({ state, responses })",
    broken: "onSuccess: (state) => (Object.assign(initial.answers, inputResponses), { state, responses })",
    test: "packages/session/test/replay/questions.test.ts",
    name: "remembers answers only for calls that bring its state"
  },
  {
    id: "VER-15",
    file: "packages/session/src/internal/engine/Capacity.ts",
    original: "this.#requests >= maxIncomingRequests",
    broken: "this.#requests >= 1",
    test: "packages/session/test/twoEras.test.ts",
    name: "serves requests of several clients at the same time"
  },
  {
    id: "VER-20",
    file: "packages/session/src/internal/server/ServerHandshake.ts",
    original: "McpError.unsupportedVersion(requested, supported)",
    broken: "McpError.unsupportedVersion(requested, [])",
    test: "packages/session/test/twoEras.test.ts",
    name: "of the new era rejects a handshake with"
  },
  {
    id: "VER-21",
    file: "packages/session/src/internal/server/ServerSessionImplementation.ts",
    original: "!isModern || !(isIncomplete || ModernExchange.isModern(message))",
    broken: "this.peer() !== undefined || !ModernExchange.isModern(message)",
    test: "packages/session/test/twoEras.test.ts",
    name: "serves requests that carry their client before"
  },
  {
    id: "VER-21",
    file: "packages/session/src/internal/server/ServerSessionImplementation.ts",
    original: "!isModern || !(isIncomplete || ModernExchange.isModern(message))",
    broken: "this.peer() !== undefined || !ModernExchange.isModern(message)",
    test: "packages/testing/test/memory.test.ts",
    name: "[VER-12] [VER-21] interleaved requests of both eras"
  },
  {
    id: "VER-23",
    file: "packages/session/src/internal/server/ServerSessionImplementation.ts",
    original: "    new ModernExchange.ModernExchange(this.modern, carrier, message, principal)",
    broken:
      "    carrier.fork(this.sender.send(JsonRpc.request(\"q\", \"roots/list\", undefined) as never, origin))\n    new ModernExchange.ModernExchange(this.modern, carrier, message, principal)",
    test: "packages/session/test/twoEras.test.ts",
    name: "asks in the way of the era"
  },
  {
    id: "VER-03",
    file: "packages/transport/src/internal/http/server/streamable/ModernPost.ts",
    original: "code === ErrorCode.InvalidParams && Result.isFailure(RequestMetadata.read(metaOf(message)))\n    ? 400",
    broken: "code === ErrorCode.InvalidParams && Result.isFailure(RequestMetadata.read(metaOf(message)))\n    ? 200",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects metadata, revisions and methods with"
  },
  {
    id: "VER-07",
    file: "packages/transport/src/internal/http/server/streamable/ModernPost.ts",
    original: "[ErrorCode.UnsupportedProtocolVersion, 400]",
    broken: "[ErrorCode.UnsupportedProtocolVersion, 200]",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects metadata, revisions and methods with"
  },
  {
    id: "VER-11",
    file: "packages/transport/src/internal/http/server/streamable/ModernPost.ts",
    original: "[ErrorCode.MissingRequiredClientCapability, 400]",
    broken: "[ErrorCode.MissingRequiredClientCapability, 200]",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects a call that needs an undeclared capability with 400 (json)"
  },
  {
    id: "VER-11",
    file: "packages/transport/src/internal/http/server/streamable/PostExchange.ts",
    original: "if (last && (this.#owner.mode !== \"stream\" || status !== 200)) {",
    broken: "if (last && this.#owner.mode !== \"stream\") {",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects a call that needs an undeclared capability with 400 (stream)"
  },
  {
    id: "VER-22",
    file: "packages/server/src/internal/registry/Registry.ts",
    original: "entries.filter((entry) => seen.has(entry))",
    broken:
      "entries.filter((entry) => seen.has(entry) && Reflect.get(entry, \"listed\") !== true && Reflect.set(entry, \"listed\", true))",
    test: "packages/server/test/modernGroups.test.ts",
    name: "is the same for every connection and client"
  },
  {
    id: "VER-01",
    file: "packages/session/src/internal/engine/Sender.ts",
    original: "options?.metadata ?? this.#dependencies.metadata?.()",
    broken: "options?.metadata",
    test: "packages/session/test/modernClient.test.ts",
    name: "every request carries the revision"
  },
  {
    id: "VER-01",
    file: "packages/protocol/src/RequestMetadata.ts",
    original: "  [keys.clientCapabilities]: clientCapabilities,\n",
    broken: "  [keys.clientCapabilities]: {},\n",
    test: "packages/session/test/modernClient.test.ts",
    name: "every request carries the revision"
  },
  {
    id: "VER-02",
    file: "packages/protocol/src/RequestMetadata.ts",
    original: "clientInfo === undefined ? undefined : { [keys.clientInfo]: clientInfo }",
    broken: "undefined",
    test: "packages/session/test/modernClient.test.ts",
    name: "every request carries the revision"
  },
  {
    id: "VER-08",
    file: "packages/session/src/internal/client/Discovery.ts",
    original: "    : failed(noCommonRevision(revisions, offered))",
    broken: "    : revisions.length > 1 ? legacy(\"none is common\") : failed(noCommonRevision(revisions, offered))",
    test: "packages/session/test/modernClient.test.ts",
    name: "no common revision fails with the lists"
  },
  {
    id: "VER-08",
    file: "packages/session/src/internal/client/Discovery.ts",
    original: "return isRetry ? rejected() : { _tag: \"Retry\", version }",
    broken: "return isRetry ? rejected() : withoutModern(client, supported)",
    test: "packages/session/test/modernClient.test.ts",
    name: "a rejection that names a common revision"
  },
  {
    id: "VER-16",
    file: "packages/session/src/internal/engine/Sender.ts",
    original: "      return exchanges.remove(opened)\n",
    broken:
      "      return Effect.tap(exchanges.remove(opened), () => Effect.sync(() => {\n        if (exchanges.size === 0 && method !== \"server/discover\") this.#runtime.end({ _tag: \"Close\", reason: { _tag: \"Requested\" } }, \"Immediate\")\n      }))\n",
    test: "packages/transport/test/stdio/modernClient.test.ts",
    name: "keeps its process after conversations"
  },
  {
    id: "VER-18",
    file: "packages/session/src/internal/engine/Dispatch.ts",
    original: "      return Result.fail(RequestRejections.methodNotFound(request.method))\n",
    broken: "      return Result.succeed(Effect.succeed({}))\n",
    test: "packages/session/test/extensions.test.ts",
    name: "is rejected by a server without it"
  },
  {
    id: "VER-18",
    file: "packages/session/src/internal/engine/Dispatch.ts",
    original: "return Result.fail(\"unknown method\")",
    broken: "throw new Error(\"unknown method\")",
    test: "packages/session/test/extensions.test.ts",
    name: "is ignored by a client without it"
  },
  {
    id: "VER-17",
    file: "packages/session/src/Handlers.ts",
    original: "  checkExtensions(declared)\n",
    broken: "",
    test: "packages/session/test/extensions.test.ts",
    name: "has a prefix and the grammar of a key"
  },
  {
    id: "VER-17",
    file: "packages/protocol/src/Capabilities.ts",
    original: "=> extensionName.test(text)",
    broken: "=> text.includes(\"/\")",
    test: "packages/session/test/extensions.test.ts",
    name: "has a prefix and the grammar of a key"
  },
  {
    id: "VER-19",
    file: "packages/session/src/internal/client/LegacyServers.ts",
    original: "  if (needsHandshake) known.add(transport)\n  else ",
    broken: "  ",
    test: "packages/session/test/legacyServers.test.ts",
    name: "is asked for other revisions once"
  },
  {
    id: "VER-19",
    file: "packages/session/src/internal/client/LegacyServers.ts",
    original: "_tag === \"PeerEnded\" || _tag === \"TransportFailed\" || _tag === \"HandshakeFailed\"",
    broken: "_tag === \"PeerEnded\"",
    test: "packages/session/test/legacyServers.test.ts",
    name: "and no longer does so, is asked again"
  },
  {
    id: "VER-19",
    file: "packages/session/src/internal/client/SlowServers.ts",
    original: "void known.add(transport)",
    broken: "{}",
    test: "packages/session/test/modernClient.test.ts",
    name: "gets the time of a handshake at once in later sessions"
  },
  {
    id: "VER-08",
    file: "packages/session/src/internal/client/Discovery.ts",
    original: "commonModern(client, supportedIn(error) ?? []) !== undefined",
    broken: "false",
    test: "packages/session/test/modernClient.test.ts",
    name: "is asked again over another connection"
  },
  {
    id: "VER-18",
    file: "packages/session/src/internal/tasks/TaskDispatch.ts",
    original: "support === \"forbidden\" || !DeclaredExtension.isIn(profile) ? undefined : begins",
    broken: "support === \"forbidden\" ? undefined : begins",
    test: "packages/session/test/tasks/taskExtension.test.ts",
    name: "[TKX-01] [TKX-02] [MSG-21] [VER-18]"
  },
  {
    id: "VER-18",
    file: "packages/session/src/internal/tasks/TaskDispatch.ts",
    original: "!DeclaredExtension.isCallable(plan.support, profile)",
    broken: "plan.support === \"required\" && profile.revision === \"2025-11-25\"",
    test: "packages/session/test/tasks/taskExtension.test.ts",
    name: "[TKX-01] [TKX-02] [MSG-21] [VER-18]"
  },
  {
    id: "VER-22",
    file: "packages/server/src/internal/registry/Registry.ts",
    original: "if (this.#deciders.size === 0) return Effect.succeed(entries)",
    broken:
      "if (this.#deciders.size === 0) return Effect.sync(() => Reflect.set(this, \"calls\", Number(Reflect.get(this, \"calls\") ?? 0) + 1) && Number(Reflect.get(this, \"calls\")) % 2 === 0 ? entries.toReversed() : entries)",
    test: "packages/server/test/modernGroups.test.ts",
    name: "[VER-22] is the same for every connection if no member has a condition"
  },
  {
    id: "VER-22",
    file: "packages/server/src/internal/registry/Registry.ts",
    original: "if (this.#deciders.size === 0) return Effect.succeed(entries)",
    broken:
      "if (this.#deciders.size === 0) return Effect.sync(() => Reflect.set(this, \"calls\", Number(Reflect.get(this, \"calls\") ?? 0) + 1) && Number(Reflect.get(this, \"calls\")) > 1 ? entries.slice(1) : entries)",
    test: "packages/server/test/modernGroups.test.ts",
    name: "[VER-22] is the same for every connection if no member has a condition"
  },
  {
    id: "VER-05",
    file: "packages/session/src/internal/server/ModernReplies.ts",
    original: "[RequestMetadata.keys.serverInfo]: info }",
    broken: "[RequestMetadata.keys.serverInfo]: { name: info.name } }",
    test: "packages/session/test/modernRequests.test.ts",
    name: "is answered with the type of the result"
  }
]
