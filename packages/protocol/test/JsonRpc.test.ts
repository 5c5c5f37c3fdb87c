import { JsonRpc, McpError, RequestId } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Official from "@modelcontextprotocol/sdk/types.js"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { inheritedNames, notObjects, overTheWire } from "./wire.ts"

// =====================================================================================================================
// What a classification says, in short
// =====================================================================================================================

/** A kind, or how a frame that is none is dealt with: answered (with or without its id) or never answered. */
type Verdict =
  | Exclude<JsonRpc.Classified["_tag"], "Malformed">
  | { readonly answer: RequestId.RequestId | "no id" }
  | "silence"

const verdictOn = (frame: unknown): Verdict => {
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
  return answerable ? { answer: id ?? "no id" } : "silence"
}

const assertVerdict = (frame: unknown, verdict: Verdict): void =>
  assert.deepStrictEqual(verdictOn(frame), verdict, JSON.stringify(frame))

// =====================================================================================================================
// Example by example
// =====================================================================================================================

const error = { code: -32601, message: "Method not found" }

const longest = "i".repeat(RequestId.maximumBytes)
const long = `${longest}i`
const tokened = (_meta: unknown) => ({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "x", _meta } })
const named = (name: string, params: unknown) => ({ jsonrpc: "2.0", method: `notifications/${name}`, params })

