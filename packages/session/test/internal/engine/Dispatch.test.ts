import { ErrorCode, JsonRpc, McpError, MethodTable, type Profile, Revision } from "@effect-mcp/protocol"
import { type Handlers, RequestContext } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Dispatch from "../../../src/internal/engine/Dispatch.ts"
import { info, text } from "../../support/sessions.ts"

const profile: Profile.ClientProfile = { revision: Revision.latest, capabilities: {}, info }

/** What a handler sees where there is no session. */
const context = (request: JsonRpc.Request): RequestContext.RequestContext["Service"] => ({
  id: request.id,
  method: request.method,
  meta: undefined,
  principal: undefined,
  releaseStream: Effect.succeed(false),
  profile,
  progress: () => Effect.void,
  log: () => Effect.void,
  notify: () => Effect.void,
  request: () => Effect.die("nobody to ask"),
  createMessage: () => Effect.die("nobody to ask"),
  elicit: () => Effect.die("nobody to ask"),
  listRoots: () => Effect.die("nobody to ask")
})

const served = (handlers: Handlers.Handlers<"client", RequestContext.RequestContext>) =>
  Dispatch.make("client", handlers)

/** The program that serves a request; without one, the failure that its sender receives. */
const serving = <R>(
  dispatch: Dispatch.Dispatch<R>,
  request: JsonRpc.Request,
  peer: Profile.Profile = profile
): Effect.Effect<unknown, McpError.McpError, R> => {
  const prepared = dispatch.prepare(request, peer)
  return Result.isSuccess(prepared) ? prepared.success : Effect.fail(McpError.received(prepared.failure))
}

const handle = <R>(
  dispatch: Dispatch.Dispatch<R>,
  request: JsonRpc.Request
): Effect.Effect<unknown, McpError.McpError, Exclude<R, RequestContext.RequestContext>> =>
  Effect.provideService(serving(dispatch, request), RequestContext.RequestContext, context(request))

/** A request as it may come off the wire, whatever its params are. */
const request = (method: string, params?: unknown): JsonRpc.Request =>
  params === undefined
    ? JsonRpc.request(1, method, undefined)
    // What is off the wire is of any type; that is what these tests are about.
    : { jsonrpc: "2.0", id: 1, method, params: params as JsonRpc.Params }

const notification = (method: string, params?: unknown): JsonRpc.Notification =>
  params === undefined
    ? JsonRpc.notification(method)
    // As above.
    : { jsonrpc: "2.0", method, params: params as JsonRpc.Params }

const names = ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf", "prototype", "", "tools/call "]

/** Params that hold what any request of a client needs. */
const enough = {
  name: "x",
  uri: "file:///x",
  level: "info",
  taskId: "1",
  ref: { type: "ref/prompt", name: "x" },
  argument: { name: "x", value: "" }
}

