/** One notebook for many clients: what belongs to one of them is kept from the others. */
import { type Elicitation, Revision } from "@effect-mcp/protocol"
import { ClientSession, MemoryTransport, SessionHost, Transport } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as NotebookHost from "./fixtures/notebookHost.ts"

const info = { name: "reader", version: "1.0.0" }

interface Told {
  readonly method: string
  readonly params: unknown
}

/** A client of the notebook, and what it is told. */
const connected = Effect.fnUntraced(function*(root: string) {
  const host = yield* SessionHost.SessionHost
  const pair = yield* MemoryTransport.make()
  const told = yield* Queue.unbounded<Told>()
  const pages: Array<Elicitation.UrlParams> = []
  const keep = (method: string) => (params: unknown) => Effect.asVoid(Queue.offer(told, { method, params }))
  yield* host.open(pair.server, { kind: "memory" })
  const session = yield* ClientSession.make({
    info,
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
  /** All that comes up to the first of this kind. */
  const until = (method: string): Effect.Effect<ReadonlyArray<Told>> =>
    Effect.flatMap(Queue.take(told), (one) =>
      one.method === method
        ? Effect.succeed([one])
        : Effect.map(until(method), (rest) => [one, ...rest]))
  return { session, pages, until }
})

const write = (session: ClientSession.ClientSession["Service"], name: string, text: string) =>
  session.callTool("write", { name, text })

describe("the notebook in a host", () => {
  it.live("tells only the client that subscribed that a resource has changed", () =>
    Effect.gen(function*() {
      const subscriber = yield* connected("file:///a")
      const other = yield* connected("file:///b")
      yield* subscriber.session.subscribeResource("note:///plan")
      yield* write(other.session, "plan", "Walk.")
      // A change that all are told of, behind the other.
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
    }).pipe(Effect.scoped, Effect.provide(NotebookHost.layer(Revision.latest))))

  it.live("tells only the client that was asked that the page has been visited", () =>
    Effect.gen(function*() {
      const asked = yield* connected("file:///a")
      const other = yield* connected("file:///b")
      yield* asked.session.callTool("sign-in")
      const [page] = asked.pages
      assert(page !== undefined)
      yield* Effect.promise(() => fetch(page.url).then((answer) => answer.text()))
      assert.deepStrictEqual((yield* asked.until("complete")).at(-1)?.params, { elicitationId: page.elicitationId })
      yield* write(other.session, "new", "New.")
      assert.deepStrictEqual((yield* other.until("resources")).map(({ method }) => method), ["tools", "resources"])
    }).pipe(Effect.scoped, Effect.provide(NotebookHost.layer(Revision.latest))))

  it.live("keeps the roots of each client apart", () =>
    Effect.gen(function*() {
      for (const root of ["file:///a", "file:///b"]) {
        const { session } = yield* connected(root)
        for (const _ of ["asked for", "remembered"]) {
          const { structuredContent } = yield* session.callTool("places")
          assert.deepStrictEqual(structuredContent, { places: [{ uri: root }] })
        }
      }
    }).pipe(Effect.scoped, Effect.provide(NotebookHost.layer(Revision.latest))))
})
