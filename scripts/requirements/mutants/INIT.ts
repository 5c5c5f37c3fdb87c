import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "INIT-01",
    file: "packages/session/src/internal/client/ClientHandshake.ts",
    original: "Effect.result(initialized)",
    broken:
      "Effect.result(Effect.andThen(Effect.ignore(sender.send(JsonRpc.notification(\"notifications/initialized\"))), initialized))",
    test: "packages/session/test/clientHandshake.test.ts",
    name: "sends initialize, initialized and requests"
  },
  {
    id: "INIT-01",
    file: "packages/protocol/src/internal/handshake/rows.ts",
    original: "    SendInitialize: initialize,\n    Close: abort,\n    TransportEnded: abort\n",
    broken:
      "    SendPing: stay(\"Send\"),\n    SendInitialize: initialize,\n    Close: abort,\n    TransportEnded: abort\n",
    test: "packages/protocol/test/Handshake/cells.test.ts",
    name: "client: Idle × SendPing"
  },
  {
    id: "INIT-02",
    file: "packages/session/src/internal/client/ClientHandshake.ts",
    original: "    capabilities,\n    clientInfo: info\n",
    broken: "    capabilities: {},\n    clientInfo: info\n",
    test: "packages/session/test/clientHandshake.test.ts",
    name: "sends initialize, initialized and requests"
  },
  {
    id: "INIT-03",
    file: "packages/session/src/internal/client/ClientHandshake.ts",
    original: "offer: Revision.legacy.findLast((revision) => revisions.includes(revision))",
    broken: "offer: Revision.latestLegacy",
    test: "packages/session/test/clientHandshake.test.ts",
    name: "the client requests the newest revision of its options"
  },
  {
    id: "INIT-04",
    file: "packages/session/src/internal/server/ServerHandshake.ts",
    original: "revisions.find((revision) => revision === requested) ?? fallback",
    broken: "fallback ?? revisions.find((revision) => revision === requested)",
    test: "packages/session/test/serverHandshake.test.ts",
    name: "responds with the requested revision and its description"
  },
  {
    id: "INIT-05",
    file: "packages/session/src/internal/server/ServerHandshake.ts",
    original: "revisions.find((revision) => revision === requested) ?? fallback",
    broken: "revisions.find((revision) => revision === requested) ?? revisions.at(-1) ?? fallback",
    test: "packages/session/test/serverHandshake.test.ts",
    name: "responds with the newest revision of its options instead of an unsupported one"
  },
  {
    id: "INIT-06",
    file: "packages/session/src/internal/client/ClientHandshake.ts",
    original: "const revision = revisions.filter(Revision.isLegacy).find((revision) => revision === protocolVersion)",
    broken: "const revision = Revision.legacy.find((revision) => revision === protocolVersion) ?? Revision.legacy[0]",
    test: "packages/session/test/clientHandshake.test.ts",
    name: "a revision that is not in the client's options fails as UnsupportedRevision"
  },
  {
    id: "INIT-07",
    file: "packages/session/src/internal/server/ServerHandshake.ts",
    original: "    protocolVersion: revision,\n    capabilities,\n",
    broken: "    protocolVersion: revision,\n    capabilities: {},\n",
    test: "packages/session/test/serverHandshake.test.ts",
    name: "responds with the requested revision and its description"
  },
  {
    id: "INIT-08",
    file: "packages/session/src/internal/client/ClientHandshake.ts",
    original:
      "    this.#runtime.fork(Effect.ignore(sender.notify(MethodTable.notifications[\"notifications/initialized\"], {})))\n",
    broken: "",
    test: "packages/session/test/clientHandshake.test.ts",
    name: "sends initialize, initialized and requests",
    hangs: true
  },
  {
    id: "INIT-09",
    file: "packages/protocol/src/internal/handshake/rows.ts",
    original: "    SendPing: stay(\"Send\"),\n    ReceiveInitializeResult",
    broken: "    SendPing: stay(\"Send\"),\n    SendRequest: stay(\"Send\"),\n    ReceiveInitializeResult",
    test: "packages/protocol/test/Handshake/cells.test.ts",
    name: "client: Initializing × SendRequest"
  },
  {
    id: "INIT-10",
    file: "packages/protocol/src/internal/handshake/rows.ts",
    original: "SendRequest: stay(\"Hold\"),\n    SendNotification",
    broken: "SendRequest: stay(\"Send\"),\n    SendNotification",
    test: "packages/session/test/serverHandshake.test.ts",
    name: "requests are held until the client sends initialized"
  },
  {
    id: "INIT-11",
    file: "packages/transport/src/internal/http/client/McpEndpoint.ts",
    original: "...revision === undefined ? {} : { \"mcp-protocol-version\": revision }",
    broken: "...{}",
    test: "packages/transport/test/http/client/streamable/messages.test.ts",
    name: "every request after the handshake has the session id and the revision"
  },
  {
    id: "INIT-12",
    file: "packages/session/src/internal/engine/Outgoing.ts",
    original: "if (!Revision.isAtLeast(peer.revision, row.since)) {",
    broken: "if (row.since === peer.revision) {",
    test: "packages/session/test/undeclaredCapabilities.test.ts",
    name: "INIT-12"
  },
  {
    id: "INIT-13",
    file: "packages/session/src/internal/engine/Outgoing.ts",
    original: "if (!Revision.isAtLeast(peer.revision, row.since)) {",
    broken: "if (row.since === peer.revision) {",
    test: "packages/session/test/serverRequestsByRevision.test.ts",
    name: "a multiple choice in a form is NotInRevision before 2025-11-25"
  },
  {
    id: "INIT-14",
    file: "packages/session/src/internal/engine/Outgoing.ts",
    original: "      Capabilities.declares(capabilities(peer), capability)\n",
    broken: "      capability === \"roots.listChanged\" || Capabilities.declares(capabilities(peer), capability)\n",
    test: "packages/session/test/undeclaredCapabilities.test.ts",
    name:
      "[INIT-14] undeclared capabilities in 2024-11-05 > fail the requests and notifications of a client, and nothing is sent"
  },
  {
    id: "INIT-15",
    file: "packages/session/src/internal/engine/Outgoing.ts",
    original: "      Capabilities.declares(capabilities(peer), capability)\n",
    broken: "      capability === \"roots.listChanged\" || Capabilities.declares(capabilities(peer), capability)\n",
    test: "packages/session/test/undeclaredCapabilities.test.ts",
    name:
      "[INIT-15] undeclared capabilities in 2025-11-25 > fail the requests and notifications of a client, and nothing is sent"
  },
  {
    id: "INIT-16",
    file: "packages/session/src/internal/client/ClientHandshake.ts",
    original: "      timeout: this.#initializeTimeout,\n",
    broken: "",
    test: "packages/session/test/clientHandshake.test.ts",
    name: "fails as Timeout after 30 seconds, and initialize is not cancelled",
    hangs: true
  },
  {
    id: "INIT-16",
    file: "packages/session/src/internal/client/ClientHandshake.ts",
    original: "_tag: \"UnsupportedRevision\", chosen: protocolVersion, supported: revisions",
    broken: "_tag: \"InvalidResult\", problem: protocolVersion",
    test: "packages/session/test/clientHandshake.test.ts",
    name: "an unsupported revision fails, and later messages get no reply"
  },
  {
    id: "INIT-02",
    file: "packages/session/src/internal/client/ClientHandshake.ts",
    original: "    clientInfo: info\n",
    broken: "    clientInfo: { name: \"client\", version: \"\" }\n",
    test: "packages/session/test/clientHandshake.test.ts",
    name: "sends initialize, initialized and requests"
  },
  {
    id: "INIT-02",
    file: "packages/session/src/internal/client/ClientHandshake.ts",
    original: "    protocolVersion: revision,\n",
    broken: "    protocolVersion: \"2024-11-05\",\n",
    test: "packages/session/test/clientHandshake.test.ts",
    name: "sends initialize, initialized and requests"
  },
  {
    id: "INIT-03",
    file: "packages/session/src/internal/client/ClientHandshake.ts",
    original: "offer: Revision.legacy.findLast((revision) => revisions.includes(revision))",
    broken: "offer: Revision.legacy.find((revision) => revisions.includes(revision))",
    test: "packages/session/test/clientHandshake.test.ts",
    name: "the client requests the newest revision of its options"
  },
  {
    id: "INIT-05",
    file: "packages/session/src/internal/server/ServerHandshake.ts",
    original: "revisions.find((revision) => revision === requested) ?? fallback",
    broken: "revisions.find((revision) => revision === requested) ?? requested",
    test: "packages/session/test/serverHandshake.test.ts",
    name: "responds with the newest revision of its options instead of an unsupported one"
  },
  {
    id: "INIT-07",
    file: "packages/session/src/internal/server/ServerHandshake.ts",
    original: "    serverInfo: info,\n",
    broken: "    serverInfo: { name: \"server\", version: \"\" },\n",
    test: "packages/session/test/serverHandshake.test.ts",
    name: "responds with the requested revision and its description"
  },
  {
    id: "INIT-09",
    file: "packages/protocol/src/internal/handshake/rows.ts",
    original: "    SendPing: stay(\"Send\"),\n    ReceiveInitializeResult",
    broken: "    SendPing: stay(\"Hold\"),\n    ReceiveInitializeResult",
    test: "packages/protocol/test/Handshake/cells.test.ts",
    name: "client: Initializing × SendPing"
  },
  {
    id: "INIT-14",
    file: "packages/session/src/internal/engine/Outgoing.ts",
    original: "      Capabilities.declares(capabilities(peer), capability)\n",
    broken: "      capability === \"sampling\" || Capabilities.declares(capabilities(peer), capability)\n",
    test: "packages/session/test/undeclaredCapabilities.test.ts",
    name:
      "[INIT-14] undeclared capabilities in 2024-11-05 > fail the requests and notifications of a server, and nothing is sent",
    hangs: true
  },
  {
    id: "INIT-15",
    file: "packages/session/src/internal/engine/Outgoing.ts",
    original: "      Capabilities.declares(capabilities(peer), capability)\n",
    broken: "      capability === \"sampling\" || Capabilities.declares(capabilities(peer), capability)\n",
    test: "packages/session/test/undeclaredCapabilities.test.ts",
    name:
      "[INIT-15] undeclared capabilities in 2025-11-25 > fail the requests and notifications of a server, and nothing is sent",
    hangs: true
  }
]
