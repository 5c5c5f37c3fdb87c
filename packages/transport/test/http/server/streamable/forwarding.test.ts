/** Requests to sessions of other processes: each process passes them on to the owner of the session. */
import { Metrics, RequestContext } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Metric from "effect/Metric"
import { clientAt, makeStores, startProcess } from "../../../support/fleet.ts"
import { connect, exchange, initialize } from "../../../support/httpClient.ts"
import { until } from "../../../support/process.ts"
import { type Settings, text, tools } from "../../../support/server.ts"

const ask = Effect.orDie(
  RequestContext.elicit({ message: "?", requestedSchema: { type: "object", properties: {} } })
)

/** Returns the handlers of a process whose tools return its name. */
const handlersOf = (name: string, interrupted: Array<string> = []) =>
  tools({
    who: Effect.succeed(text(name)),
    size: ({ text: given }) => Effect.succeed(text(String(String(given).length))),
    large: ({ length }) => Effect.succeed(text("x".repeat(Number(length)))),
    ask: Effect.map(ask, ({ content }) => text(JSON.stringify(content))),
    steps: Effect.gen(function*() {
      for (const progress of [1, 2, 3]) yield* RequestContext.progress({ progress })
      return text(name)
    }),
    later: Effect.as(Effect.andThen(RequestContext.progress({ progress: 1 }), Effect.sleep("2.5 seconds")), text(name)),
    forever: Effect.onInterrupt(
      Effect.andThen(RequestContext.progress({ progress: 1 }), Effect.never),
      () => Effect.sync(() => interrupted.push(name))
    )
  })

const authentication: Settings["authentication"] = {
  identify: ({ headers }) => Effect.succeed({ id: headers["x-user"] ?? "unknown" })
}

const ada = { headers: { "x-user": "ada" } }

const textIn = (received: { readonly messages: ReadonlyArray<{ readonly result?: unknown }> }) =>
  JSON.stringify(received.messages.at(-1)?.result)

/** Starts two processes, and a session at the first of them. The client also uses the second one. */
const start = Effect.fnUntraced(function*(settings: Settings = {}) {
  const stores = yield* makeStores
  const interrupted: Array<string> = []
  const options = { authentication, session: { capabilities: { logging: {} } }, ...settings }
  const [one, two] = yield* Effect.all([
    startProcess(stores, handlersOf("one", interrupted), options),
    startProcess(stores, handlersOf("two", interrupted), options)
  ])
  const client = yield* connect(one, { ...ada, capabilities: { elicitation: {} } })
  return { stores, one, two, client, other: clientAt(two, client), interrupted, options }
})

