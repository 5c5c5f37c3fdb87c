import { JsonRpc, McpError, RequestId } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Official from "@modelcontextprotocol/sdk/types.js"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { inheritedNames, notObjects, overTheWire } from "./wire.ts"

// =====================================================================================================================
// Expected classifications
// =====================================================================================================================

/** The kind of a frame. A malformed frame is answered, with or without its id, or never answered. */
type Expected =
  | Exclude<JsonRpc.Classified["_tag"], "Malformed">
  | { readonly answer: RequestId.RequestId | "no id" }
  | "never answered"

const classificationOf = (frame: unknown): Expected => {
  const classified = JsonRpc.classify(frame)
  if (classified._tag === "Batch") {
    assert.strictEqual(classified.frames, frame, "a batch is the received list itself")
    return classified._tag
  }
  if (classified._tag !== "Malformed") {
    assert.strictEqual(classified.message, frame, "a classified message is the received object itself")
    return classified._tag
  }
  const { answerable, id, problem } = classified.malformed
  assert.isNotEmpty(problem)
  return answerable ? { answer: id ?? "no id" } : "never answered"
}

const assertExpected = (frame: unknown, expected: Expected): void =>
  assert.deepStrictEqual(classificationOf(frame), expected, JSON.stringify(frame))

// =====================================================================================================================
// Examples
// =====================================================================================================================

const error = { code: -32601, message: "Method not found" }

const longest = "i".repeat(RequestId.maximumBytes)
const tooLong = `${longest}i`
const callWithMeta = (_meta: unknown) => ({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "x", _meta } })
const notificationOf = (name: string, params: unknown) => ({ jsonrpc: "2.0", method: `notifications/${name}`, params })

