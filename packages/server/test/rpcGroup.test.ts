import { McpError } from "@effect-mcp/protocol"
import type { McpServer } from "@effect-mcp/server"
import * as McpRpcGroup from "@effect-mcp/server/McpRpcGroup"
import { RequestContext } from "@effect-mcp/session"
import { assert, expectTypeOf, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Rpc from "effect/rpc/Rpc"
import * as RpcGroup from "effect/rpc/RpcGroup"
import * as RpcMiddleware from "effect/rpc/RpcMiddleware"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { handshake } from "./support/connect.ts"
import { describeForBothEras } from "./support/eras.ts"

class NoSuchTask extends Schema.TaggedError<NoSuchTask>()("NoSuchTask", { id: Schema.Int }) {
  override get message() {
    return `there is no task ${this.id}`
  }
}

class Unauthorized extends Schema.TaggedError<Unauthorized>()("Unauthorized", {}) {
  override get message() {
    return "sign in first"
  }
}

class User extends Context.Service<User, string>()("User") {}

class Authorization extends RpcMiddleware.Service<Authorization, { provides: User }>()("Authorization", {
  error: Unauthorized
}) {}

class Prefix extends Context.Service<Prefix, string>()("Prefix") {}

const Tasks = RpcGroup.make(
  Rpc.make("complete", {
    payload: { id: Schema.Int, due: Schema.optionalKey(Schema.Date) },
    success: Schema.Struct({ id: Schema.Int, due: Schema.optionalKey(Schema.Date) }),
    error: NoSuchTask
  }),
  Rpc.make("whoami", { success: Schema.String }).middleware(Authorization),
  Rpc.make("ping now").annotate(Tool.Title, "Ping").annotate(Tool.Readonly, true),
  Rpc.make("never"),
  Rpc.make("crash"),
  Rpc.make("text", { payload: Schema.String }),
  Rpc.make("feed", { success: Schema.Int, stream: true })
)

const interrupted = Deferred.makeUnsafe<void>()
const started = Deferred.makeUnsafe<void>()

const handlers = Tasks.toLayer(Effect.gen(function*() {
  const prefix = yield* Prefix
  return Tasks.of({
    complete: ({ due, id }) =>
      id === 0 ? Effect.fail(new NoSuchTask({ id })) : Effect.succeed({ id, ...(due === undefined ? {} : { due }) }),
    whoami: () => Effect.map(User, (id) => `${prefix} ${id}`),
    "ping now": () => Rpc.fork(Effect.void),
    never: () =>
      Deferred.succeed(started, undefined).pipe(
        Effect.andThen(Effect.never),
        Effect.onInterrupt(() => Deferred.succeed(interrupted, undefined))
      ),
    crash: () => Effect.die("secret"),
    text: () => Effect.void,
    feed: () => Stream.make(1, 2)
  })
})).pipe(Layer.provide(Layer.succeed(Prefix, "user")))

const authorization = Layer.succeed(Authorization, (effect, { headers }) => {
  const id = headers["x-user"]
  return id === undefined ? Effect.fail(new Unauthorized()) : Effect.provideService(effect, User, id)
})

const provided = Layer.merge(handlers, authorization)

const text = ({ content: [block] }: { readonly content: ReadonlyArray<{ readonly type: string }> }) =>
  block !== undefined && "text" in block ? block.text : undefined

describeForBothEras("procedures of an RpcGroup", ({ connect, serve }) => {
  const live = Layer.provide(
    McpRpcGroup.layer(Tasks, {
      only: ["complete", "whoami", "ping now", "never", "crash"],
      describe: { complete: "Marks a task as done" },
      headers: Effect.flatMap(RequestContext.RequestContext, ({ principal }) =>
        principal?.id === "eve"
          ? Effect.fail(McpError.invalidRequest("not eve"))
          : Effect.succeed(principal === undefined ? {} : { "x-user": principal.id }))
    }),
    provided
  )

  it("need the handlers and the middleware of the chosen ones", () => {
    const one = McpRpcGroup.layer(Tasks, { only: ["complete"] })
    expectTypeOf<Layer.Services<typeof one>>().toEqualTypeOf<McpServer.McpServer | Rpc.Handler<"complete">>()
    const two = McpRpcGroup.layer(Tasks, { only: ["whoami"] })
    expectTypeOf<Layer.Services<typeof two>>().toEqualTypeOf<
      McpServer.McpServer | Rpc.Handler<"whoami"> | Authorization
    >()
    // A stream is no result of a tool.
    type Only = Parameters<typeof McpRpcGroup.layer<RpcGroup.Rpcs<typeof Tasks>, "complete">>[1]["only"][number]
    expectTypeOf<"feed">().not.toExtend<Only>()
  })

  it.effect("are tools with their schemas, for those that are named", () =>
    Effect.gen(function*() {
      const { tools } = yield* (yield* connect(live)).listTools()
      assert.deepStrictEqual(tools.map(({ name }) => name), ["complete", "crash", "never", "ping_now", "whoami"])
      assert.strictEqual(tools[0]?.description, "Marks a task as done")
      assert.deepStrictEqual(tools[0]?.inputSchema["required"], ["id"])
      assert.isDefined(tools[0]?.outputSchema)
      const ping = tools.find(({ name }) => name === "ping_now")
      assert.deepStrictEqual([ping?.title, ping?.annotations], ["Ping", { readOnlyHint: true }])
      assert.deepStrictEqual(tools[1]?.inputSchema["properties"] ?? {}, {})
    }).pipe(Effect.scoped))

  it.effect("decode arguments and encode results, and declared errors are for the model", () =>
    Effect.gen(function*() {
      const session = yield* connect(live)
      const due = "2026-01-01T00:00:00.000Z"
      assert.deepStrictEqual((yield* session.callTool("complete", { id: 1, due })).structuredContent, { id: 1, due })
      const failed = yield* session.callTool("complete", { id: 0 })
      assert.deepStrictEqual([failed.isError, text(failed)], [true, "there is no task 0"])
      assert.deepStrictEqual(failed._meta, { "effect-mcp/failure": { _tag: "NoSuchTask", id: 0 } })
      const invalid = yield* session.callTool("complete", { id: "x" })
      assert.include(text(invalid), "Invalid arguments for the tool \"complete\"")
      assert.deepStrictEqual((yield* session.callTool("ping_now")).content, [])
    }).pipe(Effect.scoped))

  it.effect("run their middleware with the headers of the option, for each caller", () =>
    Effect.gen(function*() {
      const as = yield* serve(live)
      const [ada, bob, anonymous, eve] = [yield* as("ada"), yield* as("bob"), yield* as(), yield* as("eve")]
      assert.strictEqual(text(yield* ada.callTool("whoami")), "user ada")
      assert.strictEqual(text(yield* bob.callTool("whoami")), "user bob")
      const rejected = yield* anonymous.callTool("whoami")
      assert.deepStrictEqual([rejected.isError, text(rejected)], [true, "sign in first"])
      const { reason } = yield* Effect.flip(eve.callTool("whoami"))
      assert(reason._tag === "ErrorResponse")
      assert.strictEqual(reason.error.message, "not eve")
    }).pipe(Effect.scoped))

  it.effect("are interrupted by a cancellation, and a defect says nothing", () =>
    Effect.gen(function*() {
      const session = yield* connect(live)
      const call = yield* Effect.forkChild(session.callTool("never"))
      yield* Deferred.await(started)
      yield* Fiber.interrupt(call)
      yield* Deferred.await(interrupted)
      const { reason } = yield* Effect.flip(session.callTool("crash"))
      assert(reason._tag === "ErrorResponse")
      assert.deepStrictEqual([reason.error.code, reason.error.message], [-32603, "Internal error"])
    }).pipe(Effect.scoped, Effect.provide(Logger.layer([]))))

  it.effect("have one client for each session, whose annotations no other session gets", () =>
    Effect.gen(function*() {
      const One = RpcGroup.make(Rpc.make("who", { success: Schema.String }))
      const who = One.toLayer({
        who: (_payload, { client, headers }) =>
          Effect.sync(() => {
            const known = Context.getOption(client.annotations, User)
            if (Option.isSome(known)) return known.value
            const user = headers["x-user"] ?? "anonymous"
            client.annotate(User, user)
            return `new ${user}`
          })
      })
      const served = McpRpcGroup.layer(One, {
        only: ["who"],
        headers: Effect.map(RequestContext.RequestContext, ({ principal }) => ({ "x-user": principal?.id ?? "" }))
      })
      const hosted = yield* serve(Layer.provide(served, who), handshake)
      const [ada, other, bob] = yield* Effect.all([hosted("ada"), hosted("ada"), hosted("bob")])
      const answers = yield* Effect.forEach([ada, other, bob, ada, bob], (session) =>
        Effect.map(session.callTool("who"), text))
      assert.deepStrictEqual(answers, ["new ada", "new ada", "new bob", "ada", "bob"])
    }).pipe(Effect.scoped))

  it.effect("may succeed with a Deferred of their result", () =>
    Effect.gen(function*() {
      const One = RpcGroup.make(Rpc.make("later", { success: Schema.String }))
      const result = yield* Deferred.make<string>()
      const called = yield* Deferred.make<void>()
      const later = One.toLayer({ later: () => Effect.as(Deferred.succeed(called, undefined), result) })
      const session = yield* connect(Layer.provide(McpRpcGroup.layer(One, { only: ["later"] }), later))
      const call = yield* Effect.forkChild(session.callTool("later"))
      yield* Deferred.await(called)
      yield* Deferred.succeed(result, "done")
      assert.strictEqual(text(yield* Fiber.join(call)), "done")
    }).pipe(Effect.scoped))

  it.effect("that cannot be interrupted run to their end after a cancellation", () =>
    Effect.gen(function*() {
      const One = RpcGroup.make(Rpc.make("save"))
      const began = yield* Deferred.make<void>()
      const go = yield* Deferred.make<void>()
      const outcome = yield* Deferred.make<string>()
      const save = One.toLayer({
        save: () =>
          Rpc.uninterruptible(
            Deferred.succeed(began, undefined).pipe(
              Effect.andThen(Deferred.await(go)),
              Effect.andThen(Deferred.succeed(outcome, "saved")),
              Effect.onInterrupt(() => Deferred.succeed(outcome, "interrupted")),
              Effect.asVoid
            )
          )
      })
      const session = yield* connect(Layer.provide(McpRpcGroup.layer(One, { only: ["save"] }), save), {
        client: handshake
      })
      const call = yield* Effect.forkChild(session.callTool("save"))
      yield* Deferred.await(began)
      yield* Fiber.interrupt(call)
      // The server reads messages in order, so the cancellation has arrived before this reply.
      yield* session.ping()
      yield* Deferred.succeed(go, undefined)
      assert.strictEqual(yield* Deferred.await(outcome), "saved")
    }).pipe(Effect.scoped))

  it.effect("fail with -32603 if the option headers takes more than 30 seconds", () =>
    Effect.gen(function*() {
      const began = yield* Deferred.make<void>()
      const session = yield* connect(Layer.provide(
        McpRpcGroup.layer(Tasks, {
          only: ["ping now"],
          headers: Effect.andThen(Deferred.succeed(began, undefined), Effect.never)
        }),
        provided
      ))
      const call = yield* Effect.forkChild(Effect.flip(session.callTool("ping_now")))
      yield* Deferred.await(began)
      yield* TestClock.adjust("31 seconds")
      const { reason } = yield* Fiber.join(call)
      assert(reason._tag === "ErrorResponse")
      assert.strictEqual(reason.error.code, -32603)
    }).pipe(Effect.scoped, Effect.provide(Logger.layer([]))))

  for (const tag of ["feed", "text", "unknown"]) {
    it.effect(`that cannot be a tool are a defect that names it: ${tag}`, () =>
      Effect.gen(function*() {
        const exit = yield* Effect.exit(connect(Layer.provide(
          // A program in JavaScript can name any procedure.
          McpRpcGroup.layer(Tasks, { only: [tag] as never }),
          provided
        )))
        assert.isTrue(Exit.isFailure(exit))
        if (Exit.isFailure(exit)) assert.include(String(Cause.squash(exit.cause)), `"${tag}"`)
      }).pipe(Effect.scoped))
  }
})
