import { ErrorCode, JsonRpc, McpError, MethodTable, type Profile, Revision } from "@effect-mcp/protocol"
import { type Handlers, RequestContext } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Dispatch from "../../../src/internal/engine/Dispatch.ts"
import * as TaskRequests from "../../../src/internal/engine/TaskRequests.ts"
import { info, text } from "../../support/sessions.ts"

const profile: Profile.ClientProfile = { revision: Revision.latestLegacy, capabilities: {}, info }

/** The context of handlers in these tests. */
const context = (request: JsonRpc.Request): RequestContext.RequestContext["Service"] => ({
  id: request.id,
  method: request.method,
  meta: undefined,
  principal: undefined,
  lacksScopes: () => false,
  session: undefined,
  parameterHeaders: undefined,
  releaseStream: Effect.succeed(false),
  isOwnError: () => false,
  becomeTask: Effect.succeed(false),
  isHandedOn: Effect.succeed(false),
  profile,
  progress: () => Effect.void,
  log: () => Effect.void,
  notify: () => Effect.void,
  request: () => Effect.die("no session"),
  once: () => Effect.die("no session"),
  taskRequests: TaskRequests.none(profile)
})

const dispatchOf = <const H extends Handlers.Handlers<"client", RequestContext.RequestContext>>(handlers: H) =>
  Dispatch.make("client", handlers)

