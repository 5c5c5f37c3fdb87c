import {
  Capabilities,
  CloseReason,
  Handshake,
  Implementation,
  JsonRpc,
  MethodDefinition,
  MethodTable,
  RequestId,
  RequestMetadata,
  Revision,
  RevisionProjection,
  Sampling
} from "@effect-mcp/protocol"
import { ErrorObjects, HandshakeStates, Profiles, RequestIds, ValidMessages } from "@effect-mcp/testing/arbitrary"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { rowOf } from "./support/rows.ts"

const roles: ReadonlyArray<MethodDefinition.Role> = ["client", "server"]
const sides = Revision.supported.flatMap((revision) => roles.map((from) => ({ from, revision })))
const runs = { arbitrary: { runs: 60 } }

describe.each(sides)("the messages of a $from in $revision", ({ from, revision }) => {
  const peer = MethodDefinition.peerOf(from)

  for (const name of ValidMessages.requestNames(from, revision)) {
    const { params } = MethodTable.requests[name]
    it.prop(
      `a request ${name} is one, fits its schema and this revision, and comes over the wire as it is`,
      [ValidMessages.request(name, revision)],
      ([request]) => {
        assert.deepStrictEqual(JsonRpc.classify(request), { _tag: "Request", message: request })
        assert.isTrue(Schema.is(params)(request.params ?? {}))
        const stated = request.params ?? {}
        assert.strictEqual(RevisionProjection.project(name, "params", revision, stated, "strict"), stated)
        assert.deepStrictEqual<unknown>(JSON.parse(JSON.stringify(request)), request)
      },
      runs
    )
  }

  for (const name of ValidMessages.requestNames(peer, revision)) {
    const { result } = MethodTable.requests[name]
    it.prop(
      `a result of ${name} fits its schema and this revision, and is unchanged by the wire`,
      [ValidMessages.success(name, revision)],
      ([success]) => {
        assert.deepStrictEqual(JsonRpc.classify(success), { _tag: "Response", message: success })
        assert.isTrue(Schema.is(result)(success.result))
        assert.strictEqual(
          RevisionProjection.project(name, "result", revision, success.result, "strict"),
          success.result
        )
        assert.deepStrictEqual<unknown>(JSON.parse(JSON.stringify(success)), success)
      },
      runs
    )
  }

  for (const name of ValidMessages.notificationNames(from, revision)) {
    const { params } = MethodTable.notifications[name]
    it.prop(
      `a notification ${name} is one, fits its schema and this revision, and comes over the wire as it is`,
      [ValidMessages.notification(name, revision)],
      ([notification]) => {
        assert.deepStrictEqual(JsonRpc.classify(notification), { _tag: "Notification", message: notification })
        const stated = notification.params ?? {}
        assert.isTrue(Schema.is(params)(stated))
        assert.strictEqual(RevisionProjection.project(name, "params", revision, stated, "strict"), stated)
        assert.deepStrictEqual<unknown>(JSON.parse(JSON.stringify(notification)), notification)
      },
      runs
    )
  }

  it.effect("every kind of message and every method of this side is generated", () =>
    Effect.gen(function*() {
      const drawn = yield* Arbitrary.sampleEffect(ValidMessages.message(from, revision), { count: 2_000, seed: 1 })
      const methods = new Set(drawn.flatMap((message) => "method" in message ? [message.method] : []))
      assert.sameMembers([...methods], [
        ...ValidMessages.requestNames(from, revision),
        ...ValidMessages.notificationNames(from, revision)
      ])
      // Without a handshake, the server sends no requests, and the client no responses.
      const hasResponses = from === "server" || Revision.isLegacy(revision)
      assert.strictEqual(drawn.some((message) => "result" in message), hasResponses)
      assert.strictEqual(drawn.some((message) => "error" in message), hasResponses)
      assert.strictEqual(drawn.some(JsonRpc.isRequest), from === "client" || Revision.isLegacy(revision))
      for (const method of methods) {
        assert.isTrue(Revision.isAtLeast(revision, rowOf(method, from)?.since ?? Revision.latestLegacy))
      }
    }))

  if (Revision.isModern(revision) && from === "client") {
    it.prop("every request carries its revision and its client", [
      ValidMessages.requestFrom(from, revision)
    ], ([request]) => {
      const metadata = RequestMetadata.read(request.params?.["_meta"])
      assert.strictEqual(Result.isSuccess(metadata) && metadata.success.protocolVersion, revision)
    }, runs)
  }

  if (Revision.isModern(revision) && from === "server") {
    it.prop("every result states its type", [ValidMessages.responseFrom(from, revision)], ([response]) => {
      if ("result" in response) assert.include(response.result, { resultType: "complete" })
    }, runs)
  }

  it.prop("[MSG-15] [MSG-16] [MSG-17] a frame is a message, or a batch if the revision has batches", [
    ValidMessages.frame(from, revision)
  ], ([frame]) => {
    const kind = JsonRpc.classify(frame)._tag
    assert.notStrictEqual(kind, "Malformed")
    if (kind !== "Batch") return
    assert.isTrue(Revision.envelopes[revision].batches)
    const messages = JsonRpc.messages(frame)
    assert.strictEqual(messages.length, Array.isArray(frame) ? frame.length : 0)
    assert.isFalse(messages.some((message) => "method" in message && message.method === "initialize"))
  }, runs)

  it.effect("a seed reproduces the messages", () =>
    Effect.gen(function*() {
      const draw = Arbitrary.sampleEffect(ValidMessages.frame(from, revision), { count: 100, seed: "again" })
      assert.deepStrictEqual(yield* draw, yield* draw)
    }))
})

