/** Laws of requests and log messages from the server to the client. */

import * as Effect from "effect/Effect"
import * as assert from "node:assert/strict"
import type { TransportLaw } from "../../laws/TransportLaw.ts"
import type { ClientEnd } from "../../laws/TransportSubject.ts"
import { law, topic } from "./Law.ts"
import type { LawContext } from "./LawContext.ts"

/** Returns the laws of requests and log messages from the server. */
export const serverRequests = <Served extends ClientEnd>({ open }: LawContext<Served>): ReadonlyArray<TransportLaw> =>
  topic("server to client", [
    law(
      "[PING-01] law 9: a handler sends a request to the client, while the client waits for that handler",
      Effect.gen(function*() {
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
    ),

    law(
      "[LOG-01] a handler's log message reaches the client, before the result",
      Effect.gen(function*() {
        const logged: Array<unknown> = []
        const session = yield* open({
          handlers: { "notifications/message": ({ data }) => Effect.sync(() => logged.push(data)) }
        })
        yield* session.callTool("log", { data: { words: ["one", "two"] } })
        assert.deepStrictEqual(logged, [{ words: ["one", "two"] }])
      })
    )
  ])
