/** Tools whose calls execute workflows. */
import { McpGroup, McpRequest, type McpServer } from "@effect-mcp/server"
import * as McpWorkflow from "@effect-mcp/server/McpWorkflow"
import type { ClientSession } from "@effect-mcp/session"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { PersistenceError } from "effect/cluster/ClusterError"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import * as DurableClock from "effect/workflow/DurableClock"
import * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as Workflow from "effect/workflow/Workflow"
import * as WorkflowEngine from "effect/workflow/WorkflowEngine"
import { settled } from "../../session/test/support/sessions.ts"
import { Book, makeBooking } from "./support/booking.ts"
import { connect, handshake } from "./support/connect.ts"
import { describeForBothEras } from "./support/eras.ts"
import { makeOutage } from "./support/outage.ts"

const text = ({ content: [block] }: { readonly content: ReadonlyArray<{ readonly type: string }> }) =>
  block !== undefined && "text" in block ? block.text : undefined

/** A client that answers each question with the number of questions so far. */
const answering = () => {
  const asked: Array<string> = []
  const client = {
    handlers: {
      "elicitation/create": ({ message }: { readonly message: string }) =>
        Effect.sync(() => ({ action: "accept" as const, content: { seat: String(asked.push(message)) } }))
    }
  } satisfies Partial<ClientSession.Options>
  return { asked, client }
}

type Live = Layer.Layer<never, never, McpServer.McpServer>

const eventually = (condition: () => boolean) => Effect.repeat(Effect.yieldNow, { until: condition, times: 10_000 })

/** Lets work outside of the clock of the test go on as well, such as digests. */
const turn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

/** Advances the clock until a call has ended, and returns its exit. */
const ended = <A, E>(calling: Fiber.Fiber<A, E>) =>
  Effect.andThen(
    Effect.repeat(Effect.andThen(turn, TestClock.adjust("1 second")), {
      until: () => calling.pollUnsafe() !== undefined
    }),
    Fiber.await(calling)
  )

it("the tool of a workflow needs its engine, and fails with its errors", () => {
  const layer = McpWorkflow.layer(Book)
  expectTypeOf<Layer.Services<typeof layer>>().toEqualTypeOf<McpServer.McpServer | WorkflowEngine.WorkflowEngine>()
  const group = McpGroup.make("journeys", McpWorkflow.tool(Book, { name: "reserve" }))
  const own = group.toLayer((handlers) => handlers.tool("reserve", McpWorkflow.handler(Book)))
  expectTypeOf<Layer.Services<typeof own>>().toEqualTypeOf<McpServer.McpServer | WorkflowEngine.WorkflowEngine>()
})