describe.each(Revision.legacy)("in %s", (revision) => {
  it.prop("[INIT-02] [INIT-03] [INIT-07] the handshake requests this revision", [
    ValidMessages.params("initialize", revision),
    ValidMessages.result("initialize", revision)
  ], ([params, result]) => {
    assert.strictEqual(params.protocolVersion, revision)
    assert.strictEqual(result.protocolVersion, revision)
  }, runs)

  it.prop("a cancellation names its request, unless it can mean a task", [
    ValidMessages.params("notifications/cancelled", revision)
  ], ([{ requestId }]) => {
    if (revision !== Revision.latestLegacy) assert.isTrue(RequestId.isRequestId(requestId))
  }, runs)

  it.prop("sampling messages answer the uses of tools", [
    ValidMessages.params("sampling/createMessage", revision)
  ], ([{ messages }]) => {
    assert.isTrue(Result.isSuccess(Sampling.checkToolUse(messages)))
  }, runs)

  it.prop("an error response is valid, without an id in the form of this revision", [
    ValidMessages.failure(revision)
  ], ([failure]) => {
    assert.deepStrictEqual(JsonRpc.classify(failure), { _tag: "Response", message: failure })
    if (RequestId.isRequestId(failure.id)) return
    assert.strictEqual(failure.id, Revision.envelopes[revision].unreadableId === "null" ? null : undefined)
  }, runs)

  it.prop("profiles contain the members of the handshake's schemas", [
    Profiles.clientProfile(revision),
    Profiles.serverProfile(revision)
  ], ([client, server]) => {
    assert.isTrue(Schema.is(Capabilities.ClientCapabilities)(client.capabilities))
    assert.isTrue(Schema.is(Capabilities.ServerCapabilities)(server.capabilities))
    assert.isTrue(client.info === undefined || Schema.is(Implementation.Implementation)(client.info))
    assert.isTrue(Schema.is(Implementation.Implementation)(server.info))
    const params = { capabilities: client.capabilities, clientInfo: client.info }
    assert.strictEqual(RevisionProjection.project("initialize", "params", revision, params, "strict"), params)
    const result = { capabilities: server.capabilities, serverInfo: server.info }
    assert.strictEqual(RevisionProjection.project("initialize", "result", revision, result, "strict"), result)
    assert.deepStrictEqual([client.revision, server.revision], [revision, revision])
  }, runs)
})

it.effect("ids that are easily confused are generated", () =>
  Effect.gen(function*() {
    const ids = yield* Arbitrary.sampleEffect(RequestIds.requestId, { count: 2_000, seed: 1 })
    assert.includeMembers([...ids], [
      0,
      1,
      -1,
      "",
      "0",
      "1",
      Number.MAX_SAFE_INTEGER,
      Number.MIN_SAFE_INTEGER,
      "\uD800"
    ])
    assert.isTrue(ids.every((id) => RequestId.isRequestId(id) && !Object.is(id, -0)))
    const tokens = yield* Arbitrary.sampleEffect(RequestIds.progressToken, { count: 2_000, seed: 1 })
    assert.includeMembers([...tokens], [0, "", "0"])
  }))

it.effect("known and unknown error codes are generated", () =>
  Effect.gen(function*() {
    const errors = yield* Arbitrary.sampleEffect(ErrorObjects.errorObject, { count: 1_000, seed: 1 })
    const codes = errors.map(({ code }) => code)
    assert.includeMembers(codes, [-32700, -32600, -32601, -32602, -32603, -32002, -32042, -31010, 0, 1])
    assert.isTrue(codes.every(Number.isSafeInteger))
    assert.isTrue(errors.some((error) => "data" in error) && errors.some((error) => !("data" in error)))
  }))

const machines = [
  { name: "client", machine: Handshake.client, states: HandshakeStates.clientState },
  { name: "server", machine: Handshake.server, states: HandshakeStates.serverState },
  { name: "stateless server", machine: Handshake.statelessServer, states: HandshakeStates.statelessServerState }
] as const

it.effect.each(machines)("every state of a $name is generated", ({ machine, states }) =>
  Effect.gen(function*() {
    const drawn = yield* Arbitrary.sampleEffect<{ readonly _tag: string }>(states, { count: 200, seed: 1 })
    assert.sameMembers([...new Set(drawn.map(({ _tag }) => _tag))], Object.keys(machine.rows))
  }))

it.effect("every close reason is generated, and has a description", () =>
  Effect.gen(function*() {
    const reasons = yield* Arbitrary.sampleEffect(HandshakeStates.closeReason, { count: 200, seed: 1 })
    assert.strictEqual(new Set(reasons.map(({ _tag }) => _tag)).size, 10)
    for (const reason of reasons) assert.isNotEmpty(CloseReason.describe(reason))
  }))

it.effect("a failing message shrinks to a minimal one", () =>
  Effect.gen(function*() {
    const outcome = yield* Arbitrary.checkEffect(
      ValidMessages.message("client", "2025-11-25"),
      (message) => !("method" in message && message.method === "tools/call"),
      { runs: 500, seed: 1, maxShrinks: 2_000 }
    )
    assert.strictEqual(outcome._tag, "Falsified")
    if (outcome._tag !== "Falsified") return
    assert.deepStrictEqual<unknown>(outcome.shrunkInput, {
      jsonrpc: "2.0",
      id: 0,
      method: "tools/call",
      params: { name: "" }
    })
  }))