describe("requests without a session", () => {
  it.effect("are looked up, checked, and handled", () =>
    Effect.gen(function*() {
      const dispatch = served({
        "tools/call": ({ arguments: input, name }) =>
          Effect.map(RequestContext.RequestContext, ({ id }) => text(`${name} ${JSON.stringify(input)} ${id}`))
      })
      const result = yield* handle(dispatch, request("tools/call", { name: "add", arguments: { a: 1 } }))
      assert.deepStrictEqual(result, text("add {\"a\":1} 1"))
    }))

  it.effect("the params are the received object", () =>
    Effect.gen(function*() {
      let seen: unknown
      const dispatch = served({
        "tools/call": (params) => {
          seen = params
          return Effect.succeed(text("x"))
        }
      })
      const params = { name: "x", arguments: {}, _meta: { progressToken: 1, more: [1] }, future: true }
      yield* handle(dispatch, request("tools/call", params))
      assert.isTrue(seen === params)
    }))

  for (const params of [undefined, null, {}, { _meta: {} }, { cursor: "x", future: 1 }]) {
    it.effect(`params of a method that needs none: ${JSON.stringify(params)}`, () =>
      Effect.gen(function*() {
        const seen: Array<unknown> = []
        const dispatch = served({
          "tools/list": (params) => {
            seen.push(params)
            return Effect.succeed({ tools: [] })
          }
        })
        assert.deepStrictEqual(yield* handle(dispatch, request("tools/list", params)), { tools: [] })
        assert.deepStrictEqual(seen, [params ?? {}])
      }))
  }

  for (const params of [[], [1], "x", 1, true, { cursor: 1 }, { cursor: null }, { _meta: 1 }, { _meta: [] }]) {
    it.effect(`params that do not fit: ${JSON.stringify(params)}`, () =>
      Effect.gen(function*() {
        const dispatch = served({ "tools/list": () => Effect.die("it ran") })
        const error = yield* Effect.flip(handle(dispatch, request("tools/list", params)))
        assert.strictEqual(error.code, ErrorCode.InvalidParams)
        assert.notInclude(error.message, "\n")
        assert.include(error.message, "tools/list")
      }))
  }

  for (
    const params of [undefined, null, {}, { name: 1 }, { name: "x", arguments: [] }, { name: "x", arguments: null }]
  ) {
    it.effect(`params of a method that needs some: ${JSON.stringify(params)}`, () =>
      Effect.gen(function*() {
        const dispatch = served({ "tools/call": () => Effect.die("it ran") })
        const error = yield* Effect.flip(handle(dispatch, request("tools/call", params)))
        assert.strictEqual(error.code, ErrorCode.InvalidParams)
        // It says where the first mismatch is, in words that a peer knows.
        assert.match(error.message, /name|arguments/)
        assert.notInclude(error.message, "<filter>")
      }))
  }

  for (
    const name of [...names, "tools/list", "ping", "initialize", "notifications/initialized", "notifications/message"]
  ) {
    it.effect(`no such method: ${JSON.stringify(name)}`, () =>
      Effect.gen(function*() {
        const dispatch = served({ "tools/call": () => Effect.die("it ran") })
        const error = yield* Effect.flip(handle(dispatch, request(name, { name: "x" })))
        assert.deepStrictEqual([error.code, error.message], [ErrorCode.MethodNotFound, `Method not found: ${name}`])
      }))
  }

  it.effect("what is in the record but in no row of the table is never found", () =>
    Effect.gen(function*() {
      const handlers: object = Object.fromEntries(
        ["own/method", ...names].map((name) => [name, () => Effect.die("it ran")])
      )
      const dispatch = served(handlers)
      for (const name of ["own/method", ...names]) {
        const error = yield* Effect.flip(handle(dispatch, request(name)))
        assert.strictEqual(error.code, ErrorCode.MethodNotFound, name)
      }
      assert.isTrue(Result.isFailure(dispatch.notify(notification("own/method"), profile)))
    }))

  it.effect("a handler that is inherited, or undefined, is none", () =>
    Effect.gen(function*() {
      const inherited: Handlers.Handlers<"client"> = Object.create({ "tools/list": () => Effect.die("it ran") })
      const none: object = { "tools/list": undefined }
      for (const handlers of [inherited, none]) {
        const error = yield* Effect.flip(handle(served(handlers), request("tools/list")))
        assert.strictEqual(error.code, ErrorCode.MethodNotFound)
      }
    }))

  it.effect("a row whose sender is the other side is not served", () =>
    Effect.gen(function*() {
      const handlers: object = { "tools/call": () => Effect.die("it ran") }
      const error = yield* Effect.flip(
        handle(Dispatch.make("server", handlers), request("tools/call", { name: "x" }))
      )
      assert.strictEqual(error.code, ErrorCode.MethodNotFound)
    }))

  it.effect("the record is copied: what is changed later does not count", () =>
    Effect.gen(function*() {
      const handlers: { "tools/list"?: () => Effect.Effect<{ readonly tools: [] }> } = {
        "tools/list": () => Effect.succeed({ tools: [] })
      }
      const dispatch = served(handlers)
      delete handlers["tools/list"]
      assert.deepStrictEqual(yield* handle(dispatch, request("tools/list")), { tools: [] })
    }))

  it.effect("every method of the table is served at the revisions that have it, and at no older one", () =>
    Effect.gen(function*() {
      for (const row of Object.values(MethodTable.requests)) {
        // These are the session's own, or not the client's to send.
        if (row.name === "initialize" || row.name === "ping" || row.from === "server") continue
        const dispatch = served(Object.fromEntries([[row.name, () => Effect.succeed({ completion: { values: [] } })]]))
        for (const revision of Revision.supported) {
          const outcome = yield* Effect.result(
            Effect.provideService(
              serving(dispatch, request(row.name, enough), { ...profile, revision }),
              RequestContext.RequestContext,
              context(request(row.name))
            )
          )
          assert.strictEqual(
            Result.isSuccess(outcome),
            Revision.isAtLeast(revision, row.since),
            `${row.name} ${revision}`
          )
        }
      }
    }))

  it.effect("an McpError of the handler's is its answer; a defect stays one", () =>
    Effect.gen(function*() {
      const refusal = new McpError.McpError({ code: 7, message: "no", data: { why: 1 } })
      const dispatch = served({
        "tools/call": ({ name }) => {
          if (name === "throw") throw refusal
          return name === "fail" ? Effect.fail(refusal) : Effect.die(refusal)
        }
      })
      assert.strictEqual(yield* Effect.flip(handle(dispatch, request("tools/call", { name: "fail" }))), refusal)
      for (const name of ["throw", "die"]) {
        const exit = yield* Effect.exit(handle(dispatch, request("tools/call", { name })))
        assert.isTrue(Exit.hasDies(exit) && !Exit.hasFails(exit), name)
      }
    }))

  it.effect("nothing runs before the effect does, and each run is a run of its own", () =>
    Effect.gen(function*() {
      let ran = 0
      const dispatch = served({
        "tools/list": () => {
          ran++
          return Effect.succeed({ tools: [] })
        }
      })
      const effect = handle(dispatch, request("tools/list"))
      assert.strictEqual(ran, 0)
      yield* effect
      yield* effect
      assert.strictEqual(ran, 2)
    }))

  it.effect("the services of its handlers are what it needs", () =>
    Effect.gen(function*() {
      class Greeting extends Context.Service<Greeting, string>()("test/Greeting") {}
      const dispatch: Dispatch.Dispatch<Greeting> = Dispatch.make("client", {
        "tools/call": () => Effect.map(Greeting, text)
      })
      const result = yield* Effect.provideService(
        handle(dispatch, request("tools/call", { name: "x" })),
        Greeting,
        Greeting.of("hello")
      )
      assert.deepStrictEqual(result, text("hello"))
    }))
})