describeForBothEras("the tool of a workflow", ({ connect }) => {
  it.effect("has its schemas and annotations", () =>
    Effect.gen(function*() {
      const { engine } = yield* makeBooking
      const session = yield* connect(
        Layer.provide(McpWorkflow.layer(Book, { name: "reserve", description: "Books a journey" }), engine)
      )
      const { tools: [tool] } = yield* session.listTools()
      assert.deepStrictEqual([tool?.name, tool?.title, tool?.description], ["reserve", "Book", "Books a journey"])
      assert.deepStrictEqual(tool?.inputSchema["required"], ["city"])
      assert.deepStrictEqual(tool?.outputSchema?.["required"], ["receipt", "seat"])
    }).pipe(Effect.scoped))

  it.effect("asks its questions and returns its result, and its activities run once", () =>
    Effect.gen(function*() {
      const { counts, engine } = yield* makeBooking
      const { asked, client } = answering()
      const session = yield* connect(Layer.provide(McpWorkflow.layer(Book), engine), { client })
      const booked = yield* session.callTool("book", { city: "Paris" })
      assert.deepStrictEqual(booked.structuredContent, { receipt: 1, seat: "1" })
      assert.deepStrictEqual(asked, ["Which seat to Paris?"])
      // Another call has an execution of its own.
      const again = yield* session.callTool("book", { city: "Paris" })
      assert.deepStrictEqual(again.structuredContent, { receipt: 2, seat: "2" })
      assert.deepStrictEqual(counts, { charged: 2, refunded: 0, waiting: 0 })
    }).pipe(Effect.scoped))

  it.effect("asks the questions of parallel branches at the same time", () =>
    Effect.gen(function*() {
      const { counts, engine } = yield* makeBooking
      const all = yield* Latch.make()
      const asked: Array<string> = []
      const session = yield* connect(Layer.provide(McpWorkflow.layer(Book), engine), {
        client: {
          handlers: {
            "elicitation/create": ({ message }) =>
              Effect.suspend(() => {
                if (asked.push(message) === 3) all.openUnsafe()
                return Effect.as(all.await, { action: "accept" as const, content: { seat: message.slice(-6, -1) } })
              })
          }
        }
      })
      const booked = yield* session.callTool("book", { city: "Oslo" })
      assert.deepStrictEqual(booked.structuredContent, { receipt: 1, seat: "there, back, home" })
      assert.deepStrictEqual([asked.length, counts.charged], [3, 1])
    }).pipe(Effect.scoped))

  it.effect("has none of the services of the request", () =>
    Effect.gen(function*() {
      const Look = Workflow.make("look", {
        payload: {},
        success: Schema.Array(Schema.Boolean),
        idempotencyKey: () => ""
      })
      const look = Effect.map(
        Effect.serviceOption(McpRequest.McpRequest),
        (request) => [Option.isSome(request)]
      )
      const asking = Effect.gen(function*() {
        const before = yield* look
        yield* McpWorkflow.elicit("seat", "Which seat?", Schema.Struct({ seat: Schema.String }))
        return [...before, ...yield* look]
      })
      const engine = Layer.provideMerge(Look.toLayer(() => Effect.orDie(asking)), WorkflowEngine.layerMemory)
      const session = yield* connect(Layer.provide(McpWorkflow.layer(Look), engine), { client: answering().client })
      assert.strictEqual(text(yield* session.callTool("look")), "[false,false]")
    }).pipe(Effect.scoped))

  it.effect("sends the progress of the workflow and of its activities", () =>
    Effect.gen(function*() {
      const { engine } = yield* makeBooking
      const { client } = answering()
      const session = yield* connect(Layer.provide(McpWorkflow.layer(Book), engine), {
        client,
        server: { limits: { progressInterval: 0 } }
      })
      const steps: Array<string | undefined> = []
      yield* session.callTool("book", { city: "Paris" }, {
        onProgress: ({ message }) => Effect.sync(() => void steps.push(message))
      })
      assert.deepStrictEqual(steps, ["charging", "charged"])
    }).pipe(Effect.scoped))

  it.effect("returns declared errors to the model, and hides defects", () =>
    Effect.gen(function*() {
      const { counts, engine } = yield* makeBooking
      const session = yield* connect(Layer.provide(McpWorkflow.layer(Book), engine))
      const failed = yield* session.callTool("book", { city: "Nowhere" })
      assert.deepStrictEqual([failed.isError, text(failed)], [true, "nothing is left to Nowhere"])
      assert.deepStrictEqual(failed._meta, { "effect-mcp/failure": { _tag: "SoldOut", city: "Nowhere" } })
      const { reason } = yield* Effect.flip(session.callTool("book", { city: "Atlantis" }))
      assert(reason._tag === "ErrorResponse")
      assert.deepStrictEqual([reason.error.code, reason.error.message], [-32603, "Internal error"])
      assert.strictEqual(counts.refunded, 2)
    }).pipe(Effect.scoped))

  it.effect("fails with the reason if a question has no input", () =>
    Effect.gen(function*() {
      const { engine } = yield* makeBooking
      const live = Layer.provide(McpWorkflow.layer(Book), engine)
      const cases = [
        [() => Effect.succeed({ action: "decline" as const }), "the user declined: Which seat to Paris?"],
        [() => Effect.succeed({ action: "cancel" as const }), "the user dismissed the request: Which seat to Paris?"],
        [undefined, "the user could not be asked: Which seat to Paris?: elicitation/create: the peer has not declared"]
      ] as const
      for (const [answer, message] of cases) {
        const session = yield* connect(
          live,
          answer === undefined ? {} : { client: { handlers: { "elicitation/create": answer } } }
        )
        const failed = yield* session.callTool("book", { city: "Paris" })
        assert.isTrue(failed.isError)
        assert.include(text(failed), message)
      }
    }).pipe(Effect.scoped))

  it.effect("is interrupted with its call, and its compensations run", () =>
    Effect.gen(function*() {
      const { counts, engine } = yield* makeBooking
      const session = yield* connect(Layer.provide(McpWorkflow.layer(Book), engine))
      const calling = yield* Effect.forkChild(session.callTool("book", { city: "Rome" }))
      yield* eventually(() => counts.waiting === 1)
      assert.strictEqual(counts.refunded, 0)
      yield* Fiber.interrupt(calling)
      yield* eventually(() => counts.refunded > 0)
      assert.strictEqual(counts.refunded, 1)
    }).pipe(Effect.scoped))

  it.effect("whose workflow is interrupted fails", () =>
    Effect.gen(function*() {
      const { counts, engine } = yield* makeBooking
      const session = yield* connect(
        Layer.provide(McpWorkflow.layer(Book, { execution: "idempotencyKey" }), engine)
      )
      const calling = yield* Effect.forkChild(Effect.flip(session.callTool("book", { city: "Rome" })))
      yield* eventually(() => counts.waiting === 1)
      yield* Effect.provide(Effect.flatMap(Book.executionId({ city: "Rome" }), (id) => Book.interrupt(id)), engine)
      const { reason } = yield* Fiber.join(calling)
      assert(reason._tag === "ErrorResponse")
      assert.deepStrictEqual([reason.error.code, reason.error.message], [-32603, "The workflow was interrupted"])
    }).pipe(Effect.scoped))

  it.effect("with its idempotency key has one execution for all calls, which a cancellation does not end", () =>
    Effect.gen(function*() {
      const { counts, engine } = yield* makeBooking
      const live = Layer.provide(McpWorkflow.layer(Book, { execution: "idempotencyKey" }), engine)
      const asked = yield* Deferred.make<void>()
      const answer = yield* Deferred.make<string>()
      const slow = yield* connect(live, {
        client: {
          handlers: {
            "elicitation/create": () =>
              Effect.andThen(
                Deferred.succeed(asked, undefined),
                Effect.map(Deferred.await(answer), (seat) => ({ action: "accept" as const, content: { seat } }))
              )
          }
        }
      })
      const { client } = answering()
      const quick = yield* connect(live, { client })
      const cancelled = yield* Effect.forkChild(slow.callTool("book", { city: "Paris" }))
      yield* Deferred.await(asked)
      yield* Fiber.interrupt(cancelled)
      const late = yield* Effect.forkChild(slow.callTool("book", { city: "Paris" }))
      yield* eventually(() => false)
      const first = yield* quick.callTool("book", { city: "Paris" })
      assert.deepStrictEqual(first.structuredContent, { receipt: 1, seat: "1" })
      // A second answer changes nothing.
      yield* Deferred.succeed(answer, "9")
      assert.deepStrictEqual((yield* Fiber.join(late)).structuredContent, first.structuredContent)
      assert.deepStrictEqual(counts, { charged: 1, refunded: 0, waiting: 0 })
    }).pipe(Effect.scoped))
})

