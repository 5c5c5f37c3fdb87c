import { Tool } from "@effect-mcp/protocol"
import * as McpHttpApi from "@effect-mcp/server/McpHttpApi"
import { Tracing } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as HttpApiSecurity from "effect/http-api/HttpApiSecurity"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { connect } from "./support/connect.ts"
import { describeForBothEras } from "./support/eras.ts"

class Address extends Schema.Class<Address>("Address")({ city: Schema.String, since: Schema.DateFromString }) {}
class Person extends Schema.Class<Person>("Person")({
  name: Schema.String,
  home: Address,
  work: Schema.optionalKey(Address)
}) {}

class Gone extends Schema.TaggedError<Gone>()("Gone", { why: Schema.String }, { httpApiStatus: 410 }) {}
class Empty extends Schema.TaggedError<Empty>()("Empty", {}) {}
const EmptyBody = Empty.pipe(HttpApiSchema.asNoContent({ decode: () => new Empty() }), HttpApiSchema.status(418))

class Later extends Schema.TaggedError<Later>()("Later", { reason: Schema.String }) {}
const Late = HttpApiSchema.WithHeaders(Later.pipe(HttpApiSchema.status(429)), { "retry-after": Schema.Int })

/** The number of scopes of requests that have closed. */
let closed = 0

const Kind = Schema.Literals(["bee", "wasp"]).annotate({ identifier: "Kind" })
const OtherKind = Schema.Literals(["red", "blue"]).annotate({ identifier: "Kind" })
const Got = Schema.Struct({ got: Schema.Json })

const Parts = HttpApiGroup.make("parts", { topLevel: true }).add(
  HttpApiEndpoint.post("person", "/person", { payload: Person, success: Person }),
  HttpApiEndpoint.post("union", "/union", {
    payload: Schema.Union([Schema.Struct({ a: Schema.Int }), Schema.Struct({ b: Schema.String })]),
    success: Got
  }),
  HttpApiEndpoint.post("form", "/form", {
    payload: Schema.Struct({ a: Schema.Int, tags: Schema.Array(Schema.String) }).pipe(HttpApiSchema.asFormUrlEncoded()),
    success: Got
  }),
  HttpApiEndpoint.post("text", "/text", {
    payload: Schema.String.pipe(HttpApiSchema.asText()),
    success: Schema.String.pipe(HttpApiSchema.asText())
  }),
  HttpApiEndpoint.get("search", "/search", {
    payload: { word: Schema.String, tags: Schema.Array(Schema.String), most: Schema.Int },
    success: Got
  }),
  HttpApiEndpoint.get("optional", "/optional/:id?", {
    params: { id: Schema.optionalKey(Schema.String) },
    success: Got
  }),
  HttpApiEndpoint.get("counted", "/counted", {
    success: HttpApiSchema.WithHeaders(Schema.Struct({ n: Schema.Int }), { "x-total": Schema.Int })
  }),
  HttpApiEndpoint.post("save", "/save", {
    payload: Schema.Struct({ create: Schema.Boolean }),
    success: [Schema.Struct({ old: Schema.Int }), Schema.Struct({ fresh: Schema.Int }).pipe(HttpApiSchema.status(201))]
  }),
  HttpApiEndpoint.get("fails", "/fails/:how", { params: { how: Schema.String }, error: [Gone, EmptyBody, Late] }),
  HttpApiEndpoint.get("scoped", "/scoped", { success: Got }),
  HttpApiEndpoint.get("values", "/values", {
    success: Schema.Struct({ at: Schema.Date, n: Schema.BigInt, x: Schema.Number })
  }),
  HttpApiEndpoint.post("raw", "/raw/:id", {
    params: { id: Schema.Int },
    payload: Schema.Struct({ a: Schema.Int }),
    success: Got
  }),
  HttpApiEndpoint.get("any", "/any", { headers: Schema.Record(Schema.String, Schema.String), success: Got }),
  HttpApiEndpoint.get("needs", "/needs", { headers: { authorization: Schema.String }, success: Got }),
  HttpApiEndpoint.get("streams", "/streams", { success: Got }),
  HttpApiEndpoint.post("kinds", "/kinds", {
    query: { one: Kind, two: Kind },
    payload: Schema.Struct({ three: OtherKind, four: OtherKind }),
    success: Got
  })
)

const Api = HttpApi.make("parts").add(Parts)

