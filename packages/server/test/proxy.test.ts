import { Content, McpError, type Progress, Prompt } from "@effect-mcp/protocol"
import {
  McpGroup,
  McpMount,
  McpPrompt,
  McpProxy,
  McpRequest,
  McpResource,
  McpServer,
  McpTool
} from "@effect-mcp/server"
import {
  ClientSession,
  type Handlers,
  MemoryTransport,
  RequestContext,
  type RequestError,
  ServerSession,
  SessionHost,
  SessionlessServer,
  Transport
} from "@effect-mcp/session"
import { Authentication, StreamableHttpClient, StreamableHttpServer } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Queue from "effect/Queue"
import * as Redacted from "effect/Redacted"
import * as Ref from "effect/Ref"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { connect, info } from "./support/connect.ts"

type Client = ClientSession.ClientSessionShape

/** A server with everything. */
const Everything = McpGroup.make(
  "everything",
  Tool.make("add", {
    description: "Adds",
    parameters: Schema.Struct({ a: Schema.Finite, b: Schema.Finite }),
    success: Schema.Struct({ sum: Schema.Finite })
  }),
  Tool.make("fail", { failure: Schema.Struct({ why: Schema.String }) }),
  Tool.make("reject"),
  Tool.make("content", { success: McpTool.Content }),
  McpResource.make("one", { uri: "app://one", mimeType: "text/plain", size: 3 }),
  McpResource.make("bytes", { uri: "app://bytes" }),
  McpResource.template("item", { uri: "app://items/{id}", parameters: { id: Schema.FiniteFromString } }),
  McpPrompt.make("plan", { description: "Plans", arguments: { day: Schema.Literals(["monday", "sunday"]) } })
)

const EverythingLive = Everything.toLayer((handlers) =>
  handlers
    .tool("add", ({ a, b }) => Effect.succeed({ sum: a + b }))
    .tool("fail", () => Effect.fail({ why: "no reason" }))
    .tool("reject", () => Effect.fail(McpError.received({ code: -32077, message: "rejected", data: { a: [1] } })))
    .tool("content", () =>
      Effect.succeed([
        Content.text("text"),
        Content.image(new Uint8Array([1, 2]), "image/png"),
        Content.link({ uri: "app://items/7", name: "seven" })
      ]))
    .resource("one", Effect.succeed("one"))
    .resource("bytes", Effect.succeed(new Uint8Array([1, 2, 3])))
    .template("item", ({ id }) => Effect.succeed(`item ${id}`), {
      complete: { id: () => Effect.succeed(["7", "8"]) }
    })
    .prompt("plan", ({ day }) => Effect.succeed([Prompt.user(day), Prompt.assistant("ok")]))
)

const everything = McpServer.layerInProcess(EverythingLive, info)

const tool = (name: string) => ({ name, inputSchema: { type: "object" as const } })

/** The three ways to proxy a server. */
const ways = {
  "a session for each client": (remote: Layer.Layer<Transport.Transport, unknown>) =>
    McpProxy.layer("remote", remote, { info }),
  "one session for all clients": (remote: Layer.Layer<Transport.Transport, unknown>) =>
    McpProxy.layer("remote", remote, { info, sessions: "shared" }),
  "a session of the program": (remote: Layer.Layer<Transport.Transport, unknown>) =>
    Layer.unwrap(Effect.map(ClientSession.ClientSession, (session) => McpProxy.fromSession("remote", session))).pipe(
      Layer.provide(Layer.provide(ClientSession.layer({ info }), remote))
    )
}

const outcome = <A>(effect: Effect.Effect<A, RequestError.RequestError>) =>
  Effect.map(Effect.result(effect), (result) =>
    Result.isSuccess(result) ? result.success : {
      method: result.failure.method,
      reason: result.failure.reason._tag,
      error: result.failure.reason._tag === "ErrorResponse"
        ? { ...membersOf(result.failure.reason.error) }
        : undefined
    })

const membersOf = ({ code, data, message }: McpError.McpError) => ({ code, data, message })

const observations = (client: Client) =>
  Effect.all({
    tools: outcome(client.listTools()),
    prompts: outcome(client.listPrompts()),
    resources: outcome(client.listResources()),
    templates: outcome(client.listResourceTemplates()),
    add: outcome(client.callTool("add", { a: 1, b: 2 })),
    misfit: outcome(client.callTool("add", { a: "one" })),
    fail: outcome(client.callTool("fail")),
    reject: outcome(client.callTool("reject")),
    content: outcome(client.callTool("content")),
    unknownTool: outcome(client.callTool("none")),
    one: outcome(client.readResource("app://one")),
    bytes: outcome(client.readResource("app://bytes")),
    item: outcome(client.readResource("app://items/7")),
    noItem: outcome(client.readResource("app://items/x")),
    unknownResource: outcome(client.readResource("app://none")),
    plan: outcome(client.getPrompt("plan", { day: "sunday" })),
    badPlan: outcome(client.getPrompt("plan", { day: "never" })),
    unknownPrompt: outcome(client.getPrompt("none")),
    day: outcome(
      client.complete({ ref: { type: "ref/prompt", name: "plan" }, argument: { name: "day", value: "s" } })
    ),
    id: outcome(client.complete({
      ref: { type: "ref/resource", uri: "app://items/{id}" },
      argument: { name: "id", value: "" }
    })),
    badArgument: outcome(
      client.complete({ ref: { type: "ref/prompt", name: "plan" }, argument: { name: "none", value: "" } })
    ),
    subscribe: outcome(client.subscribeResource("app://one")),
    subscribeNone: outcome(client.subscribeResource("app://none")),
    unsubscribe: outcome(client.unsubscribeResource("app://one"))
  })