describe("the tool of a workflow whose engine loses its store for a while", () => {
  const open = Effect.fnUntraced(function*(engine: Layer.Layer<WorkflowEngine.WorkflowEngine>) {
    const asked = yield* Deferred.make<void>()
    const answer = yield* Deferred.make<string>()
    const session = yield* connect(Layer.provide(McpWorkflow.layer(Book), engine), {
      client: {
        ...handshake,
        handlers: {
          "elicitation/create": () =>
            Effect.andThen(
              Deferred.succeed(asked, undefined),
              Effect.map(Deferred.await(answer), (seat) => ({ action: "accept" as const, content: { seat } }))
            )
        }
      }
    })
    const calling = yield* Effect.forkChild(session.callTool("book", { city: "Paris" }, { timeout: "2 days" }))
    return { answer, asked, calling }
  })

  it.effect("waits for the same execution", () =>
    Effect.gen(function*() {
      const { away, counts, engine, failed } = yield* makeOutage()
      const { answer, asked, calling } = yield* open(engine)
      yield* Deferred.await(asked)
      // The workflow is suspended then.
      yield* settled
      away.openUnsafe()
      yield* eventually(() => failed.includes("execute"))
      yield* TestClock.adjust("1 minute")
      assert.isAbove(failed.filter((name) => name === "execute").length, 1)
      away.closeUnsafe()
      yield* Deferred.succeed(answer, "4F")
      yield* settled
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual((yield* Fiber.join(calling)).structuredContent, { receipt: 1, seat: "4F" })
      assert.deepStrictEqual(counts, { charged: 1, refunded: 0, waiting: 0 })
    }).pipe(Effect.scoped))

  it.effect("stores an answer that arrives meanwhile", () =>
    Effect.gen(function*() {
      const { away, counts, engine, failed } = yield* makeOutage()
      const { answer, asked, calling } = yield* open(engine)
      yield* Deferred.await(asked)
      // The workflow is suspended then.
      yield* settled
      away.openUnsafe()
      yield* Deferred.succeed(answer, "4F")
      yield* eventually(() => failed.includes("deferredDone"))
      yield* TestClock.adjust("1 minute")
      away.closeUnsafe()
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual((yield* Fiber.join(calling)).structuredContent, { receipt: 1, seat: "4F" })
      assert.deepStrictEqual(counts, { charged: 1, refunded: 0, waiting: 0 })
    }).pipe(Effect.scoped))

  it.effect("begins its execution when the store is back", () =>
    Effect.gen(function*() {
      const { away, engine, failed } = yield* makeOutage()
      away.openUnsafe()
      const { answer, calling } = yield* open(engine)
      yield* Deferred.succeed(answer, "4F")
      yield* eventually(() => failed.includes("execute"))
      yield* TestClock.adjust("1 minute")
      away.closeUnsafe()
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual((yield* Fiber.join(calling)).structuredContent, { receipt: 1, seat: "4F" })
    }).pipe(Effect.scoped))

  it.effect("asks a question that the workflow could not store at first", () =>
    Effect.gen(function*() {
      const { away, counts, engine, failed } = yield* makeOutage("deferredDone")
      const { answer, calling } = yield* open(engine)
      yield* Deferred.succeed(answer, "4F")
      yield* eventually(() => failed.length > 0)
      yield* TestClock.adjust("1 minute")
      away.closeUnsafe()
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual((yield* Fiber.join(calling)).structuredContent, { receipt: 1, seat: "4F" })
      assert.deepStrictEqual(counts, { charged: 1, refunded: 0, waiting: 0 })
    }).pipe(Effect.scoped))

  it.effect("is interrupted with its call when the store is back", () =>
    Effect.gen(function*() {
      const { away, counts, engine, failed } = yield* makeOutage()
      const { asked, calling } = yield* open(engine)
      yield* Deferred.await(asked)
      yield* settled
      away.openUnsafe()
      yield* Fiber.interrupt(calling)
      yield* eventually(() => failed.includes("interrupt"))
      away.closeUnsafe()
      assert.strictEqual(counts.refunded, 0)
      yield* TestClock.adjust("1 minute")
      yield* eventually(() => counts.refunded === 1)
      assert.strictEqual(counts.refunded, 1)
    }).pipe(Effect.scoped))

  it.effect("waits on when the engine has looked for its result as often as its schedule says", () =>
    Effect.gen(function*() {
      const Once = Workflow.make("once", {
        payload: {},
        success: Schema.String,
        idempotencyKey: () => "",
        suspendedRetrySchedule: Schedule.recurs(0)
      })
      const sleeping = Effect.as(
        DurableClock.sleep({ name: "night", duration: "1 day", inMemoryThreshold: 0 }),
        "morning"
      )
      const engine = Layer.provideMerge(Once.toLayer(() => sleeping), Layer.fresh(WorkflowEngine.layerMemory))
      const session = yield* connect(Layer.provide(McpWorkflow.layer(Once), engine), { client: handshake })
      const calling = yield* Effect.forkChild(session.callTool("once", {}, { timeout: "2 days" }))
      yield* settled
      yield* TestClock.adjust("1 day")
      yield* settled
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(text(yield* Fiber.join(calling)), "morning")
    }).pipe(Effect.scoped))

  it.effect("fails at once with a defect of the workflow", () =>
    Effect.gen(function*() {
      for (const captures of [true, false]) {
        // One that looks like that of an engine without its store.
        const defect = new PersistenceError({ cause: "of the workflow" })
        const Break = Workflow.make("break", { payload: {}, idempotencyKey: () => "" })
          .annotate(Workflow.CaptureDefects, captures)
        const implementation = Break.toLayer(() => Effect.die(defect))
        const engine = Layer.provideMerge(implementation, Layer.fresh(WorkflowEngine.layerMemory))
        const session = yield* connect(Layer.provide(McpWorkflow.layer(Break), engine), { client: handshake })
        const { reason } = yield* Effect.flip(session.callTool("break"))
        assert(reason._tag === "ErrorResponse")
        assert.deepStrictEqual([reason.error.code, reason.error.message], [-32603, "Internal error"])
      }
    }).pipe(Effect.scoped))

  it.effect("fails at once if no engine has the workflow", () =>
    Effect.gen(function*() {
      const live = Layer.provide(McpWorkflow.layer(Book), Layer.fresh(WorkflowEngine.layerMemory))
      const session = yield* connect(live, { client: handshake })
      const { reason } = yield* Effect.flip(session.callTool("book", { city: "Paris" }))
      assert(reason._tag === "ErrorResponse")
      assert.strictEqual(reason.error.code, -32603)
    }).pipe(Effect.scoped))
})