const examples: ReadonlyArray<readonly [name: string, frame: unknown, expected: Expected]> = [
  ["[MSG-03] a request with a number for an id", { jsonrpc: "2.0", id: 1, method: "ping" }, "Request"],
  ["[MSG-03] a request whose id is zero", { jsonrpc: "2.0", id: 0, method: "initialize", params: {} }, "Request"],
  ["[MSG-03] a request whose id is the empty string", { jsonrpc: "2.0", id: "", method: "ping" }, "Request"],
  ["[MSG-03] a request of an unknown method", { jsonrpc: "2.0", id: "a", method: "" }, "Request"],
  ["[MSG-01] a request with unknown members", { jsonrpc: "2.0", id: 1, method: "ping", acme: [] }, "Request"],
  // The schema of the method checks the params later. Its error code is −32602.
  [
    "[MSG-01] a request whose params are not an object",
    { jsonrpc: "2.0", id: 1, method: "ping", params: "x" },
    "Request"
  ],
  ["[MSG-11] a notification", { jsonrpc: "2.0", method: "notifications/initialized" }, "Notification"],
  ["[MSG-11] a notification of a request's method", { jsonrpc: "2.0", method: "ping" }, "Notification"],
  ["[MSG-08] a result", { jsonrpc: "2.0", id: 1, result: {} }, "Response"],
  ["[MSG-08] a result that is null", { jsonrpc: "2.0", id: 1, result: null }, "Response"],
  ["[MSG-08] an error", { jsonrpc: "2.0", id: "a", error }, "Response"],
  ["[MSG-10] an error with data", { jsonrpc: "2.0", id: 1, error: { ...error, data: null } }, "Response"],
  ["[MSG-09] an error without an id", { jsonrpc: "2.0", error }, "Response"],
  ["[MSG-09] an error whose id is null", { jsonrpc: "2.0", id: null, error }, "Response"],

  ["[MSG-15] a batch", [{ jsonrpc: "2.0", id: 1, method: "ping" }], "Batch"],
  ["[MSG-15] an empty batch", [], { answer: "no id" }],
  ["[MSG-01] a request with another jsonrpc version", { jsonrpc: "1.0", id: 1, method: "ping" }, { answer: 1 }],
  ["[MSG-01] a request with a numeric jsonrpc version", { jsonrpc: 2, id: "a", method: "ping" }, { answer: "a" }],
  ["[MSG-01] a request without jsonrpc", { id: 0, method: "ping" }, { answer: 0 }],
  ["[MSG-01] a notification without jsonrpc", { method: "notifications/initialized" }, { answer: "no id" }],
  ["[MSG-04] a request whose id is null", { jsonrpc: "2.0", id: null, method: "ping" }, { answer: "no id" }],
  ["[MSG-03] a request whose id is a fraction", { jsonrpc: "2.0", id: 1.5, method: "ping" }, { answer: "no id" }],
  ["[MSG-03] a request whose id is an object", { jsonrpc: "2.0", id: {}, method: "ping" }, { answer: "no id" }],
  ["[MSG-03] a request whose id is an array", { jsonrpc: "2.0", id: [1], method: "ping" }, { answer: "no id" }],
  ["[MSG-03] a request whose id is too large", { jsonrpc: "2.0", id: 2 ** 53, method: "ping" }, { answer: "no id" }],
  ["a request whose id is too long", { jsonrpc: "2.0", id: tooLong, method: "ping" }, { answer: "no id" }],
  ["a request with a too long id and an invalid method", { jsonrpc: "2.0", id: tooLong, method: 1 }, {
    answer: "no id"
  }],
  ["a request with a too long id and another jsonrpc version", { jsonrpc: "1.0", id: tooLong, method: "ping" }, {
    answer: "no id"
  }],
  ["[MSG-03] a request whose id has the maximum length", { jsonrpc: "2.0", id: longest, method: "ping" }, "Request"],
  ["a progress token that is too long", callWithMeta({ progressToken: tooLong }), { answer: "no id" }],
  ["[PRG-01] a progress token of the maximum length", callWithMeta({ progressToken: longest }), "Request"],
  ["[MSG-01] metadata that is not an object", callWithMeta(null), "Request"],
  ["a cancellation with a too long id", notificationOf("cancelled", { requestId: tooLong }), { answer: "no id" }],
  ["progress with a too long token", notificationOf("progress", { progressToken: tooLong }), { answer: "no id" }],
  ["[MSG-01] a cancellation whose params are null", notificationOf("cancelled", null), "Notification"],
  ["[MSG-07] a response with an id that no request has", { jsonrpc: "2.0", id: tooLong, result: {} }, "Response"],
  // The example of an invalid request in the JSON-RPC specification.
  ["[MSG-01] a method that is not a string", { jsonrpc: "2.0", id: 1, method: 1, params: "bar" }, { answer: 1 }],
  ["[MSG-01] a method that is null", { jsonrpc: "2.0", method: null }, { answer: "no id" }],

  ["[MSG-01] an empty object", {}, "never answered"],
  ["[MSG-01] an id without any other member", { jsonrpc: "2.0", id: 1 }, "never answered"],
  ["[MSG-01] params without a method", { jsonrpc: "2.0", id: 1, params: {} }, "never answered"],
  ["[MSG-08] a result and an error", { jsonrpc: "2.0", id: 1, result: {}, error }, "never answered"],
  ["[MSG-08] a result with a method", { jsonrpc: "2.0", id: 1, method: "ping", result: {} }, "never answered"],
  ["[MSG-08] an error with a method", { jsonrpc: "2.0", method: "ping", error }, "never answered"],
  ["[MSG-07] a result without an id", { jsonrpc: "2.0", result: {} }, "never answered"],
  ["[MSG-07] a result whose id is null", { jsonrpc: "2.0", id: null, result: {} }, "never answered"],
  ["[MSG-03] a result whose id is a fraction", { jsonrpc: "2.0", id: 0.5, result: {} }, "never answered"],
  ["[MSG-03] an error whose id is an object", { jsonrpc: "2.0", id: {}, error }, "never answered"],
  ["[MSG-01] a result with another jsonrpc version", { jsonrpc: "1.0", id: 1, result: {} }, "never answered"],
  ["[MSG-10] an error that is null", { jsonrpc: "2.0", id: 1, error: null }, "never answered"],
  ["[MSG-10] an error that is a string", { jsonrpc: "2.0", id: 1, error: "no" }, "never answered"],
  ["[MSG-10] an error that is an array", { jsonrpc: "2.0", id: 1, error: [] }, "never answered"],
  ["[MSG-10] an error without a code", { jsonrpc: "2.0", id: 1, error: { message: "no" } }, "never answered"],
  [
    "[MSG-10] an error whose code is a fraction",
    { jsonrpc: "2.0", id: 1, error: { ...error, code: 1.5 } },
    "never answered"
  ],
  [
    "[MSG-10] an error whose code is a string",
    { jsonrpc: "2.0", id: 1, error: { ...error, code: "1" } },
    "never answered"
  ],
  [
    "[MSG-10] an error whose code is not a safe integer",
    { jsonrpc: "2.0", error: { ...error, code: 2 ** 53 } },
    "never answered"
  ],
  ["[MSG-10] an error without a message", { jsonrpc: "2.0", id: 1, error: { code: 1 } }, "never answered"],
  [
    "[MSG-10] an error whose message is null",
    { jsonrpc: "2.0", id: 1, error: { code: 1, message: null } },
    "never answered"
  ]
]

