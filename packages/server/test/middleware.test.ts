import { McpError } from "@effect-mcp/protocol"
import {
  McpAuditLog,
  McpConcurrencyLimit,
  McpGroup,
  McpMiddleware,
  McpMount,
  McpPrompt,
  McpResource,
  McpResponseCache,
  McpTiming
} from "@effect-mcp/server"
import * as McpRateLimit from "@effect-mcp/server/McpRateLimit"
import type { ClientSession, RequestError } from "@effect-mcp/session"
import { assert, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import * as RateLimiter from "effect/persistence/RateLimiter"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { ToolQueues } from "../src/internal/middleware/ToolQueues.ts"
import { handshake } from "./support/connect.ts"
import { describeForBothEras } from "./support/eras.ts"

class Around extends McpMiddleware.Service<Around>()("Around") {}

/** Members of every kind. The tool `work` runs the effect, the tool `other` returns at once. */
const group = (work: Effect.Effect<string, string | McpError.McpError>) =>
  McpGroup.make(
    "work",
    Tool.make("work", {
      parameters: Schema.Struct({ a: Schema.optionalKey(Schema.Int), b: Schema.optionalKey(Schema.Int) }),
      success: Schema.String,
      failure: Schema.String
    }),
    Tool.make("other"),
    Tool.make("hidden"),
    McpPrompt.make("prompt", { arguments: { style: Schema.Literals(["haiku"]) } }),
    McpResource.make("one", { uri: "app://one" })
  ).middleware(Around).toLayer((handlers) =>
    handlers
      .tool("work", () => work)
      .tool("other", () => Effect.void)
      .tool("hidden", () => Effect.void, { visible: Effect.succeed(false) })
      .prompt("prompt", () => Effect.succeed("text"))
      .resource("one", Effect.succeed("one"))
  )

const groups = (work: Effect.Effect<string, string | McpError.McpError>, around: Layer.Layer<Around>) =>
  Layer.provide(group(work), around)

type Session = ClientSession.ClientSessionShape

const work = (session: Session, input: { readonly [name: string]: number } = {}) =>
  Effect.map(session.callTool("work", input), ({ content: [block] }) => block?.type === "text" ? block.text : undefined)

/** Counts only what this test does: the other era has the same names. */
const withoutOtherMetrics = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.provideService(effect, Metric.MetricRegistry, new Map())

const errorOf = <A>(request: Effect.Effect<A, RequestError.RequestError>) =>
  Effect.map(Effect.flip(request), ({ reason }) => {
    assert(reason._tag === "ErrorResponse")
    return reason.error
  })

const silent = Effect.provide(Logger.layer([]))

/** Runs an effect with a wall clock that jumps. */
const withWallClock = <A, E, R>(
  run: (jump: (millis: number) => void, adjust: (millis: number) => Effect.Effect<void>) => Effect.Effect<A, E, R>
) =>
  Effect.flatMap(Clock.Clock, (clock) => {
    let offset = 0
    const millis = () => clock.currentTimeMillisUnsafe() + offset
    const nanos = () => clock.currentTimeNanosUnsafe() + BigInt(offset) * 1_000_000n
    const jump = (by: number) => {
      offset += by
    }
    const adjust = (by: number) => Effect.provideService(TestClock.adjust(by), Clock.Clock, clock)
    return Effect.provideService(run(jump, adjust), Clock.Clock, {
      currentTimeMillisUnsafe: millis,
      currentTimeMillis: Effect.sync(millis),
      currentTimeNanosUnsafe: nanos,
      currentTimeNanos: Effect.sync(nanos),
      monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
      monotonicTimeNanos: clock.monotonicTimeNanos,
      sleep: (duration) => clock.sleep(duration)
    })
  })

/** Returns an effect that counts its runs, and returns their number as text. */
const counting = Effect.map(Ref.make(0), (runs) => ({
  runs,
  work: Effect.map(Ref.updateAndGet(runs, (count) => count + 1), String)
}))

describeForBothEras("the rate limit", ({ serve }) => {
  const limited = (options: McpRateLimit.Options) =>
    serve(groups(Effect.succeed("done"), McpRateLimit.layer(Around, options)), handshake)

  it.effect("[TOOL-13] counts the sessions of one principal together, and other principals apart", () =>
    Effect.gen(function*() {
      const as = yield* limited({ limit: 3, window: "30 seconds" })
      const [ada, again, bob] = [yield* as("ada"), yield* as("ada"), yield* as("bob")]
      for (const session of [ada, again, ada]) assert.strictEqual(yield* work(session), "done")
      const error = yield* errorOf(work(again))
      assert.deepStrictEqual(
        [error.code, error.message, error.data],
        [-31010, "more than 3 uses in 30000 ms; try again in 10000 ms", { retryAfterMillis: 10_000 }]
      )
      assert.strictEqual(yield* work(bob), "done")
      yield* TestClock.adjust("9999 millis")
      yield* errorOf(work(ada))
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(yield* work(ada), "done")
      yield* errorOf(work(ada))
    }).pipe(Effect.scoped))

  it.effect("neither takes uses from a caller nor gives it more when the wall clock jumps", () =>
    withWallClock((jump, adjust) =>
      Effect.gen(function*() {
        const ada = yield* (yield* limited({ limit: 2, window: "30 seconds" }))("ada")
        assert.strictEqual(yield* work(ada), "done")
        jump(-7_200_000)
        assert.strictEqual(yield* work(ada), "done")
        jump(86_400_000)
        yield* errorOf(work(ada))
        yield* adjust(15_000)
        assert.strictEqual(yield* work(ada), "done")
        yield* errorOf(work(ada))
      }).pipe(Effect.scoped)
    ))

  it.effect("[CMP-04] counts sessions without a principal apart, and completions apart from calls", () =>
    Effect.gen(function*() {
      const as = yield* limited({ limit: 1, window: "30 seconds" })
      const [one, two] = [yield* as(), yield* as()]
      const complete = (session: Session) =>
        session.complete({ ref: { type: "ref/prompt", name: "prompt" }, argument: { name: "style", value: "" } })
      yield* work(one)
      yield* errorOf(work(one))
      yield* complete(one)
      assert.strictEqual((yield* errorOf(complete(one))).code, -31010)
      yield* work(two)
      yield* complete(two)
      // Lists cost nothing.
      for (let list = 0; list < 3; list++) yield* one.listTools()
    }).pipe(Effect.scoped))

  it.effect("keeps the allowances of the last callers only", () =>
    Effect.gen(function*() {
      const as = yield* limited({ limit: 1, window: "1 hour", maxCallers: 2 })
      const [a, b, c] = [yield* as("a"), yield* as("b"), yield* as("c")]
      for (const session of [a, b]) yield* work(session)
      yield* errorOf(work(a))
      yield* work(c)
      // The caller that used it least recently has been forgotten.
      yield* errorOf(work(a))
      yield* errorOf(work(c))
      yield* work(b)
    }).pipe(Effect.scoped))

  it.effect("rejects a limit that allows nothing, and a cost that no window allows", () =>
    Effect.gen(function*() {
      for (const limit of [0, Number.NaN, -1]) {
        assert.isTrue(Exit.isFailure(yield* Effect.exit(Effect.suspend(() => limited({ limit, window: "1 second" })))))
      }
      for (const cost of [3, Number.NaN]) {
        const ada = yield* (yield* limited({ limit: 2, window: "1 second", cost: () => cost }))("ada")
        assert.strictEqual((yield* errorOf(work(ada))).code, -32603)
      }
    }).pipe(Effect.scoped, silent))

  it.effect("is shared by servers with the same limiter", () =>
    Effect.gen(function*() {
      const servers = yield* Effect.all([
        limited({ limit: 1, window: "1 hour" }),
        limited({ limit: 1, window: "1 hour" })
      ])
      const [one, two] = [yield* servers[0]("ada"), yield* servers[1]("ada")]
      yield* work(one)
      const { data } = yield* errorOf(work(two))
      assert.deepStrictEqual(data, { retryAfterMillis: 3_600_000 })
    }).pipe(
      Effect.scoped,
      Effect.provide(Layer.provide(RateLimiter.layer, RateLimiter.layerStoreMemory))
    ))

  for (const [name, consume] of [["hangs", Effect.never], ["dies", Effect.die("down")]] as const) {
    const store = Layer.succeed(RateLimiter.RateLimiter, {
      [RateLimiter.TypeId]: RateLimiter.TypeId,
      consume: () => consume,
      adaptiveConsume: () => Effect.never,
      adaptiveFeedback: () => Effect.never
    })

    it.effect(`rejects requests while its store ${name}, and serves them by an option`, () =>
      Effect.gen(function*() {
        const strict = yield* (yield* limited({ limit: 1, window: "1 hour" }))("ada")
        const call = yield* Effect.forkChild(errorOf(work(strict)))
        yield* TestClock.adjust("1 second")
        assert.strictEqual((yield* Fiber.join(call)).message, "the rate limit cannot be checked now; try again later")
        const lenient = yield* (yield* limited({ limit: 1, window: "1 hour", onStoreFailure: "serve" }))("ada")
        const served = yield* Effect.forkChild(work(lenient))
        yield* TestClock.adjust("1 second")
        assert.strictEqual(yield* Fiber.join(served), "done")
      }).pipe(Effect.scoped, Effect.provide(store), silent))
  }
})

describeForBothEras("the response cache", ({ isModern, serve }) => {
  const cached = Effect.fnUntraced(function*(options: McpResponseCache.Options, client = {}) {
    const counter = yield* counting
    const as = yield* serve(groups(counter.work, McpResponseCache.layer(Around, options)), client)
    return { as, runs: Ref.get(counter.runs) }
  })

  it.effect("keeps a result for its time, for each principal, its claims and the arguments", () =>
    Effect.gen(function*() {
      const { as } = yield* cached({ timeToLive: { work: "10 seconds" } })
      const [ada, again, admin, bob] = [
        yield* as("ada"),
        yield* as("ada"),
        yield* as("ada", { admin: true }),
        yield* as("bob")
      ]
      assert.deepStrictEqual(
        [yield* work(ada, { a: 1, b: 2 }), yield* work(again, { b: 2, a: 1 }), yield* work(ada, { a: 2 })],
        ["1", "1", "2"]
      )
      assert.deepStrictEqual([yield* work(bob, { a: 1, b: 2 }), yield* work(admin, { a: 1, b: 2 })], ["3", "4"])
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(yield* work(ada, { a: 1, b: 2 }), "5")
    }).pipe(Effect.scoped))

  it.effect("keeps the results of each anonymous session apart", () =>
    Effect.gen(function*() {
      const { as } = yield* cached({ timeToLive: { work: "10 seconds" } }, handshake)
      const [one, two] = [yield* as(), yield* as()]
      assert.deepStrictEqual([yield* work(one), yield* work(two), yield* work(one)], ["1", "2", "1"])
    }).pipe(Effect.scoped))

  it.effect("distinguishes claims of every kind, and keeps nothing for claims that it cannot compare", () =>
    Effect.gen(function*() {
      class Role {
        readonly #name: string
        constructor(name: string) {
          this.#name = name
        }
        get name() {
          return this.#name
        }
      }
      const { as } = yield* cached({ timeToLive: { work: "1 hour" } })
      const different: ReadonlyArray<unknown> = [
        { a: 1 },
        new Map([["a", 1]]),
        new Map([["a", 2]]),
        new Map<unknown, unknown>([["a", new Map([["b", 1]])]]),
        new Set(["a", "b"]),
        new Set(["a,b"]),
        ["a", "b"],
        new Date(0),
        new Date(1),
        "1970-01-01T00:00:00.000Z",
        1n,
        1,
        "1",
        "1n",
        -0,
        0,
        Number.NaN,
        null,
        undefined,
        {},
        { a: undefined }
      ]
      const sessions = yield* Effect.forEach(different, (claim) => as("ada", { claim }))
      const first = yield* Effect.forEach(sessions, (session) => work(session))
      assert.strictEqual(new Set(first).size, different.length)
      assert.deepStrictEqual(yield* Effect.forEach(sessions, (session) => work(session)), first)
      const same = yield* as("ada", { claim: new Set(["b", "a"]) })
      assert.strictEqual(yield* work(same), first[4])
      const logged: Array<unknown> = []
      const { as: strict } = yield* cached({ timeToLive: { work: "1 hour" } })
      class Roles extends Map<string, number> {}
      const unsuitable = [new Role("admin"), new Role("user"), new Roles(), () => 1, Symbol("a"), { [Symbol("a")]: 1 }]
      const runs = yield* Effect.forEach(
        unsuitable,
        (claim) => Effect.flatMap(strict("ada", { claim }), (session) => work(session))
      )
      assert.deepStrictEqual(runs, ["1", "2", "3", "4", "5", "6"])
      const { as: logging } = yield* Effect.provide(
        cached({ timeToLive: { work: "1 hour" } }),
        Logger.layer([Logger.make(({ message }) => void logged.push(message))])
      )
      const session = yield* logging("ada", { role: new Role("admin") })
      assert.deepStrictEqual([yield* work(session), yield* work(session)], ["1", "2"])
      assert.strictEqual(logged.length, 1)
      assert.include(String(logged[0]), "a value that is no JSON, Map, Set, Date or bigint")
    }).pipe(Effect.scoped, silent))

  it.effect("keeps nothing without a time, and no failures", () =>
    Effect.gen(function*() {
      const failing = yield* counting
      const as = yield* serve(groups(
        Effect.flatMap(failing.work, (run) => Effect.fail(run)),
        McpResponseCache.layer(Around, { timeToLive: ({ name }) => name === "work" ? "1 minute" : undefined })
      ))
      const ada = yield* as("ada")
      assert.deepStrictEqual([yield* work(ada), yield* work(ada)], ["1", "2"])
      const { as: others } = yield* cached({ timeToLive: { other: "1 minute" } })
      const bob = yield* others("bob")
      assert.deepStrictEqual([yield* work(bob), yield* work(bob)], ["1", "2"])
    }).pipe(Effect.scoped))

  it.effect("keeps a result for its time, whatever the wall clock does", () =>
    withWallClock((jump, adjust) =>
      Effect.gen(function*() {
        const { as } = yield* cached({ timeToLive: { work: "10 seconds" } })
        const ada = yield* as("ada")
        assert.strictEqual(yield* work(ada), "1")
        jump(-86_400_000)
        yield* adjust(10_000)
        assert.strictEqual(yield* work(ada), "2")
        jump(86_400_000)
        assert.strictEqual(yield* work(ada), "2")
      }).pipe(Effect.scoped)
    ))

  it.effect("counts the memory of arguments, which may be many times their text", () =>
    Effect.gen(function*() {
      const { as } = yield* cached({ timeToLive: { work: "1 hour" }, maxBytes: 1_000_000 })
      const ada = yield* as("ada")
      // As text and key they have 200 KB, and as arrays more than a million bytes.
      const many = { unknown: Array.from({ length: 30_000 }, () => []) }
      const run = Effect.map(ada.callTool("work", many), ({ content: [block] }) => block)
      const first = yield* run
      assert.notDeepEqual(yield* run, first)
    }).pipe(Effect.scoped))

  it.effect("is bounded in results and in bytes, and drops the least recently used", () =>
    Effect.gen(function*() {
      const { as } = yield* cached({ timeToLive: { work: "1 hour" }, maxEntries: 2 })
      const ada = yield* as("ada")
      for (const a of [1, 2, 1, 3]) yield* work(ada, { a })
      assert.deepStrictEqual([yield* work(ada, { a: 1 }), yield* work(ada, { a: 2 })], ["1", "4"])
      const { as: tiny } = yield* cached({ timeToLive: { work: "1 hour" }, maxBytes: 1_100 })
      const [bob, long] = [yield* tiny("bob"), yield* tiny("b".repeat(200))]
      assert.deepStrictEqual([yield* work(bob), yield* work(long), yield* work(long)], ["1", "2", "3"])
      // What is too large leaves the others.
      assert.strictEqual(yield* work(bob), "1")
      // The text of this result and its key fit. The memory of the result and the bytes beside the text do not.
      const { as: tinier } = yield* cached({ timeToLive: { work: "1 hour" }, maxBytes: 800 })
      const eve = yield* tinier("eve")
      assert.deepStrictEqual([yield* work(eve), yield* work(eve)], ["1", "2"])
    }).pipe(Effect.scoped))

  it.effect("drops results that the program invalidates", () =>
    Effect.gen(function*() {
      const counter = yield* counting
      let invalidate: Effect.Effect<void> = Effect.void
      const around = Layer.tap(
        McpResponseCache.layer(Around, { timeToLive: { work: "1 hour" } }),
        (context) =>
          Effect.sync(() => {
            invalidate = Effect.provideContext(
              McpResponseCache.invalidate(Around, ({ name }) => name === "work"),
              context
            )
          })
      )
      const ada = yield* (yield* serve(groups(counter.work, around)))("ada")
      assert.deepStrictEqual([yield* work(ada), yield* work(ada)], ["1", "1"])
      yield* invalidate
      assert.strictEqual(yield* work(ada), "2")
    }).pipe(Effect.scoped))

  it.effect("does not keep the result of a request that ran while it was invalidated", () =>
    Effect.gen(function*() {
      const counter = yield* counting
      const around = McpResponseCache.layer(Around, { timeToLive: { work: "1 hour" } })
      const context = yield* Layer.build(around)
      const slow = Effect.tap(counter.work, () => Effect.sleep("1 second"))
      const ada = yield* (yield* serve(groups(slow, Layer.succeedContext(context))))("ada")
      const call = () => Effect.forkChild(work(ada))
      const stale = yield* call()
      yield* TestClock.adjust("500 millis")
      yield* Effect.provideContext(McpResponseCache.invalidate(Around), context)
      yield* TestClock.adjust("500 millis")
      assert.strictEqual(yield* Fiber.join(stale), "1")
      const fresh = yield* call()
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([yield* Fiber.join(fresh), yield* work(ada)], ["2", "2"])
    }).pipe(Effect.scoped))

  it.effect("[CCH-10] returns a kept result only while the client sees the member, with inner middleware", () =>
    Effect.gen(function*() {
      class Signed extends Context.Service<Signed, { readonly isIn: boolean }>()("Signed") {}
      class Inner extends McpMiddleware.Service<Inner, { provides: Signed }>()("Inner") {}
      const isIn = yield* Ref.make(true)
      const { runs, work: run } = yield* counting
      const visible = Effect.map(Signed, (signed) => signed.isIn)
      const conditional = McpGroup.make(
        "work",
        Tool.make("work", { success: Schema.String }),
        McpPrompt.make("prompt"),
        McpResource.make("one", { uri: "app://one" }),
        McpResource.template("many", { uri: "app://many/{id}" })
      ).middleware(Inner).middleware(Around).toLayer((handlers) =>
        handlers
          .tool("work", () => run, { visible })
          .prompt("prompt", () => run, { visible })
          .resource("one", run, { visible })
          .template("many", () => run, { visible })
      )
      const time = "1 hour"
      const ada = yield* (yield* serve(conditional.pipe(
        Layer.provide(McpMiddleware.layer(Inner, Signed, Effect.map(Ref.get(isIn), (isIn) => ({ isIn })))),
        Layer.provide(McpResponseCache.layer(Around, { timeToLive: () => time }))
      )))("ada")
      const uses: ReadonlyArray<Effect.Effect<unknown, RequestError.RequestError>> = [
        work(ada),
        ada.getPrompt("prompt"),
        ada.readResource("app://one"),
        ada.readResource("app://many/7")
      ]
      const first = yield* Effect.all(uses)
      assert.deepStrictEqual(yield* Effect.all(uses), first)
      yield* Ref.set(isIn, false)
      const codes = yield* Effect.forEach(uses, (use) => Effect.map(errorOf(use), ({ code }) => code))
      const unknownResource = isModern ? -32602 : -32002
      assert.deepStrictEqual(codes, [-32602, -32602, unknownResource, unknownResource])
      yield* Ref.set(isIn, true)
      assert.deepStrictEqual(yield* Effect.all(uses), first)
      assert.strictEqual(yield* Ref.get(runs), 4)
    }).pipe(Effect.scoped))

  it.effect("keeps the results of two groups apart whose members have the same name", () =>
    Effect.gen(function*() {
      const context = yield* Layer.build(McpResponseCache.layer(Around, { timeToLive: { name: "1 hour" } }))
      const mounted = (id: string) =>
        McpMount.prefixed(
          id,
          McpGroup.make(id, Tool.make("name", { success: Schema.String })).middleware(Around)
            .toLayer((handlers) => handlers.tool("name", () => Effect.succeed(id)))
            .pipe(Layer.provide(Layer.succeedContext(context)))
        )
      const ada = yield* (yield* serve(Layer.mergeAll(mounted("home"), mounted("office"))))("ada")
      for (const id of ["home", "office"]) {
        const { content: [block] } = yield* ada.callTool(`${id}_name`)
        assert.strictEqual(block?.type === "text" ? block.text : undefined, id)
      }
    }).pipe(Effect.scoped))
})

describeForBothEras("the concurrency limit", ({ serve }) => {
  const limited = Effect.fnUntraced(function*(options: McpConcurrencyLimit.Options) {
    const running = yield* Ref.make({ now: 0, most: 0 })
    const step = (by: number) =>
      Ref.update(running, ({ most, now }) => ({ now: now + by, most: Math.max(most, now + by) }))
    const working = Effect.acquireUseRelease(step(1), () => Effect.as(Effect.sleep("1 second"), "done"), () => step(-1))
    const as = yield* serve(groups(working, McpConcurrencyLimit.layer(Around, options)))
    return { session: yield* as("ada"), running: Ref.get(running) }
  })

  it.effect("lets calls wait for their turn, and other tools run", () =>
    Effect.gen(function*() {
      const { running, session } = yield* limited({ max: 2 })
      const calls = yield* Effect.forkChild(
        Effect.forEach([1, 2, 3, 4, 5], () => work(session), { concurrency: "unbounded" })
      )
      yield* TestClock.adjust("500 millis")
      yield* session.callTool("other")
      yield* TestClock.adjust("1499 millis")
      assert.deepStrictEqual(yield* running, { now: 2, most: 2 })
      assert.isUndefined(calls.pollUnsafe())
      yield* TestClock.adjust("1001 millis")
      assert.deepStrictEqual(yield* Fiber.join(calls), ["done", "done", "done", "done", "done"])
      assert.deepStrictEqual(yield* running, { now: 0, most: 2 })
    }).pipe(Effect.scoped))

  it.effect("rejects a call for which there is no room, or whose time has passed", () =>
    Effect.gen(function*() {
      const { running, session } = yield* limited({ max: 1, maxWaiting: 1, waitTimeout: "300 millis" })
      const first = yield* Effect.forkChild(work(session))
      yield* TestClock.adjust(1)
      const second = yield* Effect.forkChild(errorOf(work(session)))
      yield* TestClock.adjust(1)
      const third = yield* errorOf(work(session))
      assert.deepStrictEqual(
        [third.code, third.message],
        [-31010, "the tool \"work\" is busy: 1 calls run, and 1 wait; try again later"]
      )
      yield* TestClock.adjust("300 millis")
      assert.strictEqual(
        (yield* Fiber.join(second)).message,
        "the tool \"work\" is busy: the call waited for 300 ms; try again later"
      )
      yield* TestClock.adjust("700 millis")
      assert.strictEqual(yield* Fiber.join(first), "done")
      const next = yield* Effect.forkChild(work(session))
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* Fiber.join(next), "done")
      assert.deepStrictEqual(yield* running, { now: 0, most: 1 })
    }).pipe(Effect.scoped))

  it.effect("keeps nothing of a tool after its last call, however the calls end", () =>
    Effect.gen(function*() {
      const queues = new ToolQueues({ max: 1, maxWaiting: 2, waitMillis: 300 })
      const call = (key: string, effect: Effect.Effect<void, McpError.McpError>) =>
        Effect.forkChild(Effect.exit(queues.run(key, key, effect)))
      const slow = Effect.sleep("1 second")
      const calls = [
        yield* call("a", slow),
        yield* call("b", Effect.fail(McpError.invalidRequest("no"))),
        yield* call("c", Effect.die("broken"))
      ]
      yield* TestClock.adjust(1)
      assert.strictEqual(queues.size, 1)
      const cancelled = yield* call("a", slow)
      const late = yield* call("a", slow)
      yield* TestClock.adjust(1)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(queues.run("a", "a", slow))))
      yield* Fiber.interrupt(cancelled)
      yield* TestClock.adjust("300 millis")
      assert.isTrue(Exit.isFailure(yield* Fiber.join(late)))
      yield* TestClock.adjust("600 millis")
      const next = yield* call("a", slow)
      yield* TestClock.adjust("100 millis")
      for (const ended of calls) yield* Fiber.join(ended)
      // The call that waited runs now, so its tool is not forgotten.
      assert.strictEqual(queues.size, 1)
      yield* TestClock.adjust("1 second")
      assert.isTrue(Exit.isSuccess(yield* Fiber.join(next)))
      assert.strictEqual(queues.size, 0)
      const pairs = new ToolQueues({ max: 2, maxWaiting: 0, waitMillis: 300 })
      const both = yield* Effect.forkChild(
        Effect.forEach([slow, Effect.sleep("3 seconds")], (effect) => pairs.run("a", "a", effect), {
          concurrency: "unbounded"
        })
      )
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(pairs.size, 1)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(both)
      assert.strictEqual(pairs.size, 0)
    }))

  it("rejects a limit that lets no call run", () => {
    for (const max of [0, -1, Number.NaN]) assert.throws(() => McpConcurrencyLimit.layer(Around, { max }), "at least 1")
  })

  it.effect("gives the turn of a cancelled call to the next one, whether it waited or ran", () =>
    Effect.gen(function*() {
      const { running, session } = yield* limited({ max: 1 })
      const calls: Array<Fiber.Fiber<string | undefined, RequestError.RequestError>> = []
      for (let call = 0; call < 3; call++) {
        calls.push(yield* Effect.forkChild(work(session)))
        yield* TestClock.adjust(1)
      }
      const [ran, waited, last] = calls
      assert(ran !== undefined && waited !== undefined && last !== undefined)
      yield* Fiber.interrupt(waited)
      yield* TestClock.adjust(1)
      yield* Fiber.interrupt(ran)
      yield* TestClock.adjust("1001 millis")
      assert.strictEqual(yield* Fiber.join(last), "done")
      assert.deepStrictEqual(yield* running, { now: 0, most: 1 })
    }).pipe(Effect.scoped))
})

