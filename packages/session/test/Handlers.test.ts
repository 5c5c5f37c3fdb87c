/** The services that a record of handlers needs, and the capabilities that it implies. */
import { Capabilities, MethodTable } from "@effect-mcp/protocol"
import { ClientRequestContext, Handlers, NotificationContext, RequestContext, ServerSession } from "@effect-mcp/session"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { connected, tools } from "./support/sessions.ts"

describe("services that the session provides to handlers", () => {
  const requestProgress = Effect.asVoid(RequestContext.progress({ progress: 1 }))
  const callbackProgress = Effect.asVoid(ClientRequestContext.progress({ progress: 1 }))

  it("a handler of a server has a RequestContext, and no ClientRequestContext", () => {
    const handlers = { "tools/list": () => Effect.as(requestProgress, { tools: [] }) }
    expectTypeOf<Handlers.ServicesOf<typeof handlers, "client">>().toEqualTypeOf<never>()
    const wrong = { "tools/list": () => Effect.as(callbackProgress, { tools: [] }) }
    expectTypeOf<Handlers.ServicesOf<typeof wrong, "client">>().toEqualTypeOf<
      ClientRequestContext.ClientRequestContext
    >()
  })

  it("a handler of a client has a ClientRequestContext, and no RequestContext", () => {
    const handlers = { "roots/list": () => Effect.as(callbackProgress, { roots: [] }) }
    expectTypeOf<Handlers.ServicesOf<typeof handlers, "server">>().toEqualTypeOf<never>()
    const wrong = { "roots/list": () => Effect.as(requestProgress, { roots: [] }) }
    expectTypeOf<Handlers.ServicesOf<typeof wrong, "server">>().toEqualTypeOf<RequestContext.RequestContext>()
  })

  it("a handler of notifications has a Scope, and no context of a request", () => {
    const handlers = { "notifications/roots/list_changed": () => Effect.asVoid(Effect.scope) }
    expectTypeOf<Handlers.ServicesOf<typeof handlers, "client">>().toEqualTypeOf<never>()
    const wrong = { "notifications/roots/list_changed": () => requestProgress }
    expectTypeOf<Handlers.ServicesOf<typeof wrong, "client">>().toEqualTypeOf<RequestContext.RequestContext>()
  })

  it("a server's handler of notifications has a NotificationContext, and no other handler has one", () => {
    const sender = Effect.asVoid(NotificationContext.NotificationContext)
    const handlers = { "notifications/roots/list_changed": () => sender }
    expectTypeOf<Handlers.ServicesOf<typeof handlers, "client">>().toEqualTypeOf<never>()
    type Needed = NotificationContext.NotificationContext
    const ofClient = { "notifications/tools/list_changed": () => sender }
    expectTypeOf<Handlers.ServicesOf<typeof ofClient, "server">>().toEqualTypeOf<Needed>()
    const ofRequest = { "prompts/list": () => Effect.as(sender, { prompts: [] }) }
    expectTypeOf<Handlers.ServicesOf<typeof ofRequest, "client">>().toEqualTypeOf<Needed>()
    expectTypeOf(ofRequest).not.toExtend<Handlers.Handlers<"client", Needed>>()
  })
})