describeForBothEras("a question of a shared execution", ({ connect, isModern }) => {
  const shared = McpWorkflow.layer(Book, { execution: "idempotencyKey" })
  const book = (session: ClientSession.ClientSessionShape) =>
    Effect.forkChild(session.callTool("book", { city: "Paris" }, { timeout: "2 days" }))
  /** Connects a client whose user has a dialog open for each question until a seat is given. */
  const open = Effect.fnUntraced(function*(live: Live) {
    const asked: Array<Deferred.Deferred<string>> = []
    const session = yield* connect(live, {
      client: {
        handlers: {
          "elicitation/create": () =>
            Effect.suspend(() => {
              const answer = Deferred.makeUnsafe<string>()
              asked.push(answer)
              return Effect.map(Deferred.await(answer), (seat) => ({ action: "accept" as const, content: { seat } }))
            })
        }
      }
    })
    return { session, asked }
  })
  /** Returns whether a call has failed, by an error or by a result with one. */
  const hasFailed = (calling: Effect.Success<ReturnType<typeof book>>) =>
    Effect.map(ended(calling), (exit) => Exit.isFailure(exit) || exit.value.isError === true)
  /** Returns the engine as another process would have it: calls of one are not known to the other. */
  const elsewhere = (engine: Layer.Layer<WorkflowEngine.WorkflowEngine>) =>
    Layer.effect(
      WorkflowEngine.WorkflowEngine,
      Effect.map(WorkflowEngine.WorkflowEngine, (service) => WorkflowEngine.WorkflowEngine.of({ ...service }))
    ).pipe(Layer.provide(engine))
  const unavailable = "the user could not be asked: Which seat to Paris?"

  it.effect("is not ended by a call whose client cannot be asked", () =>
    Effect.gen(function*() {
      const { counts, engine } = yield* makeBooking
      const live = Layer.provide(shared, engine)
      const { asked, session } = yield* open(live)
      const able = yield* book(session)
      yield* Effect.repeat(turn, { until: () => asked.length === 1 })
      const unable = yield* book(yield* connect(live))
      // Between the requests of a client of 2026-07-28, no process knows whether its call goes on.
      if (isModern) assert.isTrue(yield* hasFailed(unable))
      else yield* eventually(() => false)
      yield* Deferred.succeed(asked[0]!, "4F")
      const booked = { receipt: 1, seat: "4F" }
      assert.deepStrictEqual((yield* yield* ended(able)).structuredContent, booked)
      if (!isModern) assert.deepStrictEqual((yield* yield* ended(unable)).structuredContent, booked)
      assert.deepStrictEqual(counts, { charged: 1, refunded: 0, waiting: 0 })
    }).pipe(Effect.scoped))

  it.effect("is not ended by a call in another process whose client cannot be asked", () =>
    Effect.gen(function*() {
      const { counts, engine } = yield* makeBooking
      const { asked, session } = yield* open(Layer.provide(shared, engine))
      const able = yield* book(session)
      yield* Effect.repeat(turn, { until: () => asked.length === 1 })
      const unable = yield* book(yield* connect(Layer.provide(shared, elsewhere(engine))))
      assert.isTrue(yield* hasFailed(unable))
      yield* Deferred.succeed(asked[0]!, "4F")
      assert.deepStrictEqual((yield* yield* ended(able)).structuredContent, { receipt: 1, seat: "4F" })
      assert.deepStrictEqual(counts, { charged: 1, refunded: 0, waiting: 0 })
    }).pipe(Effect.scoped))

  it.effect("is ended by the calls that wait if no client can be asked", () =>
    Effect.gen(function*() {
      const { counts, engine } = yield* makeBooking
      const live = Layer.provide(shared, engine)
      const calls = [yield* book(yield* connect(live)), yield* book(yield* connect(live))]
      for (const call of calls) {
        const failed = yield* yield* ended(call)
        assert.isTrue(failed.isError)
        assert.include(text(failed), unavailable)
      }
      assert.strictEqual(counts.refunded, 1)
    }).pipe(Effect.scoped))

  it.effect("stays open when the call that has asked it is cancelled", () =>
    Effect.gen(function*() {
      const { counts, engine } = yield* makeBooking
      const live = Layer.provide(shared, engine)
      const { asked, session } = yield* open(live)
      const able = yield* book(session)
      yield* Effect.repeat(turn, { until: () => asked.length === 1 })
      const unable = yield* book(yield* connect(live))
      yield* eventually(() => false)
      yield* Fiber.interrupt(able)
      assert.isTrue(yield* hasFailed(unable))
      const again = yield* book(session)
      yield* Effect.repeat(turn, { until: () => asked.length === 2 })
      yield* Deferred.succeed(asked[1]!, "4F")
      assert.deepStrictEqual((yield* yield* ended(again)).structuredContent, { receipt: 1, seat: "4F" })
      assert.deepStrictEqual(counts, { charged: 1, refunded: 0, waiting: 0 })
    }).pipe(Effect.scoped))

  it.effect("and its result belong to the principal of the call, unless all principals share them", () =>
    Effect.gen(function*() {
      const { counts, engine } = yield* makeBooking
      const { asked, client } = answering()
      const seatOf = (live: Live, id?: string) =>
        Effect.gen(function*() {
          const session = yield* connect(live, { client, ...(id === undefined ? {} : { principal: { id } }) })
          return (yield* session.callTool("book", { city: "Paris" })).structuredContent
        })
      const own = Layer.provide(shared, engine)
      assert.deepStrictEqual(yield* seatOf(own, "ada"), { receipt: 1, seat: "1" })
      assert.deepStrictEqual(yield* seatOf(own, "bob"), { receipt: 2, seat: "2" })
      assert.deepStrictEqual(yield* seatOf(own), { receipt: 3, seat: "3" })
      assert.deepStrictEqual(yield* seatOf(own, "ada"), { receipt: 1, seat: "1" })
      const ofAll = Layer.provide(McpWorkflow.layer(Book, { execution: "idempotencyKeyOfAll" }), engine)
      assert.deepStrictEqual(yield* seatOf(ofAll, "ada"), { receipt: 3, seat: "3" })
      assert.deepStrictEqual(yield* seatOf(ofAll, "bob"), { receipt: 3, seat: "3" })
      assert.deepStrictEqual([asked.length, counts.charged], [3, 3])
    }).pipe(Effect.scoped))
})