describe("classify", () => {
  it.each(examples)("%s", (_, frame, expected) => assert.deepStrictEqual(classificationOf(frame), expected))

  it.each([
    ...notObjects.filter((value) => !Array.isArray(value)),
    // JSON cannot express these, but an in-memory transport can deliver them.
    undefined,
    Symbol("frame"),
    1n,
    () => {}
  ])(
    "[MSG-01] %s is answered without an id",
    (value) => assert.deepStrictEqual(classificationOf(value), { answer: "no id" })
  )
})

const success = { jsonrpc: "2.0", id: 1, result: {} }
const failed = { jsonrpc: "2.0", id: 1, error }

describe("a malformed response", () => {
  const meant: ReadonlyArray<readonly [name: string, frame: object, meant: object]> = [
    ["a null error beside a result", { ...success, error: null, acme: 1 }, { ...success, acme: 1 }],
    ["a null result beside an error", { ...failed, result: null }, failed],
    ["a null result and a null error", { ...success, result: null, error: null }, { ...success, result: null }],
    ["a number in a string as the error code", { ...failed, error: { ...error, code: "-32601" } }, failed],
    ["the same with a null result", { ...failed, result: null, error: { ...error, code: "-32601" } }, failed],
    ["the same without an id", { jsonrpc: "2.0", error: { ...error, code: "-32601" } }, { jsonrpc: "2.0", error }],
    [
      "a string as the error code",
      { ...failed, error: { ...error, code: `E${"x".repeat(200)}`, data: 1 } },
      { ...failed, error: { code: -32603, message: `Method not found (code "E${"x".repeat(99)}")`, data: 1 } }
    ],
    [
      "a string of too many digits as the error code",
      { ...failed, error: { ...error, code: "9".repeat(16) } },
      { ...failed, error: { code: -32603, message: `Method not found (code "${"9".repeat(16)}")` } }
    ]
  ]
  it.each(meant)("is reported with its intended response, and is not modified: %s", (_, frame, meant) => {
    const before = JSON.stringify(frame)
    const classified = JsonRpc.classify(frame)
    assert.isTrue(classified._tag === "Malformed" && !classified.malformed.answerable)
    assert.deepStrictEqual<unknown>(classified._tag === "Malformed" ? classified.malformed.meant : undefined, meant)
    assert.strictEqual(JSON.stringify(frame), before)
  })

  it.each(
    [
      ["a result and an error", { ...success, error }],
      ["a null error alone", { jsonrpc: "2.0", id: 1, error: null }],
      ["a string as the error code, without a message", { jsonrpc: "2.0", id: 1, error: { code: "1" } }],
      ["a null error with another jsonrpc version", { ...success, jsonrpc: "1.0", error: null }],
      ["no result and no error", { jsonrpc: "2.0", id: 1 }]
    ] satisfies ReadonlyArray<[string, object]>
  )("is reported with only its id: %s", (_, frame) => {
    const classified = JsonRpc.classify(frame)
    assert.isTrue(
      classified._tag === "Malformed" && classified.malformed.answers === 1 && classified.malformed.meant === undefined
    )
  })

  it.each(
    [
      ["a method", { ...success, method: "ping" }],
      ["an invalid id", { ...success, id: 1.5, error: null }],
      ["a missing id", { jsonrpc: "2.0", result: {} }]
    ] satisfies ReadonlyArray<[string, object]>
  )("is reported without an id: %s", (_, frame) => {
    const classified = JsonRpc.classify(frame)
    assert.isTrue(
      classified._tag === "Malformed" && classified.malformed.answers === undefined &&
        classified.malformed.meant === undefined
    )
  })
})

// =====================================================================================================================
// All combinations of members
// =====================================================================================================================

/** Marks an absent member. */
const absent = "absent"

/** Returns the object without its absent members. */
const present = (members: object): { readonly [name: string]: unknown } =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== absent))

