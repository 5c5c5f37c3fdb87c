import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Child from "../fixtures/child.ts"
import { call, notificationsOf, OfficialClient } from "../fixtures/officialClient.ts"
import type { Conditions } from "../fixtures/officialClients.ts"

export const logging = ({ it }: Conditions) => {
  it.effect("[LOG-01] [LOG-02] [LOG-03] sends all log messages until a level is set, then those at or above it", () =>
    Effect.gen(function*() {
      const client = yield* OfficialClient
      const { request } = client
      const logs = () => notificationsOf(client, "notifications/message")
      const before = logs().length
      const write = (text: string) => call("write", { name: "diary", text })
      yield* write("a")
      yield* Child.until(() => logs().length > before)
      yield* request.setLoggingLevel("warning")
      yield* write("ab")
      yield* request.setLoggingLevel("info")
      yield* write("abc")
      yield* Child.until(() => logs().length > before + 1)
      assert.deepStrictEqual(
        logs().slice(before),
        [1, 3].map((letters) => ({ level: "info", logger: "notes", data: { written: "diary", letters } }))
      )
    }))

  it.effect("[LOG-04] rejects an unknown level", () =>
    Effect.gen(function*() {
      const { request } = yield* OfficialClient
      const failure = yield* Effect.flip(request.raw("logging/setLevel", { level: "loud" }))
      assert.deepInclude(failure, { code: -32602 })
    }))
}
