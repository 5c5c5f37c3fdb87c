/** The messages of revision 2026-07-28 against the schema of the specification, and its examples. */
import {
  Discover,
  InputRequired,
  McpError,
  MethodDefinition,
  MethodTable,
  RequestMetadata,
  RevisionProjection,
  Subscription
} from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as Caching from "../src/internal/results/Caching.ts"
import * as ResultType from "../src/internal/results/ResultType.ts"
import * as GeneratedSchema from "./generatedSchema.ts"
import { definitionOf, strictly } from "./official.ts"
import { isMembers } from "./wire.ts"

const members = (value: unknown) => isMembers(value) ? value : {}

const { assertIn, problemIn } = GeneratedSchema.load("2026-07-28")

const meta = RequestMetadata.write({
  protocolVersion: "2026-07-28",
  clientCapabilities: {},
  clientInfo: { name: "a", version: "1" },
  logLevel: "info"
})

const definition = (method: string, part: "params" | "result") =>
  method === "server/discover" ? part === "params" ? "DiscoverRequest" : "DiscoverResult" : definitionOf(method, part)

/** Hints as servers send them (CCH-01, CCH-02). */
const CacheHint: Schema.Codec<Caching.CacheHint> = Schema.Struct({
  ttlMs: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)),
  cacheScope: Schema.Literals(["private", "public"])
})

const runs = { arbitrary: { runs: 60 } }

describe("the schema of the specification accepts", () => {
  it.prop("a discovery", [strictly(Discover.DiscoverResult), CacheHint], (
    [result, hint]
  ) => assertIn("DiscoverResult", { ...members(result), ...hint, resultType: "complete" }), runs)

  it.prop(
    "questions",
    [strictly(InputRequired.InputRequiredResult)],
    ([result]) => assertIn("InputRequiredResult", { ...members(result), resultType: "input_required" }),
    runs
  )

  it.prop("a filter of subscriptions", [strictly(Subscription.SubscriptionFilter)], ([notifications]) => {
    const params = { notifications, _meta: meta }
    assertIn("SubscriptionsListenRequest", { jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params })
    assertIn("SubscriptionsAcknowledgedNotification", {
      jsonrpc: "2.0",
      method: "notifications/subscriptions/acknowledged",
      params: { notifications, _meta: Subscription.meta(1) }
    })
    assertIn("SubscriptionsListenResult", { resultType: "complete", _meta: Subscription.meta("a") })
  }, runs)

  const requests = Object.values<MethodTable.AnyRequest>({ ...MethodTable.requests }).filter((row) =>
    MethodDefinition.isIn(row, "2026-07-28") && row.name !== "subscriptions/listen"
  )

  for (const row of requests) {
    const { name } = row
    it.prop(
      `the params and the result of ${name}`,
      [strictly(row.params), strictly(row.result)],
      ([sent, received]) => {
        const modern = (part: "params" | "result", value: unknown) =>
          members(RevisionProjection.project(name, part, "2026-07-28", value))
        const params = { ...modern("params", sent), _meta: meta }
        assertIn(definition(name, "params"), { jsonrpc: "2.0", id: 1, method: name, params })
        const hint = Caching.methods.has(name) ? Caching.none : {}
        assertIn(definition(name, "result"), { ...modern("result", received), ...hint, resultType: "complete" })
      },
      runs
    )
  }

  it("the errors", () => {
    const response = ({ code, data, message }: McpError.McpError) => ({
      jsonrpc: "2.0",
      id: 1,
      error: { code, message, ...(data === undefined ? undefined : { data }) }
    })
    const errors = {
      UnsupportedProtocolVersionError: McpError.unsupportedVersion("1900-01-01", ["2026-07-28"]),
      MissingRequiredClientCapabilityError: McpError.missingCapability("elicitation/create", { elicitation: {} }),
      HeaderMismatchError: McpError.headerMismatch("the header mcp-method is missing")
    }
    for (const [definition, error] of Object.entries(errors)) {
      assert.isUndefined(problemIn(definition, response(error)), definition)
    }
  })
})