const domains = {
  jsonrpc: [absent, "2.0", "1.0", 2],
  id: [absent, 0, 1, -1, "", "1", null, true, 1.5, 2 ** 53, {}, []],
  method: [absent, "ping", ""],
  params: [absent, {}],
  result: [absent, {}, null, false],
  error: [absent, error, { code: 1.5, message: "" }, { code: 1 }, {}, null, "no"]
}

type Member = keyof typeof domains

const names: ReadonlyArray<Member> = ["jsonrpc", "id", "method", "params", "result", "error"]

function* combinations(at = 0): Generator<object> {
  const name = names[at]
  if (name === undefined) return yield {}
  for (const rest of combinations(at + 1)) {
    for (const value of domains[name]) yield { ...rest, [name]: value }
  }
}

/** The rules of JSON-RPC, written out one by one. */
const expectedOf = (frame: { readonly [name: string]: unknown }): Expected => {
  const has = (name: Member) => Object.hasOwn(frame, name)
  const id = RequestId.isRequestId(frame["id"]) ? frame["id"] : undefined
  const isVersioned = frame["jsonrpc"] === "2.0"
  if (has("result") || has("error") || !has("method")) {
    const isResult = has("result") && id !== undefined
    const isError = frame["error"] === error && (id !== undefined || !has("id") || frame["id"] === null)
    const isResponse = isVersioned && !has("method") && (has("result") ? isResult && !has("error") : isError)
    return isResponse ? "Response" : "never answered"
  }
  if (!isVersioned || (has("id") && id === undefined)) return { answer: id ?? "no id" }
  return has("id") ? "Request" : "Notification"
}

it("[MSG-01] [MSG-03] [MSG-04] [MSG-08] [MSG-10] [MSG-11] classify returns the kind of each combination", () => {
  const seen = new Set<string>()
  for (const members of combinations()) {
    const frame = present(members)
    const expected = expectedOf(frame)
    assertExpected(frame, expected)
    seen.add(typeof expected === "string" ? expected : "answer")
  }
  assert.deepStrictEqual([...seen].toSorted(), ["Notification", "Request", "Response", "answer", "never answered"])
})

// =====================================================================================================================
// Random messages
// =====================================================================================================================

const Id = Schema.Union([Schema.String, Schema.Int])
const Params = Schema.Record(Schema.String, Schema.Unknown)
const ErrorObject = Schema.Struct({
  code: Schema.Int,
  message: Schema.String,
  data: Schema.optionalKey(Schema.Unknown)
})

/** Members outside of JSON-RPC. Some of their names resemble JSON-RPC members. */
const extra = Arbitrary.schema(Schema.Record(
  Schema.Literals(["_tag", "Id", "METHOD", "data", "constructor", "__proto__", "toString", "extra"]),
  Schema.Unknown
))

/** The members of a message as its sender creates it, with its kind. */
const messages = Arbitrary.schema(Schema.Union([
  Schema.Struct({ kind: Schema.Literal("Request"), id: Id, method: Schema.String, params: Schema.optionalKey(Params) }),
  Schema.Struct({ kind: Schema.Literal("Notification"), method: Schema.String, params: Schema.optionalKey(Params) }),
  Schema.Struct({ kind: Schema.Literal("Response"), id: Id, result: Schema.Unknown }),
  Schema.Struct({
    kind: Schema.Literal("Response"),
    id: Schema.optionalKey(Schema.NullOr(Id)),
    error: ErrorObject
  })
])).pipe(Arbitrary.map(({ kind, ...members }) => ({ kind, members: { jsonrpc: "2.0", ...members } })))

it.prop(
  "[MSG-01] [MSG-03] [MSG-08] [MSG-11] a message has the kind that its sender intended, and is not copied",
  { message: messages, extra },
  ({ extra, message: { kind, members } }) => {
    assertExpected(overTheWire({ ...extra, ...members }), kind)
  },
  { arbitrary: { runs: 400 } }
)

/** A message in which up to two members are replaced, added or removed. Often it is no longer a message. */
const nearMessages = Arbitrary.all({
  message: messages,
  changes: Arbitrary.array(
    Arbitrary.schema(Schema.Struct({
      member: Schema.Literals(names),
      value: Schema.Union([
        Schema.Literals(["2.0", 1, absent, absent]),
        Schema.Null,
        Params,
        ErrorObject,
        Schema.Struct({ code: Schema.Literals([1.5, 2 ** 53, -1e300]), message: Schema.String }),
        Schema.Unknown
      ])
    })),
    { maxLength: 2 }
  )
}).pipe(
  Arbitrary.map(({ changes, message: { members } }) =>
    present({ ...members, ...Object.fromEntries(changes.map(({ member, value }) => [member, value])) })
  )
)

