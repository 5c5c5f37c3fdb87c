/** One notebook with several clients: each client receives only its own notifications and data. */
import { type Elicitation, Revision } from "@effect-mcp/protocol"
import { McpServer } from "@effect-mcp/server"
import { ClientSession, MemoryTransport, SessionHost, Transport } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Notebook from "../src/notebook/server.ts"

const notebook = McpServer.layerHost(Notebook.layer, Notebook.options)

const info = { name: "reader", version: "1.0.0" }

interface Notification {
  readonly method: string
  readonly params: unknown
}

/** Connects a client, and records its notifications and the pages that it is asked to open. */
const connect = Effect.fnUntraced(function*(root: string) {
  const host = yield* SessionHost.SessionHost
  const pair = yield* MemoryTransport.make()
  const notifications = yield* Queue.unbounded<Notification>()
  const pages: Array<Elicitation.UrlParams> = []
  const keep = (method: string) => (params: unknown) => Effect.asVoid(Queue.offer(notifications, { method, params }))
  yield* host.open(pair.server, { kind: "memory" })
  const session = yield* ClientSession.make({
    info,
    revisions: Revision.legacy,
    capabilities: { elicitation: { url: {} } },
    handlers: {
      "roots/list": () => Effect.succeed({ roots: [{ uri: root }] }),
      "elicitation/create": (params) =>
        Effect.sync(() => {
          if (params.mode === "url") pages.push(params)
          return { action: "accept" }
        }),
      "notifications/resources/updated": keep("updated"),
      "notifications/resources/list_changed": keep("resources"),
      "notifications/tools/list_changed": keep("tools"),
      "notifications/elicitation/complete": keep("complete")
    }
  }).pipe(Effect.provideService(Transport.Transport, pair.client))
  /** Returns the notifications up to the first of this kind. */
  const until = (method: string): Effect.Effect<ReadonlyArray<Notification>> =>
    Effect.flatMap(Queue.take(notifications), (notification) =>
      notification.method === method
        ? Effect.succeed([notification])
        : Effect.map(until(method), (rest) => [notification, ...rest]))
  return { session, pages, until }
})

const write = (session: ClientSession.ClientSession["Service"], name: string, text: string) =>
  session.callTool("write", { name, text })

describe("the notebook in a host", () => {
  it.live("notifies only the client that subscribed of a changed resource", () =>
    Effect.gen(function*() {
      const subscriber = yield* connect("file:///a")
      const other = yield* connect("file:///b")
      yield* subscriber.session.subscribeResource("note:///plan")
      yield* write(other.session, "plan", "Walk.")
      // All clients are notified of this change, after the other.
      yield* write(other.session, "new", "New.")
      assert.deepStrictEqual(
        (yield* subscriber.until("resources")).map(({ method, params }) => [method, params]),
        [["updated", { uri: "note:///plan" }], ["resources", {}]]
      )
      assert.deepStrictEqual((yield* other.until("resources")).map(({ method }) => method), ["resources"])
      yield* other.session.subscribeResource("note:///plan")
      yield* subscriber.session.unsubscribeResource("note:///plan")
      yield* write(subscriber.session, "plan", "Swim.")
      yield* write(subscriber.session, "newer", "Newer.")
      assert.deepStrictEqual((yield* subscriber.until("resources")).map(({ method }) => method), ["resources"])
      assert.deepStrictEqual((yield* other.until("resources")).map(({ method }) => method), ["updated", "resources"])
    }).pipe(Effect.scoped, Effect.provide(notebook)))

  it.live("notifies only the client that it sent to a page of the visit", () =>
    Effect.gen(function*() {
      const visitor = yield* connect("file:///a")
      const other = yield* connect("file:///b")
      yield* visitor.session.callTool("sign-in")
      const [page] = visitor.pages
      assert(page !== undefined)
      yield* Effect.promise(() => fetch(page.url).then((response) => response.text()))
      assert.deepStrictEqual((yield* visitor.until("complete")).at(-1)?.params, { elicitationId: page.elicitationId })
      yield* write(other.session, "new", "New.")
      assert.deepStrictEqual((yield* other.until("resources")).map(({ method }) => method), ["tools", "resources"])
    }).pipe(Effect.scoped, Effect.provide(notebook)))

  it.live("requests and caches the roots of each client separately", () =>
    Effect.gen(function*() {
      for (const root of ["file:///a", "file:///b"]) {
        const { session } = yield* connect(root)
        for (const _ of ["requested", "cached"]) {
          const { structuredContent } = yield* session.callTool("roots")
          assert.deepStrictEqual(structuredContent, { roots: [{ uri: root }] })
        }
      }
    }).pipe(Effect.scoped, Effect.provide(notebook)))
})