describe.each(Object.entries(ways))("a client of a proxy with %s", (_, proxy) => {
  it.live("sees what a client of the server sees", () =>
    Effect.gen(function*() {
      const direct = yield* connect(EverythingLive)
      const proxied = yield* connect(proxy(everything))
      assert.deepStrictEqual(proxied.profile.capabilities, direct.profile.capabilities)
      assert.deepStrictEqual(yield* observations(proxied), yield* observations(direct))
    }).pipe(Effect.scoped))

  it.live("sees changes of the server's lists after one notification, and none without a change", () =>
    Effect.gen(function*() {
      const heard = yield* Queue.unbounded<string>()
      const adding = yield* Queue.unbounded<void>()
      const later = McpGroup.make("later", Tool.make("b"), Tool.make("c")).toLayer((handlers) =>
        handlers.tool("b", () => Effect.void).tool("c", () => Effect.void)
      )
      const scope = yield* Scope.make()
      const remote = Layer.mergeAll(
        EverythingLive,
        Layer.effectDiscard(Effect.forkScoped(
          Effect.andThen(Queue.take(adding), Layer.buildWithScope(later, scope))
        ))
      )
      // The server of the lists is the first that is built.
      const client = yield* connect(proxy(McpServer.layerInProcess(remote, info)), {
        client: { handlers: { "notifications/tools/list_changed": () => Queue.offer(heard, "tools") } }
      })
      yield* Queue.offer(adding, undefined)
      yield* Queue.take(heard)
      const names = Effect.map(client.listTools(), ({ tools }) => tools.map(({ name }) => name))
      assert.deepStrictEqual(yield* names, ["add", "b", "c", "content", "fail", "reject"])
      yield* Scope.close(scope, Exit.void)
      yield* Queue.take(heard)
      assert.deepStrictEqual(yield* names, ["add", "content", "fail", "reject"])
      assert.strictEqual(yield* Queue.size(heard), 0)
    }).pipe(Effect.scoped))
})

it.live("a mounted proxy of a server without tools gets them later, and clients are notified of this list only", () =>
  Effect.gen(function*() {
    const heard = yield* Queue.unbounded<string>()
    const tools = yield* Ref.make<ReadonlyArray<ReturnType<typeof tool>>>([])
    const remote = yield* Deferred.make<ServerSession.ServerSessionShape>()
    const server = ServerSession.layerInProcess({
      "tools/list": () =>
        Effect.gen(function*() {
          const { session } = yield* RequestContext.RequestContext
          if (session !== undefined) yield* Deferred.succeed(remote, session)
          return { tools: yield* Ref.get(tools) }
        }),
      "tools/call": () => Effect.succeed({ content: [] }),
      "prompts/list": () => Effect.succeed({ prompts: [{ name: "plan" }] }),
      "prompts/get": () => Effect.succeed({ messages: [] })
    }, { info, capabilities: { tools: { listChanged: true } } })
    const client = yield* connect(McpMount.prefixed("far", McpProxy.layer("remote", server, { info })), {
      client: {
        handlers: {
          "notifications/tools/list_changed": () => Queue.offer(heard, "tools"),
          "notifications/prompts/list_changed": () => Queue.offer(heard, "prompts")
        }
      }
    })
    const names = Effect.map(client.listTools(), (listed) => listed.tools.map(({ name }) => name))
    const session = yield* Deferred.await(remote)
    const change = (...to: ReadonlyArray<string>) =>
      Effect.andThen(Ref.set(tools, to.map(tool)), session.toolListChanged)
    assert.deepStrictEqual(yield* names, [])
    yield* change("a")
    assert.strictEqual(yield* Queue.take(heard), "tools")
    assert.deepStrictEqual(yield* names, ["far_a"])
    yield* change("a", "b")
    assert.strictEqual(yield* Queue.take(heard), "tools")
    assert.deepStrictEqual(yield* names, ["far_a", "far_b"])
  }).pipe(Effect.scoped))

// ---------------------------------------------------------------------------------------------------------------------
// Several clients
// ---------------------------------------------------------------------------------------------------------------------

/** Opens sessions of clients with one host of the proxy, by their principals. */
const clients = Effect.fnUntraced(function*<E>(proxy: Layer.Layer<never, E, McpServer.McpServer>) {
  const host = Context.get(yield* Layer.build(McpServer.host(proxy, info)), SessionHost.SessionHost)
  return Effect.fnUntraced(function*(
    id: string,
    options: Partial<ClientSession.Options<Handlers.Handlers<"server">>> = {}
  ) {
    const pair = yield* MemoryTransport.make({ principal: { id } })
    yield* host.open(pair.server, { kind: "memory", principal: { id } })
    return yield* Effect.provideService(ClientSession.make({ info, ...options }), Transport.Transport, pair.client)
  })
})