it.prop(
  "[MSG-01] classify throws for no JSON value and modifies none",
  { near: nearMessages, extra, any: Schema.Unknown },
  ({ any, extra, near }) => {
    for (const value of [near, { ...extra, ...near }, any, extra, [near]]) {
      const frame = overTheWire(value)
      const before = JSON.stringify(frame)
      const kind = classificationOf(frame)
      assert.strictEqual(JSON.stringify(frame), before)
      if (typeof frame === "object" && frame !== null && ("result" in frame || "error" in frame)) {
        assert.isTrue(
          kind === "Response" || kind === "never answered",
          "two peers must not answer each other's responses"
        )
      }
    }
  },
  { arbitrary: { runs: 400 } }
)

it.prop(
  "[MSG-01] [MSG-08] [MSG-10] classify accepts what the official validators accept, with the exceptions listed here",
  [nearMessages],
  ([near]) => {
    const frame = overTheWire(near)
    const kind = JsonRpc.classify(frame)._tag
    const official = Official.isJSONRPCRequest(frame)
      ? "Request"
      : Official.isJSONRPCNotification(frame)
      ? "Notification"
      : Official.JSONRPCResponseSchema.safeParse(frame).success
      ? "Response"
      : "Malformed"
    if (kind === official) return
    // The official envelope also checks `params` and `result`, which the schema of the method checks here, and rejects
    // unknown members. Before 2025-11-25 a null id means that the id of the request could not be read. The official
    // validators support only the newest revision.
    assert.strictEqual(official, "Malformed", `${kind} here`)
    const tolerated = (kind === "Request" || kind === "Notification")
      ? !Official.RequestSchema.safeParse(frame).success
      : ("result" in near && !Official.ResultSchema.safeParse(near["result"]).success) || near["id"] === null ||
        "params" in near
    assert.isTrue(tolerated, `${kind} here, rejected there`)
  },
  { arbitrary: { runs: 600 } }
)

it.prop(
  "[MSG-10] each accepted error can be converted to an McpError",
  [nearMessages],
  ([near]) => {
    const classified = JsonRpc.classify(overTheWire({ ...near, jsonrpc: "2.0", id: 1 }))
    if (classified._tag !== "Response" || !JsonRpc.isFailure(classified.message)) return
    const { code, message } = classified.message.error
    assert.strictEqual(new McpError.McpError({ code, message }).code, code)
  },
  { arbitrary: { runs: 400 } }
)

// =====================================================================================================================
// Hostile objects
// =====================================================================================================================

const inner = `{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`
const deep: unknown = JSON.parse("[".repeat(5_000) + "]".repeat(5_000))

const hostile: ReadonlyArray<readonly [name: string, frame: unknown, expected: Expected]> = [
  ["[MSG-08] a message in a member __proto__", JSON.parse(`{"__proto__":${inner}}`), "never answered"],
  [
    "[MSG-08] messages in members constructor and prototype",
    JSON.parse(`{"jsonrpc":"2.0","method":"ping","constructor":${inner},"prototype":${inner}}`),
    "Notification"
  ],
  [
    "an object without a prototype",
    Object.assign(Object.create(null), { jsonrpc: "2.0", id: 1, method: "ping" }),
    "Request"
  ],
  // `JSON.parse` keeps the last of two members with the same name.
  ["a valid id after an invalid id", JSON.parse(`{"jsonrpc":"2.0","id":1.5,"method":"ping","id":1}`), "Request"],
  ["an invalid id after a valid id", JSON.parse(`{"jsonrpc":"2.0","id":1,"method":"ping","id":1.5}`), {
    answer: "no id"
  }],
  // A name that differs in case or by a space is another member.
  [
    "members whose names differ in case or by a space",
    { jsonrpc: "2.0", ID: 1, "id ": 1, method: "ping", Result: {}, " error": {} },
    "Notification"
  ],
  ["a member Method instead of method", { JSONRPC: "2.0", id: 1, Method: "ping" }, "never answered"],
  ["a deeply nested array", deep, "Batch"],
  ["a deeply nested id", { jsonrpc: "2.0", id: deep, method: "ping" }, { answer: "no id" }],
  ["deeply nested params", { jsonrpc: "2.0", id: 1, method: "ping", params: deep }, "Request"],
  ["a deeply nested unknown member", { jsonrpc: "2.0", id: 1, method: "ping", acme: deep }, "Request"],
  ["a deeply nested result", { jsonrpc: "2.0", id: 1, result: deep }, "Response"],
  ["a deeply nested error", { jsonrpc: "2.0", id: 1, error: deep }, "never answered"],
  ["a frozen result", Object.freeze({ jsonrpc: "2.0", id: 1, result: Object.freeze({}) }), "Response"],
  ...inheritedNames.flatMap((name): ReadonlyArray<readonly [string, unknown, Expected]> => {
    const quoted = JSON.stringify(name)
    const members = `"jsonrpc":"2.0","method":${quoted},${quoted}:{"result":1,"error":{}}`
    return [
      [`a method and a member ${quoted}`, JSON.parse(`{${members}}`), "Notification"],
      [`a method, a member and an id ${quoted}`, JSON.parse(`{${members},"id":${quoted}}`), "Request"]
    ]
  })
]