describeForBothEras("the timing", ({ serve }) => {
  it.effect("measures each use with its outcome, and logs slow ones", () =>
    Effect.gen(function*() {
      const slow: Array<unknown> = []
      const logger = Logger.layer([Logger.make(({ message }) => void slow.push(message))])
      const as = yield* Effect.provide(
        serve(groups(
          Effect.andThen(Effect.sleep("3 seconds"), Effect.fail("no")),
          McpTiming.layer(Around, { slowerThan: "1 second" })
        )),
        logger
      )
      const session = yield* as("ada")
      const call = yield* Effect.forkChild(work(session))
      yield* TestClock.adjust("3 seconds")
      yield* Fiber.join(call)
      yield* session.callTool("other")
      yield* session.readResource("app://one")
      yield* session.listTools()
      const states = yield* Effect.forEach(
        [
          { "mcp.method.name": "tools/call", "mcp.member.name": "work", "mcp.outcome": "failure" },
          { "mcp.method.name": "tools/call", "mcp.member.name": "other", "mcp.outcome": "success" },
          { "mcp.method.name": "resources/read", "mcp.outcome": "success" },
          { "mcp.method.name": "tools/list", "mcp.outcome": "success" }
        ],
        (attributes) => Metric.value(Metric.withAttributes(McpTiming.duration, { "mcp.group": "work", ...attributes }))
      )
      assert.deepStrictEqual(states.map(({ count, sum }) => [count, sum]), [[1, 3], [1, 0], [1, 0], [0, 0]])
      assert.deepStrictEqual(slow.length, 1)
      assert.include(String(slow[0]), "tools/call took 3000 ms")
    }).pipe(Effect.scoped, withoutOtherMetrics))
})