/** The handlers of a client whose user and model say its name. */
const answering = (name: string): Handlers.Handlers<"server"> => ({
  "elicitation/create": () => Effect.succeed({ action: "accept", content: { name } }),
  "sampling/createMessage": () =>
    Effect.succeed({ role: "assistant", model: "test", content: Content.text(`model of ${name}`) }),
  "roots/list": () => Effect.succeed({ roots: [{ uri: `file:///${name}` }] })
})

/** A server whose tool asks its client everything, when the test lets it. */
const asking = (gate: Effect.Effect<unknown> = Effect.void) =>
  McpServer.layerInProcess(
    McpGroup.make("asking", Tool.make("ask", { success: Schema.Array(Schema.String) })).toLayer((handlers) =>
      handlers.tool("ask", () =>
        Effect.gen(function*() {
          yield* gate
          const { name } = yield* McpRequest.elicit("Who?", Schema.Struct({ name: Schema.String }))
          const { text } = yield* McpRequest.sample("Who?", { maxTokens: 10 })
          const roots = yield* McpRequest.roots()
          return [name, text, ...roots]
        }))
    ),
    info
  )

const answersOf = (client: Client) =>
  Effect.map(
    client.callTool("ask"),
    ({ content, isError, structuredContent }) =>
      isError === true ? content.map((block) => block.type === "text" ? block.text : "") : structuredContent ?? content
  )

describe("the server's requests", () => {
  it.live("reach the client whose session they belong to, although all of them ask at once", () =>
    Effect.gen(function*() {
      const waiting = yield* Queue.unbounded<void>()
      const go = yield* Deferred.make<void>()
      const open = yield* clients(McpProxy.layer(
        "asking",
        asking(Effect.andThen(Queue.offer(waiting, undefined), Deferred.await(go))),
        { info }
      ))
      const names = ["ada", "bob", "ada again"]
      const all = yield* Effect.forEach(names, (name) => open(name, { handlers: answering(name) }))
      const calls = yield* Effect.forEach(all, (client) => Effect.forkScoped(answersOf(client)))
      yield* Effect.forEach(names, () => Queue.take(waiting))
      yield* Deferred.succeed(go, undefined)
      const answers = yield* Effect.forEach(calls, Fiber.join)
      assert.deepStrictEqual(
        answers.map((answer) => JSON.stringify(answer)),
        names.map((name) =>
          JSON.stringify([Content.text(JSON.stringify([name, `model of ${name}`, `file:///${name}`]))])
        )
      )
    }).pipe(Effect.scoped))

  it.live("over a shared session reach the only client, and none if a second one may be meant", () =>
    Effect.gen(function*() {
      const open = yield* clients(McpProxy.layer("asking", asking(), { info, sessions: "shared" }))
      const ada = yield* open("ada", { handlers: answering("ada") })
      const bob = yield* open("bob", { handlers: answering("bob") })
      const adaAnswers = [Content.text(JSON.stringify(["ada", "model of ada", "file:///ada"]))]
      assert.deepStrictEqual(yield* answersOf(ada), adaAnswers)
      assert.deepStrictEqual(yield* answersOf(ada), adaAnswers)
      // The server may still ask for the last call of ada.
      assert.include(String(yield* answersOf(bob)), "does not know which of its clients this request belongs to")
      assert.include(String(yield* answersOf(ada)), "does not know which of its clients this request belongs to")
    }).pipe(Effect.scoped))

  it.live("fail with the error of a client that does not have the capability", () =>
    Effect.gen(function*() {
      const client = yield* connect(McpProxy.layer("asking", asking(), { info }))
      assert.include(String(yield* answersOf(client)), "has not declared the capability \"elicitation")
    }).pipe(Effect.scoped))

  it.live("depend on the client's capabilities, which the server sees; pages to visit and changed roots included", () =>
    Effect.gen(function*() {
      const changed = yield* Deferred.make<void>()
      const completed = yield* Deferred.make<string>()
      const server = ServerSession.layerInProcess({
        "tools/list": () => Effect.succeed({ tools: [tool("capabilities"), tool("page")] }),
        "tools/call": ({ name }) =>
          Effect.gen(function*() {
            const { elicit, profile, session } = yield* RequestContext.RequestContext
            if (name === "capabilities") return { content: [], structuredContent: profile.capabilities }
            const { action } = yield* elicit({
              mode: "url",
              message: "Sign in",
              url: "https://example.com/",
              elicitationId: "7"
            })
            yield* session?.elicitationComplete("7") ?? Effect.void
            return { content: [Content.text(action)] }
          }).pipe(Effect.orDie),
        "notifications/roots/list_changed": () => Deferred.succeed(changed, undefined)
      }, { info })
      const capabilities = { elicitation: { form: {}, url: {} }, roots: { listChanged: true } }
      const open = yield* clients(McpProxy.layer("remote", server, { info }))
      const ada = yield* open("ada", {
        capabilities,
        handlers: {
          "elicitation/create": () => Effect.succeed({ action: "accept" }),
          "roots/list": () => Effect.succeed({ roots: [] }),
          "notifications/elicitation/complete": ({ elicitationId }) => Deferred.succeed(completed, elicitationId)
        }
      })
      const bob = yield* open("bob")
      const seen = (client: Client) =>
        Effect.map(client.callTool("capabilities"), ({ structuredContent }) => structuredContent)
      assert.deepStrictEqual(yield* seen(ada), capabilities)
      assert.deepStrictEqual(yield* seen(bob), {})
      assert.deepStrictEqual((yield* ada.callTool("page")).content, [Content.text("accept")])
      assert.strictEqual(yield* Deferred.await(completed), "7")
      yield* ada.rootsListChanged
      yield* Deferred.await(changed)
    }).pipe(Effect.scoped))

  it.live("are rejected by the session of the program, and never reach a client", () =>
    Effect.gen(function*() {
      const client = yield* connect(
        Layer.unwrap(Effect.map(ClientSession.ClientSession, (session) => McpProxy.fromSession("x", session))).pipe(
          Layer.provide(Layer.provide(ClientSession.layer({ info }), asking()))
        ),
        { client: { handlers: answering("ada") } }
      )
      assert.include(String(yield* answersOf(client)), "has not declared the capability")
    }).pipe(Effect.scoped))
})

