/** The updates that a client may have missed while no process had its session. */
import { EventStore, SessionStore } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { Client, connect, type ReceivedResponse } from "../../../support/httpClient.ts"
import { serve, type ServerHandlers } from "../../../support/server.ts"

const handlers: ServerHandlers = {
  "resources/subscribe": () => Effect.succeed({}),
  "resources/unsubscribe": () => Effect.succeed({})
}

const settings = { session: { capabilities: { resources: { subscribe: true } } } } as const

const clientAt = (server: { readonly port: number }, { headers, id, scope }: Client) =>
  new Client(server, id, headers, scope)

const request = (client: Client, method: string, uri: string) =>
  client.exchange({ body: { jsonrpc: "2.0", id: `${method} ${uri}`, method, params: { uri } } })

const updatesIn = ({ messages }: ReceivedResponse) => messages.map(({ method, params }) => [method, params?.["uri"]])

const updated = (...uris: ReadonlyArray<string>) => uris.map((uri) => ["notifications/resources/updated", uri])

/** Opens a session with three subscriptions at one server, and returns the same client at another one. */
const restored = Effect.fnUntraced(function*(store: EventStore.EventStore["Service"] | undefined) {
  const shared = { ...settings, store, sessionStore: yield* SessionStore.makeMemory() }
  const first = yield* serve(handlers, shared)
  const client = yield* connect(first)
  const live = yield* client.get()
  for (const uri of ["a:1", "a:2", "a:3"]) yield* request(client, "resources/subscribe", uri)
  const second = yield* serve(handlers, shared)
  return { again: clientAt(second, client), live, second, client }
})

describe.concurrent("a client whose session was restored", () => {
  it.live("[RES-04] gets an update of each of its subscriptions once, as soon as its standalone stream is open", () =>
    Effect.gen(function*() {
      const { again, second } = yield* restored(undefined)
      yield* request(again, "resources/unsubscribe", "a:2")
      const stream = yield* again.get()
      yield* stream.awaitMessages(2)
      assert.deepStrictEqual(updatesIn(stream), updated("a:1", "a:3"))
      stream.disconnect()
      const reopened = yield* Effect.repeat(again.get(), { while: ({ status }) => status === 409 })
      yield* second.host.find(again.id)?.session.resourceUpdated("a:1") ?? Effect.die("no session")
      yield* reopened.awaitMessages(1)
      assert.deepStrictEqual(updatesIn(reopened), updated("a:1"))
    }))

  it.live("gets them also if the request for its stream restores the session", () =>
    Effect.gen(function*() {
      const { again } = yield* restored(undefined)
      const stream = yield* again.get()
      yield* stream.awaitMessages(3)
      assert.deepStrictEqual(updatesIn(stream), updated("a:1", "a:2", "a:3"))
    }))

  it.live("[SHS-16] gets them in the stream that it resumes, after what it has missed", () =>
    Effect.gen(function*() {
      const store = yield* EventStore.makeMemory()
      const { again, client, live, second } = yield* restored(store)
      yield* client.ping()
      assert.strictEqual((yield* again.ping()).status, 200)
      yield* second.host.find(again.id)?.session.resourceUpdated("a:9") ?? Effect.die("no session")
      const resumed = yield* again.get(live.lastId)
      yield* resumed.awaitMessages(4)
      assert.deepStrictEqual(updatesIn(resumed), updated("a:9", "a:1", "a:2", "a:3"))
    }))

  it.live("gets none without a restart", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers, { ...settings, sessionStore: yield* SessionStore.makeMemory() })
      const client = yield* connect(server)
      yield* request(client, "resources/subscribe", "a:1")
      const stream = yield* client.get()
      yield* server.host.find(client.id)?.session.resourceUpdated("a:2") ?? Effect.die("no session")
      yield* stream.awaitMessages(1)
      assert.deepStrictEqual(updatesIn(stream), updated("a:2"))
    }))
})