describe("hostile objects", () => {
  it.each(hostile)("%s", (_, frame, expected) => assert.deepStrictEqual(classificationOf(frame), expected))

  it("Object.prototype is unchanged", () => {
    const fresh: object = {}
    for (const name of ["jsonrpc", "id", "method", "result", "error"]) assert.isFalse(name in fresh)
  })
})

// =====================================================================================================================
// Requests with one change
// =====================================================================================================================

interface Mutation {
  readonly name: string
  readonly mutate: (message: JsonRpc.Request) => object
  readonly expected: (id: RequestId.RequestId) => Expected
}

const notAnId = Schema.Unknown.check(Schema.makeFilter((value) => !RequestId.isRequestId(value)))
const notAString = Schema.Unknown.check(Schema.makeFilter((value) => typeof value !== "string"))

const mutations: ReadonlyArray<Mutation> = [
  {
    name: "[MSG-01] loses its version",
    mutate: (message) => present({ ...message, jsonrpc: absent }),
    expected: (id) => ({ answer: id })
  },
  {
    name: "[MSG-01] loses its method",
    mutate: (message) => present({ ...message, method: absent }),
    expected: () => "never answered"
  },
  {
    name: "[MSG-11] loses its id",
    mutate: (message) => present({ ...message, id: absent }),
    expected: () => "Notification"
  },
  {
    name: "[MSG-08] gets a result",
    mutate: (message) => ({ ...message, result: {} }),
    expected: () => "never answered"
  },
  {
    name: "[MSG-08] gets an error",
    mutate: (message) => ({ ...message, error }),
    expected: () => "never answered"
  },
  {
    name: "[MSG-15] is put into an array",
    mutate: (message) => [message],
    expected: () => "Batch"
  }
]

const requests = Arbitrary.schema(
  Schema.Struct({ id: Id, method: Schema.String, params: Schema.optionalKey(Params) })
).pipe(Arbitrary.map(({ id, method, params }) => JsonRpc.request(id, method, params)))

describe.each(mutations)("a request that $name", ({ expected, mutate }) => {
  it.prop("is classified by its remaining members", [requests], ([message]) => {
    assertExpected(mutate(message), expected(message.id))
  }, { arbitrary: { runs: 100 } })
})

it.prop(
  "[MSG-03] [MSG-04] a request with an invalid id is answered without an id",
  [requests, notAnId],
  ([message, id]) => assertExpected({ ...message, id }, { answer: "no id" }),
  { arbitrary: { runs: 200 } }
)

it.prop(
  "[MSG-01] a request whose method is not a string is answered with its id",
  [requests, notAString],
  ([message, method]) => assertExpected({ ...message, method }, { answer: message.id }),
  { arbitrary: { runs: 200 } }
)

it.prop(
  "[MSG-01] a request with another jsonrpc version is answered with its id",
  [requests, Schema.Unknown],
  ([message, jsonrpc]) =>
    assertExpected({ ...message, jsonrpc }, jsonrpc === "2.0" ? "Request" : { answer: message.id }),
  { arbitrary: { runs: 200 } }
)

it.prop(
  "[MSG-07] [MSG-08] a result with an invalid id is never answered",
  [requests, notAnId],
  ([{ id: right }, id]) => assertExpected({ ...JsonRpc.success(right, {}), id }, "never answered"),
  { arbitrary: { runs: 200 } }
)

