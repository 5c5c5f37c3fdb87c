import type { Revision } from "@effect-mcp/protocol"
import { assert, type Vitest } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Child from "../fixtures/child.ts"
import type { Path } from "../fixtures/httpPath.ts"
import { HttpServers } from "../fixtures/httpServers.ts"
import { call, heardOf, OfficialClient, result, timedOutAfter } from "../fixtures/officialClient.ts"
import type { Peer } from "../fixtures/officialClients.ts"
import * as Wire from "../fixtures/wire.ts"
import { members, words } from "./results.ts"

const http = Effect.map(OfficialClient, ({ http }) => {
  assert(http !== undefined)
  return http
})

/** The GETs that came back to a stream. */
const comebacks = Effect.map(http, ({ calls }) => calls.filter(({ lastEventId }) => lastEventId !== undefined))

/** Clients that lose their connections, and what the server does for them. */
export const resuming = (
  it: Vitest.MethodsNonLive<HttpServers>,
  peer: Peer,
  revision: Revision.Revision,
  path: Path
) => {
  /** A client over a wire that can be cut. */
  const overWire = Effect.fnUntraced(function*<A, E>(
    program: (wire: Wire.Wire) => Effect.Effect<A, E, OfficialClient | HttpServers>
  ) {
    const { place } = yield* HttpServers
    const server = place(path)
    assert(server._tag === "Address")
    const wire = yield* Wire.make(server.url)
    return yield* Effect.provide(program(wire), peer.connect({ ...server, url: wire.url }, revision))
  })

  it.effect("[SHS-10] [SHS-17] [SHS-18] [SHS-20] [law 4] a call whose connection is cut goes on, and nothing is lost or said twice", () =>
    overWire(Effect.fnUntraced(function*(wire) {
      const { received, sent } = yield* OfficialClient
      yield* wire.cutAfterProgress(1)
      const indexed = yield* result("index", { delayMs: 1 }, { onprogress: () => {} })
      const token = () =>
        members(
          members(members(sent.findLast((message) => members(message)["method"] === "tools/call"))["params"])["_meta"]
        )[
          "progressToken"
        ]
      const steps = () =>
        received.map(members).filter(({ method }) => method === "notifications/progress").map(({ params }) =>
          members(params)
        ).filter(({ progressToken }) => progressToken === token()).map(({ progress }) => progress)
      const total = Number(/in (\d+) notes/.exec(words(indexed))?.[1])
      assert.deepStrictEqual(steps(), Array.from({ length: total }, (_, index) => index + 1))
      const [back] = yield* comebacks
      assert.deepInclude(back, { method: "GET", status: 200, type: "text/event-stream" })
    })))

  it.effect("[SHS-10] a call is carried out once, however often its connection is cut", () =>
    overWire(Effect.fnUntraced(function*(wire) {
      const { received } = yield* OfficialClient
      yield* wire.cutAfterProgress(3)
      assert.match(words(yield* result("index", { delayMs: 1 }, { onprogress: () => {} })), / notes$/)
      assert.isAtLeast((yield* comebacks).length, 3)
      const responses = received.map(members).filter(({ result }) => JSON.stringify(result)?.includes(" words in "))
      assert.strictEqual(responses.length, 1)
    })))

  // Before, a stream begins with what it has to say, and who has heard nothing cannot come back.
  if (revision !== "2025-11-25") return

  it.effect("[SHS-03] [SHS-05] what is said to nobody is said when somebody listens again", () =>
    overWire(Effect.fnUntraced(function*(wire) {
      const client = yield* OfficialClient
      const heard = () => heardOf(client, "notifications/resources/list_changed").length
      const before = heard()
      yield* wire.held
      yield* Effect.gen(function*() {
        const other = yield* OfficialClient
        yield* call("write", { name: `from ${peer.name}`, text: "Wish you were here." })
        yield* Child.until(() => heardOf(other, "notifications/resources/list_changed").length > 0)
      }).pipe(
        Effect.provide(peer.connect((yield* HttpServers).place(path), revision))
      )
      assert.strictEqual(heard(), before)
      yield* wire.up
      yield* Child.until(() => heard() > before)
      assert.strictEqual(heard(), before + 1)
    })))

  it.effect("[SHS-03] [SHS-04] [SHS-05] a call that takes long lets its connection go, and its client comes back", () =>
    overWire(Effect.fnUntraced(function*() {
      const reminded = yield* result("remind", { text: "the ebb", afterMs: 1000 })
      assert.strictEqual(words(reminded), "the ebb")
      assert.isNotEmpty(yield* comebacks)
    })))

  it.effect("[SHS-13] a client that comes back for ever to a call that it gave up (typescript-sdk#2682) is told to stop, and does", () =>
    overWire(Effect.fnUntraced(function*() {
      const { request, stderr } = yield* OfficialClient
      const isDue = Child.until(() => stderr().includes("reminder of the flood: due"))
      assert.notProperty(yield* timedOutAfter("remind", { text: "the flood", afterMs: 60_000 }, isDue), "text")
      yield* Child.until(() => stderr().includes("reminder of the flood: cancelled"))
      const { calls } = yield* http
      yield* Child.until(() => calls.some(({ status }) => status === 405))
      const before = (yield* comebacks).length
      for (let pings = 0; pings < 20; pings++) yield* request.ping
      assert.strictEqual((yield* comebacks).length, before)
    })))
}
