import { McpError, Tool } from "@effect-mcp/protocol"
import { McpServer } from "@effect-mcp/server"
import * as McpHttpApi from "@effect-mcp/server/McpHttpApi"
import { ClientSession, RequestContext } from "@effect-mcp/session"
import {
  Authentication,
  StatelessHttpServer,
  StreamableHttpClient,
  StreamableHttpServer
} from "@effect-mcp/transport/node"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as HttpRouter from "effect/http/HttpRouter"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { createServer } from "node:http"
import { connect, handshake, info } from "./support/connect.ts"
import { describeForBothEras } from "./support/eras.ts"
import { Api, ApiLive, type Me, User } from "./support/notesApi.ts"

const nested = { arguments: ({ name }: McpHttpApi.Endpoint) => name === "notes.replace" ? "nested" : "merged" } as const

const tools = McpHttpApi.layer(Api, nested).pipe(Layer.provide(ApiLive))

/** Calls a tool of the whole api. */
const call = (name: string, input: { readonly [argument: string]: unknown } = {}) =>
  Effect.scoped(Effect.flatMap(connect(tools), (session) => session.callTool(name, input)))

const codeOf = (error: unknown): unknown =>
  error instanceof Error && "reason" in error && typeof error.reason === "object" && error.reason !== null &&
    "error" in error.reason
    ? error.reason.error
    : error

describeForBothEras("the definition of the tool of an endpoint", ({ connect }) => {
  it.effect("has the title, the description and the hints that its method implies, unless annotations say more", () =>
    Effect.gen(function*() {
      const session = yield* connect(tools)
      const listed = new Map((yield* session.listTools()).tools.map((tool) => [tool.name, tool]))
      const list = listed.get("notes.list")
      assert.deepStrictEqual([list?.title, list?.description], ["List notes", "Lists the notes of the user"])
      assert.deepStrictEqual(
        ["notes.list", "notes.create", "notes.replace", "notes.remove", "reindex", "word"].map((name) =>
          listed.get(name)?.annotations
        ),
        [
          { readOnlyHint: true, idempotentHint: true },
          undefined,
          { idempotentHint: true },
          { destructiveHint: true, idempotentHint: true },
          { destructiveHint: false, idempotentHint: true },
          { readOnlyHint: false, idempotentHint: true }
        ]
      )
    }))

  it.effect("describes query, path and headers by their types, and makes fields with a default optional", () =>
    Effect.gen(function*() {
      const session = yield* connect(tools)
      const listed = new Map((yield* session.listTools()).tools.map((tool) => [tool.name, tool]))
      const integer = { type: "integer", minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }
      assert.deepStrictEqual(listed.get("notes.list")?.inputSchema, {
        type: "object",
        properties: { limit: integer, word: { type: "string", description: "A word in the title" } }
      })
      assert.deepStrictEqual(listed.get("notes.read")?.inputSchema, {
        type: "object",
        properties: { id: integer },
        required: ["id"]
      })
      assert.deepStrictEqual(Object.keys(listed.get("notes.replace")?.inputSchema["properties"] ?? {}), [
        "params",
        "query",
        "headers",
        "payload"
      ])
      assert.deepStrictEqual(listed.get("notes.replace")?.inputSchema["required"], ["params", "headers", "payload"])
    }))

  it.effect("has an output schema before 2026-07-28 only if every success is an object", () =>
    Effect.gen(function*() {
      const session = yield* connect(tools, { client: handshake })
      const listed = (yield* session.listTools()).tools
      assert.deepStrictEqual(
        listed.filter(({ outputSchema }) => outputSchema !== undefined).map(({ name }) => name),
        ["me.whoami", "notes.create", "notes.read", "notes.replace", "seen"]
      )
      const modern = yield* connect(tools, { client: { revisions: ["2026-07-28"] } })
      const many = (yield* modern.listTools()).tools.find(({ name }) => name === "many")
      assert.containSubset(many?.outputSchema, { type: "number" })
    }))

  it.effect("is left out by default if the endpoint is excluded, streams, or has files", () =>
    Effect.gen(function*() {
      const session = yield* connect(tools)
      const names = new Set((yield* session.listTools()).tools.map(({ name }) => name))
      assert.deepStrictEqual(["secret", "bytes", "upload", "word"].filter((name) => names.has(name)), ["word"])
    }))

  it.effect("has the name that rename returns, and only and filter choose the endpoints", () =>
    Effect.gen(function*() {
      const chosen = McpHttpApi.layer(Api, {
        only: ["notes.read", "notes.create", "secret"],
        filter: ({ method }) => method === "GET",
        rename: ({ group, identifier }) => `${group}_${identifier}`
      })
      const session = yield* connect(Layer.provide(chosen, ApiLive))
      const { tools } = yield* session.listTools()
      assert.deepStrictEqual(tools.map(({ name }) => name), ["notes_read", "odd_secret"])
      assert.deepStrictEqual(Tool.structuredMembers(yield* session.callTool("notes_read", { id: 1 }))["id"], 1)
    }))
})