it.effect("a question of a shared execution is ended by its first call if the client replies with an error", () =>
  Effect.gen(function*() {
    const { engine } = yield* makeBooking
    const session = yield* connect(Layer.provide(McpWorkflow.layer(Book, { execution: "idempotencyKey" }), engine), {
      client: {
        ...handshake,
        // An answer that does not fit the form.
        handlers: { "elicitation/create": () => Effect.succeed({ action: "accept" as const, content: { seat: 7 } }) }
      }
    })
    const calling = yield* Effect.forkChild(session.callTool("book", { city: "Paris" }))
    const failed = yield* yield* ended(calling)
    assert.isTrue(failed.isError)
    assert.include(text(failed), "the user could not be asked: Which seat to Paris?")
  }).pipe(Effect.scoped))

describe("a cancelled call whose engine hangs", () => {
  const cases = ["poll", "execute"] as const
  it.effect.each(cases)(
    "in an uninterruptible %s ends, and its workflow is interrupted",
    (name) =>
      Effect.gen(function*() {
        const { counts, engine } = yield* makeBooking
        const service = Context.get(yield* Layer.build(engine), WorkflowEngine.WorkflowEngine)
        const { execute } = service
        Object.assign(service, {
          [name]: name === "poll"
            ? () => Effect.uninterruptible(Effect.never)
            : (...args: Parameters<typeof execute>) => Effect.uninterruptible(execute(...args))
        })
        const ended = yield* Deferred.make<void>()
        const group = McpGroup.make("journeys", McpWorkflow.tool(Book)).toLayer((handlers) =>
          handlers.tool(
            "book",
            (payload) => Effect.ensuring(McpWorkflow.handler(Book)(payload), Deferred.succeed(ended, undefined))
          )
        )
        const session = yield* connect(Layer.provide(group, engine), { client: handshake })
        const calling = yield* Effect.forkChild(session.callTool("book", { city: "Rome" }))
        yield* eventually(() => counts.waiting === 1)
        yield* settled
        yield* Fiber.interrupt(calling)
        yield* settled
        yield* TestClock.adjust("1 minute")
        yield* Deferred.await(ended)
        yield* eventually(() => counts.refunded === 1)
        assert.strictEqual(counts.refunded, 1)
      }).pipe(Effect.scoped)
  )
})