describe("subscriptions", () => {
  it.live("are one at the server, for updates to subscribers only, and end with the last of them", () =>
    Effect.gen(function*() {
      const requests = yield* Queue.unbounded<string>()
      const remote = yield* Deferred.make<ServerSession.ServerSessionShape>()
      const note = (name: string) => ({ uri }: { readonly uri: string }) =>
        Effect.as(
          Effect.andThen(
            Effect.flatMap(RequestContext.RequestContext, ({ session }) =>
              session === undefined ? Effect.void : Deferred.succeed(remote, session)),
            Queue.offer(requests, `${name} ${uri}`)
          ),
          {}
        )
      const server = ServerSession.layerInProcess({
        "resources/list": () => Effect.succeed({ resources: [{ name: "one", uri: "app://one" }] }),
        "resources/read": () => Effect.succeed({ contents: [] }),
        "resources/subscribe": note("subscribe"),
        "resources/unsubscribe": note("unsubscribe")
      }, { info })
      const local = McpGroup.make("local", McpResource.make("local", { uri: "app://local" })).toLayer((handlers) =>
        handlers.resource("local", Effect.succeed("local"))
      )
      const open = yield* clients(Layer.merge(McpProxy.layer("remote", server, { info }), local))
      const updates = yield* Queue.unbounded<string>()
      const noting = (name: string) =>
        open(name, {
          handlers: { "notifications/resources/updated": ({ uri }) => Queue.offer(updates, `${name} ${uri}`) }
        })
      const scope = yield* Scope.make()
      const ada = yield* noting("ada")
      const bob = yield* Scope.provide(noting("bob"), scope)
      yield* noting("eve")
      yield* Effect.all([ada.subscribeResource("app://one"), bob.subscribeResource("app://one")], {
        concurrency: "unbounded"
      })
      assert.strictEqual(yield* Queue.take(requests), "subscribe app://one")
      const session = yield* Deferred.await(remote)
      // The server has no say about resources of other groups.
      yield* ada.subscribeResource("app://local")
      yield* session.resourceUpdated("app://local")
      yield* session.resourceUpdated("app://one")
      assert.sameMembers(yield* Queue.takeN(updates, 2), ["ada app://one", "bob app://one"])

      yield* ada.unsubscribeResource("app://one")
      yield* session.resourceUpdated("app://one")
      assert.strictEqual(yield* Queue.take(updates), "bob app://one")
      assert.strictEqual(yield* Queue.size(requests), 0)

      // The session of the last subscriber ends without a word.
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(yield* Queue.take(requests), "unsubscribe app://one")
      yield* ada.subscribeResource("app://one")
      assert.strictEqual(yield* Queue.take(requests), "subscribe app://one")
      yield* session.resourceUpdated("app://one")
      assert.strictEqual(yield* Queue.take(updates), "ada app://one")
      assert.strictEqual(yield* Queue.size(updates), 0)
    }).pipe(Effect.scoped))
})

