import { McpProxy } from "@effect-mcp/gateway"
import { Content, Revision } from "@effect-mcp/protocol"
import { InvalidOptionError, RequestContext, ServerSession } from "@effect-mcp/session"
import { assert, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Scope from "effect/Scope"
import { connect, handshake, info } from "../../server/test/support/connect.ts"
import { type Client, clients, everything, tool } from "./support/proxies.ts"

it.live("a proxy reconnects when the session of the lists has ended, with its lists and its subscriptions", () =>
  Effect.gen(function*() {
    const remotes = yield* Queue.unbounded<ServerSession.ServerSessionShape>()
    const subscribed = yield* Queue.unbounded<string>()
    let servers = 0
    const server = Layer.suspend(() => {
      const name = `tool${++servers}`
      return ServerSession.layerMemory({
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
      }, { info, limits: { gracefulTimeout: "10 millis" } })
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
    const ada = yield* Scope.provide(open("ada", handshake), scope)
    const bob = yield* open("bob", handshake)
    const eve = yield* open("eve", handshake)
    assert.deepStrictEqual(yield* Queue.clear(events), [])
    const add = (client: Client) => client.callTool("add", { a: 1, b: 2 })
    yield* Effect.all([add(ada), add(ada), add(ada), add(bob)], { concurrency: "unbounded" })
    assert.deepStrictEqual(yield* Queue.clear(events), ["open", "open"])
    const error = yield* Effect.flip(add(eve))
    assert.include(error.message, "-31010: the server \"everything\" serves 2 sessions already; try again later")
    yield* Scope.close(scope, Exit.void)
    assert.strictEqual(yield* Queue.take(events), "close")
    yield* add(eve)
    assert.deepStrictEqual(yield* Queue.clear(events), ["open"])
    yield* Scope.close(proxy, Exit.void)
    assert.deepStrictEqual(yield* Queue.clear(events), ["close", "close", "close"])
  }).pipe(Effect.scoped))

const add = (client: Client) => client.callTool("add", { a: 1, b: 2 })

const refusal = (clients: string, count: number, max: number) =>
  `-31010: the server "everything" serves ${count} of ${max} sessions for ${clients} already ` +
  "(maxSessionsPerPrincipal); end one of them, or try again later"

it.live("a principal has a quarter of the sessions with the server, and so have all anonymous clients together", () =>
  Effect.gen(function*() {
    const open = yield* clients(McpProxy.layer("everything", everything, { info, maxSessions: 16 }))
    const take = Effect.fnUntraced(function*(id: string | undefined, name: string) {
      const served = yield* Effect.forEach([1, 2, 3, 4], () => open(id, handshake))
      yield* Effect.forEach(served, add)
      const refused = yield* open(id, handshake)
      assert.include((yield* Effect.flip(add(refused))).message, refusal(name, 4, 16))
      return { served, refused }
    })
    const anonymous = yield* take(undefined, "anonymous clients")
    const ada = yield* take("ada", "this principal")
    const bob = yield* take("bob", "this principal")
    yield* add(yield* open("eve", handshake))
    // The sessions that are open are served on, and one that ends leaves its place.
    yield* Effect.forEach([...anonymous.served, ...ada.served, ...bob.served], add)
    yield* bob.served[0]?.close ?? Effect.void
    yield* Effect.repeat(Effect.exit(add(bob.refused)), { until: Exit.isSuccess })
  }).pipe(Effect.scoped))

it.live("clients that share a session do not take the place of anonymous ones", () =>
  Effect.gen(function*() {
    const open = yield* clients(McpProxy.layer("everything", everything, { info, maxSessions: 8 }))
    const asking = { capabilities: { elicitation: { form: {} } }, revisions: Revision.modern }
    for (const id of ["ada", "bob", undefined]) yield* add(yield* open(id, asking))
    for (let count = 0; count < 2; count++) yield* add(yield* open(undefined, handshake))
    assert.include(
      (yield* Effect.flip(add(yield* open(undefined, handshake)))).message,
      refusal("anonymous clients", 2, 8)
    )
  }).pipe(Effect.scoped))

it.live("each principal has a session, even if all are few", () =>
  Effect.gen(function*() {
    const open = yield* clients(McpProxy.layer("everything", everything, { info, maxSessions: 3 }))
    for (const id of ["ada", "bob"]) yield* add(yield* open(id, handshake))
    assert.include((yield* Effect.flip(add(yield* open("ada", handshake)))).message, refusal("this principal", 1, 3))
    yield* add(yield* open("eve", handshake))
  }).pipe(Effect.scoped))

it.live("maxSessionsPerPrincipal is the bound of each principal and of all anonymous clients instead", () =>
  Effect.gen(function*() {
    for (const id of ["ada", undefined]) {
      const open = yield* clients(
        McpProxy.layer("everything", everything, { info, maxSessions: 3, maxSessionsPerPrincipal: 3 })
      )
      for (let count = 0; count < 3; count++) yield* add(yield* open(id, handshake))
      const error = yield* Effect.flip(add(yield* open(id, handshake)))
      assert.include(error.message, "-31010: the server \"everything\" serves 3 sessions already")
    }
    const narrow = yield* clients(
      McpProxy.layer("everything", everything, { info, maxSessionsPerPrincipal: 1 })
    )
    yield* add(yield* narrow("ada", handshake))
    const second = yield* Effect.flip(add(yield* narrow("ada", handshake)))
    assert.include(second.message, refusal("this principal", 1, 256))
    yield* add(yield* narrow("bob", handshake))
  }).pipe(Effect.scoped))

const wrong: ReadonlyArray<readonly [string, Partial<McpProxy.Options>]> = [
  ["maxSessions", { maxSessions: Number.NaN }],
  ["maxSessionsPerPrincipal", { maxSessionsPerPrincipal: -1 }],
  ["maxMembers", { maxMembers: 0.5 }],
  ["maxCharacters", { maxCharacters: Number.NaN }],
  ["listTimeout", { listTimeout: Number.NaN }],
  ["timeout", { timeout: -1 }]
]

for (const [option, options] of wrong) {
  it.effect(`${option}: a proxy with a number that makes no sense is not created`, () =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(connect(McpProxy.layer("everything", everything, { info, ...options })))
      const defect = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
      assert(defect instanceof InvalidOptionError.InvalidOptionError, String(defect))
      assert.strictEqual(defect.option, option)
    }).pipe(Effect.scoped))
}