describe("questions", () => {
  const decode = (value: unknown) => Schema.decodeUnknownExit(InputRequired.InputRequiredResult)(value)

  it("have questions or a state", () => {
    assert.isTrue(Exit.isFailure(decode({})))
    assert.isTrue(Exit.isSuccess(decode({ requestState: "a" })))
    assert.isTrue(Exit.isSuccess(decode({ inputRequests: { a: { method: "roots/list" } } })))
  })

  it("are forms, pages, messages of the model, or for the roots, and no other request", () => {
    for (const request of [{ method: "ping" }, { method: "elicitation/create", params: {} }, {}]) {
      assert.isTrue(Exit.isFailure(decode({ inputRequests: { a: request } })), JSON.stringify(request))
    }
    const page = { mode: "url", message: "Sign in", url: "https://example.com" }
    assert.isTrue(Exit.isSuccess(decode({ inputRequests: { a: { method: "elicitation/create", params: page } } })))
  })
})

it("a time that is missing, negative or no number counts as 0, and an unknown scope as private", () => {
  assert.deepStrictEqual(Caching.read({}), Caching.none)
  assert.deepStrictEqual(Caching.read({ ttlMs: -5, cacheScope: "shared" }), Caching.none)
  assert.deepStrictEqual(Caching.read({ ttlMs: Number.NaN, cacheScope: "public" }), { ttlMs: 0, cacheScope: "public" })
  assert.deepStrictEqual(Caching.read({ ttlMs: 5, cacheScope: "public" }), { ttlMs: 5, cacheScope: "public" })
})

it("a result is of a type of the specification or of an accepted extension", () => {
  assert.strictEqual(ResultType.of({}), "complete")
  assert.strictEqual(ResultType.of({ resultType: "input_required" }), "input_required")
  for (const resultType of ["task", "Complete", "", 5, null]) assert.isUndefined(ResultType.of({ resultType }))
  assert.strictEqual(ResultType.of({ resultType: "task" }, new Set([...ResultType.core, "task"])), "task")
})

it("a message belongs to the stream whose id it has", () => {
  for (const id of [1, 0, "a", ""]) assert.strictEqual(Subscription.idIn(Subscription.meta(id)), id)
  for (const id of [1.5, null, {}, true]) {
    assert.isUndefined(Subscription.idIn({ "io.modelcontextprotocol/subscriptionId": id }))
  }
})

describe("the form of revision 2026-07-28", () => {
  const { project } = RevisionProjection

  it("has no tasks of the last revision with a handshake, in capabilities and in params", () => {
    const capabilities = { tasks: { list: {} }, sampling: { tools: {} }, roots: { listChanged: true } }
    assert.deepStrictEqual<unknown>(project("initialize", "params", "2026-07-28", { capabilities }), {
      capabilities: { sampling: { tools: {} }, roots: {} }
    })
    assert.deepStrictEqual<unknown>(
      project("server/discover", "result", "2026-07-28", { capabilities: { tools: {}, tasks: {} } }),
      { capabilities: { tools: {} } }
    )
    const params = { name: "add", task: { ttl: 1 } }
    assert.deepStrictEqual<unknown>(project("tools/call", "params", "2026-07-28", params), { name: "add" })
    assert.deepStrictEqual<unknown>(
      project("tools/list", "result", "2026-07-28", {
        tools: [{ name: "add", execution: { taskSupport: "required" } }]
      }),
      { tools: [{ name: "add" }] }
    )
  })

  it("has no ids of pages to visit", () => {
    const page = { mode: "url", message: "Sign in", url: "https://example.com", elicitationId: "1", task: {} }
    assert.deepStrictEqual<unknown>(project("elicitation/create", "params", "2026-07-28", page), {
      mode: "url",
      message: "Sign in",
      url: "https://example.com"
    })
    const form = { message: "Who?", requestedSchema: { type: "object", properties: {} }, task: {} }
    assert.deepStrictEqual<unknown>(project("elicitation/create", "params", "2026-07-28", form), {
      message: "Who?",
      requestedSchema: { type: "object", properties: {} }
    })
  })
})
