import { McpError } from "@effect-mcp/protocol"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Child from "../fixtures/child.ts"
import { call, notificationsOf, OfficialClient, result } from "../fixtures/officialClient.ts"
import type { Conditions } from "../fixtures/officialClients.ts"
import { structure } from "./results.ts"

export const roots = ({ it }: Conditions) => {
  it.effect("[ROOT-04] an error of the client becomes a tool error", () =>
    Effect.gen(function*() {
      const { handlers } = yield* OfficialClient
      handlers.roots = () => Effect.fail(McpError.methodNotFound("roots/list"))
      assert.deepStrictEqual(yield* call("roots", {}), {
        text: "roots/list: the peer replied with error -32601: Method not found: roots/list",
        isError: true
      })
    }))

  it.effect("[ROOT-01] [ROOT-03] lists the roots of the client", () =>
    Effect.gen(function*() {
      const { handlers } = yield* OfficialClient
      const roots = [{ uri: "file:///home/ada", name: "home" }, { uri: "file:///srv/notes%20of%20hers" }]
      handlers.roots = () => Effect.succeed({ roots })
      assert.deepStrictEqual(structure(yield* result("roots")), { roots })
    }))

  it.effect("[ROOT-02] lists the roots again after list_changed, and only then", () =>
    Effect.gen(function*() {
      const client = yield* OfficialClient
      const roots = [{ uri: "file:///tmp", name: "elsewhere" }]
      const logged = () => JSON.stringify(notificationsOf(client, "notifications/message"))
      client.handlers.roots = () => Effect.succeed({ roots })
      yield* client.rootsListChanged
      yield* Child.until(() => logged().includes("number of roots: 1"))
      client.handlers.roots = () => Effect.die(new Error("the roots were listed again without a change"))
      assert.deepStrictEqual(structure(yield* result("roots")), { roots })
    }))
}
