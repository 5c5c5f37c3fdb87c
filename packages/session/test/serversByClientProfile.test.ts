/** Servers whose results depend on the name and the capabilities of the client. */
import { Capabilities, Content } from "@effect-mcp/protocol"
import { RequestContext, ServerSession } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { type ClientOptions, connected, info, text } from "./support/sessions.ts"

const required = { experimental: { "acme/charts": { version: 2 } } }

const handlers = ServerSession.handlers({
  // A tool that returns a chart to clients that declare an experimental capability for it.
  "tools/call": () =>
    Effect.map(
      RequestContext.RequestContext,
      ({ profile }) => Capabilities.covers(profile.capabilities, required) ? text("<chart>") : text("a table")
    ),
  // Prompts that depend on the name of the client and on its capabilities.
  "prompts/list": () =>
    Effect.map(RequestContext.RequestContext, ({ profile }) => ({
      prompts: [
        { name: `for-${profile.info?.name}` },
        ...(Capabilities.declares(profile.capabilities, "sampling") ? [{ name: "summarize" }] : [])
      ]
    }))
})

const connectedWith = (client: ClientOptions) => connected({ handlers, client })

describe("a server that reads the profile of its client", () => {
  it.effect("a tool checks the value of an experimental capability", () =>
    Effect.gen(function*() {
      const results: ReadonlyArray<readonly [experimental: object | undefined, result: string]> = [
        [undefined, "a table"],
        [{ "acme/charts": { version: 1 } }, "a table"],
        [{ "acme/charts": { version: 2 }, other: {} }, "<chart>"]
      ]
      for (const [experimental, result] of results) {
        const { client, server } = yield* connectedWith({
          capabilities: experimental === undefined ? {} : { experimental: { ...experimental } }
        })
        assert.deepStrictEqual((yield* client.callTool("draw")).content, [Content.text(result)])
        assert.strictEqual(yield* server.hasCapability(required), result === "<chart>")
      }
    }))

  it.effect("the list of prompts depends on the client", () =>
    Effect.gen(function*() {
      const names = Effect.fnUntraced(function*(client: ClientOptions) {
        const session = (yield* connectedWith(client)).client
        return (yield* session.listPrompts()).prompts.map(({ name }) => name)
      })
      assert.deepStrictEqual(yield* names({}), ["for-test"])
      assert.deepStrictEqual(
        yield* names({
          info: { ...info, name: "editor" },
          handlers: {
            "sampling/createMessage": () =>
              Effect.succeed({ role: "assistant", content: Content.text("short"), model: "m" })
          }
        }),
        ["for-editor", "summarize"]
      )
    }))
})
