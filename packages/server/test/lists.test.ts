import { McpError } from "@effect-mcp/protocol"
import { McpGroup, McpMiddleware, McpPrompt, McpResource, McpServer } from "@effect-mcp/server"
import { RequestContext } from "@effect-mcp/session"
import { assert, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { connect } from "./support/connect.ts"
import { describeForBothEras } from "./support/eras.ts"

/** A group with a tool of each name. Each returns its name. */
const tools = (group: string, ...names: ReadonlyArray<string>) =>
  Layer.mergeAll(
    Layer.empty,
    ...names.map((name) =>
      McpGroup.make(group, Tool.make(name, { success: Schema.String })).toLayer((handlers) =>
        handlers.tool(name, () => Effect.succeed(name))
      )
    )
  )

const namesOf = <A extends { readonly name: string }>(all: ReadonlyArray<A>) => all.map(({ name }) => name)

const codeOf = (error: { readonly reason: { readonly _tag: string; readonly error?: unknown } }) =>
  error.reason.error instanceof McpError.McpError ? error.reason.error.code : undefined

describeForBothEras("a list", ({ connect }) => {
  it.effect("is sorted by name, whatever the order of the groups [TOOL-12]", () =>
    Effect.gen(function*() {
      const session = yield* connect(Layer.merge(tools("two", "d", "b"), tools("one", "c", "a")))
      assert.deepStrictEqual(namesOf((yield* session.listTools()).tools), ["a", "b", "c", "d"])
    }).pipe(Effect.scoped))

  it.effect("has pages, whose cursors continue after the last item although the list changes [PAG-05]", () =>
    Effect.gen(function*() {
      const server = Layer.merge(tools("one", "a", "c", "e"), Layer.effectDiscard(Effect.void))
      const scope = yield* Scope.make()
      const added = yield* Deferred.make<void>()
      const adding = Layer.effectDiscard(Effect.forkScoped(
        Effect.andThen(Deferred.await(added), Layer.buildWithScope(tools("two", "b", "d"), scope))
      ))
      const session = yield* connect(Layer.merge(server, adding), { server: { pageSize: 2 } })
      const first = yield* session.listTools()
      assert.deepStrictEqual(namesOf(first.tools), ["a", "c"])
      yield* Deferred.succeed(added, undefined)
      yield* TestClock.adjust("1 second")
      const second = yield* session.listTools({ cursor: first.nextCursor ?? "" })
      assert.deepStrictEqual(namesOf(second.tools), ["d", "e"])
      assert.isUndefined(second.nextCursor)
    }).pipe(Effect.scoped))

  it.effect("rejects a cursor that is none of its own with -32602 [PAG-06]", () =>
    Effect.gen(function*() {
      const live = McpGroup.make(
        "mixed",
        McpPrompt.make("a"),
        McpPrompt.make("b"),
        McpResource.make("x", { uri: "x://x" })
      ).toLayer((handlers) =>
        handlers.prompt("a", () => Effect.succeed("")).prompt("b", () => Effect.succeed("")).resource(
          "x",
          Effect.succeed("")
        )
      )
      const session = yield* connect(live, { server: { pageSize: 1 } })
      const { nextCursor = "" } = yield* session.listPrompts()
      for (const cursor of ["", "a", "%", nextCursor.slice(0, 4)]) {
        assert.strictEqual(codeOf(yield* Effect.flip(session.listPrompts({ cursor }))), -32602)
      }
      assert.strictEqual(codeOf(yield* Effect.flip(session.listResources({ cursor: nextCursor }))), -32602)
      assert.deepStrictEqual(namesOf((yield* session.listPrompts({ cursor: nextCursor })).prompts), ["b"])
    }).pipe(Effect.scoped))
})

describeForBothEras("a server", ({ connect }) => {
  it.effect("declares the capabilities of its members, and no others [TOOL-01] [RES-01] [PRM-01] [CMP-01]", () =>
    Effect.gen(function*() {
      const onlyTools = yield* connect(tools("one", "a"))
      assert.deepStrictEqual(onlyTools.profile.capabilities, { tools: { listChanged: true }, logging: {} })
      const prompts = McpGroup.make("p", McpPrompt.make("p", { arguments: { a: Schema.Literals(["x"]) } }))
      const onlyPrompts = yield* connect(
        prompts.toLayer((handlers) => handlers.prompt("p", () => Effect.succeed(""))),
        {
          server: { logging: false }
        }
      )
      assert.deepStrictEqual(onlyPrompts.profile.capabilities, {
        prompts: { listChanged: true },
        completions: {}
      })
      const resources = McpGroup.make("r", McpResource.make("r", { uri: "r://r" }))
      const onlyResources = yield* connect(resources.toLayer((handlers) => handlers.resource("r", Effect.succeed(""))))
      assert.deepStrictEqual(onlyResources.profile.capabilities, {
        resources: { subscribe: true, listChanged: true },
        logging: {}
      })
      const reserved = yield* connect(tools("one", "a"), { server: { declare: ["prompts"] } })
      assert.deepStrictEqual((yield* reserved.listPrompts()).prompts, [])
    }).pipe(Effect.scoped))

  it.effect("rejects a later member whose capability it has not declared", () =>
    Effect.gen(function*() {
      const failed = yield* Deferred.make<unknown>()
      const start = yield* Deferred.make<void>()
      const prompts = McpGroup.make("late", McpPrompt.make("p")).toLayer((handlers) =>
        handlers.prompt("p", () => Effect.succeed(""))
      )
      const adding = Layer.effectDiscard(Effect.forkScoped(
        Deferred.await(start).pipe(
          Effect.andThen(Layer.build(prompts)),
          Effect.catchCause((cause) => Deferred.succeed(failed, Cause.squash(cause)))
        )
      ))
      yield* connect(Layer.merge(tools("one", "a"), adding))
      yield* Deferred.succeed(start, undefined)
      assert.include(
        String(yield* Deferred.await(failed)),
        "has not declared \"prompts\", which the prompt \"p\" needs; set its option declare: [\"prompts\"]"
      )
    }).pipe(Effect.scoped))

  it.effect("dies if a group has two members of one kind and name, or a middleware without a Layer", () =>
    Effect.gen(function*() {
      class Missing extends McpMiddleware.Service<Missing>()("Missing") {}
      const twice = yield* Effect.exit(connect(tools("one", "a", "a")))
      assert.isTrue(Exit.isFailure(twice) && String(Cause.squash(twice.cause)).includes("two members are a tool \"a\""))
      const live = McpGroup.make("one", Tool.make("a")).middleware(Missing).toLayer((handlers) =>
        handlers.tool("a", () => Effect.void)
      )
      // A program in JavaScript can forget the Layer.
      const exit = yield* Effect.exit(Effect.provideContext(connect(live), Context.empty() as never))
      assert.isTrue(Exit.isFailure(exit) && String(Cause.squash(exit.cause)).includes("\"Missing\" has no Layer"))
    }).pipe(Effect.scoped))

  it.effect("dies if two groups have a member of one kind and name, and names both", () =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(connect(Layer.merge(tools("one", "a"), tools("two", "a"))))
      assert.isTrue(Exit.isFailure(exit))
      if (!Exit.isFailure(exit)) return
      const message = String(Cause.squash(exit.cause))
      for (const part of ["\"one\"", "\"two\"", "tool \"a\""]) assert.include(message, part)
    }).pipe(Effect.scoped))

  it.effect("adds and removes members with the scope of their Layer, and notifies once [TOOL-02]", () =>
    Effect.gen(function*() {
      const changes = yield* Ref.make(0)
      const scope = yield* Scope.make()
      const start = yield* Deferred.make<void>()
      const adding = Layer.effectDiscard(Effect.forkScoped(
        Effect.andThen(Deferred.await(start), Layer.buildWithScope(tools("two", "b", "c"), scope))
      ))
      const session = yield* connect(Layer.merge(tools("one", "a"), adding), {
        client: { handlers: { "notifications/tools/list_changed": () => Ref.update(changes, (count) => count + 1) } }
      })
      yield* Deferred.succeed(start, undefined)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(namesOf((yield* session.listTools()).tools), ["a", "b", "c"])
      assert.strictEqual(yield* Ref.get(changes), 1)
      yield* Scope.close(scope, Exit.void)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(namesOf((yield* session.listTools()).tools), ["a"])
      assert.strictEqual(codeOf(yield* Effect.flip(session.callTool("b"))), -32602)
      assert.strictEqual(yield* Ref.get(changes), 2)
    }).pipe(Effect.scoped))
})