describeForBothEras("the audit log", ({ serve }) => {
  const audited = Effect.fnUntraced(function*(
    options: Partial<McpAuditLog.Options<never>> = {},
    effect: Effect.Effect<string, string | McpError.McpError> = Effect.succeed("done")
  ) {
    const entries: Array<McpAuditLog.Entry> = []
    const as = yield* serve(groups(
      effect,
      McpAuditLog.layer(Around, { record: (entry) => Effect.sync(() => void entries.push(entry)), ...options })
    ))
    return { entries, session: yield* as("ada") }
  })

  it.effect("records who used what with which outcome, and no arguments", () =>
    Effect.gen(function*() {
      const { entries, session } = yield* audited({}, Effect.as(Effect.sleep("2 seconds"), "done"))
      const call = yield* Effect.forkChild(work(session, { a: 1 }))
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(call)
      yield* session.readResource("app://one")
      yield* errorOf(session.callTool("hidden"))
      yield* session.listTools()
      const common = { principal: "ada", client: "test", group: "work" }
      assert.deepStrictEqual(entries, [
        { ...common, time: 0, durationMillis: 2_000, method: "tools/call", name: "work", outcome: "success" },
        { ...common, time: 2_000, durationMillis: 0, method: "resources/read", name: "app://one", outcome: "success" },
        { ...common, time: 2_000, durationMillis: 0, method: "tools/call", name: "hidden", outcome: "hidden" }
      ])
    }).pipe(Effect.scoped))

  it.effect("records failures, errors, defects and cancellations", () =>
    Effect.gen(function*() {
      const outcomes: Array<unknown> = []
      const record = ({ message, outcome }: McpAuditLog.Entry) =>
        Effect.sync(() => void outcomes.push(message === undefined ? outcome : [outcome, message]))
      for (
        const effect of [Effect.fail("no"), Effect.fail(McpError.invalidRequest("not now")), Effect.die("broken")]
      ) {
        const { session } = yield* audited({ record }, effect)
        yield* Effect.exit(work(session))
      }
      const { session } = yield* audited({ record }, Effect.never)
      const call = yield* Effect.forkChild(work(session))
      yield* TestClock.adjust(1)
      yield* Fiber.interrupt(call)
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(outcomes, ["failure", ["error", "not now"], "defect", "interrupted"])
    }).pipe(Effect.scoped, silent))

  it.effect("records the part of the arguments that the program chooses", () =>
    Effect.gen(function*() {
      const { entries, session } = yield* audited({ arguments: ({ arguments: input }) => ({ input }) })
      yield* work(session, { a: 1 })
      assert.deepStrictEqual(entries[0]?.arguments, { input: { a: 1 } })
    }).pipe(Effect.scoped))

  for (const [name, recording] of [["hangs", Effect.never], ["dies", Effect.die("down")]] as const) {
    it.effect(`does not disturb the client while its record ${name}, unless it is required`, () =>
      Effect.gen(function*() {
        const { session } = yield* audited({ record: () => recording })
        const call = yield* Effect.forkChild(work(session))
        yield* TestClock.adjust("5 seconds")
        assert.strictEqual(yield* Fiber.join(call), "done")
        const { session: strict } = yield* audited({ record: () => recording, required: true })
        const rejected = yield* Effect.forkChild(errorOf(work(strict)))
        yield* TestClock.adjust("5 seconds")
        const { code, message } = yield* Fiber.join(rejected)
        assert.deepStrictEqual([code, message], [-32603, "Internal error"])
      }).pipe(Effect.scoped, silent))
  }
})

