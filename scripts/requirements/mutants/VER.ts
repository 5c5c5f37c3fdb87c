import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "VER-03",
    at: "InboundEra.ofRequest",
    original: "revisions.length === 0 && message.method !== \"initialize\"",
    broken: "false",
    test: "packages/session/test/twoEras.test.ts",
    name: "of the new era alone rejects requests without metadata"
  },
  {
    id: "VER-03",
    at: "RequestMetadata.Fields",
    original: "[keys.clientCapabilities]: ClientCapabilities",
    broken: "[keys.clientCapabilities]: Schema.optionalKey(ClientCapabilities)",
    test: "packages/session/test/modernRequests.test.ts",
    name: "without its metadata, or with invalid"
  },
  {
    id: "VER-03",
    at: "InboundEra.ofPost",
    original: "revisions.length > 0",
    broken: "isModern",
    test: "packages/transport/test/http/server/streamable/twoEras.test.ts",
    name: "of the new era only rejects requests without metadata"
  },
  {
    id: "VER-04",
    at: "RequestMetadata.Fields",
    original: "Schema.optionalKey(Implementation)",
    broken: "Implementation",
    test: "packages/session/test/modernRequests.test.ts",
    name: "is served for the client that its own metadata"
  },
  {
    id: "VER-05",
    at: "ModernReplies.typed",
    original: "[RequestMetadata.keys.serverInfo]: info",
    broken: "",
    test: "packages/session/test/modernRequests.test.ts",
    name: "is answered with the type of the result"
  },
  {
    id: "VER-06",
    at: "ModernRequest.clientOf",
    original: "capabilities: clientCapabilities",
    broken: "capabilities: clientInfo?.name === \"client\" ? clientCapabilities : {}",
    test: "packages/session/test/replay/questions.test.ts",
    name: "asks clients of every name and version the same"
  },
  {
    id: "VER-07",
    at: "McpError.unsupportedVersion",
    original: "{\n    supported,\n    requested: excerpt\n  }",
    broken: "{\n    supported\n  }",
    test: "packages/session/test/modernRequests.test.ts",
    name: "of a revision that the server does not serve"
  },
  {
    id: "VER-07",
    at: "ModernRequest.clientOf",
    original: "!Revision.isModern(protocolVersion) ||",
    broken: "",
    test: "packages/session/test/modernRequests.test.ts",
    name: "of a revision that the server does not serve"
  },
  {
    id: "VER-09",
    at: "ModernRequestGate.admit",
    original: "case \"server/discover\"",
    broken: "case \"server/discovery\"",
    test: "packages/session/test/modernRequests.test.ts",
    name: "server/discover returns the revisions"
  },
  {
    id: "VER-10",
    at: "ClientQuestion.blocked",
    original: "Outgoing.validateCapability(row, profile, ({ capabilities }) => capabilities)",
    broken: "undefined",
    test: "packages/session/test/replay/questions.test.ts",
    name: "asks its client only for what the request declares"
  },
  {
    id: "VER-11",
    at: "ReplayedRun.#failureOf",
    original: "Capabilities.ofPath(error.capability)",
    broken: "{}",
    test: "packages/session/test/replay/questions.test.ts",
    name: "is answered with −32021 if it dies"
  },
  {
    id: "VER-12",
    at: "ModernRequest.clientOf",
    original: "capabilities: clientCapabilities",
    broken:
      "capabilities: Object.assign(supported, { first: Reflect.get(supported, \"first\") ?? clientCapabilities }).first",
    test: "packages/session/test/modernRequests.test.ts",
    name: "is served for the client that its own metadata"
  },
  {
    id: "VER-13",
    at: "ServerDefinition.requestStateSettings",
    original: "description.info.name",
    broken: "`${description.info.name} ${Math.random()}`",
    test: "packages/transport/test/replicas.test.ts",
    name: "serve a call with questions in turn"
  },
  {
    id: "VER-14",
    at: "RequestState.restore",
    original: "{ state, responses }",
    broken: "Object.assign(initial.answers, inputResponses), { state, responses }",
    test: "packages/session/test/replay/questions.test.ts",
    name: "remembers answers only for calls that bring its state"
  },
  {
    id: "VER-15",
    at: "Capacity.take",
    original: "this.#requests >= maxIncomingRequests",
    broken: "this.#requests >= 1",
    test: "packages/session/test/twoEras.test.ts",
    name: "serves requests of several clients at the same time"
  },
  {
    id: "VER-20",
    at: "ServerHandshake.negotiate",
    original: "McpError.unsupportedVersion(requested, supported)",
    broken: "McpError.unsupportedVersion(requested, [])",
    test: "packages/session/test/twoEras.test.ts",
    name: "of the new era rejects a handshake with"
  },
  {
    id: "VER-21",
    at: "ServerSessionImplementation.serve",
    original: "InboundEra.ofRequest(this.#server, message, origin)",
    broken: "this.peer() !== undefined ? InboundEra.handshake : InboundEra.ofRequest(this.#server, message, origin)",
    test: "packages/session/test/twoEras.test.ts",
    name: "serves requests that carry their client before"
  },
  {
    id: "VER-21",
    at: "ServerSessionImplementation.serve",
    original: "InboundEra.ofRequest(this.#server, message, origin)",
    broken: "this.peer() !== undefined ? InboundEra.handshake : InboundEra.ofRequest(this.#server, message, origin)",
    test: "packages/testing/test/memory.test.ts",
    name: "[VER-12] [VER-21] interleaved requests of both eras"
  },
  {
    id: "VER-23",
    at: "ServerSessionImplementation.#serveModern",
    original: "requests.serve(gate, message, origin, bytes, principal)",
    broken:
      "runtime.fork(this.sender.send(JsonRpc.request(\"q\", \"roots/list\", undefined) as never, origin))\n    requests.serve(gate, message, origin, bytes, principal)",
    test: "packages/session/test/twoEras.test.ts",
    name: "asks in the way of the era"
  },
  {
    id: "VER-03",
    at: "PostRules.rejected",
    original: "400",
    broken: "200",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects metadata, revisions and methods with"
  },
  {
    id: "VER-07",
    at: "PostRules.rejected",
    original: "400",
    broken: "200",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects metadata, revisions and methods with"
  },
  {
    id: "VER-11",
    at: "PostRules.statuses",
    original: "[ErrorCode.MissingRequiredClientCapability, 400]",
    broken: "[ErrorCode.MissingRequiredClientCapability, 200]",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects a call that needs an undeclared capability with 400 (json)"
  },
  {
    id: "VER-11",
    at: "PostExchange.write",
    original: "last && (this.#owner.mode !== \"stream\" || status !== 200)",
    broken: "last && this.#owner.mode !== \"stream\"",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects a call that needs an undeclared capability with 400 (stream)"
  },
  {
    id: "VER-22",
    at: "Registry.#decided",
    original: "seen.has(entry)",
    broken: "seen.has(entry) && Reflect.get(entry, \"listed\") !== true && Reflect.set(entry, \"listed\", true)",
    test: "packages/server/test/modernGroups.test.ts",
    name: "is the same for every connection and client"
  },
  {
    id: "VER-01",
    at: "ModernClient.constructor",
    original: "metadata: metadata.current",
    broken: "metadata: undefined",
    test: "packages/session/test/modernClient.test.ts",
    name: "every request carries the revision"
  },
  {
    id: "VER-01",
    at: "RequestMetadata.write",
    original: "[keys.clientCapabilities]: clientCapabilities",
    broken: "[keys.clientCapabilities]: {}",
    test: "packages/session/test/modernClient.test.ts",
    name: "every request carries the revision"
  },
  {
    id: "VER-02",
    at: "RequestMetadata.write",
    original: "clientInfo === undefined ? undefined : { [keys.clientInfo]: clientInfo }",
    broken: "undefined",
    test: "packages/session/test/modernClient.test.ts",
    name: "every request carries the revision"
  },
  {
    id: "VER-08",
    at: "Discovery.withoutModern",
    original: "legacy(\"it supports no newer revision of this client\")",
    broken:
      "legacy(\"it supports no newer revision of this client\")\n    : revisions.length > 1 ? legacy(\"none is common\")",
    test: "packages/session/test/modernClient.test.ts",
    name: "no common revision fails with the lists"
  },
  {
    id: "VER-08",
    at: "Discovery.judgeError",
    original: "{ _tag: \"Retry\", version }",
    broken: "withoutModern(client, supported)",
    test: "packages/session/test/modernClient.test.ts",
    name: "a rejection that names a common revision"
  },
  {
    id: "VER-16",
    at: "RequestSender.send",
    original: "exchanges.remove(opened)",
    broken:
      "Effect.tap(exchanges.remove(opened), () => Effect.sync(() => {\n        if (exchanges.size === 0 && method !== \"server/discover\") this.#runtime.end({ _tag: \"Close\", reason: { _tag: \"Requested\" } }, \"Immediate\")\n      }))",
    test: "packages/transport/test/stdio/modernClient.test.ts",
    name: "keeps its process after conversations"
  },
  {
    id: "VER-18",
    at: "Dispatch.make",
    original: "Result.fail(RequestRejections.methodNotFound(request.method))",
    broken: "Result.succeed(Effect.succeed({}))",
    test: "packages/session/test/extensions.test.ts",
    name: "is rejected by a server without it"
  },
  {
    id: "VER-18",
    at: "Dispatch.make",
    original: "return Result.fail(\"unknown method\")",
    broken: "throw new Error(\"unknown method\")",
    test: "packages/session/test/extensions.test.ts",
    name: "is ignored by a client without it"
  },
  {
    id: "VER-17",
    at: "Handlers.withImplied",
    original: "checkExtensions(declared)",
    broken: "",
    test: "packages/session/test/extensions.test.ts",
    name: "has a prefix and the grammar of a key"
  },
  {
    id: "VER-17",
    at: "Capabilities.isExtensionName",
    original: "extensionName.test(text)",
    broken: "text.includes(\"/\")",
    test: "packages/session/test/extensions.test.ts",
    name: "has a prefix and the grammar of a key"
  },
  {
    id: "VER-19",
    at: "LegacyServers.set",
    original: "if (needsHandshake) known.add(transport)\n  else",
    broken: "",
    test: "packages/session/test/legacyServers.test.ts",
    name: "is asked for other revisions once"
  },
  {
    id: "VER-19",
    at: "LegacyServers.mayHaveChanged",
    original: "_tag === \"PeerEnded\" || _tag === \"TransportFailed\" || _tag === \"HandshakeFailed\"",
    broken: "_tag === \"PeerEnded\"",
    test: "packages/session/test/legacyServers.test.ts",
    name: "and no longer does so, is asked again"
  },
  {
    id: "VER-19",
    at: "SlowServers.add",
    original: "void known.add(transport)",
    broken: "{}",
    test: "packages/session/test/modernClient.test.ts",
    name: "gets the time of a handshake at once in later sessions"
  },
  {
    id: "VER-08",
    at: "Discovery.namesModern",
    original: "commonModern(client, supportedIn(error) ?? []) !== undefined",
    broken: "false",
    test: "packages/session/test/modernClient.test.ts",
    name: "is asked again over another connection"
  },
  {
    id: "VER-18",
    at: "TaskDispatch.beginningIn",
    original: "support === \"forbidden\" || !TaskExtension.isDeclared(profile.capabilities)",
    broken: "support === \"forbidden\"",
    test: "packages/tasks/test/taskExtension.test.ts",
    name: "[TKX-01] [TKX-02] [MSG-21] [VER-18]"
  },
  {
    id: "VER-18",
    at: "TaskDispatch.#prepareByServer",
    original: "!TaskExtension.isCallable(plan.support, profile)",
    broken: "plan.support === \"required\" && profile.revision === \"2025-11-25\"",
    test: "packages/tasks/test/taskExtension.test.ts",
    name: "[TKX-01] [TKX-02] [MSG-21] [VER-18]"
  },
  {
    id: "VER-22",
    at: "Registry.#decided",
    original: "if (this.#deciders.size === 0) return Effect.succeed(entries)",
    broken:
      "if (this.#deciders.size === 0) return Effect.sync(() => Reflect.set(this, \"calls\", Number(Reflect.get(this, \"calls\") ?? 0) + 1) && Number(Reflect.get(this, \"calls\")) % 2 === 0 ? entries.toReversed() : entries)",
    test: "packages/server/test/modernGroups.test.ts",
    name: "[VER-22] is the same for every connection if no member has a condition"
  },
  {
    id: "VER-22",
    at: "Registry.#decided",
    original: "if (this.#deciders.size === 0) return Effect.succeed(entries)",
    broken:
      "if (this.#deciders.size === 0) return Effect.sync(() => Reflect.set(this, \"calls\", Number(Reflect.get(this, \"calls\") ?? 0) + 1) && Number(Reflect.get(this, \"calls\")) > 1 ? entries.slice(1) : entries)",
    test: "packages/server/test/modernGroups.test.ts",
    name: "[VER-22] is the same for every connection if no member has a condition"
  },
  {
    id: "VER-05",
    at: "ModernReplies.typed",
    original: "[RequestMetadata.keys.serverInfo]: info",
    broken: "[RequestMetadata.keys.serverInfo]: { name: info.name }",
    test: "packages/session/test/modernRequests.test.ts",
    name: "is answered with the type of the result"
  },
  {
    id: "VER-03",
    at: "InboundEra.headerError",
    original: "received ?? {}",
    broken: "received!",
    test: "packages/transport/test/http/server/streamable/modern.test.ts",
    name: "rejects metadata, revisions and methods with the error's status"
  }
]
