/** Two processes with one store in virtual time, whatever fails: requests, responses, writes, and processes. */
import { TokenStore } from "@effect-mcp/auth"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import type { Credentials } from "../../../src/internal/tokens/Credentials.ts"
import * as SharedCredentials from "../../../src/internal/tokens/SharedCredentials.ts"
import * as StoredTokens from "../../../src/internal/tokens/StoredTokens.ts"
import { type Plan, RotatingIssuer } from "../../support/rotatingIssuer.ts"
import { key } from "../../support/tokenStores.ts"

type Store = TokenStore.TokenStore["Service"]

const one = Schema.Literals([0, 1])

const Call = Schema.TaggedStruct("Call", { process: one, calls: Schema.Literals([1, 5]) })

const Expire = Schema.TaggedStruct("Expire", {})

/** The commands after which no refresh token is lost. */
const harmless = [
  Call,
  Schema.TaggedStruct("CallAgain", { process: one }),
  Expire,
  Schema.TaggedStruct("Reject", { process: one, isRight: Schema.Literals([true, false]) }),
  Schema.TaggedStruct("Wait", { millis: Schema.Literals([10, 300, 6000, 40_000, 575_000]) }),
  Schema.TaggedStruct("Request", {
    fault: Schema.Literals(["Answered", "Broken", "Unreachable"]),
    latency: Schema.Literals([10, 5000, 25_000])
  }),
  Schema.TaggedStruct("Store", {
    process: one,
    operation: Schema.Literals(["acquire", "read", "write", "write"]),
    isFailing: Schema.Literals([true, true, false])
  })
] as const

const Harmless = Schema.Union(harmless)

const Command = Schema.Union([
  ...harmless,
  Schema.TaggedStruct("Lose", { latency: Schema.Literals([10, 5000]) }),
  Schema.TaggedStruct("Kill", { process: one })
])

/** A process that can be killed. */
interface Process {
  credentials: Credentials
  scope: Scope.Closeable
  failing: Set<string>
  /** The requests whose responses it waits for. */
  requests: number
  isUnsaved: boolean
  isAlive: boolean
}

const startProcess = Effect.fnUntraced(function*(memory: Store, issuer: RotatingIssuer) {
  const failing = new Set<string>()
  const scope = yield* Scope.make()
  const guard = <A>(
    operation: TokenStore.TokenStoreError["operation"],
    effect: Effect.Effect<A, TokenStore.TokenStoreError>
  ) =>
    Effect.suspend(() => {
      // Nothing of a dead process reaches the store.
      if (!process.isAlive) return Effect.never
      const reason = { _tag: "Unavailable", cause: "fault" } as const
      return failing.has(operation) ? Effect.fail(new TokenStore.TokenStoreError({ operation, reason })) : effect
    })
  const store: Store = {
    keys: memory.keys,
    read: (key) => guard("read", memory.read(key)),
    write: (key, text, expected) => guard("write", memory.write(key, text, expected)),
    remove: (key, expected) => guard("remove", memory.remove(key, expected)),
    acquire: (key, owner, millis) => guard("acquire", memory.acquire(key, owner, millis)),
    release: (key, owner) => guard("release", memory.release(key, owner))
  }
  const made = SharedCredentials.make({
    store,
    key,
    refresh: (tokens) =>
      Effect.suspend(() => {
        process.requests++
        return Effect.ensuring(
          issuer.refresh(tokens),
          Effect.sync(() => {
            process.requests--
          })
        )
      }),
    onEvent: ({ _tag }) =>
      Effect.sync(() => {
        if (_tag === "NotSaved" || _tag === "Saved") process.isUnsaved = _tag === "NotSaved"
      })
  })
  const credentials = yield* Scope.provide(made, scope)
  const process: Process = { credentials, scope, failing, requests: 0, isUnsaved: false, isAlive: true }
  return process
})

/** Lets virtual time pass. */
const wait = Effect.fnUntraced(function*(millis: number) {
  for (let left = millis; left > 0; left -= 20_000) yield* TestClock.adjust(Math.min(20_000, left))
})

const timed = Effect.fnUntraced(function*<A, E>(effect: Effect.Effect<A, E>) {
  const fiber = yield* Effect.forkChild(effect, { startImmediately: true })
  for (let steps = 0; steps < 2000 && fiber.pollUnsafe() === undefined; steps++) yield* TestClock.adjust(100)
  return yield* Fiber.join(fiber)
})

const textOf = (tokens: StoredTokens.StoredTokens | undefined) => tokens && Redacted.value(tokens.accessToken)

/** The state of a run. */
interface Run {
  readonly memory: Store
  readonly issuer: RotatingIssuer
  readonly processes: [Process, Process]
  readonly calls: Array<Fiber.Fiber<void, unknown>>
  /** The next requests end so. */
  readonly plans: Array<Plan>
  isKilled: boolean
  /** Whether a rotated refresh token was lost with its response, or with its process. */
  isTokenLost: boolean
}

/** Calls, and checks the tokens that it gets. */
const call = (tokens: Credentials["refreshIfNeeded"]) =>
  Effect.flatMap(Effect.exit(tokens), (exit) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      if (Exit.isFailure(exit)) return
      const expiresAt = exit.value?.expiresAt
      assert.isTrue(expiresAt === undefined || expiresAt > now, "a call gets tokens that have expired")
    }))