describe.concurrent("a request to a session of another process", () => {
  it.live("reaches the owner by every method, and its streams arrive", () =>
    Effect.gen(function*() {
      const { client, one, other, two } = yield* start()
      const who = yield* other.call(1, "who")
      yield* who.awaitEnd
      assert.include(textIn(who), "one")
      assert.isFalse(who.isStream)
      const steps = yield* other.call(2, "steps")
      yield* steps.awaitEnd
      assert.isTrue(steps.isStream && steps.ended)
      assert.strictEqual(steps.messages.length, 4)
      // A question of the owner, and the answer by the other process.
      const asking = yield* other.call(3, "ask")
      yield* asking.awaitMessages(1)
      assert.strictEqual(
        (yield* other.respond(asking.messages[0]?.id, { action: "accept", content: { a: 1 } })).status,
        202
      )
      yield* asking.awaitEnd
      assert.include(textIn(asking), "a")
      const standalone = yield* other.get()
      assert.strictEqual(standalone.status, 200)
      assert.strictEqual((yield* client.get()).status, 409)
      yield* one.host.find(client.id)?.session.log({ level: "info", data: "hello" }) ?? Effect.die("no session")
      yield* standalone.awaitMessages(1)
      const resumed = yield* other.get(steps.events[0]?.id)
      yield* resumed.awaitEnd
      assert.strictEqual(resumed.messages.length, 4)
      assert.strictEqual((yield* two.host.sessions).length, 0)
      assert.strictEqual((yield* other.delete).status, 204)
      yield* standalone.awaitEnd
      for (const at of [client, other]) assert.strictEqual((yield* at.ping()).status, 404)
      assert.deepStrictEqual([one.logs, two.logs], [[], []])
    }))

  it.live("is cancelled by a notification at another process, and its lost connection cancels nothing", () =>
    Effect.gen(function*() {
      const { client, interrupted, one, other, two } = yield* start()
      const call = yield* other.call("c", "forever")
      yield* call.awaitMessages(1)
      call.disconnect()
      yield* until(() => call.isClosed)
      const resumed = yield* other.get(call.lastId)
      assert.strictEqual(resumed.status, 200)
      assert.deepStrictEqual(interrupted, [])
      yield* client.notify("notifications/cancelled", { requestId: "c" })
      yield* until(() => interrupted.length === 1)
      yield* resumed.awaitEnd
      assert.deepStrictEqual([interrupted, one.logs, two.logs], [["one"], [], []])
    }))

  it.live("of another principal receives the same 404 at every process, by every method", () =>
    Effect.gen(function*() {
      const { client, other, stores, options } = yield* start()
      const three = yield* startProcess(stores, handlersOf("three"), options)
      const bob = { "x-user": "bob" }
      const unknown = "00000000-0000-0000-0000-000000000000"
      const body = { jsonrpc: "2.0", id: 7, method: "ping" }
      const requests = [
        { method: "POST", body },
        { method: "GET" },
        { method: "GET", headers: { "last-event-id": "x" } },
        { method: "DELETE" }
      ]
      for (const request of requests) {
        const answers = yield* Effect.forEach([client, other, clientAt(three, client)], (at) =>
          Effect.all([
            clientAt(at.server, at, bob).exchange(request),
            exchange(at.server, { ...request, headers: { ...request.headers, ...bob, "mcp-session-id": unknown } })
          ]))
        const seen = answers.flat().map(({ headers, status, text }) => {
          const { date, ...others } = headers
          assert.isDefined(date)
          return JSON.stringify([status, text, others])
        })
        assert.deepStrictEqual(Array.from(new Set(seen)), [seen[0]])
        assert.include(seen[0], "404")
      }
      assert.strictEqual((yield* other.ping()).status, 200)
    }))

  it.live("keeps its Host, query and headers, and carries large bodies both ways", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const { other } = yield* start({
        authentication: {
          identify: ({ headers }) => {
            seen.push(`${headers["host"]} ${headers["authorization"]} ${headers["mcp-forwarded"] === undefined}`)
            return Effect.succeed({ id: headers["x-user"] ?? "unknown" })
          }
        }
      })
      seen.length = 0
      const given = "y".repeat(3_000_000)
      const size = yield* other.call(1, "size", { text: given }, { authorization: "Bearer t", host: "localhost:1" })
      yield* size.awaitEnd
      assert.include(textIn(size), "3000000")
      assert.deepStrictEqual(seen, ["localhost:1 Bearer t true", "localhost:1 Bearer t false"])
      const large = yield* other.call(2, "large", { length: 3_000_000 })
      yield* large.awaitEnd
      assert.isAbove(large.text.length, 3_000_000)
      // Too large for the owner.
      const tooLarge = yield* other.call(3, "size", { text: "y".repeat(5_000_000) })
      yield* tooLarge.awaitEnd
      assert.strictEqual(tooLarge.status, 413)
      assert.strictEqual((yield* other.ping()).status, 200)
    }))

  it.live("whose client reads nothing delays no other request", () =>
    Effect.gen(function*() {
      const { other } = yield* start({ http: { writeTimeout: "1 second" } })
      const slow = yield* other.call(1, "large", { length: 3_900_000 })
      yield* slow.awaitHeaders
      slow.stall()
      for (const id of [2, 3, 4]) {
        const who = yield* other.call(id, "who")
        yield* who.awaitEnd
        assert.include(textIn(who), "one")
      }
      slow.response?.resume()
    }))

  it.live("that was forwarded already is rejected with 421, and is served by the owner", () =>
    Effect.gen(function*() {
      const { client, other } = yield* start()
      const forged = { "mcp-forwarded": "someone" }
      const rejected = yield* clientAt(other.server, client, forged).ping(9)
      assert.strictEqual(rejected.status, 421)
      assert.strictEqual(rejected.messages[0]?.error?.code, -32600)
      assert.strictEqual((yield* clientAt(client.server, client, forged).ping()).status, 200)
    }))

  it.live("that names headers of the protocol in Connection keeps them", () =>
    Effect.gen(function*() {
      const { other, two } = yield* start()
      const call = yield* other.call(1, "who", {}, {
        connection: "close, mcp-session-id, authorization, host, content-length, x-user"
      })
      yield* call.awaitEnd
      // `x-user` is no header of the protocol: it is removed, and the owner knows no principal of that name.
      assert.strictEqual(call.status, 404)
      assert.strictEqual((yield* two.host.sessions).length, 0)
      const next = yield* other.call(2, "who", {}, { connection: "close, mcp-session-id, host, content-length" })
      yield* next.awaitEnd
      assert.include(textIn(next), "one")
    }))

  it.live("is counted by its outcome", () =>
    Effect.gen(function*() {
      const count = Effect.map(
        Metric.value(Metric.withAttributes(Metrics.serverRequestsForwarded, { "mcp.forward.outcome": "answered" })),
        ({ count }) => Number(count)
      )
      const { client, other } = yield* start()
      yield* client.ping()
      const before = yield* count
      yield* other.ping()
      // Other tests of this file may forward requests as well.
      assert.isAtLeast((yield* count) - before, 1)
    }))

  it.live("of revision 2026-07-28 is served where it arrives", () =>
    Effect.gen(function*() {
      const { other, two } = yield* start()
      const served = yield* other.exchange({
        headers: { "mcp-protocol-version": "2026-07-28" },
        body: { jsonrpc: "2.0", id: 1, method: "ping" }
      })
      assert.notStrictEqual(served.status, 200)
      assert.strictEqual((yield* two.host.sessions).length, 0)
    }))
})

