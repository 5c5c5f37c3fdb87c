/** The lists of a supervised client. */
import { McpClient, McpTarget } from "@effect-mcp/client"
import { Revision } from "@effect-mcp/protocol"
import { ServerSession } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

const info = { name: "host", version: "1.0.0" }

describe("the lists of a client", () => {
  for (const revision of [Revision.latestLegacy, Revision.latest]) {
    it.effect(`${revision}: a server with resources and without a list of templates has no templates`, () =>
      Effect.gen(function*() {
        const server = ServerSession.layerMemory({
          "resources/list": () => Effect.succeed({ resources: [{ uri: "note:///a", name: "a" }] }),
          "resources/read": ({ uri }) => Effect.succeed({ contents: [{ uri, text: "A" }] })
        }, { info })
        const client = yield* McpClient.make(McpTarget.transport(server), { info, revisions: [revision] })
        assert.deepStrictEqual((yield* client.resources).map(({ uri }) => uri), ["note:///a"])
        assert.deepStrictEqual(yield* client.resourceTemplates, [])
        assert.deepStrictEqual([yield* client.tools, yield* client.prompts], [[], []])
      }))
  }
})
