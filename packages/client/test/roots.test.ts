/** The roots of a client that change while servers use them. */
import { McpClient } from "@effect-mcp/client"
import type { Roots } from "@effect-mcp/protocol"
import { McpRequest } from "@effect-mcp/server"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import * as RootsSource from "../src/internal/answers/RootsSource.ts"
import { ask, askingServer } from "./fixtures/askingServer.ts"

const info = { name: "host", version: "1.0.0" }

const homes: ReadonlyArray<Roots.Root> = [{ uri: "file:///home/ada" }]

const folders = Effect.map(McpRequest.roots(), (uris) => uris.join(" "))

describe.concurrent("roots that change", () => {
  it.effect("[ROOT-02] each change of the roots is sent to every session, and a new list is served", () =>
    Effect.gen(function*() {
      const ref = yield* SubscriptionRef.make(homes)
      const clients = yield* Effect.forEach(["one", "two"], (name) =>
        Effect.gen(function*() {
          const changes = yield* Queue.unbounded<string>()
          const client = yield* McpClient.make(askingServer(folders, Queue.offer(changes, name)), {
            info,
            name,
            revisions: ["2025-11-25"],
            healthCheck: false,
            answers: { roots: ref }
          })
          assert.strictEqual(yield* ask(client), "file:///home/ada")
          return { client, changes }
        }))
      yield* SubscriptionRef.set(ref, [{ uri: "file:///home/grace" }])
      for (const { changes, client } of clients) {
        yield* Queue.take(changes)
        assert.strictEqual(yield* ask(client), "file:///home/grace")
      }
    }))

  it.effect("a slow follower of the roots receives the last change, and no queue of changes grows", () =>
    Effect.gen(function*() {
      const ref = yield* SubscriptionRef.make(homes)
      const { followed } = RootsSource.make(ref)
      const isFree = yield* Latch.make()
      const received: Array<string> = []
      const last = yield* Deferred.make<void>()
      yield* Effect.forkChild(
        Stream.runForEach(followed?.changes ?? Stream.empty, ([root]) =>
          Effect.andThen(isFree.await, () => {
            received.push(root?.uri ?? "")
            return root?.uri === "file:///999" ? Deferred.succeed(last, undefined) : Effect.void
          })),
        { startImmediately: true }
      )
      for (let change = 0; change < 1_000; change++) {
        yield* SubscriptionRef.set(ref, [{ uri: `file:///${change}` }])
        yield* Effect.yieldNow
      }
      yield* isFree.open
      yield* Deferred.await(last)
      assert.isBelow(received.length, 5)
    }))

  it.effect("in revision 2026-07-28 a server receives the present roots whenever it asks", () =>
    Effect.gen(function*() {
      const ref = yield* SubscriptionRef.make(homes)
      const client = yield* McpClient.make(askingServer(folders), {
        info,
        revisions: ["2026-07-28"],
        healthCheck: false,
        answers: { roots: ref }
      })
      assert.strictEqual(yield* ask(client), "file:///home/ada")
      yield* SubscriptionRef.set(ref, [{ uri: "file:///home/grace" }])
      assert.strictEqual(yield* ask(client), "file:///home/grace")
    }))

  it.live("[ROOT-02] roots that change while the client has no session are announced to the next one", () =>
    Effect.gen(function*() {
      const ref = yield* SubscriptionRef.make(homes)
      const changes = yield* Queue.unbounded<string>()
      const client = yield* McpClient.make(askingServer(folders, Queue.offer(changes, "changed")), {
        info,
        revisions: ["2025-11-25"],
        reconnect: Schedule.spaced("200 millis"),
        healthCheck: false,
        answers: { roots: ref }
      })
      assert.strictEqual(yield* ask(client), "file:///home/ada")
      yield* Effect.flatMap(client.session, ({ close }) => close)
      yield* SubscriptionRef.set(ref, [{ uri: "file:///home/grace" }])
      assert.strictEqual(yield* Queue.take(changes), "changed")
      assert.strictEqual(yield* ask(client), "file:///home/grace")
    }))
})