/** Serves a request, or fails with the error that its sender receives. */
const serve = <R>(
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
  Effect.provideService(serve(dispatch, request), RequestContext.RequestContext, context(request))

/** Makes a request with params of any type. */
const request = (method: string, params?: unknown): JsonRpc.Request =>
  params === undefined
    ? JsonRpc.request(1, method, undefined)
    // A peer can send params of any type.
    : { jsonrpc: "2.0", id: 1, method, params: params as JsonRpc.Params }

const notification = (method: string, params?: unknown): JsonRpc.Notification =>
  params === undefined
    ? JsonRpc.notification(method)
    // As above.
    : { jsonrpc: "2.0", method, params: params as JsonRpc.Params }

const names = ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf", "prototype", "", "tools/call "]

/** Params that are valid for every request of a client. */
const validForAll = {
  name: "x",
  uri: "file:///x",
  level: "info",
  taskId: "1",
  ref: { type: "ref/prompt", name: "x" },
  argument: { name: "x", value: "" }
}

describe("the dispatch of requests", () => {
  it.effect("finds the handler, checks the params, and runs the handler", () =>
    Effect.gen(function*() {
      const dispatch = dispatchOf({
        "tools/call": ({ arguments: input, name }) =>
          Effect.map(RequestContext.RequestContext, ({ id }) => text(`${name} ${JSON.stringify(input)} ${id}`))
      })
      const result = yield* handle(dispatch, request("tools/call", { name: "add", arguments: { a: 1 } }))
      assert.deepStrictEqual(result, text("add {\"a\":1} 1"))
    }))

  it.effect("passes the received params object to the handler", () =>
    Effect.gen(function*() {
      let seen: unknown
      const dispatch = dispatchOf({
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
    it.effect(`accepts params of a method that needs none: ${JSON.stringify(params)}`, () =>
      Effect.gen(function*() {
        const seen: Array<unknown> = []
        const dispatch = dispatchOf({
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
    it.effect(`rejects params that do not match: ${JSON.stringify(params)}`, () =>
      Effect.gen(function*() {
        const dispatch = dispatchOf({ "tools/list": () => Effect.die("the handler ran") })
        const error = yield* Effect.flip(handle(dispatch, request("tools/list", params)))
        assert.strictEqual(error.code, ErrorCode.InvalidParams)
        assert.notInclude(error.message, "\n")
        assert.include(error.message, "tools/list")
      }))
  }

  for (
    const params of [undefined, null, {}, { name: 1 }, { name: "x", arguments: [] }, { name: "x", arguments: null }]
  ) {
    it.effect(`rejects params of a method that needs some: ${JSON.stringify(params)}`, () =>
      Effect.gen(function*() {
        const dispatch = dispatchOf({ "tools/call": () => Effect.die("the handler ran") })
        const error = yield* Effect.flip(handle(dispatch, request("tools/call", params)))
        assert.strictEqual(error.code, ErrorCode.InvalidParams)
        // The message has the path of the first mismatch, and no name of a schema.
        assert.match(error.message, /name|arguments/)
        assert.notInclude(error.message, "<filter>")
      }))
  }

  for (
    const name of [...names, "tools/list", "ping", "initialize", "notifications/initialized", "notifications/message"]
  ) {
    it.effect(`rejects an unknown method: ${JSON.stringify(name)}`, () =>
      Effect.gen(function*() {
        const dispatch = dispatchOf({ "tools/call": () => Effect.die("the handler ran") })
        const error = yield* Effect.flip(handle(dispatch, request(name, { name: "x" })))
        assert.deepStrictEqual([error.code, error.message], [ErrorCode.MethodNotFound, `Method not found: ${name}`])
      }))
  }

  it.effect("ignores handlers of methods that are not in the method table", () =>
    Effect.gen(function*() {
      const handlers: object = Object.fromEntries(
        ["own/method", ...names].map((name) => [name, () => Effect.die("the handler ran")])
      )
      const dispatch = dispatchOf(handlers)
      for (const name of ["own/method", ...names]) {
        const error = yield* Effect.flip(handle(dispatch, request(name)))
        assert.strictEqual(error.code, ErrorCode.MethodNotFound, name)
      }
      assert.isTrue(Result.isFailure(dispatch.notify(notification("own/method"), profile)))
    }))

  it.effect("ignores inherited and undefined handlers", () =>
    Effect.gen(function*() {
      const inherited: Handlers.Handlers<"client"> = Object.create({
        "tools/list": () => Effect.die("the handler ran")
      })
      const none: object = { "tools/list": undefined }
      for (const handlers of [inherited, none]) {
        const error = yield* Effect.flip(handle(dispatchOf(handlers), request("tools/list")))
        assert.strictEqual(error.code, ErrorCode.MethodNotFound)
      }
    }))

  it.effect("rejects a method that the other side sends", () =>
    Effect.gen(function*() {
      const handlers: object = { "tools/call": () => Effect.die("the handler ran") }
      const error = yield* Effect.flip(
        handle(Dispatch.make("server", handlers), request("tools/call", { name: "x" }))
      )
      assert.strictEqual(error.code, ErrorCode.MethodNotFound)
    }))

  it.effect("copies the record of handlers", () =>
    Effect.gen(function*() {
      const handlers: { "tools/list"?: () => Effect.Effect<{ readonly tools: [] }> } = {
        "tools/list": () => Effect.succeed({ tools: [] })
      }
      const dispatch = dispatchOf(handlers)
      delete handlers["tools/list"]
      assert.deepStrictEqual(yield* handle(dispatch, request("tools/list")), { tools: [] })
    }))

  it.effect("serves each method in the revisions that have it, and in no older one", () =>
    Effect.gen(function*() {
      for (const row of Object.values(MethodTable.requests)) {
        // The session serves these itself, or a client does not send them.
        if (row.name === "initialize" || row.name === "ping" || row.from === "server") continue
        const dispatch = dispatchOf({ [row.name]: () => Effect.succeed({ completion: { values: [] } }) })
        for (const revision of Revision.legacy) {
          const outcome = yield* Effect.result(
            Effect.provideService(
              serve(dispatch, request(row.name, validForAll), { ...profile, revision }),
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

  it.effect("fails with the McpError of a handler, and dies with its defect", () =>
    Effect.gen(function*() {
      const rejection = new McpError.McpError({ code: 7, message: "no", data: { why: 1 } })
      const dispatch = dispatchOf({
        "tools/call": ({ name }) => {
          if (name === "throw") throw rejection
          return name === "fail" ? Effect.fail(rejection) : Effect.die(rejection)
        }
      })
      assert.strictEqual(yield* Effect.flip(handle(dispatch, request("tools/call", { name: "fail" }))), rejection)
      for (const name of ["throw", "die"]) {
        const exit = yield* Effect.exit(handle(dispatch, request("tools/call", { name })))
        assert.isTrue(Exit.hasDies(exit) && !Exit.hasFails(exit), name)
      }
    }))

  it.effect("runs the handler each time that the effect runs, and not before", () =>
    Effect.gen(function*() {
      let ran = 0
      const dispatch = dispatchOf({
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

  it.effect("requires the services of its handlers", () =>
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

describe("the result of a handler", () => {
  const rich = {
    content: [{ type: "audio" as const, data: "AA==", mimeType: "audio/wav" }],
    structuredContent: { a: 1 }
  }

  it.effect("is projected to the peer's revision", () =>
    Effect.gen(function*() {
      const dispatch = Dispatch.make("client", { "tools/call": () => Effect.succeed(rich) })
      const answer = (revision: Revision.LegacyRevision) =>
        serve(dispatch, request("tools/call", { name: "x" }), { ...profile, revision })
      assert.strictEqual(yield* answer("2025-11-25"), rich)
      assert.strictEqual(yield* answer("2025-03-26"), rich)
      assert.notDeepInclude(yield* answer("2024-11-05"), { content: rich.content })
    }))

  it.effect("has no members of later revisions with the strict projection", () =>
    Effect.gen(function*() {
      const dispatch = Dispatch.make("client", { "tools/call": () => Effect.succeed(rich) }, { projection: "strict" })
      const answer = serve(dispatch, request("tools/call", { name: "x" }), { ...profile, revision: "2025-03-26" })
      assert.deepStrictEqual(yield* answer, { content: rich.content })
    }))

  for (const answer of [undefined, null, 1, "text", Symbol("x")]) {
    it.effect(`makes the program die if it is ${String(answer)}`, () =>
      Effect.gen(function*() {
        const handlers: object = { "tools/list": () => Effect.succeed(answer) }
        assert.isTrue(Exit.hasDies(yield* Effect.exit(handle(dispatchOf(handlers), request("tools/list")))))
      }))
  }

  it.effect("makes the program die if a getter throws", () =>
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
        serve(dispatchOf(handlers), request("tools/call", { name: "x" }), {
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

describe("a request to a client", () => {
  const form = { type: "object" as const, properties: { name: { type: "string" as const } }, required: ["name"] }
  const byForm = request("elicitation/create", { message: "Name?", requestedSchema: form })
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

  const withMiddleware = () => {
    const passed: Array<string> = []
    const dispatch = Dispatch.make("server", {
      "elicitation/create": () => Effect.succeed({ action: "decline" }),
      "sampling/createMessage": () => Effect.die("the handler ran")
    }, {
      declared: () => ({ elicitation: { url: {} } }),
      middleware: (request, next) => {
        passed.push(request.method)
        return next(request)
      }
    })
    return { passed, dispatch }
  }

  it.effect("[ELI-05] [SMP-03] is rejected before middleware runs if it breaks a rule", () =>
    Effect.gen(function*() {
      const { dispatch, passed } = withMiddleware()
      for (const invalid of [byForm, unmatched]) {
        const error = yield* Effect.flip(serve(dispatch, invalid, profile))
        assert.strictEqual(error.code, ErrorCode.InvalidParams)
      }
      assert.deepStrictEqual(passed, [])
      assert.deepStrictEqual(yield* serve(dispatch, byPage, profile), { action: "decline" })
      assert.deepStrictEqual(passed, ["elicitation/create"])
    }))

  it.effect("[ELI-07] gets a result that matches the form, also from middleware", () =>
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
      assert.isTrue(Exit.hasDies(yield* Effect.exit(serve(dispatch, byForm, profile))))
      assert.deepStrictEqual(yield* serve(dispatch, { ...byForm, id: 2 }, profile), {
        action: "accept",
        content: { name: "Ada" }
      })
    }))
})

describe("a prepared request", () => {
  it("is rejected before anything runs, or is an effect that has not run", () => {
    let ran = 0
    const dispatch = dispatchOf({
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

  it("is rejected with a plain object, because peers decide how many occur", () => {
    const dispatch = dispatchOf({ "tools/call": () => Effect.succeed(text("x")) })
    for (const one of [request("acme/unknown"), request("tools/call")]) {
      const prepared = dispatch.prepare(one, profile)
      assert.isTrue(Result.isFailure(prepared) && !(prepared.failure instanceof Error))
    }
  })
})

describe("the dispatch of notifications", () => {
  const handled: Array<unknown> = []
  const dispatch = Dispatch.make("server", {
    "notifications/message": ({ data }) => Effect.sync(() => handled.push(data))
  })

  it.effect("finds and checks the handler, which runs with the effect", () =>
    Effect.gen(function*() {
      const found = dispatch.notify(notification("notifications/message", { level: "info", data: 1 }), profile)
      assert.isTrue(Result.isSuccess(found))
      assert.deepStrictEqual(handled, [])
      if (Result.isSuccess(found) && found.success !== undefined) yield* found.success
      assert.deepStrictEqual(handled, [1])
    }))

  for (const name of [...names, "tools/call", "notifications/initialized", "notifications/roots/list_changed"]) {
    it(`fails with the reason for ${JSON.stringify(name)}`, () => {
      const found = dispatch.notify(notification(name, { level: "info", data: 1 }), profile)
      assert.isTrue(Result.isFailure(found) && found.failure.length > 0)
    })
  }

  for (const params of [undefined, null, [], {}, { level: "loud", data: 1 }, { level: "info", data: 1, logger: 1 }]) {
    it(`[LOG-04] fails with the problem of the params ${JSON.stringify(params)}`, () => {
      const found = dispatch.notify(notification("notifications/message", params), profile)
      assert.isTrue(Result.isFailure(found) && !found.failure.includes("\n"))
    })
  }

  it("fails for a notification that the other side sends", () => {
    const handlers: object = { "notifications/message": () => Effect.void }
    const found = Dispatch.make("client", handlers).notify(
      notification("notifications/message", { level: "info", data: 1 }),
      profile
    )
    assert.deepStrictEqual(found, Result.fail("unknown method"))
  })
})
