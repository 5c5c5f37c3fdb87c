/** The state of a call that asks its client: which states a server accepts. */
import { ExactJson, type JsonRpc } from "@effect-mcp/protocol"
import { type Principal, RequestContext, RequestStateSeal, type StatelessServer, UsedStates } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { accept, ask, type Options, read, request, revision, secret, serverOf } from "../support/rounds.ts"
import { info, settled } from "../support/sessions.ts"

type Handle = StatelessServer.StatelessServer["handle"]

interface Call {
  readonly params?: object
  readonly principal?: Principal.Principal
  readonly meta?: object
  readonly method?: string
}

const call = (handle: Handle, { meta, method = "tools/call", params = { name: "x" }, principal }: Call) =>
  Effect.map(handle(request(1, method, params, {}, meta), { revision, principal }), read)

const handler = Effect.map(ask("a"), (answer) => answer)

const sealOf = (...texts: readonly [string, ...ReadonlyArray<string>]) => {
  const [first, ...others] = texts
  return RequestStateSeal.layer({ secrets: [Redacted.make(first), ...others.map((text) => Redacted.make(text))] })
}

/** Asks in a first call, and repeats it with an answer. */
const answered = Effect.fnUntraced(function*(
  first: Handle,
  options: {
    readonly second?: Handle
    readonly asked?: Call
    readonly repeated?: Call
    readonly state?: (state: string) => string
  } = {}
) {
  const { asked = {}, repeated = asked, second = first, state = (text: string) => text } = options
  const { questions, state: sealed = "" } = yield* call(first, asked)
  const inputResponses = Object.fromEntries(Object.keys(questions).map((key) => [key, accept("yes")]))
  const params = { ...(repeated.params ?? { name: "x" }), inputResponses, requestState: state(sealed) }
  return yield* call(second, { ...repeated, params })
})

/** The error for a state that is not accepted, whatever the cause. */
const rejection: JsonRpc.ErrorObject = {
  code: -32602,
  message: "Invalid or expired requestState: send the request again without requestState and inputResponses"
}

const serving = (options?: Options, services?: Layer.Layer<never>) =>
  Effect.map(serverOf(handler, options, services), ({ handle }) => handle)

const ada = { id: "ada" }

