/**
 * A process of the soak of expiries: `node src/expiries/callingProcess.ts PLACES`. It calls the server for the accounts
 * that its parent names, and reports what is left of them.
 */
import { FiberCount } from "@effect-mcp/testing"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as References from "effect/References"
import * as Scope from "effect/Scope"
import * as Idle from "../idle.ts"
import type { Counts } from "../Subject.ts"
import type { Answer, Question } from "./Child.ts"
import * as Program from "./Program.ts"

const places: Program.Places = JSON.parse(process.argv[2] ?? "{}")
const fibers = FiberCount.make()
const run = <A, E>(effect: Effect.Effect<A, E>): Promise<A> =>
  Effect.runPromise(Effect.provideService(fibers.count(effect), References.MinimumLogLevel, "Error"))

const scope = Scope.makeUnsafe()
const stores = await run(Scope.provide(Program.openStores(places.folder), scope))

/** The accounts for which calls are made. */
const accounts = new Map<string, { readonly scope: Scope.Closeable; readonly calls: Program.Calls }>()

const begin = (kind: Program.Kind, account: string): Effect.Effect<void, unknown> =>
  Effect.gen(function*() {
    const scope = yield* Scope.make()
    const settings: Program.Settings = { places, stores, kind, account }
    const calls = yield* Effect.gen(function*() {
      return yield* Program.call(settings, yield* Program.authorize(settings), () => {})
    }).pipe(Scope.provide(scope))
    accounts.set(account, { scope, calls })
  })

const end = (account: string): Effect.Effect<number, unknown> =>
  Effect.suspend(() => {
    const known = accounts.get(account)
    accounts.delete(account)
    return known === undefined
      ? Effect.succeed(0)
      : Effect.onExit(known.calls.end, () => Scope.close(known.scope, Exit.void))
  })

const answerTo = (question: Question): Effect.Effect<Counts, unknown> => {
  switch (question._tag) {
    case "Begin":
      return Effect.as(begin(question.kind, question.account), {})
    case "End":
      return Effect.map(end(question.account), (calls) => ({ calls }))
    case "Measure":
      return Effect.sync(() => ({ fibers: fibers.living(), accounts: accounts.size, ...Idle.handles() }))
    case "Heap":
      return Effect.map(Idle.heapUsed, (heap) => ({ heap }))
  }
}

process.on("message", (question: Question) => {
  void run(Effect.exit(answerTo(question))).then((exit) => {
    const answer: Answer = Exit.isSuccess(exit)
      ? { id: question.id, result: exit.value }
      : { id: question.id, problem: Cause.pretty(exit.cause) }
    process.send?.(answer)
  })
})
process.on("disconnect", () => process.exit(0))
process.send?.({ id: 0, result: {} } satisfies Answer)