const perform: (run: Run, command: typeof Command.Type) => Effect.Effect<void, unknown> = Effect.fnUntraced(function*(
  run,
  command
) {
  switch (command._tag) {
    case "Call": {
      const { credentials } = run.processes[command.process]
      for (let count = 0; count < command.calls; count++) {
        run.calls.push(yield* Effect.forkChild(call(credentials.refreshIfNeeded), { startImmediately: true }))
      }
      return
    }
    case "CallAgain":
      return yield* perform(run, { _tag: "Call", process: command.process, calls: 1 })
    case "Expire":
      return yield* wait(600_000)
    case "Lose":
      return void run.plans.push({ fault: "Lost", latency: command.latency })
    case "Reject": {
      const { credentials } = run.processes[command.process]
      const current = yield* timed(Effect.result(credentials.current))
      const tokens = current._tag === "Success" ? current.success : undefined
      if (tokens === undefined) return
      if (command.isRight) run.issuer.revokeAccess()
      run.calls.push(
        yield* Effect.forkChild(call(credentials.refreshAfter(tokens.accessToken)), { startImmediately: true })
      )
      return
    }
    case "Wait":
      return yield* wait(command.millis)
    case "Request":
      return void run.plans.push({ fault: command.fault, latency: command.latency })
    case "Store": {
      const { failing } = run.processes[command.process]
      if (command.isFailing) failing.add(command.operation)
      else failing.delete(command.operation)
      // Newer tokens of this process are not in the store, and no lease tells another process to wait for them.
      if (failing.has("write") && failing.has("acquire")) run.isTokenLost = true
      return
    }
    case "Kill": {
      const process = run.processes[command.process]
      run.isKilled = true
      if (process.requests > 0 || process.isUnsaved || process.failing.has("write")) run.isTokenLost = true
      process.isAlive = false
      run.processes[command.process] = yield* startProcess(run.memory, run.issuer)
    }
  }
})

const check = Effect.fnUntraced(function*(commands: ReadonlyArray<typeof Command.Type>) {
  const plans: Array<Plan> = []
  const state = { isTokenLost: false }
  const issuer = new RotatingIssuer(() => {
    const plan = plans.shift() ?? { fault: "Answered", latency: 50 }
    if (plan.fault === "Lost") state.isTokenLost = true
    return plan
  })
  const memory = yield* TokenStore.makeMemory()
  const processes: [Process, Process] = [yield* startProcess(memory, issuer), yield* startProcess(memory, issuer)]
  const run: Run = { memory, issuer, processes, plans, calls: [], isKilled: false, isTokenLost: false }
  const started = [...processes]
  const signIn = Effect.flatMap(
    Effect.all([issuer.signIn, Clock.currentTimeMillis]),
    ([response, sentAt]) => run.processes[0].credentials.save(response, { sentAt, scopes: undefined })
  )
  yield* signIn
  for (const command of commands) {
    yield* perform(run, command)
    started.push(...run.processes.filter((process) => !started.includes(process)))
  }

  // Everything works again.
  plans.length = 0
  for (const { failing } of run.processes) failing.clear()
  yield* wait(130_000)
  for (const fiber of run.calls) yield* Fiber.join(fiber)
  if (!run.isKilled) assert.isAtMost(issuer.mostRunning, 1, "two requests at the same time")
  if (!run.isTokenLost && !state.isTokenLost) assert.isFalse(issuer.isRevoked, "an old refresh token was used")
  yield* wait(600_000)
  const calls = Effect.all(run.processes.map(({ credentials }) => credentials.refreshIfNeeded), {
    concurrency: "unbounded"
  })
  let [first, second] = yield* timed(calls)
  if (first === undefined) {
    assert.isTrue(run.isTokenLost || state.isTokenLost, "a person has to sign in, and no token was lost")
    yield* signIn
    ;[first, second] = yield* timed(calls)
  }
  assert.isDefined(first)
  assert.strictEqual(textOf(second), textOf(first))
  assert.isTrue(first !== undefined && issuer.accepts(first.accessToken, yield* Clock.currentTimeMillis))
  const entry = yield* memory.read(key)
  assert.strictEqual(textOf(entry && (yield* Effect.fromResult(StoredTokens.decode(entry.text)))), textOf(first))
  for (const process of started) yield* timed(Scope.close(process.scope, Exit.void))
  return true
})

/** An assertion that fails is a failure, so that the commands are simplified. */
const checked = (commands: ReadonlyArray<typeof Command.Type>) =>
  Effect.catchDefect(check(commands), (defect) => Effect.fail(defect))

/** Checks that a property holds for any commands. */
const holds = (commands: Arbitrary.Arbitrary<ReadonlyArray<typeof Command.Type>>, runs: number) =>
  Effect.map(Arbitrary.checkEffect(commands, checked, { runs, size: 40, maxShrinks: 200 }), (outcome) => {
    assert.strictEqual(outcome._tag, "Passed", Arbitrary.formatCheckFailure(outcome))
  }).pipe(Random.withSeed("two processes"))

const some = { minLength: 5, maxLength: 30 }

describe("two processes with one store", () => {
  it.effect("one request runs at a time, no old refresh token is used, and in the end both have the same tokens", () =>
    holds(Arbitrary.array(Arbitrary.schema(Harmless), some), 150))

  it.effect("after lost responses and the deaths of processes, a person signs in only if a token was lost", () =>
    holds(Arbitrary.array(Arbitrary.schema(Command), some), 100))
})