const examples: ReadonlyArray<readonly [name: string, frame: unknown, verdict: Verdict]> = [
  ["[MSG-03] a request with a number for an id", { jsonrpc: "2.0", id: 1, method: "ping" }, "Request"],
  ["[MSG-03] a request whose id is zero", { jsonrpc: "2.0", id: 0, method: "initialize", params: {} }, "Request"],
  ["[MSG-03] a request whose id is the empty string", { jsonrpc: "2.0", id: "", method: "ping" }, "Request"],
  ["[MSG-03] a request of a method nobody knows", { jsonrpc: "2.0", id: "a", method: "" }, "Request"],
  ["[MSG-01] a request with members nobody knows", { jsonrpc: "2.0", id: 1, method: "ping", acme: [] }, "Request"],
  // Params are judged by the schema of the method, and get another answer: −32602.
  ["[MSG-01] a request whose params are no object", { jsonrpc: "2.0", id: 1, method: "ping", params: "x" }, "Request"],
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
  ["[MSG-01] a request of another JSON-RPC", { jsonrpc: "1.0", id: 1, method: "ping" }, { answer: 1 }],
  ["[MSG-01] a request of JSON-RPC 2", { jsonrpc: 2, id: "a", method: "ping" }, { answer: "a" }],
  ["[MSG-01] a request that names no JSON-RPC", { id: 0, method: "ping" }, { answer: 0 }],
  ["[MSG-01] a notification that names no JSON-RPC", { method: "notifications/initialized" }, { answer: "no id" }],
  ["[MSG-04] a request whose id is null", { jsonrpc: "2.0", id: null, method: "ping" }, { answer: "no id" }],
  ["[MSG-03] a request whose id is a fraction", { jsonrpc: "2.0", id: 1.5, method: "ping" }, { answer: "no id" }],
  ["[MSG-03] a request whose id is an object", { jsonrpc: "2.0", id: {}, method: "ping" }, { answer: "no id" }],
  ["[MSG-03] a request whose id is an array", { jsonrpc: "2.0", id: [1], method: "ping" }, { answer: "no id" }],
  ["[MSG-03] a request whose id is too large", { jsonrpc: "2.0", id: 2 ** 53, method: "ping" }, { answer: "no id" }],
  ["a request whose id is too long", { jsonrpc: "2.0", id: long, method: "ping" }, { answer: "no id" }],
  ["an id too long beside a wrong method", { jsonrpc: "2.0", id: long, method: 1 }, { answer: "no id" }],
  ["an id too long of another JSON-RPC", { jsonrpc: "1.0", id: long, method: "ping" }, { answer: "no id" }],
  ["[MSG-03] a request whose id is as long as may be", { jsonrpc: "2.0", id: longest, method: "ping" }, "Request"],
  ["a progress token that is too long", tokened({ progressToken: long }), { answer: "no id" }],
  ["[PRG-01] a progress token that is as long as may be", tokened({ progressToken: longest }), "Request"],
  ["[MSG-01] metadata that is no object", tokened(null), "Request"],
  ["a cancellation under too long an id", named("cancelled", { requestId: long }), { answer: "no id" }],
  ["progress under too long a token", named("progress", { progressToken: long }), { answer: "no id" }],
  ["[MSG-01] a cancellation whose params are null", named("cancelled", null), "Notification"],
  ["[MSG-07] a response under an id that no request of ours has", { jsonrpc: "2.0", id: long, result: {} }, "Response"],
  // The example of the JSON-RPC specification itself for an invalid request.
  ["[MSG-01] a method that is no string", { jsonrpc: "2.0", id: 1, method: 1, params: "bar" }, { answer: 1 }],
  ["[MSG-01] a method that is null", { jsonrpc: "2.0", method: null }, { answer: "no id" }],

  ["[MSG-01] an empty object", {}, "silence"],
  ["[MSG-01] an id and no more", { jsonrpc: "2.0", id: 1 }, "silence"],
  ["[MSG-01] params without a method", { jsonrpc: "2.0", id: 1, params: {} }, "silence"],
  ["[MSG-08] a result and an error", { jsonrpc: "2.0", id: 1, result: {}, error }, "silence"],
  ["[MSG-08] a result that is also a request", { jsonrpc: "2.0", id: 1, method: "ping", result: {} }, "silence"],
  ["[MSG-08] an error that is also a notification", { jsonrpc: "2.0", method: "ping", error }, "silence"],
  ["[MSG-07] a result without an id", { jsonrpc: "2.0", result: {} }, "silence"],
  ["[MSG-07] a result whose id is null", { jsonrpc: "2.0", id: null, result: {} }, "silence"],
  ["[MSG-03] a result whose id is a fraction", { jsonrpc: "2.0", id: 0.5, result: {} }, "silence"],
  ["[MSG-03] an error whose id is an object", { jsonrpc: "2.0", id: {}, error }, "silence"],
  ["[MSG-01] a result of another JSON-RPC", { jsonrpc: "1.0", id: 1, result: {} }, "silence"],
  ["[MSG-10] an error that is null", { jsonrpc: "2.0", id: 1, error: null }, "silence"],
  ["[MSG-10] an error that is a string", { jsonrpc: "2.0", id: 1, error: "no" }, "silence"],
  ["[MSG-10] an error that is an array", { jsonrpc: "2.0", id: 1, error: [] }, "silence"],
  ["[MSG-10] an error without a code", { jsonrpc: "2.0", id: 1, error: { message: "no" } }, "silence"],
  ["[MSG-10] an error whose code is a fraction", { jsonrpc: "2.0", id: 1, error: { ...error, code: 1.5 } }, "silence"],
  ["[MSG-10] an error whose code is a string", { jsonrpc: "2.0", id: 1, error: { ...error, code: "1" } }, "silence"],
  [
    "[MSG-10] an error whose code is no safe integer",
    { jsonrpc: "2.0", error: { ...error, code: 2 ** 53 } },
    "silence"
  ],
  ["[MSG-10] an error without a message", { jsonrpc: "2.0", id: 1, error: { code: 1 } }, "silence"],
  ["[MSG-10] an error whose message is null", { jsonrpc: "2.0", id: 1, error: { code: 1, message: null } }, "silence"]
]

describe("classify, example by example", () => {
  it.each(examples)("%s", (_, frame, verdict) => assert.deepStrictEqual(verdictOn(frame), verdict))

  it.each([
    ...notObjects.filter((value) => !Array.isArray(value)),
    // What JSON cannot say, but a transport without bytes could bring.
    undefined,
    Symbol("frame"),
    1n,
    () => {}
  ])("[MSG-01] %s is answered, without an id", (value) => assert.deepStrictEqual(verdictOn(value), { answer: "no id" }))
})

