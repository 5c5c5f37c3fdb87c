/** What a server makes of who its client is and what it can do. */
import { Capabilities, Content } from "@effect-mcp/protocol"
import { RequestContext, ServerSession } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { type ClientOptions, connected, info, text } from "./support/sessions.ts"

const required = { experimental: { "acme/charts": { version: 2 } } }

const handlers = ServerSession.handlers({
  // A tool that does more for clients which say, by an experimental capability, that they understand it.
  "tools/call": () =>
    Effect.map(
      RequestContext.RequestContext,
      ({ profile }) => Capabilities.covers(profile.capabilities, required) ? text("<chart>") : text("a table, in words")
    ),
  // Prompts that depend on who asks, and on what it can be asked in turn.
  "prompts/list": () =>
    Effect.map(RequestContext.RequestContext, ({ profile }) => ({
      prompts: [
        { name: `for-${profile.info?.name}` },
        ...(Capabilities.declares(profile.capabilities, "sampling") ? [{ name: "summarize" }] : [])
      ]
    }))
})

const between = (client: ClientOptions) => connected({ handlers, client })

describe("a server that looks at its client", () => {
  it.effect("a tool checks an experimental capability, by value", () =>
    Effect.gen(function*() {
      const answers: ReadonlyArray<readonly [level: object | undefined, answer: string]> = [
        [undefined, "a table, in words"],
        [{ "acme/charts": { version: 1 } }, "a table, in words"],
        [{ "acme/charts": { version: 2 }, other: {} }, "<chart>"]
      ]
      for (const [experimental, answer] of answers) {
        const { client, server } = yield* between({
          capabilities: experimental === undefined ? {} : { experimental: { ...experimental } }
        })
        assert.deepStrictEqual((yield* client.callTool("draw")).content, [Content.text(answer)])
        assert.strictEqual(yield* server.hasCapability(required), answer === "<chart>")
      }
    }))

  it.effect("prompts are made for the client that asks", () =>
    Effect.gen(function*() {
      const names = Effect.fnUntraced(function*(client: ClientOptions) {
        const session = (yield* between(client)).client
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