const got = (value: Schema.Json) => Effect.succeed({ got: value })

const PartsLive = HttpApiBuilder.group(Api, "parts", (handlers) =>
  handlers
    .handle("person", ({ payload }) => {
      assert.instanceOf(payload.home.since, Date)
      return Effect.succeed(payload)
    })
    .handle("union", ({ payload }) => got({ ...payload }))
    .handle("form", ({ payload }) => got({ ...payload }))
    .handle("text", ({ payload }) => Effect.succeed(`${payload}!`))
    .handle("search", ({ payload }) => got({ ...payload }))
    .handle("optional", ({ params: { id }, request: { url } }) => got([id ?? null, url]))
    .handle("counted", () => Effect.succeed(HttpApiSchema.withHeaders({ body: { n: 1 }, headers: { "x-total": 4 } })))
    .handle("save", ({ payload: { create } }) => Effect.succeed(create ? { fresh: 1 } : { old: 1 }))
    .handle("fails", ({ params: { how } }) => {
      if (how === "late") {
        const body = new Later({ reason: "busy" })
        return Effect.fail(HttpApiSchema.withHeaders({ body, headers: { "retry-after": 3 } }))
      }
      return Effect.fail(how === "gone" ? new Gone({ why: "sold" }) : new Empty())
    })
    .handle("scoped", () =>
      Effect.andThen(
        Effect.addFinalizer(() =>
          Effect.sync(() => {
            closed++
          })
        ),
        got(closed)
      ))
    .handle("values", () => Effect.succeed({ at: new Date(0), n: 12n, x: Number.NaN }))
    .handleRaw("raw", ({ params: { id }, request }) =>
      Effect.flatMap(Effect.orDie(request.json), (body) => got([id, body])))
    .handle("any", ({ headers }) =>
      got({ ...headers }))
    .handle("needs", ({ headers }) => got(headers.authorization))
    .handle("streams", () =>
      Effect.succeed(
        HttpServerResponse.stream(Stream.encodeText(Stream.make("{\"got\":1}")), { contentType: "application/json" })
      ))
    .handle("kinds", ({ payload, query }) => got([query.one, query.two, payload.three, payload.four])))

const call = (name: string, input: { readonly [argument: string]: unknown } = {}) =>
  Effect.scoped(Effect.flatMap(
    connect(McpHttpApi.layer(Api).pipe(Layer.provide(PartsLive))),
    (session) => session.callTool(name, input)
  ))

const gotFrom = (name: string, input: { readonly [argument: string]: unknown } = {}) =>
  Effect.map(call(name, input), (result) => Tool.structuredMembers(result)["got"])