const success = { jsonrpc: "2.0", id: 1, result: {} }
const failed = { jsonrpc: "2.0", id: 1, error }

describe("what looks like a response and is none", () => {
  const meant: ReadonlyArray<readonly [what: string, frame: object, meant: object]> = [
    ["a null error beside a result", { ...success, error: null, acme: 1 }, { ...success, acme: 1 }],
    ["a null result beside an error", { ...failed, result: null }, failed],
    ["two that are null", { ...success, result: null, error: null }, { ...success, result: null }],
    ["a number in a text for a code", { ...failed, error: { ...error, code: "-32601" } }, failed],
    ["the same beside a null result", { ...failed, result: null, error: { ...error, code: "-32601" } }, failed],
    ["the same without an id", { jsonrpc: "2.0", error: { ...error, code: "-32601" } }, { jsonrpc: "2.0", error }],
    [
      "a text for a code",
      { ...failed, error: { ...error, code: `E${"x".repeat(200)}`, data: 1 } },
      { ...failed, error: { code: -32603, message: `Method not found (code "E${"x".repeat(99)}")`, data: 1 } }
    ],
    [
      "digits that are no number",
      { ...failed, error: { ...error, code: "9".repeat(16) } },
      { ...failed, error: { code: -32603, message: `Method not found (code "${"9".repeat(16)}")` } }
    ]
  ]
  it.each(meant)("says what was meant with %s, and leaves it as it was", (_, frame, meant) => {
    const before = JSON.stringify(frame)
    const classified = JsonRpc.classify(frame)
    assert.isTrue(classified._tag === "Malformed" && !classified.malformed.answerable)
    assert.deepStrictEqual<unknown>(classified._tag === "Malformed" ? classified.malformed.meant : undefined, meant)
    assert.strictEqual(JSON.stringify(frame), before)
  })

  it.each(
    [
      ["two that are not null", { ...success, error }],
      ["a null error alone", { jsonrpc: "2.0", id: 1, error: null }],
      ["a text for a code and no message", { jsonrpc: "2.0", id: 1, error: { code: "1" } }],
      ["a null error of another JSON-RPC", { ...success, jsonrpc: "1.0", error: null }],
      ["neither", { jsonrpc: "2.0", id: 1 }]
    ] satisfies ReadonlyArray<[string, object]>
  )("says no more than the id with %s", (_, frame) => {
    const classified = JsonRpc.classify(frame)
    assert.isTrue(
      classified._tag === "Malformed" && classified.malformed.answers === 1 && classified.malformed.meant === undefined
    )
  })

  it.each(
    [
      ["a method", { ...success, method: "ping" }],
      ["an id that is none", { ...success, id: 1.5, error: null }],
      ["no id", { jsonrpc: "2.0", result: {} }]
    ] satisfies ReadonlyArray<[string, object]>
  )("says nothing with %s", (_, frame) => {
    const classified = JsonRpc.classify(frame)
    assert.isTrue(
      classified._tag === "Malformed" && classified.malformed.answers === undefined &&
        classified.malformed.meant === undefined
    )
  })
})

// =====================================================================================================================
// Every combination
// =====================================================================================================================

/** Stands for a member that is not there. */
const absent = "absent"

/** The members that are there. */
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

/** The rules of JSON-RPC and of the table of bad input in the design, said one by one. */
const expected = (frame: { readonly [name: string]: unknown }): Verdict => {
  const has = (name: Member) => Object.hasOwn(frame, name)
  const id = RequestId.isRequestId(frame["id"]) ? frame["id"] : undefined
  const isVersioned = frame["jsonrpc"] === "2.0"
  if (has("result") || has("error") || !has("method")) {
    const isResult = has("result") && id !== undefined
    const isError = frame["error"] === error && (id !== undefined || !has("id") || frame["id"] === null)
    const isResponse = isVersioned && !has("method") && (has("result") ? isResult && !has("error") : isError)
    return isResponse ? "Response" : "silence"
  }
  if (!isVersioned || (has("id") && id === undefined)) return { answer: id ?? "no id" }
  return has("id") ? "Request" : "Notification"
}

