/**
 * The user's account, and the page on which the user signs in. The page is served on this machine, so the client does
 * not see what the user enters there (ELI-11).
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
import { Changes } from "./changes.ts"

export class Account extends Context.Service<Account, {
  readonly isSignedIn: Effect.Effect<boolean>
  /** Creates a page that signs its first visitor in. The server notifies the client of the visit. */
  readonly page: Effect.Effect<Elicitation.UrlParams, never, RequestContext>
  readonly signOut: Effect.Effect<void>
}>()("@effect-mcp/examples/notebook/Account") {}

/** The error of a server that cannot listen for visits of its sign-in page. */
export class SignInServerFailed extends Data.TaggedError("SignInServerFailed")<{ readonly cause: unknown }> {
  override get message(): string {
    return `the HTTP server of the sign-in page could not listen on 127.0.0.1: ${String(this.cause)}`
  }
}

/** Serves pages on a free port of this machine until the scope closes. Returns the URL. */
const servePages = (listener: http.RequestListener) =>
  Effect.acquireRelease(
    Effect.callback<http.Server, SignInServerFailed>((resume) => {
      const server = http.createServer(listener)
      server.once("error", (cause) => resume(Effect.fail(new SignInServerFailed({ cause }))))
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

export const layer: Layer.Layer<Account, SignInServerFailed, Changes> = Layer.effect(
  Account,
  Effect.gen(function*() {
    const changes = yield* Changes
    let isSignedIn = false
    /** The clients that wait for a visit, by the ids of their elicitations. An id cannot be guessed (ELI-15). */
    const clients = new Map<string, ClientProfile>()

    const signIn = (client: ClientProfile, elicitationId: string) => {
      isSignedIn = true
      Queue.offerUnsafe(changes, { _tag: "ToolsChanged" })
      Queue.offerUnsafe(changes, { _tag: "PageVisited", client, elicitationId })
    }

    const address = yield* servePages(({ url = "" }, response) => {
      const elicitationId = url.slice("/sign-in/".length)
      const client = clients.get(elicitationId)
      clients.delete(elicitationId)
      response.writeHead(client !== undefined ? 200 : 404, {
        "content-type": "text/plain; charset=utf-8",
        "connection": "close"
      })
      response.end(
        client !== undefined ? "You are signed in. You can close this page.\n" : "This page does not exist.\n"
      )
      if (client !== undefined) signIn(client, elicitationId)
    })

    return {
      isSignedIn: Effect.sync(() => isSignedIn),
      page: Effect.map(RequestContext, ({ profile }) => {
        const elicitationId = randomUUID()
        clients.set(elicitationId, profile)
        return {
          mode: "url",
          message: "Sign in to publish.",
          url: `${address}/sign-in/${elicitationId}`,
          elicitationId
        }
      }),
      signOut: Effect.suspend(() => {
        isSignedIn = false
        return Queue.offer(changes, { _tag: "ToolsChanged" })
      })
    }
  })
)
