/** The scopes of members and groups: over a real socket, in memory, and for hidden members. */
import { ErrorCode, McpError, Revision } from "@effect-mcp/protocol"
import {
  McpGroup,
  McpMiddleware,
  McpMount,
  McpPrompt,
  McpRequest,
  McpResource,
  McpResponseCache,
  McpScopes,
  McpServer,
  McpTool
} from "@effect-mcp/server"
import type { ClientSession, Principal, RequestError } from "@effect-mcp/session"
import {
  Authentication,
  StatelessHttpServer,
  StreamableHttpServer,
  WebSocketClient,
  WebSocketServer
} from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { connect, info } from "./support/connect.ts"
import { connectOver } from "./support/connectOver.ts"
import { serve } from "./support/hosted.ts"

const calls: Array<string> = []

const Read = Tool.make("read").annotate(McpTool.Scopes, ["notes:read"])
const Write = Tool.make("write").annotate(McpTool.Scopes, ["notes:write"])
const Sometimes = Tool.make("sometimes").annotate(McpTool.Scopes, ["notes:write"])
const Note = McpResource.make("latest", { uri: "note://latest", scopes: ["notes:read"] })
const Notes = McpResource.template("note", { uri: "notes://{id}", scopes: ["notes:read"] })
const Summary = McpPrompt.make("summary", {
  arguments: { style: Schema.Literals(["short", "long"]) },
  scopes: ["notes:read"]
})

const Open = McpGroup.make("open", Tool.make("open"), Read)
const Writing = McpGroup.make("writing", Write, Sometimes).scopes(["notes:read"])
const Reading = McpGroup.make("reading", Note, Notes, Summary)
const Hidden = McpGroup.make(
  "hidden",
  Tool.make("purge"),
  McpResource.make("log", { uri: "admin://log" })
).scopes(["admin"], { hidden: true })

const called = (name: string) => Effect.sync(() => void calls.push(name))

const groups = Layer.mergeAll(
  Open.toLayer((handlers) => handlers.tool("open", () => called("open")).tool("read", () => called("read"))),
  Writing.toLayer((handlers) =>
    handlers
      .tool("write", () => called("write"))
      .tool("sometimes", () => called("sometimes"), {
        visible: Effect.map(McpRequest.McpRequest, ({ principal }) => principal?.id === "ada")
      })
  ),
  Reading.toLayer((handlers) =>
    handlers
      .resource("latest", Effect.succeed("the latest"))
      .template("note", ({ id }) => Effect.succeed(`note ${id}`), {
        list: Effect.succeed([{ name: "one", parameters: { id: "1" } }])
      })
      .prompt("summary", ({ style }) => Effect.succeed(`In ${style}`))
  ),
  Hidden.toLayer((handlers) => handlers.tool("purge", () => called("purge")).resource("log", Effect.succeed("the log")))
)

const principals: Readonly<Record<string, Principal.Principal>> = {
  none: { id: "ada" },
  read: { id: "ada", scopes: ["notes:read"] },
  write: { id: "ada", scopes: ["notes:read", "notes:write"] },
  admin: { id: "ada", scopes: ["notes:read", "notes:write", "admin"] },
  bob: { id: "bob", scopes: [] }
}

const tokens = Authentication.layerBearer({
  verify: (token) => Effect.sync(() => principals[Redacted.value(token)])
})

const portOf = (context: Context.Context<HttpServer>): number => {
  const { address } = Context.get(context, HttpServer)
  if (address._tag === "UnixPathAddress") throw new Error("no port")
  return address.port
}

/** Serves the groups over HTTP, with sessions in one of the two eras or without. */
const listen = Effect.fnUntraced(function*(kind: "stateless" | "host") {
  const server = kind === "host"
    ? Layer.provide(StreamableHttpServer.layerNode({ port: 0 }), McpServer.layerHost(groups, { info }))
    : Layer.unwrap(Effect.map(
      McpServer.makeStatelessHandlers(groups),
      (handlers) => StatelessHttpServer.layerNode(handlers, { info, port: 0 })
    ))
  return portOf(yield* Layer.build(Layer.provide(server, tokens)))
})

/** Posts a request of revision 2025-11-25 to a server without sessions. */
const post = (port: number, token: string, method: string, params: object) =>
  Effect.promise(async () => {
    const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2025-11-25",
        authorization: `Bearer ${token}`
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })
    })
    return {
      status: response.status,
      challenge: response.headers.get("www-authenticate"),
      body: await response.text()
    }
  })

const challenge = (scope: string) => `Bearer error="insufficient_scope", scope="${scope}"`

/** Returns the code of the error that a request fails with, and its scopes. */
const errorOf = <A>(request: Effect.Effect<A, RequestError.RequestError>) =>
  Effect.map(Effect.flip(request), ({ reason }) => {
    if (reason._tag !== "ErrorResponse") throw new Error(`no error response: ${reason._tag}`)
    const { code, message } = reason.error
    return { code, message, scopes: McpError.missingScopes(reason.error) }
  })