it("[MSG-01] [MSG-03] [MSG-04] [MSG-08] [MSG-10] [MSG-11] classify, for every combination of members", () => {
  const seen = new Set<string>()
  for (const members of combinations()) {
    const frame = present(members)
    const verdict = expected(frame)
    assertVerdict(frame, verdict)
    seen.add(typeof verdict === "string" ? verdict : "answer")
  }
  assert.deepStrictEqual([...seen].toSorted(), ["Notification", "Request", "Response", "answer", "silence"])
})

// =====================================================================================================================
// Whatever comes
// =====================================================================================================================

const Id = Schema.Union([Schema.String, Schema.Int])
const Params = Schema.Record(Schema.String, Schema.Unknown)
const ErrorObject = Schema.Struct({
  code: Schema.Int,
  message: Schema.String,
  data: Schema.optionalKey(Schema.Unknown)
})

/** Members that have nothing to do with JSON-RPC, some of them named to confuse. */
const extra = Arbitrary.schema(Schema.Record(
  Schema.Literals(["_tag", "Id", "METHOD", "data", "constructor", "__proto__", "toString", "extra"]),
  Schema.Unknown
))

/** A message as its sender builds it, together with its kind. */
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
  "[MSG-01] [MSG-03] [MSG-08] [MSG-11] a message is what it was made as, and stays the object that was received",
  { message: messages, extra },
  ({ extra, message: { kind, members } }) => {
    assertVerdict(overTheWire({ ...extra, ...members }), kind)
  },
  { arbitrary: { runs: 400 } }
)

/** A message in which up to two members are replaced, added or taken away: often no message any more. */
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
  "[MSG-01] no JSON value makes it throw; it tells what it is and leaves it as it was",
  { near: nearMessages, extra, any: Schema.Unknown },
  ({ any, extra, near }) => {
    for (const value of [near, { ...extra, ...near }, any, extra, [near]]) {
      const frame = overTheWire(value)
      const before = JSON.stringify(frame)
      const verdict = verdictOn(frame)
      assert.strictEqual(JSON.stringify(frame), before)
      if (typeof frame === "object" && frame !== null && ("result" in frame || "error" in frame)) {
        assert.isTrue(verdict === "Response" || verdict === "silence", "two peers must not answer each other's answers")
      }
    }
  },
  { arbitrary: { runs: 400 } }
)

it.prop(
  "[MSG-01] [MSG-08] [MSG-10] it takes what the official validators take, and nothing else but what is listed here",
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
    // The official envelope judges `params` and `result`, which here the schema of the method does, and refuses members
    // it does not know. A null id is how revisions before 2025-11-25 say that the request's could not be read; the
    // official validators know only the newest revision.
    assert.strictEqual(official, "Malformed", `${kind} here`)
    const tolerated = (kind === "Request" || kind === "Notification")
      ? !Official.RequestSchema.safeParse(frame).success
      : ("result" in near && !Official.ResultSchema.safeParse(near["result"]).success) || near["id"] === null ||
        "params" in near
    assert.isTrue(tolerated, `${kind} here, refused there`)
  },
  { arbitrary: { runs: 600 } }
)