describe("capabilities that handlers imply, and declared ones", () => {
  const withoutLogging = { logging: false } as const
  const subscribe = { "resources/subscribe": () => Effect.succeed({}) }

  it.effect("[TOOL-01] a handler declares its capability", () =>
    Effect.gen(function*() {
      const bare = yield* connected({ server: { capabilities: { logging: false } } })
      assert.deepStrictEqual(bare.client.profile.capabilities, {})
      const listed = yield* connected({ handlers: { "tools/list": () => Effect.succeed({ tools: [] }) } })
      assert.deepStrictEqual(listed.client.profile.capabilities, { tools: {}, logging: {} })
      const more = yield* connected({ handlers: tools({}), server: { capabilities: { tools: { listChanged: true } } } })
      assert.deepStrictEqual(more.client.profile.capabilities, { tools: { listChanged: true }, logging: {} })
    }))

  it("[LOG-01] a server declares logging unless it is switched off", () => {
    assert.deepStrictEqual(Handlers.serverCapabilities({}), { logging: {} })
    assert.deepStrictEqual(Handlers.serverCapabilities({}, { logging: { acme: 1 } }), { logging: { acme: 1 } })
    const setLevel = { "logging/setLevel": () => Effect.succeed({}) }
    assert.deepStrictEqual(Handlers.serverCapabilities(setLevel, { logging: false }), {})
  })

  it("[RES-01] a handler of subscriptions adds subscribe to the declared resources", () => {
    assert.deepStrictEqual(Handlers.serverCapabilities(subscribe, withoutLogging), { resources: { subscribe: true } })
    assert.deepStrictEqual(Handlers.serverCapabilities(subscribe, { resources: { listChanged: true }, logging: {} }), {
      resources: { subscribe: true, listChanged: true },
      logging: {}
    })
    assert.deepStrictEqual(
      Handlers.serverCapabilities(subscribe, { resources: { subscribe: false }, ...withoutLogging }),
      {
        resources: { subscribe: false }
      }
    )
  })

  it("[PRM-01] each handler implies the capability of its row, for every row of the method table", () => {
    const handler = () => Effect.die("it ran")
    for (const row of Object.values(MethodTable.requests)) {
      if (row.capability === undefined) continue
      const handlers = Object.fromEntries([[row.name, handler]])
      for (const from of ["client", "server"] as const) {
        const capabilities = from === "client"
          ? Handlers.serverCapabilities(handlers, row.capability === "logging" ? {} : withoutLogging)
          : Handlers.clientCapabilities(handlers)
        const sent = MethodTable.findRequest(row.name, from) !== undefined
        assert.strictEqual(Capabilities.declares(capabilities, row.capability), sent, `${row.name} from a ${from}`)
        assert.strictEqual(Object.keys(capabilities).length, sent ? 1 : 0, row.name)
      }
    }
    const partial = Object.fromEntries([["tools/list", undefined], ["prompts/get", handler]])
    assert.deepStrictEqual(Handlers.serverCapabilities(partial, withoutLogging), { prompts: {} })
  })

  it("[ELI-01] [ELI-02] a handler of elicitation implies form mode, unless modes are declared", () => {
    const elicit = { "elicitation/create": () => Effect.succeed({ action: "cancel" as const }) }
    assert.deepStrictEqual(Handlers.clientCapabilities(elicit), { elicitation: {} })
    assert.deepStrictEqual(Handlers.clientCapabilities(elicit, { elicitation: { url: {} } }), {
      elicitation: { url: {} }
    })
  })
})

describe("merge", () => {
  class Database extends Context.Service<Database, string>()("test/Database") {}

  const tools = ServerSession.handlers({
    "tools/call": () => Effect.map(Database, (name) => ({ content: [], _meta: { name } }))
  })
  const prompts = ServerSession.handlers({ "prompts/list": () => Effect.succeed({ prompts: [] }) })

  it("returns a record with the handlers and the services of all records", () => {
    const merged = Handlers.merge(tools, prompts)
    assert.deepStrictEqual<unknown>(merged, { ...tools, ...prompts })
    expectTypeOf<Handlers.ServicesOf<typeof merged, "client">>().toEqualTypeOf<Database>()
    assert.deepStrictEqual<unknown>(Handlers.merge(), {})
  })

  it("two handlers of one method do not compile, and throw an error that names the method", () => {
    const others = ServerSession.handlers({ "tools/call": () => Effect.succeed({ content: [] }) })
    type Accepted<Records extends ReadonlyArray<Handlers.Handlers<"client", unknown>>> = Parameters<
      typeof Handlers.merge<Records>
    >
    expectTypeOf<Accepted<readonly [typeof tools, typeof prompts, typeof others]>>().toHaveProperty("duplicate")
    expectTypeOf<Accepted<readonly [typeof tools, typeof prompts]>>().not.toHaveProperty("duplicate")
    assert.throws(
      () => Reflect.apply(Handlers.merge, undefined, [tools, prompts, others]),
      "two records have a handler of tools/call; a method has one handler"
    )
  })
})

describe("the structured content of a tool", () => {
  interface Weather {
    readonly temperature: number
  }

  it.effect("may be of an interface type", () =>
    Effect.gen(function*() {
      const weather: Weather = { temperature: 21 }
      const { client } = yield* connected({
        handlers: { "tools/call": () => Effect.succeed({ content: [], structuredContent: weather }) }
      })
      assert.deepStrictEqual((yield* client.callTool("weather")).structuredContent, { temperature: 21 })
    }))
})
