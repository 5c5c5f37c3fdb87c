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
    it.effect(`[ROOT-03] a server rejects the root ${JSON.stringify(uri)}`, () =>
      Effect.gen(function*() {
        const { raw, session } = yield* withRawClient()
        yield* raw.send(JsonRpc.request(0, "initialize", {
          protocolVersion: Revision.latestLegacy,
          capabilities: { roots: {} },
          clientInfo: info
        }))
        yield* raw.response
        yield* raw.send(initialized)
        const listing = yield* Effect.forkChild(Effect.flip(session.listRoots()), { startImmediately: true })
        yield* raw.send(JsonRpc.success(1, { roots: [file, { uri }] }))
        assert.strictEqual((yield* Fiber.join(listing)).reason._tag, "InvalidResult")
      }))
  }

  it.effect("[ROOT-03] a client does not send an invalid root", () =>
    Effect.gen(function*() {
      const { records, server } = yield* connected({
        client: { handlers: { "roots/list": () => Effect.succeed({ roots: [file, { uri: "https://example.com" }] }) } }
      })
      const { reason } = yield* Effect.flip(server.listRoots())
      assert.strictEqual(reason._tag === "ErrorResponse" && reason.error.code, -32603)
      assert.strictEqual(records.client.of("HandlerFailed").length, 1)
    }))

  it.effect("[ROOT-02] a server that lists the roots again after list_changed uses only the remaining ones", () =>
    Effect.gen(function*() {
      let roots = [file, other]
      let cached: ReadonlyArray<string> = []
      const { client } = yield* connected({
        client: {
          handlers: { "roots/list": () => Effect.sync(() => ({ roots })) },
          capabilities: { roots: { listChanged: true } }
        },
        handlers: {
          ...tools({
            list: Effect.gen(function*() {
              if (cached.length === 0) {
                cached = (yield* Effect.orDie(RequestContext.listRoots())).roots.map(({ uri }) => uri)
              }
              return text(cached.join(" "))
            })
          }),
          "notifications/roots/list_changed": () =>
            Effect.sync(() => {
              cached = []
            })
        }
      })
      const list = Effect.map(client.callTool("list"), ({ content }) => content)
      assert.deepStrictEqual(yield* list, text(`${file.uri} ${other.uri}`).content)
      roots = [other]
      yield* client.rootsListChanged
      yield* settled
      assert.deepStrictEqual(yield* list, text(other.uri).content)
    }))

  it.effect("a client whose handler dies fails roots/list, and the sessions continue", () =>
    Effect.gen(function*() {
      const { client } = yield* connected({
        client: { handlers: { "roots/list": () => Effect.die("the disk is gone") } },
        handlers: tools({
          list: Effect.match(RequestContext.listRoots(), {
            onSuccess: ({ roots }) => text(`${roots.length} roots`),
            onFailure: ({ message }) => ({ ...text(message), isError: true })
          })
        })
      })
      const { content, isError } = yield* client.callTool("list")
      assert.isTrue(isError)
      assert.include(JSON.stringify(content), "Internal error")
      yield* client.ping()
    }))
})