it.prop(
  "[MSG-09] an error with a null id is a response; an error with another invalid id is never answered",
  [requests, notAnId],
  ([{ id: right }, id]) =>
    assertExpected(
      { ...JsonRpc.failure(right, McpError.internalError), id },
      id === null ? "Response" : "never answered"
    ),
  { arbitrary: { runs: 200 } }
)

// =====================================================================================================================
// Constructors
// =====================================================================================================================

describe("constructors", () => {
  it("[MSG-01] undefined params are omitted", () => {
    assert.deepStrictEqual(JsonRpc.request(1, "ping", undefined), { jsonrpc: "2.0", id: 1, method: "ping" })
    assert.deepStrictEqual(JsonRpc.notification("acme/reindexed"), { jsonrpc: "2.0", method: "acme/reindexed" })
    assert.deepStrictEqual(Object.keys(JsonRpc.request(1, "ping", undefined)), ["jsonrpc", "id", "method"])
    assert.deepStrictEqual(Object.keys(JsonRpc.notification("acme/reindexed", undefined)), ["jsonrpc", "method"])
  })

  it("[MSG-09] an error has the id of the request, null, or none", () => {
    const { internalError } = McpError
    assert.deepStrictEqual(JsonRpc.failure(0, internalError).id, 0)
    assert.deepStrictEqual(JsonRpc.failure(null, internalError).id, null)
    assert.isFalse(Object.hasOwn(JsonRpc.failure(undefined, internalError), "id"))
  })

  it("[MSG-10] an error has data if data was given", () => {
    assert.deepStrictEqual(JsonRpc.failure(1, McpError.invalidParams("no")).error, { code: -32602, message: "no" })
    assert.deepStrictEqual(JsonRpc.failure(1, McpError.invalidParams("no", null)).error, {
      code: -32602,
      message: "no",
      data: null
    })
  })

  it.prop("[MSG-03] [MSG-07] [MSG-08] [MSG-11] classify returns the kind of each constructed message", {
    id: Id,
    method: Schema.String,
    params: Params,
    value: Schema.Unknown,
    code: Schema.Int
  }, ({ code, id, method, params, value }) => {
    const failure = new McpError.McpError({ code, message: method, data: value })
    assertExpected(overTheWire(JsonRpc.request(id, method, params)), "Request")
    assertExpected(overTheWire(JsonRpc.notification(method, params)), "Notification")
    assertExpected(overTheWire(JsonRpc.success(id, value)), "Response")
    for (const anyId of [id, null, undefined]) assertExpected(overTheWire(JsonRpc.failure(anyId, failure)), "Response")
    assert.isTrue(JsonRpc.isFailure(JsonRpc.failure(id, failure)))
    assert.isFalse(JsonRpc.isFailure(JsonRpc.success(id, { error: value })))
  }, { arbitrary: { runs: 200 } })
})

it("[MSG-03] [MSG-11] a frame with a method is a request if it has an id, and a notification otherwise", () => {
  const request = JsonRpc.request(1, "ping", undefined)
  const notification = JsonRpc.notification("notifications/initialized")
  const others: ReadonlyArray<JsonRpc.Frame> = [
    JsonRpc.success(1, {}),
    JsonRpc.failure(undefined, error),
    [JsonRpc.success(1, {})]
  ]
  assert.deepStrictEqual([request, notification, ...others].map(JsonRpc.isRequest), [true, false, false, false, false])
  assert.deepStrictEqual(
    [request, notification, ...others].map(JsonRpc.isNotification),
    [false, true, false, false, false]
  )
})

describe("serializable", () => {
  const failed = JsonRpc.failure(1, McpError.internalError)

  it("returns the same response if JSON can represent it", () => {
    for (const response of [JsonRpc.success(1, { count: 42 }), JsonRpc.failure(1, error)]) {
      assert.strictEqual(JsonRpc.serializable(response), response)
    }
  })

  it("returns an internal error with the same id if JSON cannot represent the response", () => {
    const cycle: Record<string, unknown> = {}
    cycle["self"] = cycle
    const throwing = { toJSON: () => assert.fail("not JSON") }
    for (const result of [{ count: 42n }, cycle, throwing]) {
      assert.deepStrictEqual(JsonRpc.serializable(JsonRpc.success(1, result)), failed)
    }
  })
})
