/** The notes that an authorization server protects (`protectedNotes.ts`): scopes, persons, and tokens that expire. */
import { OAuth, TokenVerifier } from "@effect-mcp/auth"
import * as NodeUserAgent from "@effect-mcp/auth/NodeUserAgent"
import { Revision } from "@effect-mcp/protocol"
import { ClientSession } from "@effect-mcp/session"
import { AuthenticationChallenge, StreamableHttpClient } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import { freePort } from "../../../scripts/freePort.ts"
import * as ProtectedNotes from "../src/protectedNotes.ts"
import * as Protection from "./fixtures/protection.ts"

/** Serves the notes in this process, for an issuer whose clock is the same: tokens expire to the second. */
const serve = Effect.fnUntraced(function*({ url }: Protection.Issuer) {
  const port = yield* freePort
  yield* Layer.build(ProtectedNotes.layer(port, TokenVerifier.jwt(url, { clockSkew: 0 })))
  return `http://127.0.0.1:${port}/mcp`
})

/** Connects a person who signs in by a browser, and permits whatever the server asks for. */
const connect = Effect.fnUntraced(function*(url: string, login: string) {
  const updates = yield* Queue.unbounded<string>()
  const session = ClientSession.layer({
    info: { name: "reader", version: "1.0.0" },
    revisions: Revision.legacy,
    handlers: { "notifications/resources/updated": ({ uri }) => Effect.asVoid(Queue.offer(updates, uri)) }
  })
  const userAgent = NodeUserAgent.browser({
    command: Protection.browserOf(login),
    confirm: () => Effect.succeed(true)
  })
  const context = yield* Layer.build(
    session.pipe(
      Layer.provide(StreamableHttpClient.layerNode({ url })),
      Layer.provideMerge(Layer.fresh(OAuth.layer({ userAgent })))
    )
  )
  const status = Context.get(context, OAuth.OAuth).status(url)
  return { ...Context.get(context, ClientSession.ClientSession), status, updates }
})

const Own = Schema.Struct({ uri: Schema.String, notes: Schema.Array(Schema.String) })

const own = Effect.map(({ structuredContent }: { readonly structuredContent?: unknown }) =>
  Schema.decodeUnknownSync(Own)(structuredContent)
)

/** The time of a test, in milliseconds. It starts several processes, and a busy machine starts them slowly. */
const timeout = 180_000

describe("protectedNotes.ts", () => {
  it.live(
    "[AUT-01] [AUT-02] [AUT-45] a client without a token learns where to sign in, and for which scope",
    () =>
      Effect.gen(function*() {
        const issuer = yield* Protection.issuer()
        const url = yield* Protection.notes(issuer)
        const response = yield* Effect.promise(() => fetch(url, { method: "POST", body: "{}" }))
        assert.strictEqual(response.status, 401)
        const [challenge] = AuthenticationChallenge.parse(response.headers.get("www-authenticate") ?? "")
        assert.strictEqual(challenge?.parameters["scope"], "notes:read")
        const metadata = yield* Effect.promise(async (): Promise<unknown> =>
          await (await fetch(challenge?.parameters["resource_metadata"] ?? "")).json()
        )
        assert.deepInclude(metadata, {
          resource: url,
          authorization_servers: [issuer.url],
          scopes_supported: ["notes:read", "notes:write"],
          bearer_methods_supported: ["header"]
        })
      }),
    timeout
  )

  it.live(
    "[AUT-38] [AUT-46] a person reads, permits to write at the first write, and has notes of their own",
    () =>
      Effect.gen(function*() {
        const issuer = yield* Protection.issuer()
        const url = yield* serve(issuer)
        const ada = yield* connect(url, "ada")
        const bob = yield* connect(url, "bob")
        const { notes, uri } = yield* own(ada.callTool("read"))
        assert.deepStrictEqual(notes, [])
        assert.lengthOf(issuer.grants(), 2)
        const before = yield* ada.status
        assert(before._tag === "SignedIn")
        assert.deepStrictEqual(before.scopes?.filter((scope) => scope.startsWith("notes:")), ["notes:read"])

        yield* ada.subscribeResource(uri)
        assert.strictEqual((yield* Effect.flip(bob.subscribeResource(uri))).reason._tag, "ErrorResponse")
        yield* ada.callTool("write", { text: "Water the plants." })
        assert.lengthOf(issuer.grants(), 3)
        assert.strictEqual(yield* Queue.take(ada.updates), uri)
        const after = yield* ada.status
        assert(after._tag === "SignedIn")
        assert.sameMembers([...after.scopes ?? []].filter((scope) => scope.startsWith("notes:")), [
          "notes:read",
          "notes:write"
        ])
        const { contents } = yield* ada.readResource(uri)
        assert.deepStrictEqual(contents, [{ uri, mimeType: "text/plain", text: "Water the plants." }])

        yield* bob.callTool("write", { text: "Feed the cat." })
        assert.deepStrictEqual((yield* own(bob.callTool("read"))).notes, ["Feed the cat."])
        assert.deepStrictEqual((yield* own(ada.callTool("read"))).notes, ["Water the plants."])
        assert.strictEqual((yield* Effect.flip(bob.readResource(uri))).reason._tag, "ErrorResponse")
        assert.strictEqual(yield* Queue.size(ada.updates), 0)
        assert.deepStrictEqual(new Set(issuer.grants()), new Set(["authorization_code 200"]))
      }),
    timeout
  )

  it.live("a call and a subscription outlive the token with which they began", () =>
    Effect.gen(function*() {
      const issuer = yield* Protection.issuer("--seconds", "4")
      const url = yield* serve(issuer)
      const ada = yield* connect(url, "ada")
      const { uri } = yield* own(ada.callTool("read"))
      yield* ada.subscribeResource(uri)
      const watching = yield* Effect.forkChild(own(ada.callTool("watch")), { startImmediately: true })
      yield* Effect.sleep("6 seconds")
      assert.isUndefined(watching.pollUnsafe())
      const other = yield* connect(url, "ada")
      yield* other.callTool("write", { text: "Water the plants." })
      assert.deepStrictEqual((yield* Fiber.join(watching)).notes, ["Water the plants."])
      // The stream of the subscription has ended with the token; a client resumes it with a new one.
      const writing = yield* Effect.forkChild(
        Effect.forever(Effect.andThen(other.callTool("write", { text: "Again." }), Effect.sleep("500 millis")))
      )
      assert.strictEqual(yield* Queue.take(ada.updates), uri)
      yield* Fiber.interrupt(writing)
      const grants = issuer.grants()
      assert.include(grants, "refresh_token 200")
      // Both have signed in once, and one of them has permitted to write.
      assert.lengthOf(grants.filter((grant) => grant === "authorization_code 200"), 3)
      assert.isTrue(grants.every((grant) => grant.endsWith(" 200")))
    }), timeout)
})
