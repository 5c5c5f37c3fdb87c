/** Events that are on their way to a slow store when their session ends. */
import { RequestContext, type SessionOwners } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { makeStores, startProcess, type Stores } from "../../../support/fleet.ts"
import { connect } from "../../../support/httpClient.ts"
import { until } from "../../../support/process.ts"
import { tools } from "../../../support/server.ts"

const handlers = tools({
  walk: Effect.gen(function*() {
    yield* RequestContext.progress({ progress: 1 })
    yield* RequestContext.progress({ progress: 2, message: "late" })
    return yield* Effect.never
  })
})

const settings = {
  session: { capabilities: { logging: {} } },
  http: { responseMode: "stream" }
} as const

/** Returns stores that execute an event with the word `late` late, and also if its caller is interrupted. */
const observed = ({ ownerStore, sessionStore, store }: Stores) => {
  /** The beginnings of late events, and everything that took effect, in order. */
  const steps: Array<string> = []
  const did = (step: string) => Effect.sync(() => void steps.push(step))
  const owners: SessionOwners.OwnerStore = {
    ...ownerStore,
    release: (session, epoch) => Effect.andThen(did("release"), ownerStore.release(session, epoch))
  }
  const stores: Stores = {
    sessionStore,
    ownerStore: owners,
    store: {
      ...store,
      append: (stream, data) => {
        const kind = stream.requests.length === 0 ? "standalone" : "call"
        const appended = Effect.tap(
          Effect.suspend(() => store.append(stream, data)),
          did(`append ${kind}`)
        )
        return data.includes("late")
          ? Effect.andThen(did("late"), Effect.uninterruptible(Effect.delay(appended, 200)))
          : appended
      },
      end: (stream) =>
        Effect.andThen(did(stream.requests.length === 0 ? "end standalone" : "end call"), store.end(stream)),
      drop: (session, epoch) => Effect.andThen(did("drop"), store.drop(session, epoch))
    }
  }
  return { stores, steps, late: until(() => steps.filter((step) => step === "late").length === 2) }
}

/** Starts a process with a session, whose call and whose standalone stream have each an event on its way. */
const start = Effect.gen(function*() {
  const { late, steps, stores } = observed(yield* makeStores)
  const process = yield* startProcess(stores, handlers, settings)
  const client = yield* connect(process)
  yield* client.get()
  yield* client.call("w", "walk")
  const session = process.host.find(client.id)?.session
  yield* Effect.forkChild(session?.log({ level: "info", data: "late" }) ?? Effect.die("no session"))
  yield* late
  return { client, process, steps, stores }
})

describe.concurrent("an event that is on its way to the store", () => {
  it.live("[SHS-26] precedes the end of its stream and the deletion, after a DELETE", () =>
    Effect.gen(function*() {
      const { client, steps, stores } = yield* start
      assert.strictEqual((yield* client.delete).status, 204)
      yield* until(() => steps.includes("drop"))
      yield* Effect.sleep(300)
      assert.isBelow(steps.lastIndexOf("append call"), steps.lastIndexOf("end call"), steps.join(", "))
      assert.isBelow(steps.lastIndexOf("append standalone"), steps.indexOf("end standalone"), steps.join(", "))
      assert.strictEqual(steps.at(-1), "drop", steps.join(", "))
      assert.deepStrictEqual(yield* stores.store.takeOver(client.id, 1), [])
    }))

  it.live("precedes the release of its session, if its process shuts down", () =>
    Effect.gen(function*() {
      const { process, steps } = yield* start
      yield* process.stop
      yield* Effect.sleep(300)
      assert.strictEqual(steps.at(-1), "release", steps.join(", "))
      assert.strictEqual(steps.filter((step) => step === "append standalone").length, 2, steps.join(", "))
    }))
})
