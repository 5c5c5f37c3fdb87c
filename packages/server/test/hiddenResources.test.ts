import { McpGroup, McpResource, McpServer } from "@effect-mcp/server"
import { type ClientSession, RequestContext, type RequestError } from "@effect-mcp/session"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { handshake } from "./support/connect.ts"
import { describeForBothEras } from "./support/eras.ts"

const visible = Effect.map(RequestContext.RequestContext, ({ principal }) => principal?.id === "ada")

/** Two members that only Ada sees, each with a template that every client sees and that matches the same URIs. */
const pages = McpGroup.make(
  "pages",
  McpResource.make("secret", { uri: "page://secret" }),
  McpResource.template("page", { uri: "page://{name}" }),
  McpResource.template("number", { uri: "page://n/{id}", parameters: { id: Schema.FiniteFromString } }),
  McpResource.template("rest", { uri: "page://n/{+path}" })
).toLayer((handlers) =>
  handlers
    .resource("secret", Effect.succeed("secret"), { visible })
    .template("page", ({ name }) => Effect.succeed(`page ${name}`), {
      list: Effect.succeed(["open", "secret"].map((name) => ({ name: `page ${name}`, parameters: { name } })))
    })
    .template("number", ({ id }) => Effect.succeed(`number ${id}`), {
      visible,
      complete: { id: () => Effect.succeed(["7"]) },
      subscribable: ({ id }) => Effect.succeed(id !== 9)
    })
    .template("rest", ({ path }) => Effect.succeed(`rest ${path}`), { complete: { path: () => Effect.succeed(["8"]) } })
)

/** A group that reads every URI, although no list has it. */
const unlisted = Layer.effectDiscard(Effect.gen(function*() {
  const server = yield* McpServer.McpServer
  yield* server.register({
    group: "unlisted",
    entries: [],
    visible: undefined,
    declares: ["resources"],
    unlisted: (uri) => Effect.succeed({ contents: [{ uri, text: "unlisted" }] }),
    observe: () => Effect.void
  })
}))

type Session = ClientSession.ClientSessionShape

const codeOf = ({ reason }: RequestError.RequestError) =>
  reason._tag === "ErrorResponse" ? reason.error.code : reason._tag

/** Returns the text of a resource, or the code with which reading is rejected; the same for a subscription. */
const uses = (session: Session, uri: string) =>
  Effect.all([
    Effect.match(session.readResource(uri), {
      onSuccess: ({ contents: [content] }) => content !== undefined && "text" in content ? content.text : undefined,
      onFailure: codeOf
    }),
    Effect.match(session.subscribeResource(uri), { onSuccess: () => "subscribed", onFailure: codeOf })
  ])

describeForBothEras("a resource that a client does not see", ({ serve }) => {
  for (
    const [name, groups] of [["", pages], [
      ", also beside a group that reads every URI",
      Layer.merge(pages, unlisted)
    ]] as const
  ) {
    it.effect(`is neither read nor subscribed to by a template that matches its URI${name}`, () =>
      Effect.gen(function*() {
        const as = yield* serve(groups, handshake)
        const [ada, bob] = [yield* as("ada"), yield* as("bob")]
        assert.deepStrictEqual(yield* uses(ada, "page://secret"), ["secret", "subscribed"])
        assert.deepStrictEqual(yield* uses(bob, "page://secret"), [-32002, -32002])
        assert.deepStrictEqual(yield* uses(bob, "page://open"), ["page open", "subscribed"])
        assert.deepStrictEqual(yield* uses(ada, "page://n/7"), ["number 7", "subscribed"])
        assert.deepStrictEqual(yield* uses(bob, "page://n/7"), [-32002, -32002])
        // A subscription that the member rejects is none of the other template, either.
        assert.deepStrictEqual(yield* uses(ada, "page://n/9"), ["number 9", -32002])
      }).pipe(Effect.scoped))
  }

  it.effect("leaves the URIs that do not fit its parameters to other templates", () =>
    Effect.gen(function*() {
      const as = yield* serve(pages)
      for (const session of [yield* as("ada"), yield* as("bob")]) {
        assert.deepStrictEqual(yield* uses(session, "page://n/seven"), ["rest seven", "subscribed"])
      }
    }).pipe(Effect.scoped))

  it.effect("leaves the URIs that no member has to a group that reads every URI", () =>
    Effect.gen(function*() {
      const as = yield* serve(Layer.merge(pages, unlisted))
      assert.deepStrictEqual(yield* uses(yield* as("bob"), "other://7"), ["unlisted", "subscribed"])
    }).pipe(Effect.scoped))

  it.effect("is not listed by a template with the same URI, and its arguments are not completed [CMP-04]", () =>
    Effect.gen(function*() {
      const as = yield* serve(pages)
      const listed = (session: Session) =>
        Effect.map(session.listResources(), ({ resources }) => resources.map(({ name }) => name))
      const completed = (session: Session, uri: string, name: string) =>
        Effect.match(session.complete({ ref: { type: "ref/resource", uri }, argument: { name, value: "" } }), {
          onSuccess: ({ completion }) => completion.values,
          onFailure: codeOf
        })
      const [ada, bob] = [yield* as("ada"), yield* as("bob")]
      assert.deepStrictEqual([yield* listed(ada), yield* listed(bob)], [["page open", "secret"], ["page open"]])
      assert.deepStrictEqual(yield* completed(ada, "page://n/{id}", "id"), ["7"])
      assert.deepStrictEqual(yield* completed(bob, "page://n/{id}", "id"), -32602)
      assert.deepStrictEqual(yield* completed(bob, "page://n/{+path}", "path"), ["8"])
    }).pipe(Effect.scoped))
})