describe("a requestState", () => {
  it.effect("is accepted for the same call of the same principal, with other metadata", () =>
    Effect.gen(function*() {
      const handle = yield* serving()
      const asked = { params: { name: "x", arguments: { b: 1, a: { d: 2, c: [3] } } }, principal: ada }
      const repeated = {
        params: { arguments: { a: { c: [3], d: 2 }, b: 1 }, name: "x" },
        principal: { id: "ada", claims: { scope: "more" } },
        meta: { progressToken: 5 }
      }
      assert.strictEqual((yield* answered(handle, { asked, repeated })).text, "\"yes\"")
    }))

  it.effect("is accepted for arguments that are nested deeply, and for no others", () =>
    Effect.gen(function*() {
      const handle = yield* serving()
      const nested = (depth: number) => ({
        name: "x",
        arguments: JSON.parse(`{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`)
      })
      const asked = { params: nested(50_000) }
      assert.strictEqual((yield* answered(handle, { asked })).text, "\"yes\"")
      assert.deepStrictEqual(
        (yield* answered(handle, { asked, repeated: { params: nested(49_999) } })).error,
        rejection
      )
    }))

  it.effect("shows the client nothing of what it contains", () =>
    Effect.gen(function*() {
      const handle = yield* serving()
      const first = yield* call(handle, { principal: ada })
      assert.notInclude(Buffer.from(first.state ?? "", "base64url").toString("latin1"), "questions")
      const second = yield* call(handle, { principal: ada })
      assert.notStrictEqual(first.state, second.state)
    }))

  const foreign: ReadonlyArray<{
    readonly name: string
    readonly asked?: Call
    readonly repeated?: Call
    readonly state?: (state: string) => string
  }> = [
    { name: "another principal", asked: { principal: ada }, repeated: { principal: { id: "bob" } } },
    { name: "a client without a principal", asked: { principal: ada }, repeated: {} },
    { name: "a principal, made for a client without one", asked: {}, repeated: { principal: ada } },
    { name: "another tool", asked: {}, repeated: { params: { name: "y" } } },
    {
      name: "other arguments",
      asked: { params: { name: "x", arguments: { a: 1 } } },
      repeated: { params: { name: "x", arguments: { a: 2 } } }
    },
    {
      name: "a changed state",
      state: (state) => `${state.slice(0, 40)}${state[40] === "A" ? "B" : "A"}${state.slice(41)}`
    },
    { name: "a state that is cut off", state: (state) => state.slice(0, -4) },
    { name: "an empty state", state: () => "" },
    { name: "a state of other characters", state: () => "{}" },
    { name: "a state that is too long", state: (state) => state.padEnd(70_000, "A") }
  ]
  for (const { name, ...options } of foreign) {
    it.effect(`[MRTR-07] [MRTR-08] [MRTR-09] is rejected for ${name}`, () =>
      Effect.gen(function*() {
        const handle = yield* serving()
        assert.deepStrictEqual((yield* answered(handle, options)).error, rejection)
      }))
  }

  it.effect("is rejected for another method", () =>
    Effect.gen(function*() {
      const handle = yield* serving()
      const { state } = yield* call(handle, {})
      const params = { uri: "x://y", name: "x", requestState: state }
      assert.deepStrictEqual((yield* call(handle, { method: "prompts/get", params })).error?.code, -32601)
    }))

  it.effect("[MRTR-09] is rejected when it has expired, and accepted before", () =>
    Effect.gen(function*() {
      const handle = yield* serving({ requestState: { expiry: "1 minute" } })
      const { questions, state: requestState } = yield* call(handle, {})
      const [key = ""] = Object.keys(questions)
      const repeated = call(handle, { params: { name: "x", inputResponses: { [key]: accept("yes") }, requestState } })
      yield* TestClock.adjust("59 seconds")
      assert.strictEqual((yield* repeated).text, "\"yes\"")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual((yield* repeated).error, rejection)
    }))

  it.effect("[MRTR-09] is rejected if the clock was set back by more than a minute, and accepted for less", () =>
    Effect.gen(function*() {
      const handle = yield* serving({ requestState: { expiry: "5 minutes" } })
      yield* TestClock.setTime(Date.parse("2030-01-01T12:00:00Z"))
      const { questions, state: requestState } = yield* call(handle, {})
      const [key = ""] = Object.keys(questions)
      const repeated = call(handle, { params: { name: "x", inputResponses: { [key]: accept("yes") }, requestState } })
      yield* TestClock.setTime(Date.parse("2030-01-01T11:59:00Z"))
      assert.strictEqual((yield* repeated).text, "\"yes\"")
      yield* TestClock.setTime(Date.parse("2030-01-01T11:58:59Z"))
      assert.deepStrictEqual((yield* repeated).error, rejection)
    }))

  it.effect("keeps the digits of large integers", () =>
    Effect.gen(function*() {
      const step = Effect.sync(() => ExactJson.parse(`{"id":1915883588174806058}`))
      const known = RequestContext.once("known", { success: Schema.Unknown }, step).pipe(Effect.tap(() => ask("a")))
      const { handle } = yield* serverOf(known)
      assert.strictEqual((yield* answered(handle)).text, `{"id":1915883588174806058}`)
    }))

  it.effect("[VER-13] is accepted by another process with the same secret, and by no other server", () =>
    Effect.gen(function*() {
      const one = yield* serving()
      const two = yield* serving()
      assert.strictEqual((yield* answered(one, { second: two })).text, "\"yes\"")
      const stranger = yield* serving({}, sealOf("another secret, of another server"))
      assert.deepStrictEqual((yield* answered(one, { second: stranger })).error, rejection)
      const other = yield* serving({ info: { ...info, name: "other" } })
      assert.deepStrictEqual((yield* answered(one, { second: other })).error, rejection)
    }))

  it.effect("outlives its secret as long as the secret is among those of the server", () =>
    Effect.gen(function*() {
      const before = yield* serving()
      const after = yield* serving({}, sealOf("the new secret of the servers of a test", Redacted.value(secret)))
      const later = yield* serving({}, sealOf("the new secret of the servers of a test"))
      assert.strictEqual((yield* answered(before, { second: after })).text, "\"yes\"")
      assert.strictEqual((yield* answered(after, { second: later })).text, "\"yes\"")
      assert.deepStrictEqual((yield* answered(before, { second: later })).error, rejection)
    }))

  it.effect("[MRTR-10] is accepted once where the server says so", () =>
    Effect.gen(function*() {
      const used = UsedStates.layerMemory({ capacity: 1 })
      const services = Layer.mergeAll(sealOf(Redacted.value(secret)), used)
      const many = yield* serving()
      const once = yield* serving({ requestState: { singleUse: true } }, services)
      const twice = (handle: Handle) =>
        Effect.gen(function*() {
          const { questions, state: requestState } = yield* call(handle, {})
          const [key = ""] = Object.keys(questions)
          const repeated = call(handle, {
            params: { name: "x", inputResponses: { [key]: accept("yes") }, requestState }
          })
          return [yield* repeated, yield* repeated] as const
        })
      assert.deepStrictEqual((yield* twice(many)).map(({ text }) => text), ["\"yes\"", "\"yes\""])
      const [first, second] = yield* twice(once)
      assert.strictEqual(first.text, "\"yes\"")
      assert.deepStrictEqual(second.error, rejection)
      // The table of used states is full until the first one expires.
      assert.deepStrictEqual((yield* answered(once)).error, rejection)
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual((yield* answered(once)).text, "\"yes\"")
    }))

  it.live("is rejected if the seal fails or hangs, and the call that asks fails", () =>
    Effect.gen(function*() {
      const good = RequestStateSeal.make({ secrets: [secret] })
      const withSeal = (seal: Partial<RequestStateSeal.RequestStateSeal>) =>
        serving({}, Layer.succeed(RequestStateSeal.RequestStateSeal, { ...good, ...seal }))
      const one = yield* serving()
      const dying = yield* withSeal({ open: () => Effect.die("no key") })
      assert.deepStrictEqual((yield* answered(one, { second: dying })).error, rejection)
      const throwing = yield* withSeal({
        seal: () => {
          throw new Error("no key")
        }
      })
      assert.include((yield* call(throwing, {})).error?.message, "its state could not be sealed")
      const mute = yield* withSeal({ digest: () => Effect.fail(new RequestStateSeal.SealError({ cause: "no key" })) })
      assert.include((yield* call(mute, {})).error?.message, "the seal of the server failed")
    }))

  const hangs: Effect.Effect<never> = Effect.uninterruptible(Effect.never)
  const good = RequestStateSeal.make({ secrets: [secret] })
  const unreliable: ReadonlyArray<readonly [name: string, services: Layer.Layer<never>, problem: string]> = [
    [
      "a seal that does not open",
      Layer.succeed(RequestStateSeal.RequestStateSeal, { ...good, open: () => hangs }),
      rejection.message
    ],
    [
      "a seal that does not seal",
      Layer.succeed(RequestStateSeal.RequestStateSeal, { ...good, seal: () => hangs }),
      "its state could not be sealed"
    ],
    [
      "a seal that makes no digest",
      Layer.succeed(RequestStateSeal.RequestStateSeal, { ...good, digest: () => hangs }),
      "the seal of the server failed"
    ],
    [
      "a store of used states that does not answer",
      Layer.merge(
        Layer.succeed(RequestStateSeal.RequestStateSeal, good),
        Layer.succeed(UsedStates.UsedStates, { use: () => hangs })
      ),
      rejection.message
    ],
    [
      "a store of used states that throws",
      Layer.merge(
        Layer.succeed(RequestStateSeal.RequestStateSeal, good),
        Layer.succeed(UsedStates.UsedStates, {
          use: () => {
            throw new Error("no store")
          }
        })
      ),
      rejection.message
    ]
  ]
  for (const [name, services, problem] of unreliable) {
    it.effect(`is not waited for longer than 5 seconds, with ${name}`, () =>
      Effect.gen(function*() {
        const asking = yield* serving()
        const { questions, state: requestState } = yield* call(asking, {})
        const inputResponses = Object.fromEntries(Object.keys(questions).map((key) => [key, accept("yes")]))
        const handle = yield* serving({ requestState: { singleUse: true } }, services)
        const isOpening = problem === rejection.message
        const reply = yield* Effect.forkChild(
          call(handle, isOpening ? { params: { name: "x", inputResponses, requestState } } : {}),
          { startImmediately: true }
        )
        yield* TestClock.adjust("5 seconds")
        yield* settled
        assert.include(
          (reply.pollUnsafe() === undefined ? undefined : yield* Fiber.join(reply))?.error?.message,
          problem
        )
      }))
  }

  it.effect("that does not open logs a warning each second, which shows neither the state nor a secret", () => {
    const logged: Array<string> = []
    return Effect.gen(function*() {
      const asking = yield* serving()
      const otherSecret = "another secret, of another server"
      const stranger = yield* serving({}, sealOf(otherSecret))
      const { questions, state: requestState = "" } = yield* call(asking, { principal: ada })
      const inputResponses = Object.fromEntries(Object.keys(questions).map((key) => [key, accept("yes")]))
      const repeated = call(stranger, { principal: ada, params: { name: "x", inputResponses, requestState } })
      assert.deepStrictEqual(logged, [])
      for (let second = 1; second <= 2; second++) {
        for (let time = 0; time < 100; time++) assert.deepStrictEqual((yield* repeated).error, rejection)
        assert.lengthOf(logged, second)
        yield* TestClock.adjust("1 second")
      }
      const [warning = ""] = logged
      assert.include(warning, "Warn tools/call: rejected a requestState that does not open")
      for (const hidden of [requestState, otherSecret, Redacted.value(secret), "ada"]) {
        assert.notInclude(warning, hidden)
      }
    }).pipe(Effect.provide(Logger.layer([
      Logger.make(({ logLevel, message }) => void logged.push(`${logLevel} ${String(message)}`))
    ])))
  })

  it.effect("that has expired, was used or is too long logs no warning", () => {
    const logged: Array<unknown> = []
    return Effect.gen(function*() {
      const handle = yield* serving({ requestState: { singleUse: true } })
      assert.strictEqual((yield* answered(handle)).text, "\"yes\"")
      assert.deepStrictEqual(
        (yield* answered(handle, { state: (state) => state.padEnd(70_000, "A") })).error,
        rejection
      )
      const { questions, state: requestState } = yield* call(handle, {})
      const inputResponses = Object.fromEntries(Object.keys(questions).map((key) => [key, accept("yes")]))
      const repeated = call(handle, { params: { name: "x", inputResponses, requestState } })
      assert.strictEqual((yield* repeated).text, "\"yes\"")
      assert.deepStrictEqual((yield* repeated).error, rejection)
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual((yield* repeated).error, rejection)
      assert.deepStrictEqual(logged, [])
    }).pipe(Effect.provide(Logger.layer([Logger.make(({ message }) => void logged.push(message))])))
  })

  it.effect("[MRTR-12] and answers of a wrong form are invalid params", () =>
    Effect.gen(function*() {
      const handle = yield* serving()
      for (const params of [{ inputResponses: [1] }, { inputResponses: { a: "x" } }, { requestState: 5 }]) {
        const { error } = yield* call(handle, { params: { name: "x", ...params } })
        assert.strictEqual(error?.code, -32602)
        assert.include(error?.message, "Invalid params for tools/call")
      }
    }))
})

describe("a seal", () => {
  it("needs a secret of 32 characters", () => {
    assert.throws(
      () => RequestStateSeal.make({ secrets: [Redacted.make("short")] }),
      "secrets must be texts of at least 32 characters, not \"a text of 5\""
    )
  })
})