it.effect("a tool is visible to the clients for which visible decides so", () =>
  Effect.gen(function*() {
    const layer = McpHttpApi.layer(Api, {
      only: ["word", "notes.list"],
      visible: ({ group }) =>
        group === "odd"
          ? Effect.map(RequestContext.RequestContext, ({ principal }) => principal?.id === "ada")
          : undefined
    }).pipe(Layer.provide(ApiLive))
    const ada = yield* connect(layer, { principal: { id: "ada" } })
    const bob = yield* connect(layer, { principal: { id: "bob" } })
    const names = (session: ClientSession.ClientSessionShape) =>
      Effect.map(session.listTools(), ({ tools }) => tools.map(({ name }) => name))
    assert.deepStrictEqual([yield* names(ada), yield* names(bob)], [["notes.list", "word"], ["notes.list"]])
    assert.isUndefined((yield* ada.callTool("word")).isError)
    assert.deepInclude(codeOf(yield* Effect.flip(bob.callTool("word"))), { code: -32602 })
  }))

describeForBothEras("a call", ({ connect }) => {
  it.effect("encodes path, query, headers and payload, and returns an object as structured content", () =>
    Effect.gen(function*() {
      const result = yield* call("notes.replace", {
        params: { id: 7 },
        query: { notify: true },
        headers: { "x-reason": "a typo" },
        payload: { title: "Bees", text: "Sie tanzen: äöü" }
      })
      assert.deepStrictEqual(result.structuredContent, {
        note: { id: 7, title: "Bees", text: "Sie tanzen: äöü" },
        notify: true,
        reason: "a typo"
      })
    }))

  it.effect("may leave out a nested part of which every field is optional", () =>
    Effect.gen(function*() {
      const result = yield* call("notes.replace", {
        params: { id: 7 },
        headers: { "x-reason": "a typo" },
        payload: { title: "Bees", text: "" }
      })
      assert.strictEqual(Tool.structuredMembers(result)["notify"], false)
    }))

  it.effect("uses the default of the api for a field that the client leaves out", () =>
    Effect.gen(function*() {
      const lengthOf = (input: { readonly [argument: string]: unknown }) =>
        Effect.map(call("notes.list", input), ({ content: [first] }) =>
          first?.type === "text" ? JSON.parse(first.text).length : undefined)
      assert.deepStrictEqual([yield* lengthOf({}), yield* lengthOf({ limit: 3, word: "a&b=c" })], [10, 3])
    }))

  it.effect("returns a success that is no object with its text, and no content if there is none", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* call("word"), {
        content: [{ type: "text", text: "bee" }],
        structuredContent: "bee"
      })
      assert.deepStrictEqual(yield* call("many", { payload: [1, 2] }), {
        content: [{ type: "text", text: "3" }],
        structuredContent: 3
      })
      assert.deepStrictEqual(yield* call("notes.remove", { id: 1 }), { content: [] })
    }))

  it.effect("returns a declared error with isError, its message and its encoding", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* call("notes.read", { id: 2 }), {
        content: [{ type: "text", text: "there is no note 2" }],
        isError: true,
        _meta: { "effect-mcp/failure": { _tag: "NoSuchNote", id: 2 } }
      })
      assert.deepStrictEqual((yield* call("notes.remove", { id: 2 }))._meta, {
        "effect-mcp/failure": { _tag: "NotFound" }
      })
    }))

  it.effect("rejects arguments that do not fit, and names the fields of all parts", () =>
    Effect.gen(function*() {
      const { content, isError } = yield* call("notes.replace", {
        params: { id: "x" },
        payload: { title: 1, text: "" }
      })
      assert.isTrue(isError)
      assert.deepStrictEqual(content, [{
        type: "text",
        text: "Invalid arguments for the tool \"notes.replace\": params.id: Expected number, got \"x\"\n" +
          "headers: Missing key\npayload.title: Expected string, got 1"
      }])
    }))

  it.effect("whose handler dies, is interrupted or responds with an undeclared status is -32603 without words", () =>
    Effect.gen(function*() {
      for (const name of ["dies", "interrupts", "teapot"]) {
        const error = yield* Effect.flip(call(name))
        assert.deepInclude(codeOf(error), { code: -32603, message: "Internal error" }, name)
        assert.notInclude(JSON.stringify(error), "hunter2")
      }
    }))

  it.effect("reaches its own endpoint only, although another has the path that its arguments form", () =>
    Effect.gen(function*() {
      const text = (name: string) => Effect.map(call("file", { name }), ({ content }) => content)
      assert.deepStrictEqual(yield* text("secret"), [{ type: "text", text: "file secret" }])
      assert.deepStrictEqual(yield* text("a/b?c"), [{ type: "text", text: "file a/b?c" }])
      for (const name of ["", ".", "..", "\ud800"]) assert.isTrue((yield* call("file", { name })).isError, name)
    }))

  it.effect("whose response is larger than the limit fails with its size", () =>
    Effect.gen(function*() {
      const session = yield* connect(
        McpHttpApi.layer(Api, { only: ["large", "word"], maxResponseBytes: 1_000 }).pipe(Layer.provide(ApiLive))
      )
      const result = yield* session.callTool("large")
      assert.isTrue(result.isError)
      assert.deepStrictEqual(result._meta, {
        "effect-mcp/failure": { _tag: "ResponseTooLargeError", bytes: 2_002, limit: 1_000 }
      })
      assert.isUndefined((yield* session.callTool("word")).isError)
    }))

  it.effect("that the client cancels interrupts the handler", () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      const stopped = yield* Deferred.make<void>()
      const api = HttpApi.make("slow").add(HttpApiGroup.make("one").add(HttpApiEndpoint.get("wait", "/wait")))
      const live = HttpApiBuilder.group(api, "one", (handlers) =>
        handlers.handle("wait", () =>
          Effect.andThen(Deferred.succeed(started, undefined), Effect.never).pipe(
            Effect.onInterrupt(() =>
              Deferred.succeed(stopped, undefined)
            )
          )))
      const session = yield* connect(McpHttpApi.layer(api).pipe(Layer.provide(live)))
      const fiber = yield* Effect.forkChild(session.callTool("one.wait"))
      yield* Deferred.await(started)
      yield* Fiber.interrupt(fiber)
      yield* Deferred.await(stopped)
    }))
})