describe("what a handler answers", () => {
  const rich = {
    content: [{ type: "audio" as const, data: "AA==", mimeType: "audio/wav" }],
    structuredContent: { a: 1 }
  }

  it.effect("has the form of the peer's revision", () =>
    Effect.gen(function*() {
      const dispatch = Dispatch.make("client", { "tools/call": () => Effect.succeed(rich) })
      const answer = (revision: Revision.Revision) =>
        serving(dispatch, request("tools/call", { name: "x" }), { ...profile, revision })
      assert.strictEqual(yield* answer("2025-11-25"), rich)
      assert.strictEqual(yield* answer("2025-03-26"), rich)
      assert.notDeepInclude(yield* answer("2024-11-05"), { content: rich.content })
    }))

  it.effect("has no member that came after the peer's revision, with the strict projection", () =>
    Effect.gen(function*() {
      const dispatch = Dispatch.make("client", { "tools/call": () => Effect.succeed(rich) }, { projection: "strict" })
      const answer = serving(dispatch, request("tools/call", { name: "x" }), { ...profile, revision: "2025-03-26" })
      assert.deepStrictEqual(yield* answer, { content: rich.content })
    }))

  for (const answer of [undefined, null, 1, "text", Symbol("x")]) {
    it.effect(`is no result: ${String(answer)}`, () =>
      Effect.gen(function*() {
        const handlers: object = { "tools/list": () => Effect.succeed(answer) }
        assert.isTrue(Exit.hasDies(yield* Effect.exit(handle(served(handlers), request("tools/list")))))
      }))
  }

  it.effect("may throw when it is read, and that is a defect of the handler's", () =>
    Effect.gen(function*() {
      const handlers: object = {
        "tools/call": () =>
          Effect.succeed({
            get content() {
              throw new Error("no")
            }
          })
      }
      const outcome = Effect.exit(
        serving(served(handlers), request("tools/call", { name: "x" }), {
          ...profile,
          revision: "2024-11-05"
        })
      )
      assert.isTrue(Exit.hasDies(
        yield* Effect.provideService(
          outcome,
          RequestContext.RequestContext,
          context(request("tools/call"))
        )
      ))
    }))
})