describe("a call", () => {
  it.live("forwards progress, `_meta` and cancellation", () =>
    Effect.gen(function*() {
      const cancelled = yield* Deferred.make<void>()
      const started = yield* Deferred.make<unknown>()
      const server = ServerSession.layerInProcess({
        "tools/list": () => Effect.succeed({ tools: [{ name: "slow", inputSchema: { type: "object" } }] }),
        "tools/call": () =>
          Effect.gen(function*() {
            const request = yield* RequestContext.RequestContext
            yield* request.progress({ progress: 1, total: 2, message: "half" })
            yield* Deferred.succeed(started, request.meta?.["example.com/a"])
            return yield* Effect.never
          }).pipe(Effect.onInterrupt(() => Deferred.succeed(cancelled, undefined)))
      }, { info })
      const client = yield* connect(McpProxy.layer("remote", server, { info }))
      const steps = yield* Queue.unbounded<Progress.Progress>()
      const call = yield* Effect.forkScoped(client.callTool("slow", {}, {
        onProgress: (step) => Queue.offer(steps, step),
        meta: { "example.com/a": 7 }
      }))
      assert.deepInclude(yield* Queue.take(steps), { progress: 1, total: 2, message: "half" })
      assert.strictEqual(yield* Deferred.await(started), 7)
      yield* Fiber.interrupt(call)
      yield* Deferred.await(cancelled)
    }).pipe(Effect.scoped))

  it.live("after the end of the server's session fails with an error that names the server", () =>
    Effect.gen(function*() {
      const remote = yield* Layer.build(Layer.provide(ClientSession.layer({ info }), everything))
      const session = Context.get(remote, ClientSession.ClientSession)
      const client = yield* connect(McpProxy.fromSession("remote", session))
      yield* session.close
      const error = yield* Effect.flip(client.callTool("add", { a: 1, b: 2 }))
      assert.include(error.message, "-32603: the server \"remote\" is not available: tools/call: the session has ended")
    }).pipe(Effect.scoped))

  it.live("opens a new session if the server has ended that of the client", () =>
    Effect.gen(function*() {
      let servers = 0
      const server = McpServer.layerInProcess(
        McpGroup.make("x", Tool.make("end"), Tool.make("id", { success: Schema.Int })).toLayer((handlers) => {
          const id = servers++
          return handlers
            .tool("end", () =>
              Effect.flatMap(RequestContext.RequestContext, ({ session }) =>
                session === undefined ? Effect.void : Effect.asVoid(Effect.forkDetach(session.close))))
            .tool("id", () =>
              Effect.succeed(id))
        }),
        { ...info, limits: { gracefulCloseTimeout: "10 millis" } }
      )
      const client = yield* connect(McpProxy.layer("remote", server, { info }))
      const text = Effect.map(client.callTool("id"), ({ content }) =>
        content)
      // The first server is the one of the lists.
      assert.deepStrictEqual(yield* text, [Content.text("1")])
      assert.deepStrictEqual(yield* text, [Content.text("1")])
      yield* Effect.ignore(client.callTool("end"))
      // Until the proxy has noticed the end, calls may still fail.
      const next = yield* Effect.repeat(Effect.orElseSucceed(text, () => []), {
        until: ([block]) => block?.type === "text" && block.text !== "1"
      })
      assert.deepStrictEqual(next, [Content.text("2")])
    }).pipe(Effect.scoped))
})

it.live("a proxy reconnects when the session of the lists has ended, with its lists and its subscriptions", () =>
  Effect.gen(function*() {
    const remotes = yield* Queue.unbounded<ServerSession.ServerSessionShape>()
    const subscribed = yield* Queue.unbounded<string>()
    let servers = 0
    const server = Layer.suspend(() => {
      const name = `tool${++servers}`
      return ServerSession.layerInProcess({
        "tools/list": () =>
          Effect.gen(function*() {
            const { session } = yield* RequestContext.RequestContext
            if (session !== undefined) yield* Queue.offer(remotes, session)
            return { tools: [tool(name)] }
          }),
        "tools/call": () => Effect.succeed({ content: [Content.text(name)] }),
        "resources/list": () => Effect.succeed({ resources: [{ name: "one", uri: "app://one" }] }),
        "resources/read": () => Effect.succeed({ contents: [] }),
        "resources/subscribe": ({ uri }) => Effect.as(Queue.offer(subscribed, `${name} ${uri}`), {}),
        "resources/unsubscribe": () => Effect.succeed({})
      }, { info, limits: { gracefulCloseTimeout: "10 millis" } })
    })
    const heard = yield* Queue.unbounded<string>()
    const client = yield* connect(McpProxy.layer("remote", server, { info, sessions: "shared" }), {
      client: {
        handlers: {
          "notifications/tools/list_changed": () => Queue.offer(heard, "tools"),
          "notifications/resources/updated": ({ uri }) => Queue.offer(heard, uri)
        }
      }
    })
    yield* client.subscribeResource("app://one")
    assert.strictEqual(yield* Queue.take(subscribed), "tool1 app://one")
    yield* (yield* Queue.take(remotes)).close
    assert.sameMembers(yield* Queue.takeN(heard, 2), ["tools", "app://one"])
    assert.strictEqual(yield* Queue.take(subscribed), "tool2 app://one")
    assert.deepStrictEqual((yield* client.callTool("tool2")).content, [Content.text("tool2")])
    yield* (yield* Queue.take(remotes)).resourceUpdated("app://one")
    assert.strictEqual(yield* Queue.take(heard), "app://one")
  }).pipe(Effect.scoped))

