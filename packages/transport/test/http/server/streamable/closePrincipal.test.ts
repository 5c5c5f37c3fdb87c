/** The end of all that a principal has, in a fleet: its sessions and streams at every process, and the stored ones. */
import { Revision } from "@effect-mcp/protocol"
import { ChangeBus, SessionStore } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { clientAt, makeStores, startProcess } from "../../../support/fleet.ts"
import { connect, send } from "../../../support/httpClient.ts"
import * as Modern from "../../../support/modernRequest.ts"
import { until } from "../../../support/process.ts"
import { type Settings, tools } from "../../../support/server.ts"

const authentication: Settings["authentication"] = {
  identify: ({ headers }) => Effect.succeed({ id: headers["x-user"] ?? "unknown" })
}

const handlers = {
  ...tools({}),
  "subscriptions/listen": () => Effect.succeed({ notifications: { toolsListChanged: true } })
} as const

const ping = { body: { jsonrpc: "2.0", id: 1, method: "ping" } }

const user = (id: string) => ({ headers: { "x-user": id } })

/** Opens the standalone stream of a session, and a stream of notifications of revision 2026-07-28. */
const openStreams = Effect.fnUntraced(function*(server: { readonly port: number }, id: string) {
  const client = yield* connect(server, user(id))
  const standalone = yield* client.get()
  const { body, headers } = Modern.post("subscriptions/listen", { notifications: { toolsListChanged: true } })
  const notifications = yield* send(server, { body, headers: { ...headers, "x-user": id } })
  yield* until(() => notifications.messages.length > 0)
  return { client, standalone, notifications }
})

const start = Effect.fnUntraced(function*(store?: (made: SessionStore.SessionStore["Service"]) => typeof made) {
  const made = yield* makeStores
  const stores = store === undefined ? made : { ...made, sessionStore: store(made.sessionStore) }
  const channel = yield* ChangeBus.makeMemory
  const sent: Array<string> = []
  const connection: ChangeBus.ChangeConnection = {
    ...channel.connection,
    send: (text) => {
      sent.push(text)
      return channel.connection.send(text)
    }
  }
  const startOne = Effect.fnUntraced(function*(settings: Settings = {}) {
    const session = { revisions: Revision.supported }
    // A busy machine must not end a lease here.
    return yield* startProcess(stores, handlers, {
      authentication,
      session,
      leaseTime: "10 seconds",
      bus: yield* ChangeBus.make(connection),
      ...settings
    })
  })
  return { channel, sent, stores, startOne, one: yield* startOne(), two: yield* startOne() }
})

describe.concurrent("closePrincipal in a fleet", () => {
  it.live("[AUT-55] ends the sessions and the streams of one principal at every process, and none of another", () =>
    Effect.gen(function*() {
      const { one, sent, startOne, stores, two } = yield* start()
      const [here, there, bob] = yield* Effect.all([
        openStreams(one, "ada@example.com"),
        openStreams(two, "ada@example.com"),
        openStreams(two, "bob@example.com")
      ])
      // A session that no process has open.
      const three = yield* startOne()
      const idle = yield* connect(three, user("ada@example.com"))
      yield* three.stop
      yield* one.host.closePrincipal("ada@example.com")
      assert.isUndefined(yield* stores.sessionStore.load(idle.id))
      for (const { client, notifications, standalone } of [here, there]) {
        yield* Effect.all([standalone.awaitEnd, notifications.awaitEnd])
        assert.isDefined(notifications.messages.at(-1)?.result)
        yield* until(() => two.host.find(client.id) === undefined)
        for (const at of [one, two]) assert.strictEqual((yield* clientAt(at, client).exchange(ping)).status, 404)
        assert.isUndefined(yield* stores.sessionStore.load(client.id))
      }
      assert.isFalse(bob.standalone.ended || bob.notifications.ended)
      assert.strictEqual((yield* clientAt(one, bob.client).exchange(ping)).status, 200)
      yield* two.host.closePrincipal("stranger")
      assert.strictEqual((yield* bob.client.exchange(ping)).status, 200)
      const texts = sent.join()
      assert.include(texts, "principal")
      assert.notInclude(texts, "example.com")
      assert.deepStrictEqual([one.logs, two.logs], [[], []])
    }))

  it.live("[AUT-55] deletes the stored sessions later if the store fails, and other processes then close theirs", () =>
    Effect.gen(function*() {
      let isAway = true
      const { one, stores, two } = yield* start((store) => ({
        ...store,
        removeAllOf: (principal) =>
          isAway
            ? Effect.fail(new SessionStore.SessionStoreError({ cause: "away" }))
            : store.removeAllOf?.(principal) ?? Effect.void
      }))
      const { client } = yield* openStreams(two, "ada")
      const stored = { id: "s", principal: "ada", handshakeMessages: [], openedAt: 1, usedAt: 1, epoch: 1 }
      yield* stores.sessionStore.create(stored)
      yield* one.host.closePrincipal("ada")
      yield* until(() => two.host.find(client.id) === undefined)
      assert.isDefined(yield* stores.sessionStore.load("s"))
      isAway = false
      while ((yield* stores.sessionStore.load("s")) !== undefined) yield* Effect.sleep("20 millis")
    }))

  it.live("[AUT-55] after a gap ends the streams of notifications of principals, and sessions that were deleted", () =>
    Effect.gen(function*() {
      const { channel, one, stores, two } = yield* start()
      const [ada, bob] = yield* Effect.all([openStreams(two, "ada"), openStreams(two, "bob")])
      // The process has missed that the sessions of the principal were deleted. In one table, their owners are, too.
      yield* stores.sessionStore.removeAllOf?.("ada") ?? Effect.die(new Error("no such operation"))
      yield* stores.ownerStore.remove(ada.client.id, 1)
      yield* channel.interrupt
      yield* Effect.all([ada.notifications.awaitEnd, bob.notifications.awaitEnd, ada.standalone.awaitEnd])
      yield* until(() => two.host.find(ada.client.id) === undefined)
      assert.strictEqual((yield* ada.client.exchange(ping)).status, 404)
      assert.isFalse(bob.standalone.ended)
      assert.strictEqual((yield* clientAt(one, bob.client).exchange(ping)).status, 200)
    }))
})
