import { McpProxy } from "@effect-mcp/gateway"
import { McpGroup } from "@effect-mcp/server"
import { RequestContext, ServerSession } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import { info } from "../../server/test/support/connect.ts"
import { describeForBothEras } from "../../server/test/support/eras.ts"
import * as Askers from "../src/internal/Askers.ts"
import { RemoteEntries } from "../src/internal/RemoteEntries.ts"

/** Returns the members of a server with these templates. */
const entriesOf = (templates: ReadonlyArray<string>) => {
  const remote = new RemoteEntries({ group: "remote", forward: () => Effect.never, completes: false })
  const { entries } = remote.of({
    tools: [],
    prompts: [],
    resources: [],
    templates: templates.map((uriTemplate) => ({ name: uriTemplate, uriTemplate }))
  })
  return entries.flatMap((entry) => entry.kind === "template" ? [entry] : [])
}

/** Returns which of these templates the proxy matches. */
const matched = (templates: ReadonlyArray<string>): ReadonlyArray<boolean> =>
  entriesOf(templates).map(({ template }) => template !== undefined)

const variables = (count: number) => Array.from({ length: count }, (_, index) => `v${index}`).join()

describe("a proxy matches", () => {
  it("a template of 8 variables and 128 characters, and no larger one", () => {
    assert.deepStrictEqual(matched([`app://a{?${variables(8)}}`, `app://b{?${variables(9)}}`]), [true, false])
    const ofLength = (length: number) => `app://{a}/`.padEnd(length, "x")
    assert.deepStrictEqual(matched([ofLength(128), ofLength(129)]), [true, false])
  })

  it("templates of 2,048 characters together, and no further ones", () => {
    const template = (index: number) => `app://${String(index).padStart(4, "0")}/{a}`.padEnd(128, "x")
    const all = matched(Array.from({ length: 40 }, (_, index) => template(index)))
    assert.deepStrictEqual(all, Array.from({ length: 40 }, (_, index) => index < 16))
  })

  it("URIs of 1,024 characters, and no longer ones", () => {
    const [entry] = entriesOf(["app://{a}"])
    const matches = [1_024, 1_025].map((length) => entry?.template?.match("app://".padEnd(length, "x")) !== undefined)
    assert.deepStrictEqual(matches, [true, false])
  })
})

describeForBothEras("a proxied server", ({ connect, serve }) => {
  it.live("reads URIs of a template that its proxy does not match", () =>
    Effect.gen(function*() {
      const uriTemplate = `app://a{?${variables(9)}}`
      const server = ServerSession.layerMemory({
        "resources/list": () => Effect.succeed({ resources: [] }),
        "resources/templates/list": () => Effect.succeed({ resourceTemplates: [{ name: "a", uriTemplate }] }),
        "resources/read": ({ uri }) => Effect.succeed({ contents: [{ uri, text: "read" }] })
      }, { info })
      const client = yield* connect(McpProxy.layer("remote", server, { info }))
      const uri = "app://a?v8=1"
      assert.deepStrictEqual((yield* client.readResource(uri)).contents, [{ uri, text: "read" }])
      const { resourceTemplates } = yield* client.listResourceTemplates()
      assert.deepStrictEqual(resourceTemplates, [{ name: "a", uriTemplate }])
    }).pipe(Effect.scoped))

  it.live("a shared session with a server remembers two of its last clients, however many there were", () =>
    Effect.gen(function*() {
      const asker = Askers.shared()
      const open = yield* serve(
        McpGroup.make("group", Tool.make("use")).toLayer((handlers) =>
          handlers.tool(
            "use",
            () => Effect.flatMap(RequestContext.RequestContext, (request) => asker.during(request, Effect.void))
          )
        )
      )
      for (const id of ["ada", "bob", "eve", "ada"]) yield* (yield* open(id)).callTool("use")
      assert.strictEqual(asker.remembered, 2)
      assert.isUndefined(yield* asker.decide)
    }).pipe(Effect.scoped))
})