describeForBothEras("the arguments of an endpoint", ({ connect }) => {
  it.effect("can be a class, whose fields are decoded by their codecs", () =>
    Effect.gen(function*() {
      const ada = { name: "Ada", home: { city: "London", since: "1835-07-08T00:00:00.000Z" } }
      assert.deepStrictEqual((yield* call("person", ada)).structuredContent, ada)
    }))

  it.effect("that are a union, an array or a text are one argument with the name of the part", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* gotFrom("union", { payload: { b: "x" } }), { b: "x" })
      assert.deepStrictEqual(yield* call("text", { payload: "hey" }), {
        content: [{ type: "text", text: "hey!" }],
        structuredContent: "hey!"
      })
    }))

  it.effect("can be those of a form, and of the query of a GET", () =>
    Effect.gen(function*() {
      const form = { a: 1, tags: ["x"] }
      assert.deepStrictEqual(yield* gotFrom("form", form), form)
      for (const tags of [[], ["a"], ["a", "b&c=d"]]) {
        const search = { word: "ä b", tags, most: 3 }
        assert.deepStrictEqual(yield* gotFrom("search", search), search)
      }
    }))

  it.effect("that a form cannot carry are rejected with the problem, and not with -32603", () =>
    Effect.gen(function*() {
      const { content: [first], isError } = yield* call("form", { a: 1, tags: [] })
      assert.isTrue(isError)
      assert.include(
        first?.type === "text" ? first.text : "",
        "Invalid arguments for the tool \"form\": payload: Missing key"
      )
    }))

  it.effect("may leave out an optional parameter of the path", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* gotFrom("optional"), [null, "/optional"])
      assert.deepStrictEqual(yield* gotFrom("optional", { id: "a/b" }), ["a/b", "/optional/a%2Fb"])
    }))

  it.effect("set no header of an identity, even if the endpoint takes all headers", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* gotFrom("any", { headers: { Authorization: "Bearer backend-eve", Cookie: "sid=1", "x-a": "1" } }),
        { "x-a": "1" }
      )
    }))

  it.effect("are no values of headers with line breaks", () =>
    Effect.gen(function*() {
      const { content: [first], isError } = yield* call("any", { headers: { "x-a": "1\r\nauthorization: Bearer eve" } })
      assert.isTrue(isError)
      assert.include(first?.type === "text" ? first.text : "", "x-a: Expected a header without line breaks")
    }))

  it.effect("cannot be a header of an identity, so that the call is -32603 if the program does not make it", () =>
    Effect.gen(function*() {
      const { reason } = yield* Effect.flip(call("needs", { authorization: "Bearer backend-eve" }))
      assert.deepInclude(reason._tag === "ErrorResponse" ? reason.error : {}, {
        code: -32603,
        message: "Internal error"
      })
      const layer = McpHttpApi.layer(Api, { only: ["needs"], headers: Effect.succeed({ authorization: "Bearer a" }) })
      const session = yield* connect(Layer.provide(layer, PartsLive))
      assert.deepStrictEqual((yield* session.callTool("needs")).structuredContent, { got: "Bearer a" })
    }))

  it.effect("reach a raw handler as the body of its request", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* gotFrom("raw", { id: 1, a: 2 }), [1, { a: 2 }])
    }))

  it.effect("keep the definitions of two parts apart that have the same name", () =>
    Effect.gen(function*() {
      const session = yield* connect(McpHttpApi.layer(Api, { only: ["kinds"] }).pipe(Layer.provide(PartsLive)))
      const [tool] = (yield* session.listTools()).tools
      assert.deepStrictEqual(tool?.inputSchema, {
        type: "object",
        properties: {
          one: { $ref: "#/$defs/Kind" },
          two: { $ref: "#/$defs/Kind" },
          three: { $ref: "#/$defs/Kind_1" },
          four: { $ref: "#/$defs/Kind_1" }
        },
        required: ["one", "two", "three", "four"],
        $defs: {
          Kind: { type: "string", enum: ["bee", "wasp"] },
          Kind_1: { type: "string", enum: ["red", "blue"] }
        }
      })
      const input = { one: "bee", two: "wasp", three: "red", four: "blue" }
      assert.deepStrictEqual(
        Tool.structuredMembers(yield* session.callTool("kinds", input))["got"],
        ["bee", "wasp", "red", "blue"]
      )
    }))
})

describe("the result of an endpoint", () => {
  it.effect("is the body of a response with headers, and any of several successes", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* call("counted")).structuredContent, { n: 1 })
      assert.deepStrictEqual((yield* call("save", { create: true })).structuredContent, { fresh: 1 })
      assert.deepStrictEqual((yield* call("save", { create: false })).structuredContent, { old: 1 })
    }))

  it.effect("is JSON that its output schema describes", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* call("values")).structuredContent, {
        at: "1970-01-01T00:00:00.000Z",
        n: "12",
        x: "NaN"
      })
    }))

  it.effect("is -32603 if a handler responds with a stream, which has no bound", () =>
    Effect.gen(function*() {
      const { reason } = yield* Effect.flip(call("streams"))
      assert.deepInclude(reason._tag === "ErrorResponse" ? reason.error : {}, {
        code: -32603,
        message: "Internal error"
      })
    }))

  it.effect("is one of several declared errors, with a body or without", () =>
    Effect.gen(function*() {
      const failureOf = (how: string) =>
        Effect.map(call("fails", { how }), ({ _meta, isError }) => [isError, _meta?.["effect-mcp/failure"]])
      assert.deepStrictEqual(yield* failureOf("gone"), [true, { _tag: "Gone", why: "sold" }])
      assert.deepStrictEqual(yield* failureOf("empty"), [true, { _tag: "Empty" }])
      assert.deepStrictEqual(yield* failureOf("late"), [true, { _tag: "Later", reason: "busy" }])
    }))
})

