import { McpGroup, McpMiddleware, McpMount, type McpServer } from "@effect-mcp/server"
import * as McpToolkit from "@effect-mcp/server/McpToolkit"
import { RequestContext } from "@effect-mcp/session"
import { assert, expectTypeOf, it } from "@effect/vitest"
import * as AiError from "effect/ai/AiError"
import * as AiPrompt from "effect/ai/Prompt"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import { describeForBothEras } from "./support/eras.ts"

class NoSuchCity extends Schema.TaggedError<NoSuchCity>()("NoSuchCity", { city: Schema.String }) {
  override get message() {
    return `there is no city ${this.city}`
  }
}

class Place extends Context.Service<Place, string>()("Place") {}
class Archive extends Context.Service<Archive, string>()("Archive") {}

const Forecast = Tool.make("forecast", {
  description: "Forecasts the weather",
  parameters: Schema.Struct({ city: Schema.String }),
  success: Schema.Struct({ rain: Schema.Finite }),
  failure: NoSuchCity,
  dependencies: [Archive, Place]
})

const Reported = Tool.make("reported", { failure: NoSuchCity, failureMode: "return", success: Schema.String })

const Chart = Tool.make("chart", {
  success: Schema.Struct({ bars: Schema.Array(Schema.Int) }),
  toModelOutput: ({ bars }) => [
    AiPrompt.makePart("text", { text: `${bars.length} bars` }),
    AiPrompt.makePart("file", { mediaType: "image/png", data: Uint8Array.of(1) })
  ]
})

const Erase = Tool.make("erase", {
  parameters: Schema.Struct({ all: Schema.Boolean }),
  success: Schema.String,
  needsApproval: ({ all }) => all
})

const Broken = Tool.make("broken", { success: Schema.String, failureMode: "return" })

const Secret = Tool.make("secret", { success: Schema.String })

const Weather = Toolkit.make(Forecast, Reported, Chart, Erase, Broken, Secret)

const handlers = Weather.toLayer(Effect.gen(function*() {
  const archive = yield* Archive
  return Weather.of({
    forecast: Effect.fnUntraced(function*({ city }, { preliminary }) {
      yield* preliminary({ rain: 0.25 })
      yield* preliminary({ rain: 0.5 })
      if (city === "nowhere") return yield* new NoSuchCity({ city })
      assert.deepStrictEqual([yield* Archive, archive, yield* Place], ["of the toolkit", "of the toolkit", "here"])
      return { rain: 0.75 }
    }),
    reported: () => Effect.fail(new NoSuchCity({ city: "Atlantis" })),
    chart: () => Effect.succeed({ bars: [1, 2] }),
    erase: ({ all }) => Effect.succeed(all ? "erased all" : "erased one"),
    broken: () => Effect.fail(new AiError.InvalidUserInputError({ description: "the model is unknown" })),
    secret: () => Effect.fail(new AiError.InvalidUserInputError({ description: "the password is 1234" }))
  })
})).pipe(Layer.provide(Layer.succeed(Archive, "of the toolkit")))

const live = McpToolkit.layer(Weather).pipe(
  Layer.provide(Layer.mergeAll(handlers, Layer.succeed(Archive, "of the group"), Layer.succeed(Place, "here")))
)

describeForBothEras("a toolkit with its handlers", ({ connect }) => {
  it.effect("returns structured content, and its interim results are steps of progress", () =>
    Effect.gen(function*() {
      const session = yield* connect(live)
      const steps = yield* Ref.make<ReadonlyArray<unknown>>([])
      const result = yield* session.callTool("forecast", { city: "Rome" }, {
        onProgress: ({ message, progress }) => Ref.update(steps, (all) => [...all, [progress, message]])
      })
      assert.deepStrictEqual(result.structuredContent, { rain: 0.75 })
      assert.deepStrictEqual(yield* Ref.get(steps), [[1, "{\"rain\":0.25}"], [2, "{\"rain\":0.5}"]])
    }).pipe(Effect.scoped))

  it.effect("fails with its declared failures in both modes, and with the text of an error of effect/ai", () =>
    Effect.gen(function*() {
      const session = yield* connect(live)
      const failures = yield* Effect.all([
        session.callTool("forecast", { city: "nowhere" }),
        session.callTool("reported"),
        session.callTool("broken")
      ])
      assert.deepStrictEqual(failures.map(({ isError }) => isError), [true, true, true])
      assert.deepStrictEqual(failures.map(({ content: [block] }) => block?.type === "text" && block.text), [
        "there is no city nowhere",
        "there is no city Atlantis",
        "Invalid user input: the model is unknown"
      ])
      // The text of an undeclared failure stays here.
      const { reason } = yield* Effect.flip(session.callTool("secret"))
      assert(reason._tag === "ErrorResponse")
      assert.deepStrictEqual([reason.error.code, reason.error.message], [-32603, "Internal error"])
      assert.deepStrictEqual(failures[0]._meta, { "effect-mcp/failure": { _tag: "NoSuchCity", city: "nowhere" } })
    }).pipe(Effect.scoped))

  it.effect("has the content of toModelOutput beside its structured content", () =>
    Effect.gen(function*() {
      const session = yield* connect(live)
      const { content, structuredContent } = yield* session.callTool("chart")
      assert.deepStrictEqual(structuredContent, { bars: [1, 2] })
      assert.deepStrictEqual(content.map(({ type }) => type), ["text", "image"])
    }).pipe(Effect.scoped))

  it.effect("asks the user before a call that needs approval, and only then", () =>
    Effect.gen(function*() {
      const asked = yield* Ref.make<ReadonlyArray<string>>([])
      const answers = (action: "accept" | "decline") =>
        connect(live, {
          client: {
            handlers: {
              "elicitation/create": ({ message }) =>
                Effect.as(Ref.update(asked, (all) => [...all, message]), { action } as const)
            }
          }
        })
      const text = ({ content: [block] }: { readonly content: ReadonlyArray<{ readonly type: string }> }) =>
        block !== undefined && "text" in block ? block.text : undefined
      const [accepting, declining, mute] = [yield* answers("accept"), yield* answers("decline"), yield* connect(live)]
      assert.strictEqual(text(yield* accepting.callTool("erase", { all: false })), "erased one")
      assert.deepStrictEqual(yield* Ref.get(asked), [])
      assert.strictEqual(text(yield* accepting.callTool("erase", { all: true })), "erased all")
      assert.deepStrictEqual(yield* Ref.get(asked), ["Allow the tool \"erase\" to run with {\"all\":true}?"])
      assert.include(text(yield* declining.callTool("erase", { all: true })), "did not approve")
      assert.include(text(yield* mute.callTool("erase", { all: true })), "could not be asked")
    }).pipe(Effect.scoped))
})