describeForBothEras("visible", ({ connect }) => {
  class User extends Context.Service<User, { readonly id: string }>()("User") {}
  class Auth extends McpMiddleware.Service<Auth, { provides: User }>()("Auth") {}

  const isAda = Effect.map(User, ({ id }) => id === "ada")
  const secret = McpGroup.make(
    "secret",
    Tool.make("open", { success: Schema.String }),
    Tool.make("secret", { success: Schema.String }),
    McpPrompt.make("secret", { arguments: { a: Schema.Literals(["x"]) } }),
    McpResource.make("secret", { uri: "secret://one" }),
    McpResource.template("secrets", { uri: "secret://many/{id}" })
  ).middleware(Auth).toLayer((handlers) =>
    handlers
      .tool("open", () => Effect.succeed("open"))
      .tool("secret", () => Effect.succeed("secret"), { visible: isAda })
      .prompt("secret", () => Effect.succeed("secret"), { visible: isAda })
      .resource("secret", Effect.succeed("secret"), { visible: isAda })
      .template("secrets", () => Effect.succeed("secret"), { visible: isAda })
  )

  const layer = (runs: Ref.Ref<number>) =>
    secret.pipe(Layer.provide(McpMiddleware.layer(
      Auth,
      User,
      Effect.andThen(
        Ref.update(runs, (count) => count + 1),
        Effect.flatMap(RequestContext.RequestContext, ({ principal }) =>
          principal === undefined
            ? Effect.fail(McpError.invalidRequest("Sign in first"))
            : Effect.succeed({ id: principal.id }))
      )
    )))

  const seen = Effect.fnUntraced(function*(principal: string | undefined) {
    const runs = yield* Ref.make(0)
    const session = yield* connect(layer(runs), principal === undefined ? {} : { principal: { id: principal } })
    const listed = [
      namesOf((yield* session.listTools()).tools),
      namesOf((yield* session.listPrompts()).prompts),
      namesOf((yield* session.listResources()).resources),
      namesOf((yield* session.listResourceTemplates()).resourceTemplates)
    ]
    return { session, listed, runs: yield* Ref.get(runs) }
  })

  it.effect("shows a member to the clients that it allows, with one run of the middleware for each list", () =>
    Effect.gen(function*() {
      const { listed, runs, session } = yield* seen("ada")
      assert.deepStrictEqual(listed, [["open", "secret"], ["secret"], ["secret"], ["secrets"]])
      assert.strictEqual(runs, 4)
      assert.deepStrictEqual((yield* session.callTool("secret")).content, [{ type: "text", text: "secret" }])
    }).pipe(Effect.scoped))

  it.effect("makes a member unknown to the others [TOOL-13]", () =>
    Effect.gen(function*() {
      const { listed, session } = yield* seen("bob")
      assert.deepStrictEqual(listed, [["open"], [], [], []])
      const hidden = yield* Effect.all([
        Effect.flip(session.callTool("secret")),
        Effect.flip(session.getPrompt("secret", { a: "x" })),
        Effect.flip(session.readResource("secret://one")),
        Effect.flip(session.readResource("secret://many/1")),
        Effect.flip(session.subscribeResource("secret://one"))
      ])
      const unknown = yield* Effect.all([
        Effect.flip(session.callTool("secrex")),
        Effect.flip(session.getPrompt("secrex", { a: "x" })),
        Effect.flip(session.readResource("secrex://one")),
        Effect.flip(session.readResource("secrex://many/1")),
        Effect.flip(session.subscribeResource("secrex://one"))
      ])
      assert.deepStrictEqual(
        hidden.map((error) => error.message.replaceAll("secret", "secrex")),
        unknown.map(({ message }) => message)
      )
      const ref = { type: "ref/prompt", name: "secret" } as const
      assert.strictEqual(
        codeOf(yield* Effect.flip(session.complete({ ref, argument: { name: "a", value: "" } }))),
        -32602
      )
    }).pipe(Effect.scoped))

  it.effect("lists the members of other groups although a middleware or a template of one hangs", () =>
    Effect.gen(function*() {
      class Hanging extends McpMiddleware.Service<Hanging>()("Hanging") {}
      const hanging = McpGroup.make("hanging", Tool.make("shy")).middleware(Hanging).toLayer((handlers) =>
        handlers.tool("shy", () => Effect.void, { visible: Effect.succeed(true) })
      ).pipe(Layer.provide(Layer.succeed(Hanging, () => Effect.never)))
      const listing = McpGroup.make(
        "listing",
        McpResource.make("a", { uri: "a:a" }),
        McpResource.template("b", { uri: "b:{c}" })
      ).toLayer((handlers) =>
        handlers.resource("a", Effect.succeed("")).template("b", () => Effect.succeed(""), { list: Effect.never })
      )
      const session = yield* connect(Layer.mergeAll(hanging, listing, tools("one", "a")))
      const lists = yield* Effect.forkChild(Effect.all([session.listTools(), session.listResources()]))
      yield* TestClock.adjust("9999 millis")
      assert.isUndefined(lists.pollUnsafe())
      yield* TestClock.adjust("2 millis")
      yield* TestClock.adjust("10 seconds")
      const [listedTools, { resources }] = yield* Fiber.join(lists)
      assert.deepStrictEqual([namesOf(listedTools.tools), namesOf(resources)], [["a"], ["a"]])
    }).pipe(Effect.scoped, Effect.provide(Logger.layer([]))))

  it.effect("hides a member if the middleware rejects the client", () =>
    Effect.gen(function*() {
      const { listed } = yield* seen(undefined)
      assert.deepStrictEqual(listed, [["open"], [], [], []])
    }).pipe(Effect.scoped))

  it.effect("lists the members of other groups although the middleware of one dies or throws", () =>
    Effect.gen(function*() {
      class Broken extends McpMiddleware.Service<Broken>()("Broken") {}
      const Hiding = McpGroup.make("hiding", Tool.make("open"), Tool.make("secret")).middleware(Broken)
      const HidingLive = Hiding.toLayer((handlers) =>
        handlers.tool("open", () => Effect.void).tool("secret", () => Effect.void, { visible: Effect.succeed(true) })
      )
      const dies: McpMiddleware.McpMiddleware<never, never> = () => Effect.die(new Error("broken"))
      const throws: McpMiddleware.McpMiddleware<never, never> = () => {
        throw new Error("broken")
      }
      for (const broken of [dies, throws]) {
        const hiding = Layer.provide(HidingLive, Layer.succeed(Broken, broken))
        const session = yield* connect(Layer.merge(hiding, tools("other", "a")))
        assert.deepStrictEqual(namesOf((yield* session.listTools()).tools), ["a", "open"])
      }
    }).pipe(Effect.scoped))

  it.effect("hides a member if it dies or does not end in time", () =>
    Effect.gen(function*() {
      const live = McpGroup.make("x", Tool.make("a"), Tool.make("b"), Tool.make("c")).toLayer((handlers) =>
        handlers
          .tool("a", () => Effect.void, { visible: Effect.die(new Error("broken")) })
          .tool("b", () => Effect.void, { visible: Effect.uninterruptible(Effect.never) })
          .tool("c", () => Effect.void)
      )
      const session = yield* connect(live)
      const listing = yield* Effect.forkChild(session.listTools())
      yield* TestClock.adjust("6 seconds")
      assert.deepStrictEqual(namesOf((yield* Fiber.join(listing)).tools), ["c"])
    }).pipe(Effect.scoped))
})