it.effect("a workflow goes on by its own timer, and the question is closed at the client", () =>
  Effect.gen(function*() {
    const Seat = Schema.Struct({ seat: Schema.String })
    const Choose = Workflow.make("choose", { payload: {}, success: Seat, idempotencyKey: () => "" })
    const choose = DurableDeferred.raceAll({
      name: "seat",
      success: Seat,
      error: McpWorkflow.QuestionError,
      effects: [
        McpWorkflow.elicit("seat", "Which seat?", Seat),
        Effect.as(DurableClock.sleep({ name: "seat", duration: "1 day" }), { seat: "any" })
      ]
    })
    const engine = Layer.provideMerge(Choose.toLayer(() => Effect.orDie(choose)), WorkflowEngine.layerMemory)
    const asked = yield* Deferred.make<void>()
    const closed = yield* Deferred.make<void>()
    const session = yield* connect(Layer.provide(McpWorkflow.layer(Choose), engine), {
      client: {
        ...handshake,
        handlers: {
          "elicitation/create": () =>
            Deferred.succeed(asked, undefined).pipe(
              Effect.andThen(Effect.never),
              Effect.onInterrupt(() => Deferred.succeed(closed, undefined))
            )
        }
      }
    })
    const calling = yield* Effect.forkChild(session.callTool("choose", {}, { timeout: "2 days" }))
    yield* Deferred.await(asked)
    yield* TestClock.adjust("1 day")
    assert.deepStrictEqual((yield* Fiber.join(calling)).structuredContent, { seat: "any" })
    yield* Deferred.await(closed)
  }).pipe(Effect.scoped))