describeForBothEras("one middleware around a group under two prefixes", ({ serve }) => {
  /** The group is mounted twice, and once more within another mount. The middleware is built once. */
  const mounted = (work: Effect.Effect<string>, around: Layer.Layer<Around>) => {
    const twice = Layer.merge(McpMount.prefixed("home", group(work)), McpMount.prefixed("work", group(work)))
    return serve(Layer.provide(Layer.merge(twice, McpMount.prefixed("all", twice)), around))
  }

  const tools = ["home_work", "work_work", "all_home_work", "all_work_work"]

  const text = (session: Session, tool: string) =>
    Effect.map(session.callTool(tool), ({ content: [block] }) => block?.type === "text" ? block.text : undefined)

  it.effect("keeps the results of each prefix apart", () =>
    Effect.gen(function*() {
      const counter = yield* counting
      const ada = yield* (yield* mounted(
        counter.work,
        McpResponseCache.layer(Around, { timeToLive: { work: "1 hour", "app://one": "1 hour" } })
      ))("ada")
      for (let time = 0; time < 2; time++) {
        assert.deepStrictEqual(yield* Effect.forEach(tools, (tool) => text(ada, tool)), ["1", "2", "3", "4"])
      }
      for (const uri of ["app://home/one", "app://work/one", "app://all/home/one"]) {
        assert.deepStrictEqual((yield* ada.readResource(uri)).contents, [{ uri, text: "one" }])
      }
    }).pipe(Effect.scoped))

  it.effect("gives each prefix its own turns, and names the tool as the client does", () =>
    Effect.gen(function*() {
      const ada = yield* (yield* mounted(
        Effect.as(Effect.sleep("1 second"), "done"),
        McpConcurrencyLimit.layer(Around, { max: 1, maxWaiting: 0 })
      ))("ada")
      const calls = yield* Effect.forkChild(
        Effect.forEach(tools, (tool) => text(ada, tool), { concurrency: "unbounded" })
      )
      yield* TestClock.adjust("500 millis")
      assert.strictEqual(
        (yield* errorOf(ada.callTool("all_home_work"))).message,
        "the tool \"all_home_work\" is busy: 1 calls run, and 0 wait; try again later"
      )
      yield* TestClock.adjust("500 millis")
      assert.deepStrictEqual(yield* Fiber.join(calls), ["done", "done", "done", "done"])
    }).pipe(Effect.scoped))

  it.effect("counts the uses under each prefix separately", () =>
    Effect.gen(function*() {
      const ada = yield* (yield* mounted(
        Effect.succeed("done"),
        McpRateLimit.layer(Around, { limit: 1, window: "1 hour" })
      ))("ada")
      for (const tool of tools) assert.strictEqual(yield* text(ada, tool), "done")
      for (const tool of tools) assert.strictEqual((yield* errorOf(ada.callTool(tool))).code, -31010)
    }).pipe(Effect.scoped))

  it.effect("records the prefix in the audit log and in the timing", () =>
    Effect.gen(function*() {
      const mounts: Array<unknown> = []
      const ada = yield* (yield* mounted(
        Effect.succeed("done"),
        McpAuditLog.layer(Around, { record: ({ mount, name }) => Effect.sync(() => void mounts.push([mount, name])) })
      ))("ada")
      for (const tool of tools) yield* ada.callTool(tool)
      assert.deepStrictEqual(mounts, [["home_", "work"], ["work_", "work"], ["all_home_", "work"], [
        "all_work_",
        "work"
      ]])
      const timed = yield* (yield* mounted(Effect.succeed("done"), McpTiming.layer(Around)))("ada")
      yield* timed.callTool("all_home_work")
      const { count } = yield* Metric.value(Metric.withAttributes(McpTiming.duration, {
        "mcp.group": "work",
        "mcp.mount": "all_home_",
        "mcp.method.name": "tools/call",
        "mcp.member.name": "work",
        "mcp.outcome": "success"
      }))
      assert.strictEqual(count, 1)
    }).pipe(Effect.scoped, withoutOtherMetrics))
})
