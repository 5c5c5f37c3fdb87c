/** Laws of requests and log messages from the server to the client. */

import * as Effect from "effect/Effect"
import * as assert from "node:assert/strict"
import type { ClientEnd } from "../../laws/law/TransportSubject.ts"
import { law, type Timeless, topic } from "./Law.ts"
import { answering, eventually, type LawContext } from "./LawContext.ts"

/** Returns the law of pings, which only a session has. */
const pings = <Served extends ClientEnd>({ open }: Pick<LawContext<Served>, "open">) =>
  law("[PING-01] law 9: a handler sends a request to the client, while the client waits for that handler", function*() {
    const session = yield* open()
    const results = yield* Effect.forEach([1, 2, 3], () => session.callTool("pingClient"), {
      concurrency: "unbounded"
    })
    assert.deepStrictEqual(results.map((result) => result.structuredContent), [
      { answered: true },
      { answered: true },
      { answered: true }
    ])
  })

/** Returns the laws of requests and log messages from the server. */
export const serverRequests = <Served extends ClientEnd>({ era, open }: LawContext<Served>): ReadonlyArray<Timeless> =>
  topic("server to client", [
    ...era === "legacy" ? [pings({ open })] : [],

    law("law 9: a handler asks the client again and again, while the client waits for that handler", function*() {
      const session = yield* open({ handlers: answering })
      const results = yield* Effect.forEach(
        ["one", "two", "three"],
        (message) => session.callTool("ask", { message, count: 3 }),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(results.map((result) => result.structuredContent), [
        { answers: ["one 1", "one 2", "one 3"] },
        { answers: ["two 1", "two 2", "two 3"] },
        { answers: ["three 1", "three 2", "three 3"] }
      ])
      // In a session, an answer counts until the transport has taken it.
      yield* eventually(Effect.map(session.inFlight, ({ sent, served }) => sent === 0 && served === 0))
    }),

    law("[LOG-01] a handler's log message reaches the client, before the result", function*() {
      const logged: Array<unknown> = []
      const session = yield* open({
        handlers: { "notifications/message": ({ data }) => Effect.sync(() => logged.push(data)) }
      })
      yield* session.setLogLevel("info")
      yield* session.callTool("log", { data: { words: ["one", "two"] } })
      assert.deepStrictEqual(logged, [{ words: ["one", "two"] }])
    })
  ])