it.live("a client has one session with the server, which ends with its own, and there are no more than allowed", () =>
  Effect.gen(function*() {
    const events = yield* Queue.unbounded<string>()
    const counted = Layer.merge(
      everything,
      Layer.effectDiscard(Effect.acquireRelease(
        Queue.offer(events, "open"),
        () => Queue.offer(events, "close")
      ))
    )
    const proxy = yield* Scope.make()
    const open = yield* Scope.provide(
      clients(McpProxy.layer("everything", counted, { info, maxSessions: 2 })),
      proxy
    )
    assert.deepStrictEqual(yield* Queue.clear(events), ["open"])
    const scope = yield* Scope.make()
    const ada = yield* Scope.provide(open("ada"), scope)
    const bob = yield* open("bob")
    const eve = yield* open("eve")
    assert.deepStrictEqual(yield* Queue.clear(events), [])
    const add = (client: Client) => client.callTool("add", { a: 1, b: 2 })
    yield* Effect.all([add(ada), add(ada), add(ada), add(bob)], { concurrency: "unbounded" })
    assert.deepStrictEqual(yield* Queue.clear(events), ["open", "open"])
    const error = yield* Effect.flip(add(eve))
    assert.include(error.message, "-32010: the server \"everything\" serves 2 sessions already; try again later")
    yield* Scope.close(scope, Exit.void)
    assert.strictEqual(yield* Queue.take(events), "close")
    yield* add(eve)
    assert.deepStrictEqual(yield* Queue.clear(events), ["open"])
    yield* Scope.close(proxy, Exit.void)
    assert.deepStrictEqual(yield* Queue.clear(events), ["close", "close", "close"])
  }).pipe(Effect.scoped))

it.live("a server that accepts every subscription opens none to resources of other groups", () =>
  Effect.gen(function*() {
    const server = ServerSession.layerInProcess({
      "resources/list": () => Effect.succeed({ resources: [] }),
      "resources/read": () => Effect.succeed({ contents: [] }),
      "resources/subscribe": () => Effect.succeed({}),
      "resources/unsubscribe": () => Effect.succeed({})
    }, { info })
    const notes = McpGroup.make(
      "notes",
      McpResource.template("note", { uri: "notes://{id}" }),
      McpResource.make("secret", { uri: "secret://one" })
    ).toLayer((handlers) =>
      handlers
        .template("note", ({ id }) => Effect.succeed(id), { subscribable: () => Effect.succeed(false) })
        .resource("secret", Effect.succeed("secret"), { visible: Effect.succeed(false) })
    )
    const client = yield* connect(Layer.merge(McpProxy.layer("remote", server, { info }), notes))
    for (const uri of ["notes://7", "secret://one"]) {
      assert.include((yield* Effect.flip(client.subscribeResource(uri))).message, "-32002")
    }
    yield* client.subscribeResource("other://one")
  }).pipe(Effect.scoped))

it.live("a resource that is in no list is read and observed by the proxied server that has it", () =>
  Effect.gen(function*() {
    const server = (name: string) => {
      const known = (uri: string) =>
        uri === `${name}://secret` ? Effect.void : Effect.fail(McpError.invalidParams(`${name} does not know ${uri}`))
      return McpProxy.layer(
        name,
        ServerSession.layerInProcess({
          "resources/list": () => Effect.succeed({ resources: [] }),
          "resources/read": ({ uri }) => Effect.as(known(uri), { contents: [{ uri, text: name }] }),
          "resources/subscribe": ({ uri }) => Effect.as(known(uri), {}),
          "resources/unsubscribe": () => Effect.succeed({})
        }, { info }),
        { info }
      )
    }
    const client = yield* connect(Layer.mergeAll(server("a"), server("b"), server("c")))
    for (const name of ["a", "b", "c"]) {
      const uri = `${name}://secret`
      assert.deepStrictEqual((yield* client.readResource(uri)).contents, [{ uri, text: name }])
      yield* client.subscribeResource(uri)
    }
    assert.include((yield* Effect.flip(client.readResource("d://secret"))).message, "does not know d://secret")
    assert.include((yield* Effect.flip(client.subscribeResource("d://secret"))).message, "does not know d://secret")
    const listedOnly = yield* connect(
      McpProxy.layer("everything", everything, { info, unlisted: false })
    )
    assert.include((yield* Effect.flip(listedOnly.readResource("app://none"))).message, "-32002")
  }).pipe(Effect.scoped))

it.live("a client of the oldest revision, and one without a session, can use a proxied server", () =>
  Effect.gen(function*() {
    const proxy = McpProxy.layer("everything", everything, { info })
    const old = yield* connect(proxy, { client: { revisions: ["2024-11-05"] } })
    const { tools } = yield* old.listTools()
    assert.deepStrictEqual(tools.map(({ name }) => name), ["add", "content", "fail", "reject"])
    assert.deepStrictEqual((yield* old.callTool("add", { a: 1, b: 2 })).content, [Content.text("{\"sum\":3}")])

    const handlers = yield* McpServer.sessionlessHandlers(
      Layer.merge(proxy, McpProxy.layer("asking", asking(), { info }))
    )
    const server = yield* SessionlessServer.make(handlers, { info })
    const call = (params: { readonly name: string; readonly arguments?: { readonly [name: string]: unknown } }) =>
      Effect.map(
        server.handle({ jsonrpc: "2.0", id: 1, method: "tools/call", params }, { revision: "2025-11-25" }),
        (reply) => JSON.stringify(reply)
      )
    assert.include(yield* call({ name: "add", arguments: { a: 1, b: 2 } }), "\"structuredContent\":{\"sum\":3}")
    assert.include(yield* call({ name: "ask" }), "has not declared the capability")
  }).pipe(Effect.scoped))