describeForBothEras("the tools of a group, with the handlers of a toolkit", ({ connect, serve }) => {
  class User extends Context.Service<User, string>()("User") {}
  class Users extends McpMiddleware.Service<Users, { provides: User }>()("Users") {}

  const Whoami = Toolkit.make(Tool.make("whoami", { success: Schema.String, dependencies: [User] }))
  const Group = McpGroup.make("whoami", Whoami).middleware(Users)
  const whoamiLive = McpToolkit.layer(Group, {
    visible: { whoami: Effect.map(User, (id) => id !== "eve") }
  })
  const users = McpMiddleware.layer(
    Users,
    User,
    Effect.map(RequestContext.RequestContext, ({ principal }) => principal?.id ?? "anonymous")
  )

  it("need the handlers, the middleware, and not its service", () => {
    expectTypeOf<Layer.Services<typeof whoamiLive>>().toEqualTypeOf<
      McpServer.McpServer | Users | Tool.Handler<"whoami">
    >()
    const bare = McpToolkit.layer(Whoami)
    expectTypeOf<Layer.Services<typeof bare>>().toEqualTypeOf<McpServer.McpServer | User | Tool.Handler<"whoami">>()
  })

  it.effect("have the service of each request's middleware", () =>
    Effect.gen(function*() {
      const as = yield* serve(whoamiLive.pipe(
        Layer.provide(Whoami.toLayer({ whoami: () => Effect.map(User, (id) => `you are ${id}`) })),
        Layer.provide(users)
      ))
      for (const id of ["ada", "bob"]) {
        const { content: [block] } = yield* (yield* as(id)).callTool("whoami")
        assert.deepStrictEqual(block, { type: "text", text: `you are ${id}` })
      }
      assert.deepStrictEqual((yield* (yield* as("eve")).listTools()).tools, [])
    }).pipe(Effect.scoped))

  it.effect("of two toolkits with one name are each their own, under two prefixes", () =>
    Effect.gen(function*() {
      const One = Toolkit.make(Tool.make("same", { success: Schema.String }))
      const Two = Toolkit.make(Tool.make("same", { success: Schema.String }))
      const one = McpToolkit.layer(One).pipe(Layer.provide(One.toLayer({ same: () => Effect.succeed("one") })))
      const two = McpToolkit.layer(Two).pipe(Layer.provide(Two.toLayer({ same: () => Effect.succeed("two") })))
      const clash = yield* Effect.exit(connect(Layer.merge(one, two)))
      assert.isTrue(Exit.isFailure(clash) && String(Cause.squash(clash.cause)).includes("tool \"same\""))
      const session = yield* connect(Layer.merge(McpMount.prefixed("one", one), McpMount.prefixed("two", two)))
      const results = yield* Effect.forEach(["one_same", "two_same"], (name) => session.callTool(name))
      assert.deepStrictEqual(results.map(({ content: [block] }) => block?.type === "text" && block.text), [
        "one",
        "two"
      ])
    }).pipe(Effect.scoped))

  it.effect("that a provider of models defines are a defect that names the tool", () =>
    Effect.gen(function*() {
      const search = Tool.providerDefined({
        id: "acme.search",
        customName: "search",
        providerName: "web_search",
        args: Schema.Struct({}),
        requiresHandler: false
      })
      const exit = yield* Effect.exit(connect(McpToolkit.layer(Toolkit.make(search({})))))
      assert.isTrue(
        Exit.isFailure(exit) && String(Cause.squash(exit.cause)).includes("tool \"search\" is defined by a")
      )
    }).pipe(Effect.scoped))
})
