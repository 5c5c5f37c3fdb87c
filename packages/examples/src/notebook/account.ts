/**
 * The user's account, and the page on which the user signs in. It is a real page on this machine: only the browser that
 * opens it knows the visit, and the client does not (ELI-11).
 */
import type * as Elicitation from "@effect-mcp/protocol/Elicitation"
import type { ClientProfile } from "@effect-mcp/protocol/Profile"
import { RequestContext } from "@effect-mcp/session/RequestContext"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import { randomUUID } from "node:crypto"
import * as http from "node:http"
import { News } from "./news.ts"

export class Account extends Context.Service<Account, {
  readonly isSignedIn: Effect.Effect<boolean>
  /** Makes a page that signs its visitor in, once. Then the client gets a notification. */
  readonly page: Effect.Effect<Elicitation.UrlParams, never, RequestContext>
  readonly signOut: Effect.Effect<void>
}>()("@effect-mcp/examples/notebook/Account") {}

/** The error of a page that cannot be served. */
export class NoPage extends Data.TaggedError("NoPage")<{ readonly cause: unknown }> {
  override get message(): string {
    return `the page to sign in on cannot be served: ${String(this.cause)}`
  }
}

/** Serves pages on a free port of this machine until the scope closes. Returns the URL. */
const served = (answer: http.RequestListener) =>
  Effect.acquireRelease(
    Effect.callback<http.Server, NoPage>((resume) => {
      const server = http.createServer(answer)
      server.once("error", (cause) => resume(Effect.fail(new NoPage({ cause }))))
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
  ).pipe(
    Effect.map((server) => {
      const address = server.address()
      return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : ""}`
    })
  )

export const layer: Layer.Layer<Account, NoPage, News> = Layer.effect(
  Account,
  Effect.gen(function*() {
    const news = yield* News
    let isSignedIn = false
    /** The clients to notify, by the ids of their elicitations, which cannot be guessed (ELI-15). */
    const waiting = new Map<string, ClientProfile>()

    const visited = (client: ClientProfile, elicitationId: string) => {
      isSignedIn = true
      Queue.offerUnsafe(news, { _tag: "ToolsChanged" })
      Queue.offerUnsafe(news, { _tag: "PageVisited", client, elicitationId })
    }

    const address = yield* served(({ url = "" }, response) => {
      const elicitationId = url.slice("/sign-in/".length)
      const client = waiting.get(elicitationId)
      waiting.delete(elicitationId)
      response.writeHead(client !== undefined ? 200 : 404, {
        "content-type": "text/plain; charset=utf-8",
        "connection": "close"
      })
      response.end(
        client !== undefined ? "You are signed in. Go back to where you came from.\n" : "There is no such page.\n"
      )
      if (client !== undefined) visited(client, elicitationId)
    })

    return {
      isSignedIn: Effect.sync(() => isSignedIn),
      page: Effect.map(RequestContext, ({ profile }) => {
        const elicitationId = randomUUID()
        waiting.set(elicitationId, profile)
        return {
          mode: "url",
          message: "Sign in to publish.",
          url: `${address}/sign-in/${elicitationId}`,
          elicitationId
        }
      }),
      signOut: Effect.suspend(() => {
        isSignedIn = false
        return Queue.offer(news, { _tag: "ToolsChanged" })
      })
    }
  })
)