describe("log messages of the server", () => {
  const logging = McpServer.layerInProcess(
    McpGroup.make("log", Tool.make("log", { parameters: Schema.Struct({ text: Schema.String }) })).toLayer((handlers) =>
      handlers.tool("log", ({ text }) => McpRequest.log({ level: "warning", logger: "remote", data: text }))
    ),
    info
  )

  const heardBy = Effect.fnUntraced(function*(sessions: "each" | "shared") {
    const open = yield* clients(McpProxy.layer("log", logging, { info, sessions }))
    const heard = yield* Queue.unbounded<unknown>()
    const logged = (name: string) =>
      open(name, {
        handlers: { "notifications/message": ({ data, level }) => Queue.offer(heard, [name, level, data]) }
      })
    const ada = yield* logged("ada")
    const bob = yield* logged("bob")
    const eve = yield* logged("eve")
    yield* eve.setLogLevel("error")
    yield* Effect.all([
      ada.callTool("log", { text: "1" }),
      eve.callTool("log", { text: "2" }),
      bob.callTool("log", { text: "3" })
    ], { concurrency: "unbounded" })
    return heard
  })

  it.live("reach the client whose session they belong to, from its level on", () =>
    Effect.gen(function*() {
      const heard = yield* heardBy("each")
      assert.sameDeepMembers(yield* Queue.takeN(heard, 2), [["ada", "warning", "1"], ["bob", "warning", "3"]])
      assert.strictEqual(yield* Queue.size(heard), 0)
    }).pipe(Effect.scoped))

  it.live("are dropped if the clients share a session", () =>
    Effect.gen(function*() {
      const heard = yield* heardBy("shared")
      assert.strictEqual(yield* Queue.size(heard), 0)
    }).pipe(Effect.scoped))
})