it.prop(
  "[MSG-10] every error that is let in can be made the error that its caller sees",
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

const hostile: ReadonlyArray<readonly [name: string, frame: unknown, verdict: Verdict]> = [
  ["[MSG-08] a message called __proto__", JSON.parse(`{"__proto__":${inner}}`), "silence"],
  [
    "[MSG-08] messages called constructor and prototype inside of another",
    JSON.parse(`{"jsonrpc":"2.0","method":"ping","constructor":${inner},"prototype":${inner}}`),
    "Notification"
  ],
  [
    "an object without a prototype",
    Object.assign(Object.create(null), { jsonrpc: "2.0", id: 1, method: "ping" }),
    "Request"
  ],
  // Of a member that stands twice the last counts, as `JSON.parse` has it.
  ["an id after a bad id", JSON.parse(`{"jsonrpc":"2.0","id":1.5,"method":"ping","id":1}`), "Request"],
  ["a bad id after an id", JSON.parse(`{"jsonrpc":"2.0","id":1,"method":"ping","id":1.5}`), { answer: "no id" }],
  // Names that differ in case or by a space are other members.
  [
    "members that resemble others",
    { jsonrpc: "2.0", ID: 1, "id ": 1, method: "ping", Result: {}, " error": {} },
    "Notification"
  ],
  ["a method that only resembles one", { JSONRPC: "2.0", id: 1, Method: "ping" }, "silence"],
  ["depth", deep, "Batch"],
  ["a deep id", { jsonrpc: "2.0", id: deep, method: "ping" }, { answer: "no id" }],
  ["deep params", { jsonrpc: "2.0", id: 1, method: "ping", params: deep }, "Request"],
  ["a deep member", { jsonrpc: "2.0", id: 1, method: "ping", acme: deep }, "Request"],
  ["a deep result", { jsonrpc: "2.0", id: 1, result: deep }, "Response"],
  ["a deep error", { jsonrpc: "2.0", id: 1, error: deep }, "silence"],
  ["a frozen result", Object.freeze({ jsonrpc: "2.0", id: 1, result: Object.freeze({}) }), "Response"],
  ...inheritedNames.flatMap((name): ReadonlyArray<readonly [string, unknown, Verdict]> => {
    const quoted = JSON.stringify(name)
    const members = `"jsonrpc":"2.0","method":${quoted},${quoted}:{"result":1,"error":{}}`
    return [
      [`a method and a member ${quoted}`, JSON.parse(`{${members}}`), "Notification"],
      [`a method, a member and an id ${quoted}`, JSON.parse(`{${members},"id":${quoted}}`), "Request"]
    ]
  })
]

describe("hostile objects", () => {
  it.each(hostile)("%s", (_, frame, verdict) => assert.deepStrictEqual(verdictOn(frame), verdict))

  it("nothing has reached the prototype of all objects", () => {
    const fresh: object = {}
    for (const name of ["jsonrpc", "id", "method", "result", "error"]) assert.isFalse(name in fresh)
  })
})

// =====================================================================================================================
// One mutation away
// =====================================================================================================================

interface Mutation {
  readonly name: string
  readonly mutate: (message: JsonRpc.Request) => object
  readonly verdict: (id: RequestId.RequestId) => Verdict
}

const isNoId = Schema.Unknown.check(Schema.makeFilter((value) => !RequestId.isRequestId(value)))
const isNoString = Schema.Unknown.check(Schema.makeFilter((value) => typeof value !== "string"))

const mutations: ReadonlyArray<Mutation> = [
  {
    name: "[MSG-01] loses its version",
    mutate: (message) => present({ ...message, jsonrpc: absent }),
    verdict: (id) => ({ answer: id })
  },
  {
    name: "[MSG-01] loses its method",
    mutate: (message) => present({ ...message, method: absent }),
    verdict: () => "silence"
  },
  {
    name: "[MSG-11] loses its id",
    mutate: (message) => present({ ...message, id: absent }),
    verdict: () => "Notification"
  },
  {
    name: "[MSG-08] gets a result",
    mutate: (message) => ({ ...message, result: {} }),
    verdict: () => "silence"
  },
  {
    name: "[MSG-08] gets an error",
    mutate: (message) => ({ ...message, error }),
    verdict: () => "silence"
  },
  {
    name: "[MSG-15] is put into an array",
    mutate: (message) => [message],
    verdict: () => "Batch"
  }
]

const requests = Arbitrary.schema(
  Schema.Struct({ id: Id, method: Schema.String, params: Schema.optionalKey(Params) })
).pipe(Arbitrary.map(({ id, method, params }) => JsonRpc.request(id, method, params)))

describe.each(mutations)("a request that $name", ({ mutate, verdict }) => {
  it.prop("is judged by what is left", [requests], ([message]) => {
    assertVerdict(mutate(message), verdict(message.id))
  }, { arbitrary: { runs: 100 } })
})

it.prop(
  "[MSG-03] [MSG-04] a request whose id becomes anything else is answered without one",
  [requests, isNoId],
  ([message, id]) => assertVerdict({ ...message, id }, { answer: "no id" }),
  { arbitrary: { runs: 200 } }
)

it.prop(
  "[MSG-01] a request whose method becomes anything else is answered with its id",
  [requests, isNoString],
  ([message, method]) => assertVerdict({ ...message, method }, { answer: message.id }),
  { arbitrary: { runs: 200 } }
)

it.prop(
  "[MSG-01] a request whose version becomes anything else is answered with its id",
  [requests, Schema.Unknown],
  ([message, jsonrpc]) =>
    assertVerdict({ ...message, jsonrpc }, jsonrpc === "2.0" ? "Request" : { answer: message.id }),
  { arbitrary: { runs: 200 } }
)

it.prop(
  "[MSG-07] [MSG-08] a result whose id becomes anything else is never answered",
  [requests, isNoId],
  ([{ id: right }, id]) => assertVerdict({ ...JsonRpc.success(right, {}), id }, "silence"),
  { arbitrary: { runs: 200 } }
)

it.prop(
  "[MSG-09] an error whose id becomes null is still an error; whose id becomes anything else is never answered",
  [requests, isNoId],
  ([{ id: right }, id]) =>
    assertVerdict({ ...JsonRpc.failure(right, McpError.internalError), id }, id === null ? "Response" : "silence"),
  { arbitrary: { runs: 200 } }
)

// =====================================================================================================================
// Making messages
// =====================================================================================================================

describe("constructors", () => {
  it("[MSG-01] params that are not there are left out, never null", () => {
    assert.deepStrictEqual(JsonRpc.request(1, "ping", undefined), { jsonrpc: "2.0", id: 1, method: "ping" })
    assert.deepStrictEqual(JsonRpc.notification("acme/said"), { jsonrpc: "2.0", method: "acme/said" })
    assert.deepStrictEqual(Object.keys(JsonRpc.request(1, "ping", undefined)), ["jsonrpc", "id", "method"])
    assert.deepStrictEqual(Object.keys(JsonRpc.notification("acme/said", undefined)), ["jsonrpc", "method"])
  })

  it("[MSG-09] the id of an error is the request's, null, or absent", () => {
    const { internalError } = McpError
    assert.deepStrictEqual(JsonRpc.failure(0, internalError).id, 0)
    assert.deepStrictEqual(JsonRpc.failure(null, internalError).id, null)
    assert.isFalse(Object.hasOwn(JsonRpc.failure(undefined, internalError), "id"))
  })

  it("[MSG-10] an error carries data if there is any", () => {
    assert.deepStrictEqual(JsonRpc.failure(1, McpError.invalidParams("no")).error, { code: -32602, message: "no" })
    assert.deepStrictEqual(JsonRpc.failure(1, McpError.invalidParams("no", null)).error, {
      code: -32602,
      message: "no",
      data: null
    })
  })

  it.prop("[MSG-03] [MSG-07] [MSG-08] [MSG-11] what they make is classified as what they are named after", {
    id: Id,
    method: Schema.String,
    params: Params,
    value: Schema.Unknown,
    code: Schema.Int
  }, ({ code, id, method, params, value }) => {
    const failure = new McpError.McpError({ code, message: method, data: value })
    assertVerdict(overTheWire(JsonRpc.request(id, method, params)), "Request")
    assertVerdict(overTheWire(JsonRpc.notification(method, params)), "Notification")
    assertVerdict(overTheWire(JsonRpc.success(id, value)), "Response")
    for (const anyId of [id, null, undefined]) assertVerdict(overTheWire(JsonRpc.failure(anyId, failure)), "Response")
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