describe("what a client is asked", () => {
  const form = { type: "object" as const, properties: { name: { type: "string" as const } }, required: ["name"] }
  const byForm = request("elicitation/create", { message: "Who?", requestedSchema: form })
  const byPage = request("elicitation/create", {
    mode: "url",
    message: "Sign in",
    url: "https://example.com",
    elicitationId: "1"
  })
  const unmatched = request("sampling/createMessage", {
    maxTokens: 1,
    messages: [{ role: "user", content: { type: "tool_result", toolUseId: "1", content: [] } }]
  })

  const asked = () => {
    const passed: Array<string> = []
    const dispatch = Dispatch.make("server", {
      "elicitation/create": () => Effect.succeed({ action: "decline" }),
      "sampling/createMessage": () => Effect.die("it ran")
    }, {
      declared: () => ({ elicitation: { url: {} } }),
      middleware: (request, next) => {
        passed.push(request.method)
        return next(request)
      }
    })
    return { passed, dispatch }
  }

  it.effect("[ELI-05] [SMP-03] is refused before any middleware runs, if no handler may see it", () =>
    Effect.gen(function*() {
      const { dispatch, passed } = asked()
      for (const refused of [byForm, unmatched]) {
        const error = yield* Effect.flip(serving(dispatch, refused, profile))
        assert.strictEqual(error.code, ErrorCode.InvalidParams)
      }
      assert.deepStrictEqual(passed, [])
      assert.deepStrictEqual(yield* serving(dispatch, byPage, profile), { action: "decline" })
      assert.deepStrictEqual(passed, ["elicitation/create"])
    }))

  it.effect("[ELI-07] and its answer fits the form, whoever gave it", () =>
    Effect.gen(function*() {
      const dispatch = Dispatch.make("server", {
        "elicitation/create": () => Effect.succeed({ action: "accept", content: { name: "Ada" } })
      }, {
        middleware: (request, next) =>
          Effect.map(next(request), (answer) => {
            if (request.id !== 1) return answer
            return { ...answer, content: {} }
          })
      })
      assert.isTrue(Exit.hasDies(yield* Effect.exit(serving(dispatch, byForm, profile))))
      assert.deepStrictEqual(yield* serving(dispatch, { ...byForm, id: 2 }, profile), {
        action: "accept",
        content: { name: "Ada" }
      })
    }))
})

describe("a request that is prepared", () => {
  it("is refused before anything runs, or is an effect that has not run", () => {
    let ran = 0
    const dispatch = served({
      "tools/call": () =>
        Effect.sync(() => {
          ran++
          return text("x")
        })
    })
    const codes = [request("acme/unknown"), request("tools/call"), request("tools/call", { name: "x" })].map((one) => {
      const prepared = dispatch.prepare(one, profile)
      return Result.isFailure(prepared) ? prepared.failure.code : "ready"
    })
    assert.deepStrictEqual(codes, [ErrorCode.MethodNotFound, ErrorCode.InvalidParams, "ready"])
    assert.strictEqual(ran, 0)
  })

  it("is refused with a plain object, since peers decide how many there are and a stack costs more than a request", () => {
    const dispatch = served({ "tools/call": () => Effect.succeed(text("x")) })
    for (const one of [request("acme/unknown"), request("tools/call")]) {
      const prepared = dispatch.prepare(one, profile)
      assert.isTrue(Result.isFailure(prepared) && !(prepared.failure instanceof Error))
    }
  })
})

describe("notifications without a session", () => {
  const heard: Array<unknown> = []
  const dispatch = Dispatch.make("server", {
    "notifications/message": ({ data }) => Effect.sync(() => heard.push(data))
  })

  it.effect("are looked up, checked, and handled when run", () =>
    Effect.gen(function*() {
      const found = dispatch.notify(notification("notifications/message", { level: "info", data: 1 }), profile)
      assert.isTrue(Result.isSuccess(found))
      assert.deepStrictEqual(heard, [])
      if (Result.isSuccess(found) && found.success !== undefined) yield* found.success
      assert.deepStrictEqual(heard, [1])
    }))

  for (const name of [...names, "tools/call", "notifications/initialized", "notifications/roots/list_changed"]) {
    it(`nothing is done about ${JSON.stringify(name)}, and it is said why`, () => {
      const found = dispatch.notify(notification(name, { level: "info", data: 1 }), profile)
      assert.isTrue(Result.isFailure(found) && found.failure.length > 0)
    })
  }

  for (const params of [undefined, null, [], {}, { level: "loud", data: 1 }, { level: "info", data: 1, logger: 1 }]) {
    it(`[LOG-04] nor about params that do not fit: ${JSON.stringify(params)}`, () => {
      const found = dispatch.notify(notification("notifications/message", params), profile)
      assert.isTrue(Result.isFailure(found) && !found.failure.includes("\n"))
    })
  }

  it("a message of the side that does not send it is unknown", () => {
    const handlers: object = { "notifications/message": () => Effect.void }
    const found = Dispatch.make("client", handlers).notify(
      notification("notifications/message", { level: "info", data: 1 }),
      profile
    )
    assert.deepStrictEqual(found, Result.fail("unknown method"))
  })
})