describe("over Streamable HTTP", () => {
  const tokens = Authentication.layerBearer({ verify: (token) => Effect.succeed({ id: Redacted.value(token) }) })

  const serve = Effect.fnUntraced(function*<A, E>(groups: Layer.Layer<A, E, McpServer.McpServer>) {
    const context = yield* Layer.build(
      StreamableHttpServer.layerNode({ port: 0 }).pipe(
        Layer.provide(McpServer.host(groups, info)),
        Layer.provide(tokens),
        Layer.fresh
      )
    )
    const { address } = Context.get(context, HttpServer)
    return `http://127.0.0.1:${"port" in address ? address.port : 0}/mcp`
  })

  const transport = (url: string, token: string) =>
    StreamableHttpClient.layerNode({ url, headers: { authorization: `Bearer ${token}` } })

  const Asking = McpGroup.make("asking", Tool.make("ask", { success: Schema.Array(Schema.String) }))

  it.live("two principals get their own answers, and the server never their tokens", () =>
    Effect.gen(function*() {
      const remote = yield* serve(Asking.toLayer((handlers) =>
        handlers.tool("ask", () =>
          Effect.gen(function*() {
            const { principal } = yield* RequestContext.RequestContext
            const { name } = yield* McpRequest.elicit("Who?", Schema.Struct({ name: Schema.String }))
            return [principal?.id ?? "", name]
          }))
      ))
      const proxy = yield* serve(McpProxy.layer("asking", transport(remote, "gateway"), { info }))
      const ask = Effect.fnUntraced(function*(name: string) {
        const session = yield* ClientSession.make({ info, handlers: answering(name) })
        return yield* Effect.repeat(answersOf(session), { times: 4 })
      })
      const answers = yield* Effect.forEach(
        ["ada", "bob"],
        (name) => Effect.provide(ask(name), transport(proxy, name)),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(answers, [
        [Content.text("[\"gateway\",\"ada\"]")],
        [Content.text("[\"gateway\",\"bob\"]")]
      ])
    }).pipe(Effect.scoped))
})

// ---------------------------------------------------------------------------------------------------------------------
// Servers that are not trusted
// ---------------------------------------------------------------------------------------------------------------------

/** Collects the warnings that are logged. */
const warnings = Effect.gen(function*() {
  const messages: Array<string> = []
  const layer = Logger.layer([Logger.make(({ message }) => void messages.push(String(message)))])
  return { messages, layer }
})

describe("a server that is not trusted", () => {
  it.live("has no tools with names that are not allowed, or that another group has [TOOL-10]", () =>
    Effect.gen(function*() {
      const server = ServerSession.layerInProcess({
        "tools/list": () => Effect.succeed({ tools: ["a", "b c", "", "x".repeat(129), "add", "a"].map(tool) }),
        "tools/call": ({ name }) => Effect.succeed({ content: [Content.text(`remote ${name}`)] }),
        "resources/list": () =>
          Effect.succeed({ resources: [{ name: "same", uri: "x://1" }, { name: "same", uri: "x://2" }] }),
        "resources/read": ({ uri }) => Effect.succeed({ contents: [{ uri, text: "remote" }] })
      }, { info })
      const { layer, messages } = yield* warnings
      const groups = Layer.provideMerge(McpProxy.layer("remote", server, { info }), EverythingLive)
      const client = yield* Effect.provide(connect(groups), layer)
      const { tools } = yield* client.listTools()
      assert.deepStrictEqual(tools.map(({ name }) => name), ["a", "add", "content", "fail", "reject"])
      assert.deepStrictEqual((yield* client.callTool("add", { a: 1, b: 2 })).structuredContent, { sum: 3 })
      assert.deepStrictEqual((yield* client.callTool("a")).content, [Content.text("remote a")])
      assert.lengthOf((yield* client.listResources()).resources, 4)
      const [warning = ""] = messages
      for (const part of ["the proxy \"remote\" leaves out", "\"b c\"", "tool \"add\"", "\"everything\""]) {
        assert.include(warning, part)
      }
      // Under a prefix, nothing clashes.
      const mounted = yield* connect(
        Layer.merge(McpMount.prefixed("remote", McpProxy.layer("remote", server, { info })), EverythingLive)
      )
      assert.deepStrictEqual((yield* mounted.callTool("remote_add")).content, [Content.text("remote add")])
      assert.deepStrictEqual((yield* mounted.readResource("x://remote/1")).contents, [
        { uri: "x://remote/1", text: "remote" }
      ])
      assert.deepStrictEqual((yield* mounted.readResource("x://remote/not/listed")).contents, [
        { uri: "x://remote/not/listed", text: "remote" }
      ])
    }).pipe(Effect.scoped))

  it.live("cannot have lists without an end, in members, in characters, in pages or in time", () =>
    Effect.gen(function*() {
      const list = (page: (cursor: number) => Effect.Effect<ReadonlyArray<ReturnType<typeof tool>>>) =>
        ServerSession.layerInProcess({
          "tools/list": ({ cursor = "0" }) =>
            Effect.map(page(Number(cursor)), (tools) => ({ tools, nextCursor: String(Number(cursor) + 1) })),
          "tools/call": () => Effect.succeed({ content: [] })
        }, { info })
      const { layer, messages } = yield* warnings
      const listed = (server: Layer.Layer<Transport.Transport, unknown>, options: McpProxy.ListOptions = {}) =>
        Effect.map(
          Effect.provide(
            Effect.flatMap(
              connect(McpProxy.layer("remote", server, { info, limits: { maxPages: 50 }, ...options })),
              (client) => client.listTools()
            ),
            layer
          ),
          ({ tools }) => tools.length
        )
      const endless = list((cursor) => Effect.succeed([tool(`t${cursor}`)]))
      assert.strictEqual(yield* listed(endless, { maxMembers: 7 }), 7)
      assert.strictEqual(yield* listed(endless), 49)
      assert.strictEqual(yield* listed(endless, { maxCharacters: 400 }), 8)
      const slow = list((cursor) => cursor === 0 ? Effect.succeed([tool("t")]) : Effect.never)
      assert.strictEqual(yield* listed(slow, { listTimeout: "1 second" }), 1)
      for (
        const part of ["more than 7 members", "more than 50 pages", "more than 400 characters", "did not end in time"]
      ) assert.isTrue(messages.some((message) => message.includes(part)), part)
    }).pipe(Effect.scoped))

  it.live("is not read without end if it notifies without end, and clients get a list_changed for changes only", () =>
    Effect.gen(function*() {
      const reads = yield* Ref.make(0)
      const remote = yield* Deferred.make<ServerSession.ServerSessionShape>()
      const server = ServerSession.layerInProcess({
        "tools/list": () =>
          Effect.gen(function*() {
            const { session } = yield* RequestContext.RequestContext
            if (session !== undefined) yield* Deferred.succeed(remote, session)
            yield* Ref.update(reads, (count) => count + 1)
            return { tools: [tool("same")] }
          }),
        "tools/call": () => Effect.succeed({ content: [] })
      }, { info, capabilities: { tools: { listChanged: true } } })
      const changes = yield* Ref.make(0)
      const client = yield* connect(McpProxy.layer("remote", server, { info }), {
        client: { handlers: { "notifications/tools/list_changed": () => Ref.update(changes, (count) => count + 1) } }
      })
      const session = yield* Deferred.await(remote)
      yield* Effect.repeat(session.toolListChanged, { times: 99 })
      yield* Effect.sleep("1200 millis")
      yield* client.ping()
      assert.isAtMost(yield* Ref.get(reads), 4)
      assert.isAtLeast(yield* Ref.get(reads), 2)
      assert.strictEqual(yield* Ref.get(changes), 0)
    }).pipe(Effect.scoped))

  it.live("passes members of results through that this library does not know", () =>
    Effect.gen(function*() {
      const unknown = { "example.com/new": { a: [1] } }
      const server = ServerSession.layerInProcess({
        "tools/list": () => Effect.succeed({ tools: [{ ...tool("a"), ...unknown }], ...unknown }),
        "tools/call": () =>
          Effect.succeed({ content: [{ ...Content.text("a"), ...unknown }], _meta: { b: 1 }, ...unknown })
      }, { info })
      const client = yield* connect(McpProxy.layer("remote", server, { info }))
      assert.deepStrictEqual<unknown>((yield* client.listTools()).tools, [{ ...tool("a"), ...unknown }])
      assert.deepStrictEqual<unknown>(yield* client.callTool("a"), {
        content: [{ ...Content.text("a"), ...unknown }],
        _meta: { b: 1 },
        ...unknown
      })
    }).pipe(Effect.scoped))
})