const toolNames = (session: ClientSession.ClientSessionShape) =>
  Effect.map(session.listTools(), ({ tools }) => tools.map(({ name }) => name))

describe("the scopes of members", () => {
  it.live("[AUT-46][AUT-47] are those of the member and its group, in the challenge of a 403", () =>
    Effect.gen(function*() {
      const port = yield* listen("stateless")
      const cases: ReadonlyArray<readonly [token: string, method: string, params: object, scope: string]> = [
        ["none", "tools/call", { name: "read" }, "notes:read"],
        ["read", "tools/call", { name: "write" }, "notes:read notes:write"],
        ["none", "resources/read", { uri: "note://latest" }, "notes:read"],
        ["none", "resources/read", { uri: "notes://7" }, "notes:read"],
        ["none", "prompts/get", { name: "summary", arguments: { style: "short" } }, "notes:read"],
        ["none", "completion/complete", {
          ref: { type: "ref/prompt", name: "summary" },
          argument: { name: "style", value: "s" }
        }, "notes:read"],
        ["none", "completion/complete", {
          ref: { type: "ref/resource", uri: "notes://{id}" },
          argument: { name: "id", value: "" }
        }, "notes:read"],
        // A client that sees a conditional member gets the challenge as well.
        ["read", "tools/call", { name: "sometimes" }, "notes:read notes:write"]
      ]
      for (const [token, method, params, scope] of cases) {
        const response = yield* post(port, token, method, params)
        assert.deepInclude(response, { status: 403, challenge: challenge(scope) })
      }
      assert.deepStrictEqual(calls.splice(0), [])
      for (const [, method, params] of cases) {
        const response = yield* post(port, "write", method, params)
        assert.deepInclude(response, { status: 200, challenge: null })
        assert.notInclude(response.body, "\"error\"")
      }
      assert.deepStrictEqual(calls.splice(0), ["read", "write", "sometimes"])
    }))

  it.live("of members that are hidden or unknown show in no status, header, code or message", () =>
    Effect.gen(function*() {
      const port = yield* listen("stateless")
      const cases: ReadonlyArray<readonly [token: string, method: string, hidden: object, unknown: object]> = [
        ["write", "tools/call", { name: "purge" }, { name: "porge" }],
        ["bob", "tools/call", { name: "sometimes" }, { name: "somethign" }],
        ["write", "resources/read", { uri: "admin://log" }, { uri: "admin://lag" }]
      ]
      for (const [token, method, hidden, unknown] of cases) {
        const known = yield* post(port, token, method, hidden)
        const other = yield* post(port, token, method, unknown)
        const [name = "", otherName = ""] = [hidden, unknown].flatMap((params) => Object.values(params).map(String))
        assert.deepStrictEqual({ ...known, body: known.body.replaceAll(name, otherName) }, other)
        assert.strictEqual(known.status, 200)
        assert.isNull(known.challenge)
      }
      assert.include((yield* post(port, "admin", "tools/call", { name: "purge" })).body, "result")
      assert.deepStrictEqual(calls.splice(0), ["purge"])
    }))

  it.live("list members for every client, unless they are hidden, and resources of a template for its readers", () =>
    Effect.gen(function*() {
      for (const [name, expected] of [["none", []], ["admin", ["purge"]]] as const) {
        const session = yield* connect(groups, { principal: principals[name] ?? { id: "" } })
        assert.deepStrictEqual(yield* toolNames(session), ["open", ...expected, "read", "sometimes", "write"])
        const { resources } = yield* session.listResources()
        assert.deepStrictEqual(
          resources.map(({ uri }) => uri),
          name === "none" ? ["note://latest"] : ["admin://log", "note://latest", "notes://1"]
        )
        assert.lengthOf((yield* session.listResourceTemplates()).resourceTemplates, 1)
      }
    }))

  it.live("[AUT-46] are checked for principals of every transport, and for no client without one in memory", () =>
    Effect.gen(function*() {
      const session = yield* connect(groups, { principal: { id: "ada", scopes: ["notes:read"] } })
      yield* session.callTool("read")
      const failed = yield* errorOf(session.callTool("write"))
      assert.deepInclude(failed, { code: ErrorCode.InsufficientScope, scopes: ["notes:read", "notes:write"] })
      const withoutPrincipal = yield* connect(groups)
      yield* withoutPrincipal.callTool("write")
      assert.include(yield* toolNames(withoutPrincipal), "purge")
      calls.length = 0
    }))

  for (const revisions of [Revision.legacy, Revision.modern]) {
    it.live(`[AUT-46][AUT-51] are checked over a WebSocket with an error in its place, revision ${revisions[0]}`, () =>
      Effect.gen(function*() {
        const context = yield* Layer.build(
          WebSocketServer.layerNode({ port: 0 }).pipe(
            Layer.provide(McpServer.layerHost(groups, { info })),
            Layer.provide(Layer.succeed(Authentication.Authentication, {
              identify: ({ headers }) =>
                Effect.succeed(
                  headers["x-user"] === undefined ? "anonymous" : principals[headers["x-user"]] ?? "anonymous"
                )
            }))
          )
        )
        const url = `ws://127.0.0.1:${portOf(context)}/mcp`
        const [first, ...others] = revisions
        const open = (user?: string) =>
          connectOver(
            WebSocketClient.layerNode({ url, ...(user === undefined ? {} : { headers: { "x-user": user } }) }),
            {
              revisions: [first, ...others]
            }
          )
        const reader = yield* open("read")
        yield* reader.callTool("read")
        assert.deepInclude(yield* errorOf(reader.callTool("write")), {
          code: ErrorCode.InsufficientScope,
          scopes: ["notes:read", "notes:write"]
        })
        assert.deepInclude(yield* errorOf(reader.callTool("purge")), { code: ErrorCode.InvalidParams })
        const anonymous = yield* open()
        yield* anonymous.callTool("open")
        assert.deepInclude(yield* errorOf(anonymous.callTool("read")), { scopes: ["notes:read"] })
        assert.deepStrictEqual(calls.splice(0), ["read", "open"])
      }))
  }

  it.live("[AUT-46] reject subscriptions to resources in both eras", () =>
    Effect.gen(function*() {
      for (const revision of ["2025-11-25", "2026-07-28"] as const) {
        const client = { revisions: [revision] as const }
        const server = { revisions: ["2026-07-28", "2025-11-25"] as const }
        const session = yield* connect(groups, { principal: { id: "ada", scopes: [] }, client, server })
        const failed = yield* Effect.flip(session.subscribeResource("note://latest"))
        assert.include(failed.message, "Insufficient scope: this operation needs notes:read")
        const reader = yield* connect(groups, { principal: { id: "ada", scopes: ["notes:read"] }, client, server })
        yield* reader.subscribeResource("note://latest")
      }
    }))

  it.live("survive a mount, and a cache of results for wider scopes", () =>
    Effect.gen(function*() {
      class Cached extends McpMiddleware.Service<Cached>()("Cached") {}
      const Kept = McpGroup.make("kept", Read, Tool.make("demanding")).middleware(Cached)
      const kept = Kept.toLayer((handlers) =>
        handlers
          .tool("read", () => called("read"))
          .tool("demanding", () => Effect.andThen(McpRequest.requireScopes(["notes:read"]), called("demanding")))
      ).pipe(
        Layer.provide(McpResponseCache.layer(Cached, { timeToLive: { read: "1 minute", demanding: "1 minute" } }))
      )
      const open = yield* serve(McpMount.prefixed("work", McpScopes.layer(["work"], kept)))
      const wide: ReadonlyArray<Principal.Principal> = [1, 2].map((expiresAt) => ({
        id: "ada",
        scopes: expiresAt === 1 ? ["notes:read", "work"] : ["work", "notes:read"],
        expiresAt: Date.now() + expiresAt * 60_000
      }))
      for (const principal of wide) {
        const session = yield* open(principal)
        yield* session.callTool("work_read")
        yield* session.callTool("work_demanding")
      }
      // A new token of the same principal does not empty the cache.
      assert.deepStrictEqual(calls.splice(0), ["read", "demanding"])
      const narrow = yield* open({ id: "ada", scopes: ["work"] })
      assert.deepStrictEqual((yield* errorOf(narrow.callTool("work_read"))).scopes, ["work", "notes:read"])
      assert.deepStrictEqual((yield* errorOf(narrow.callTool("work_demanding"))).scopes, ["notes:read"])
      const none = yield* open({ id: "ada" })
      assert.deepStrictEqual((yield* errorOf(none.callTool("work_demanding"))).scopes, ["work"])
    }))

  it.live("that no challenge can have are a defect of their group", () =>
    Effect.gen(function*() {
      const Broken = McpGroup.make("broken", Tool.make("one").annotate(McpTool.Scopes, ["a b"]))
      const layer = Broken.toLayer((handlers) => handlers.tool("one", () => Effect.void))
      const exit = yield* Effect.exit(connect(layer))
      assert.include(String(exit), "RFC 6749")
    }))

  it.live("[AUT-47] of a call that needs more by its arguments are all in the error", () =>
    Effect.gen(function*() {
      const Removing = McpGroup.make("removing", Tool.make("remove")).scopes(["notes:write"])
      const layer = Removing.toLayer((handlers) =>
        handlers.tool("remove", () => McpRequest.requireScopes(["notes:write", "notes:admin"]))
      )
      const session = yield* connect(layer, { principal: { id: "ada", scopes: ["notes:write"] } })
      const failed = yield* errorOf(session.callTool("remove"))
      assert.deepInclude(failed, {
        code: ErrorCode.InsufficientScope,
        message: "Insufficient scope: this operation needs notes:write notes:admin",
        scopes: ["notes:write", "notes:admin"]
      })
    }))
})