describe.concurrent("a process that shuts down and forwards requests", () => {
  it.live("ends streams that only wait, at once, and opens no more of them", () =>
    Effect.gen(function*() {
      const { one, other, two } = yield* start()
      const stream = yield* other.get()
      yield* until(() => stream.comments.length > 0)
      const since = Date.now()
      yield* two.stop
      // Clients that read nothing more have 2 seconds.
      assert.isBelow(Date.now() - since, 1500)
      yield* stream.awaitEnd
      assert.isTrue(stream.ended, "it is not broken off")
      assert.deepStrictEqual([...one.logs, ...two.logs], [])
    }))

  it.live("waits for calls", () =>
    Effect.gen(function*() {
      const { other, two } = yield* start({ session: { limits: { gracefulTimeout: "5 seconds" } } })
      const call = yield* other.call(1, "later")
      yield* call.awaitMessages(1)
      const stopping = yield* Effect.forkChild(two.stop)
      const late = yield* other.get()
      assert.strictEqual(late.status, 503)
      yield* call.awaitEnd
      assert.include(textIn(call), "one")
      yield* Fiber.join(stopping)
    }))
})

describe.concurrent("a session whose owner has gone", () => {
  it.live("goes on at the next process without a 404, and its streams end as outcome unknown", () =>
    Effect.gen(function*() {
      const { client, one, other, two } = yield* start()
      const call = yield* other.call("lost", "forever")
      yield* call.awaitMessages(1)
      yield* one.stop
      yield* call.awaitEnd
      const who = yield* other.call(1, "who")
      yield* who.awaitEnd
      assert.strictEqual(who.status, 200)
      assert.include(textIn(who), "two")
      const rest = yield* other.get(call.events[0]?.id)
      yield* rest.awaitEnd
      assert.deepStrictEqual(rest.messages.map(({ error, id, method }) => method ?? [id, error?.code]), [
        "notifications/progress",
        ["lost", -31013]
      ])
      assert.deepStrictEqual((yield* two.host.sessions).map(({ id }) => id), [client.id])
      assert.deepStrictEqual(two.logs, [])
    }))

  it.live("is not opened by a process that does not know its own address", () =>
    Effect.gen(function*() {
      const stores = yield* makeStores
      const exit = yield* Effect.exit(Effect.scoped(
        startProcess(stores, handlersOf("all"), { http: { hostname: "0.0.0.0" } })
      ))
      assert.include(String(exit), "the origin at which the other processes reach this one")
      const set = yield* startProcess(stores, handlersOf("all"), {
        http: { hostname: "0.0.0.0" },
        address: "http://127.0.0.1:1"
      })
      const opened = yield* exchange(set, { body: initialize("2025-11-25") })
      assert.strictEqual(opened.status, 200)
    }))
})