const Faulty = HttpApi.make("faulty").add(
  HttpApiGroup.make("g").add(
    HttpApiEndpoint.put("put", "/:id", {
      params: { id: Schema.Int },
      payload: Schema.Struct({ id: Schema.Int }),
      success: Schema.Struct({ path: Schema.Int, body: Schema.Int })
    }),
    HttpApiEndpoint.get("bad name", "/bad"),
    HttpApiEndpoint.get("secret", "/secret", { success: Schema.Redacted(Schema.String) }),
    HttpApiEndpoint.post("upload", "/upload", {
      payload: Schema.Struct({ name: Schema.String }).pipe(HttpApiSchema.asMultipart())
    })
  )
)

const FaultyLive = HttpApiBuilder.group(Faulty, "g", (handlers) =>
  handlers
    .handle("put", ({ params, payload }) => Effect.succeed({ path: params.id, body: payload.id }))
    .handle("bad name", () => Effect.void)
    .handle("secret", () => Effect.succeed(Redacted.make("hunter2")))
    .handle("upload", () => Effect.void))

describeForBothEras("the Layer dies, and names the endpoint,", ({ connect }) => {
  const defect = (only: McpHttpApi.EndpointName<typeof Faulty.groups["g"]>) =>
    Effect.map(
      Effect.exit(Effect.scoped(connect(McpHttpApi.layer(Faulty, { only: [only] }).pipe(Layer.provide(FaultyLive))))),
      (exit) => Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : "it did not die"
    )

  it.effect("if two parts have a field of the same name, which nesting resolves", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* defect("g.put"),
        "RegistrationError: the group \"faulty\" cannot be registered: the endpoint \"g.put\": the field \"id\" is " +
          "in its params and in its payload, and a tool has one object of arguments; set the option arguments to " +
          "\"nested\", at least for this endpoint"
      )
      const layer = McpHttpApi.layer(Faulty, { only: ["g.put"], arguments: "nested" })
      const session = yield* connect(Layer.provide(layer, FaultyLive))
      assert.deepStrictEqual(
        (yield* session.callTool("g.put", { params: { id: 1 }, payload: { id: 2 } })).structuredContent,
        { path: 1, body: 2 }
      )
    }))

  it.effect("if its name is not allowed, its success is secret, or it cannot be a tool although only names it", () =>
    Effect.gen(function*() {
      assert.include(
        yield* defect("g.bad name"),
        "the endpoint \"g.bad name\": the tool \"g.bad name\" has a name that"
      )
      assert.include(yield* defect("g.secret"), "the endpoint \"g.secret\": the success of the tool \"g.secret\"")
      assert.include(yield* defect("g.upload"), "\"g.upload\" cannot be a tool: its payload is multipart; remove it")
    }))
})

