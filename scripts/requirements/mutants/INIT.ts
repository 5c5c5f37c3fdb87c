import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "INIT-01",
    at: "ClientHandshake.#initialize",
    original: "Effect.result(initialized)",
    broken:
      "Effect.result(Effect.andThen(Effect.ignore(sender.send(JsonRpc.notification(\"notifications/initialized\"))), initialized))",
    test: "packages/session/test/clientHandshake.test.ts",
    name: "sends initialize, initialized and requests"
  },
  {
    id: "INIT-01",
    at: "rows.Idle",
    original: "SendInitialize: initialize",
    broken: "SendPing: stay(\"Send\"),\n    SendInitialize: initialize",
    test: "packages/protocol/test/Handshake/cells.test.ts",
    name: "client: Idle × SendPing"
  },
  {
    id: "INIT-02",
    at: "ClientDescription.initializeParams",
    original: "{\n    protocolVersion: revision,\n    capabilities,\n    clientInfo: info\n  }",
    broken: "{\n    protocolVersion: revision,\n    capabilities: {},\n    clientInfo: info\n  }",
    test: "packages/session/test/clientHandshake.test.ts",
    name: "sends initialize, initialized and requests"
  },
  {
    id: "INIT-03",
    at: "ClientDescription.describe",
    original: "Revision.legacy.findLast((revision) => revisions.includes(revision))",
    broken: "Revision.latestLegacy",
    test: "packages/session/test/clientHandshake.test.ts",
    name: "the client requests the newest revision of its options"
  },
  {
    id: "INIT-04",
    at: "ServerHandshake.negotiate",
    original: "revisions.find((revision) => revision === requested) ?? fallback",
    broken: "fallback ?? revisions.find((revision) => revision === requested)",
    test: "packages/session/test/serverHandshake.test.ts",
    name: "responds with the requested revision and its description"
  },
  {
    id: "INIT-05",
    at: "ServerHandshake.negotiate",
    original: "revisions.find((revision) => revision === requested)",
    broken: "revisions.find((revision) => revision === requested) ?? revisions.at(-1)",
    test: "packages/session/test/serverHandshake.test.ts",
    name: "responds with the newest revision of its options instead of an unsupported one"
  },
  {
    id: "INIT-06",
    at: "InitializeResponse.judge",
    original: "revisions.filter(Revision.isLegacy).find((revision) => revision === protocolVersion)",
    broken: "Revision.legacy.find((revision) => revision === protocolVersion) ?? Revision.legacy[0]",
    test: "packages/session/test/clientHandshake.test.ts",
    name: "a revision that is not in the client's options fails as UnsupportedRevision"
  },
  {
    id: "INIT-07",
    at: "ServerHandshake.responseOf",
    original: "protocolVersion: revision,\n    capabilities,",
    broken: "protocolVersion: revision,\n    capabilities: {},",
    test: "packages/session/test/serverHandshake.test.ts",
    name: "responds with the requested revision and its description"
  },
  {
    id: "INIT-08",
    at: "ClientHandshake.#establish",
    original:
      "this.#runtime.fork(Effect.ignore(sender.notify(MethodTable.notifications[\"notifications/initialized\"], {})))",
    broken: "",
    test: "packages/session/test/clientHandshake.test.ts",
    name: "sends initialize, initialized and requests",
    hangs: true
  },
  {
    id: "INIT-09",
    at: "rows.Initializing",
    original: "SendPing: stay(\"Send\")",
    broken: "SendPing: stay(\"Send\"),\n    SendRequest: stay(\"Send\")",
    test: "packages/protocol/test/Handshake/cells.test.ts",
    name: "client: Initializing × SendRequest"
  },
  {
    id: "INIT-10",
    at: "rows.Negotiated",
    original: "SendRequest: stay(\"Hold\")",
    broken: "SendRequest: stay(\"Send\")",
    test: "packages/session/test/serverHandshake.test.ts",
    name: "requests are held until the client sends initialized"
  },
  {
    id: "INIT-11",
    at: "McpEndpoint.memberHeaders",
    original: "revision === undefined ? {} : { \"mcp-protocol-version\": revision }",
    broken: "{}",
    test: "packages/transport/test/http/client/streamable/messages.test.ts",
    name: "every request after the handshake has the session id and the revision"
  },
  {
    id: "INIT-12",
    at: "Outgoing.validateCapability",
    original: "!Revision.isAtLeast(peer.revision, row.since)",
    broken: "row.since === peer.revision",
    test: "packages/session/test/undeclaredCapabilities.test.ts",
    name: "INIT-12"
  },
  {
    id: "INIT-13",
    at: "Outgoing.validateCapability",
    original: "!Revision.isAtLeast(peer.revision, row.since)",
    broken: "row.since === peer.revision",
    test: "packages/session/test/serverRequestsByRevision.test.ts",
    name: "a multiple choice in a form is NotInRevision before 2025-11-25"
  },
  {
    id: "INIT-14",
    at: "Outgoing.validateCapability",
    original: "Capabilities.isKnownTo(capability, peer.revision)",
    broken: "Capabilities.isKnownTo(capability, peer.revision) ||\n      capability === \"roots.listChanged\"",
    test: "packages/session/test/undeclaredCapabilities.test.ts",
    name:
      "[INIT-14] undeclared capabilities in 2024-11-05 > fail the requests and notifications of a client, and nothing is sent"
  },
  {
    id: "INIT-15",
    at: "Outgoing.validateCapability",
    original: "Capabilities.isKnownTo(capability, peer.revision)",
    broken: "Capabilities.isKnownTo(capability, peer.revision) ||\n      capability === \"roots.listChanged\"",
    test: "packages/session/test/undeclaredCapabilities.test.ts",
    name:
      "[INIT-15] undeclared capabilities in 2025-11-25 > fail the requests and notifications of a client, and nothing is sent"
  },
  {
    id: "INIT-16",
    at: "ClientHandshake.#initialize",
    original: "timeout: this.#initializeTimeout,",
    broken: "",
    test: "packages/session/test/clientHandshake.test.ts",
    name: "fails as Timeout after 30 seconds, and initialize is not cancelled",
    hangs: true
  },
  {
    id: "INIT-16",
    at: "InitializeResponse.judge",
    original: "_tag: \"UnsupportedRevision\", chosen: protocolVersion, supported: revisions",
    broken: "_tag: \"InvalidResult\", problem: protocolVersion",
    test: "packages/session/test/clientHandshake.test.ts",
    name: "an unsupported revision fails, and later messages get no reply"
  },
  {
    id: "INIT-02",
    at: "ClientDescription.initializeParams",
    original: "{\n    protocolVersion: revision,\n    capabilities,\n    clientInfo: info\n  }",
    broken:
      "{\n    protocolVersion: revision,\n    capabilities,\n    clientInfo: { name: \"client\", version: \"\" }\n  }",
    test: "packages/session/test/clientHandshake.test.ts",
    name: "sends initialize, initialized and requests"
  },
  {
    id: "INIT-02",
    at: "ClientDescription.initializeParams",
    original: "{\n    protocolVersion: revision,\n    capabilities,\n    clientInfo: info\n  }",
    broken: "{\n    protocolVersion: \"2024-11-05\",\n    capabilities,\n    clientInfo: info\n  }",
    test: "packages/session/test/clientHandshake.test.ts",
    name: "sends initialize, initialized and requests"
  },
  {
    id: "INIT-03",
    at: "ClientDescription.describe",
    original: "Revision.legacy.findLast",
    broken: "Revision.legacy.find",
    test: "packages/session/test/clientHandshake.test.ts",
    name: "the client requests the newest revision of its options"
  },
  {
    id: "INIT-05",
    at: "ServerHandshake.negotiate",
    original: "revisions.find((revision) => revision === requested) ?? fallback",
    broken: "revisions.find((revision) => revision === requested) ?? requested",
    test: "packages/session/test/serverHandshake.test.ts",
    name: "responds with the newest revision of its options instead of an unsupported one"
  },
  {
    id: "INIT-07",
    at: "ServerHandshake.responseOf",
    original: "serverInfo: info",
    broken: "serverInfo: { name: \"server\", version: \"\" }",
    test: "packages/session/test/serverHandshake.test.ts",
    name: "responds with the requested revision and its description"
  },
  {
    id: "INIT-09",
    at: "rows.Initializing",
    original: "SendPing: stay(\"Send\")",
    broken: "SendPing: stay(\"Hold\")",
    test: "packages/protocol/test/Handshake/cells.test.ts",
    name: "client: Initializing × SendPing"
  },
  {
    id: "INIT-14",
    at: "Outgoing.validateCapability",
    original: "Capabilities.isKnownTo(capability, peer.revision)",
    broken: "Capabilities.isKnownTo(capability, peer.revision) ||\n      capability === \"sampling\"",
    test: "packages/session/test/undeclaredCapabilities.test.ts",
    name:
      "[INIT-14] undeclared capabilities in 2024-11-05 > fail the requests and notifications of a server, and nothing is sent",
    hangs: true
  },
  {
    id: "INIT-15",
    at: "Outgoing.validateCapability",
    original: "Capabilities.isKnownTo(capability, peer.revision)",
    broken: "Capabilities.isKnownTo(capability, peer.revision) ||\n      capability === \"sampling\"",
    test: "packages/session/test/undeclaredCapabilities.test.ts",
    name:
      "[INIT-15] undeclared capabilities in 2025-11-25 > fail the requests and notifications of a server, and nothing is sent",
    hangs: true
  }
]
