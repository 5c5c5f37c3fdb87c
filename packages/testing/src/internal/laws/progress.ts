/** Laws of progress. */

import type { Progress } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as assert from "node:assert/strict"
import type { ClientEnd } from "../../laws/law/TransportSubject.ts"
import { law, type Timeless, topic } from "./Law.ts"
import type { LawContext } from "./LawContext.ts"

/** Returns the laws of progress: its order, and its end. */
export const progress = <Served extends ClientEnd>(
  { call, open, openReady }: LawContext<Served>
): ReadonlyArray<Timeless> =>
  topic("progress", [
    law("[PRG-03] [PRG-04] law 4: every step is delivered, in order, before the result", function*() {
      const session = yield* open()
      const seen: Array<Progress.Progress> = []
      yield* session.callTool("steps", { count: 200 }, {
        onProgress: (step) => Effect.sync(() => seen.push(step))
      })
      assert.deepStrictEqual(
        seen.map((step) => step.progress),
        Array.from({ length: 200 }, (_, index) => index + 1)
      )
      assert.deepStrictEqual(seen[0]?.message, "step 1")
    }),

    law("[PRG-05] law 4: a slow consumer receives every step before the result", function*() {
      const session = yield* open()
      const order: Array<string> = []
      yield* session.callTool("steps", { count: 5 }, {
        onProgress: (step) => Effect.andThen(Effect.sleep(2), Effect.sync(() => order.push(`step ${step.progress}`)))
      })
      order.push("result")
      assert.deepStrictEqual(order, ["step 1", "step 2", "step 3", "step 4", "step 5", "result"])
    }),

    law("[PRG-05] a request that was answered gets no further progress", function*() {
      const peer = yield* openReady
      yield* peer.send(call(1, "lateProgress", {}, { progressToken: 0 }))
      yield* peer.response
      yield* Effect.sleep(50)
      assert.deepStrictEqual(yield* peer.pending, [])
    }),

    law("[PRG-01] a token may be 0", function*() {
      const peer = yield* openReady
      yield* peer.send(call(1, "steps", { count: 1 }, { progressToken: 0 }))
      const step = yield* peer.receive
      assert.deepStrictEqual("params" in step ? step.params?.["progressToken"] : undefined, 0)
    })
  ])