interface Seen {
  readonly headers: { readonly [name: string]: string }
  readonly url: string
  readonly context: string
}

const seen = (session: ClientSession.ClientSessionShape, input: { readonly [argument: string]: unknown } = {}) =>
  Effect.map(session.callTool("seen", input), ({ structuredContent }): Partial<Seen> => structuredContent ?? {})

/** The identity that the backend knows, made of the principal of the MCP client. */
const headers = Effect.map(RequestContext.RequestContext, ({ principal }) => ({
  authorization: principal === undefined ? undefined : Redacted.make(`Bearer backend-${principal.id}`)
}))

describeForBothEras("the identity of the client", ({ connect }) => {
  it.effect("is what headers makes of the principal, and the security of the api runs with it", () =>
    Effect.gen(function*() {
      const identified = McpHttpApi.layer(Api, { only: ["me.whoami"], headers }).pipe(Layer.provide(ApiLive))
      const ada = yield* connect(identified, { principal: { id: "ada" } })
      const bob = yield* connect(identified, { principal: { id: "bob" } })
      assert.deepStrictEqual((yield* ada.callTool("me.whoami")).structuredContent, { id: "ada" })
      assert.deepStrictEqual((yield* bob.callTool("me.whoami")).structuredContent, { id: "bob" })
      const anonymous = yield* connect(identified)
      const rejected = yield* anonymous.callTool("me.whoami")
      assert.isTrue(rejected.isError)
      assert.deepStrictEqual(rejected._meta, { "effect-mcp/failure": { _tag: "Unauthorized" } })
    }))

  it.effect("is never an argument, and neither is a header that the program hides", () =>
    Effect.gen(function*() {
      const layer = McpHttpApi.layer(Api, {
        only: ["seen"],
        hiddenHeaders: ["X-Tenant"],
        headers: Effect.succeed({ "X-Tenant": "acme" })
      })
      const session = yield* connect(Layer.provide(layer, ApiLive))
      const [tool] = (yield* session.listTools()).tools
      assert.deepStrictEqual(tool?.inputSchema["properties"], {})
      const { headers } = yield* seen(session, { authorization: "Bearer backend-eve", "x-tenant": "evil" })
      assert.deepStrictEqual(headers, { "x-tenant": "acme" })
    }))

  it.effect("whose effect fails is the error of the call, and one that dies is -32603", () =>
    Effect.gen(function*() {
      const failing = yield* connect(
        McpHttpApi.layer(Api, { only: ["word"], headers: Effect.fail(McpError.invalidRequest("sign in first")) }).pipe(
          Layer.provide(ApiLive)
        )
      )
      assert.deepInclude(codeOf(yield* Effect.flip(failing.callTool("word"))), { message: "sign in first" })
      const dying = yield* connect(
        McpHttpApi.layer(Api, { only: ["word"], headers: Effect.die("hunter2") }).pipe(Layer.provide(ApiLive))
      )
      assert.deepInclude(codeOf(yield* Effect.flip(dying.callTool("word"))), {
        code: -32603,
        message: "Internal error"
      })
    }))

  it.effect("whose effect does not end fails the call after 30 seconds", () =>
    Effect.gen(function*() {
      const session = yield* connect(
        McpHttpApi.layer(Api, { only: ["word"], headers: Effect.never }).pipe(Layer.provide(ApiLive))
      )
      const fiber = yield* Effect.forkChild(Effect.flip(session.callTool("word")), { startImmediately: true })
      yield* TestClock.adjust("29 seconds")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("2 seconds")
      assert.deepInclude(codeOf(yield* Fiber.join(fiber)), { code: -32603, message: "Internal error" })
    }))

  const authentication = Authentication.layerBearer({
    verify: (token) => {
      const value = Redacted.value(token)
      const [prefix, id] = value.split(".")
      // A program that keeps the token for its own handlers must not pass it on either.
      return Effect.succeed(
        prefix === "mcp-token" && id !== undefined ? { id, claims: { token: value } } : undefined
      )
    }
  })
  const url = Effect.map(
    HttpServer,
    ({ address }) => `http://127.0.0.1:${"port" in address ? address.port : 0}/mcp`
  )
  const client = (url: string, id: string) =>
    Effect.map(
      Layer.build(Layer.provide(
        ClientSession.layer({ info }),
        StreamableHttpClient.layerNode({ url, headers: { authorization: `Bearer mcp-token.${id}`, cookie: "sid=mcp" } })
      )),
      Context.get(ClientSession.ClientSession)
    )
  const identified = McpHttpApi.layer(Api, { only: ["seen", "me.whoami"], headers }).pipe(Layer.provide(ApiLive))
  const anonymous = McpHttpApi.layer(Api, { only: ["seen", "me.whoami"] }).pipe(Layer.provide(ApiLive))

  const neverForwarded = Effect.gen(function*() {
    const ada = yield* client(yield* url, "ada")
    const bob = yield* client(yield* url, "bob")
    for (const [session, id] of [[ada, "ada"], [bob, "bob"]] as const) {
      assert.deepStrictEqual((yield* session.callTool("me.whoami")).structuredContent, { id })
      const { context, headers } = yield* seen(session)
      assert.deepStrictEqual(headers, { authorization: `Bearer backend-${id}` })
      // The handler cannot reach the request of the client by any service.
      assert.include(context, "/seen")
      assert.notInclude(context, "mcp-token")
      assert.notInclude(context, "sid=mcp")
    }
  })

  it.live("reaches the api over Streamable HTTP, and the token of the client does not", () =>
    neverForwarded.pipe(
      Effect.scoped,
      Effect.provide(
        StreamableHttpServer.layerNode({ port: 0 }).pipe(
          Layer.provide(McpServer.layerHost(identified, { info })),
          Layer.provide(authentication)
        )
      )
    ))

  it.live("reaches the api over Streamable HTTP without sessions, and the token of the client does not", () =>
    neverForwarded.pipe(
      Effect.scoped,
      Effect.provide(
        HttpRouter.serve(
          Layer.unwrap(Effect.map(
            McpServer.makeStatelessHandlers(identified),
            (handlers) => StatelessHttpServer.layer(handlers, { info })
          )).pipe(Layer.provide(authentication)),
          { disableLogger: true, disableListenLog: true }
        ).pipe(Layer.provideMerge(NodeHttpServer.layer(() => createServer(), { port: 0 })))
      )
    ))

  it.live("is unknown to the api over Streamable HTTP if the program makes no headers", () =>
    Effect.gen(function*() {
      const ada = yield* client(yield* url, "ada")
      assert.isTrue((yield* ada.callTool("me.whoami")).isError)
      const { context, headers } = yield* seen(ada)
      assert.deepStrictEqual(headers, {})
      assert.notInclude(context, "mcp-token")
    }).pipe(
      Effect.scoped,
      Effect.provide(
        StreamableHttpServer.layerNode({ port: 0 }).pipe(
          Layer.provide(McpServer.layerHost(anonymous, { info })),
          Layer.provide(authentication)
        )
      )
    ))
})

describe("the types", () => {
  it("name the endpoints, and require the handlers of those that are chosen", () => {
    type Needs<L> = L extends Layer.Layer<infer _A, infer _E, infer R> ? R : never
    const some = McpHttpApi.layer(Api, { only: ["notes.read", "word"], headers })
    expectTypeOf<Needs<typeof some>>().toEqualTypeOf<
      McpServer.McpServer | HttpApiGroup.Service<"api", "notes"> | HttpApiGroup.Service<"api", "odd">
    >()
    const all = McpHttpApi.layer(Api, { headers: Effect.map(User, ({ id }) => ({ id })) })
    expectTypeOf<Needs<typeof all>>().toEqualTypeOf<
      | McpServer.McpServer
      | HttpApiGroup.Service<"api", "notes">
      | HttpApiGroup.Service<"api", "odd">
      | HttpApiGroup.Service<"api", "me">
      | User
    >()
    expectTypeOf<McpHttpApi.EndpointName<typeof Me>>().toEqualTypeOf<"me.whoami">()
  })
})
