import { JsonRpc, Revision, type Roots } from "@effect-mcp/protocol"
import { RequestContext } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { connected, info, initialized, settled, text, tools, withRawClient } from "./support/sessions.ts"

const file: Roots.Root = { uri: "file:///home/ada/notes" }
const other: Roots.Root = { uri: "file:///home/ada/photos" }

describe("roots", () => {
  for (const uri of ["https://example.com", "/home", "file:/home", "C:\\Users", ""]) {
    it.effect(`[ROOT-03] ${JSON.stringify(uri)} is none, and a server does not take it for one`, () =>
      Effect.gen(function*() {
        const { raw, session } = yield* withRawClient()
        yield* raw.send(JsonRpc.request(0, "initialize", {
          protocolVersion: Revision.latest,
          capabilities: { roots: {} },
          clientInfo: info
        }))
        yield* raw.response
        yield* raw.send(initialized)
        const asking = yield* Effect.forkChild(Effect.flip(session.listRoots()), { startImmediately: true })
        yield* raw.send(JsonRpc.success(1, { roots: [file, { uri }] }))
        assert.strictEqual((yield* Fiber.join(asking)).reason._tag, "InvalidResult")
      }))
  }

  it.effect("[ROOT-03] a client does not offer one that is none", () =>
    Effect.gen(function*() {
      const { records, server } = yield* connected({
        client: { handlers: { "roots/list": () => Effect.succeed({ roots: [file, { uri: "https://example.com" }] }) } }
      })
      const { reason } = yield* Effect.flip(server.listRoots())
      assert.strictEqual(reason._tag === "ErrorResponse" && reason.error.code, -32603)
      assert.strictEqual(records.client.of("HandlerFailed").length, 1)
    }))

  it.effect("[ROOT-02] a server that asks again when it is told of a change stays within what is left", () =>
    Effect.gen(function*() {
      let roots = [file, other]
      let known: ReadonlyArray<string> = []
      const { client } = yield* connected({
        client: {
          handlers: { "roots/list": () => Effect.sync(() => ({ roots })) },
          capabilities: { roots: { listChanged: true } }
        },
        handlers: {
          ...tools({
            look: Effect.gen(function*() {
              const { listRoots } = yield* RequestContext.RequestContext
              if (known.length === 0) known = (yield* Effect.orDie(listRoots())).roots.map(({ uri }) => uri)
              return text(known.join(" "))
            })
          }),
          "notifications/roots/list_changed": () =>
            Effect.sync(() => {
              known = []
            })
        }
      })
      const look = Effect.map(client.callTool("look"), ({ content }) => content)
      assert.deepStrictEqual(yield* look, text(`${file.uri} ${other.uri}`).content)
      roots = [other]
      yield* client.rootsListChanged
      yield* settled
      assert.deepStrictEqual(yield* look, text(other.uri).content)
    }))

  it.effect("roots that a client cannot give are no end of the server", () =>
    Effect.gen(function*() {
      const { client } = yield* connected({
        client: { handlers: { "roots/list": () => Effect.die("the disk is gone") } },
        handlers: tools({
          look: Effect.flatMap(RequestContext.RequestContext, ({ listRoots }) =>
            Effect.match(listRoots(), {
              onSuccess: ({ roots }) => text(`${roots.length} roots`),
              onFailure: ({ message }) => ({ ...text(message), isError: true })
            }))
        })
      })
      const { content, isError } = yield* client.callTool("look")
      assert.isTrue(isError)
      assert.include(JSON.stringify(content), "Internal error")
      yield* client.ping()
    }))
})