it.effect("listChanged notifies the client of one list, and visibilityChanged of each", () =>
  Effect.gen(function*() {
    const heard = yield* Ref.make<ReadonlyArray<string>>([])
    const note = (name: string) => () => Ref.update(heard, (all) => [...all, name])
    const served = yield* Deferred.make<McpServer.McpServer["Service"]>()
    const changing = Layer.effectDiscard(
      Effect.flatMap(McpServer.McpServer, (server) => Deferred.succeed(served, server))
    )
    yield* connect(Layer.merge(tools("one", "a"), changing), {
      server: { declare: ["prompts", "resources"] },
      client: {
        handlers: {
          "notifications/tools/list_changed": note("tools"),
          "notifications/prompts/list_changed": note("prompts"),
          "notifications/resources/list_changed": note("resources")
        }
      }
    })
    const server = yield* Deferred.await(served)
    for (const list of ["resources", "tools", "prompts"] as const) {
      yield* server.listChanged(list)
      yield* TestClock.adjust("1 second")
    }
    assert.deepStrictEqual(yield* Ref.getAndSet(heard, []), ["resources", "tools", "prompts"])
    yield* server.visibilityChanged
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual(yield* Ref.get(heard), ["tools", "prompts", "resources"])
  }).pipe(Effect.scoped))
