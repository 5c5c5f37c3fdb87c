/** What a record of handlers says of itself: the services it needs, and the capabilities it amounts to. */
import { Capabilities, MethodTable } from "@effect-mcp/protocol"
import { CallbackContext, Handlers, RequestContext } from "@effect-mcp/session"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { connected, tools } from "./support/sessions.ts"

describe("what the session provides", () => {
  const report = Effect.asVoid(RequestContext.progress({ progress: 1 }))
  const reportBack = Effect.asVoid(CallbackContext.progress({ progress: 1 }))

  it("a server's handlers of requests have a RequestContext, and no CallbackContext", () => {
    const handlers = { "tools/list": () => Effect.as(report, { tools: [] }) }
    expectTypeOf<Handlers.ServicesOf<typeof handlers, "client">>().toEqualTypeOf<never>()
    const mistaken = { "tools/list": () => Effect.as(reportBack, { tools: [] }) }
    expectTypeOf<Handlers.ServicesOf<typeof mistaken, "client">>().toEqualTypeOf<CallbackContext.CallbackContext>()
  })

  it("a client's handlers of requests have a CallbackContext, and no RequestContext", () => {
    const handlers = { "roots/list": () => Effect.as(reportBack, { roots: [] }) }
    expectTypeOf<Handlers.ServicesOf<typeof handlers, "server">>().toEqualTypeOf<never>()
    const mistaken = { "roots/list": () => Effect.as(report, { roots: [] }) }
    expectTypeOf<Handlers.ServicesOf<typeof mistaken, "server">>().toEqualTypeOf<RequestContext.RequestContext>()
  })

  it("handlers of notifications have a scope, and nobody to report to", () => {
    const handlers = { "notifications/roots/list_changed": () => Effect.asVoid(Effect.scope) }
    expectTypeOf<Handlers.ServicesOf<typeof handlers, "client">>().toEqualTypeOf<never>()
    const mistaken = { "notifications/roots/list_changed": () => report }
    expectTypeOf<Handlers.ServicesOf<typeof mistaken, "client">>().toEqualTypeOf<RequestContext.RequestContext>()
  })
})

describe("what handlers show, and what is declared beyond it", () => {
  const silent = { logging: false } as const
  const subscribe = { "resources/subscribe": () => Effect.succeed({}) }

  it.effect("[TOOL-01] what has a handler is declared", () =>
    Effect.gen(function*() {
      const bare = yield* connected({ server: { capabilities: { logging: false } } })
      assert.deepStrictEqual(bare.client.profile.capabilities, {})
      const listed = yield* connected({ handlers: { "tools/list": () => Effect.succeed({ tools: [] }) } })
      assert.deepStrictEqual(listed.client.profile.capabilities, { tools: {}, logging: {} })
      const more = yield* connected({ handlers: tools({}), server: { capabilities: { tools: { listChanged: true } } } })
      assert.deepStrictEqual(more.client.profile.capabilities, { tools: { listChanged: true }, logging: {} })
    }))

  it("[LOG-01] every server declares logging, unless it is switched off", () => {
    assert.deepStrictEqual(Handlers.serverCapabilities({}), { logging: {} })
    assert.deepStrictEqual(Handlers.serverCapabilities({}, { logging: { acme: 1 } }), { logging: { acme: 1 } })
    const setLevel = { "logging/setLevel": () => Effect.succeed({}) }
    assert.deepStrictEqual(Handlers.serverCapabilities(setLevel, { logging: false }), {})
  })

  it("[RES-01] subscriptions are declared beside whatever else is said of resources", () => {
    assert.deepStrictEqual(Handlers.serverCapabilities(subscribe, silent), { resources: { subscribe: true } })
    assert.deepStrictEqual(Handlers.serverCapabilities(subscribe, { resources: { listChanged: true }, logging: {} }), {
      resources: { subscribe: true, listChanged: true },
      logging: {}
    })
    assert.deepStrictEqual(Handlers.serverCapabilities(subscribe, { resources: { subscribe: false }, ...silent }), {
      resources: { subscribe: false }
    })
  })

  it("[PRM-01] each capability is that of the handler's row, for every row of the table", () => {
    const handler = () => Effect.die("it ran")
    for (const row of Object.values(MethodTable.requests)) {
      if (row.capability === undefined) continue
      const handlers = Object.fromEntries([[row.name, handler]])
      for (const from of ["client", "server"] as const) {
        const capabilities = from === "client"
          ? Handlers.serverCapabilities(handlers, row.capability === "logging" ? {} : silent)
          : Handlers.clientCapabilities(handlers)
        const sent = MethodTable.findRequest(row.name, from) !== undefined
        assert.strictEqual(Capabilities.declares(capabilities, row.capability), sent, `${row.name} from a ${from}`)
        assert.strictEqual(Object.keys(capabilities).length, sent ? 1 : 0, row.name)
      }
    }
    const half = Object.fromEntries([["tools/list", undefined], ["prompts/get", handler]])
    assert.deepStrictEqual(Handlers.serverCapabilities(half, silent), { prompts: {} })
  })

  it("[ELI-01] [ELI-02] questions stand for forms, unless their modes are declared", () => {
    const elicit = { "elicitation/create": () => Effect.succeed({ action: "cancel" as const }) }
    assert.deepStrictEqual(Handlers.clientCapabilities(elicit), { elicitation: {} })
    assert.deepStrictEqual(Handlers.clientCapabilities(elicit, { elicitation: { url: {} } }), {
      elicitation: { url: {} }
    })
  })
})