class Counter extends HttpApiMiddleware.Service<Counter>()("Counter") {}
class Keys extends HttpApiMiddleware.Service<Keys>()("Keys", {
  error: Gone,
  security: {
    header: HttpApiSecurity.apiKey({ key: "x-key" }),
    cookie: HttpApiSecurity.apiKey({ key: "sid", in: "cookie" })
  }
}) {}

const Guarded = HttpApi.make("guarded").add(
  HttpApiGroup.make("g").add(HttpApiEndpoint.get("read", "/read", { success: Got })).middleware(Keys).middleware(
    Counter
  )
)

describeForBothEras("the middleware of an api", ({ connect }) => {
  it.effect("runs for each call, with the headers that the program makes", () =>
    Effect.gen(function*() {
      const count = yield* Ref.make(0)
      const headers = yield* Ref.make<McpHttpApi.RequestHeaders>({})
      const check = <A, E, R>(handler: Effect.Effect<A, E, R>, credential: Redacted.Redacted) =>
        Redacted.value(credential) === "open" ? handler : Effect.fail(new Gone({ why: "no key" }))
      const live = HttpApiBuilder.group(Guarded, "g", (handlers) => handlers.handle("read", () => got("in"))).pipe(
        Layer.provide([
          Layer.succeed(Counter, (handler) => Effect.andThen(Ref.update(count, (n) => n + 1), handler)),
          Layer.succeed(Keys, {
            header: (handler, { credential }) => check(handler, credential),
            cookie: (handler, { credential }) => check(handler, credential)
          })
        ])
      )
      const session = yield* connect(
        McpHttpApi.layer(Guarded, { headers: Ref.get(headers) }).pipe(Layer.provide(live))
      )
      const read = Effect.map(
        session.callTool("g.read"),
        ({ _meta, structuredContent }) => structuredContent ?? _meta?.["effect-mcp/failure"]
      )
      assert.deepStrictEqual(yield* read, { _tag: "Gone", why: "no key" })
      yield* Ref.set(headers, { "X-Key": Redacted.make("open") })
      assert.deepStrictEqual(yield* read, { got: "in" })
      yield* Ref.set(headers, { cookie: "sid=open" })
      assert.deepStrictEqual(yield* read, { got: "in" })
      assert.strictEqual(yield* Ref.get(count), 3)
    }))
})

it.effect("the span of an endpoint is inside of that of the call", () =>
  Effect.gen(function*() {
    const api = HttpApi.make("traced").add(
      HttpApiGroup.make("g").add(HttpApiEndpoint.get("span", "/span", { success: Schema.String }))
    )
    const live = HttpApiBuilder.group(api, "g", (handlers) =>
      handlers.handle("span", () =>
        Effect.map(Effect.orDie(Effect.currentSpan), ({ name }) => name)))
    const session = yield* connect(McpHttpApi.layer(api).pipe(Layer.provide(live)), {
      server: { middleware: Tracing.make() }
    })
    assert.deepStrictEqual((yield* session.callTool("g.span")).content, [{ type: "text", text: "tools/call" }])
  }))

it.effect("the scope of a request closes when its call has ended", () =>
  Effect.gen(function*() {
    const session = yield* connect(McpHttpApi.layer(Api, { only: ["scoped"] }).pipe(Layer.provide(PartsLive)))
    yield* session.callTool("scoped")
    assert.strictEqual(closed, 1)
  }))

it.effect("an endpoint that cannot be interrupted finishes its work after the client has cancelled the call", () =>
  Effect.gen(function*() {
    const started = yield* Deferred.make<void>()
    const mayGo = yield* Deferred.make<void>()
    const done = yield* Deferred.make<void>()
    const api = HttpApi.make("slow").add(HttpApiGroup.make("g").add(HttpApiEndpoint.post("pay", "/pay")))
    const live = HttpApiBuilder.group(
      api,
      "g",
      (handlers) =>
        handlers.handle("pay", () =>
          Deferred.succeed(started, undefined).pipe(
            Effect.andThen(Deferred.await(mayGo)),
            Effect.andThen(Deferred.succeed(done, undefined)),
            Effect.asVoid
          ), { uninterruptible: true })
    )
    const session = yield* connect(McpHttpApi.layer(api).pipe(Layer.provide(live)))
    const fiber = yield* Effect.forkChild(session.callTool("g.pay"))
    yield* Deferred.await(started)
    yield* Fiber.interrupt(fiber)
    yield* Deferred.succeed(mayGo, undefined)
    yield* Deferred.await(done)
  }))
