/**
 * The user's account, and the page on which the user signs in. The page is served on this machine, so the client does
 * not see what the user enters there (ELI-11).
 */
import type * as Elicitation from "@effect-mcp/protocol/Elicitation"
import { McpServer } from "@effect-mcp/server/McpServer"
import { RequestContext } from "@effect-mcp/session/RequestContext"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Ref from "effect/Ref"
import { randomUUID } from "node:crypto"
import * as http from "node:http"

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

export const layer: Layer.Layer<Account, SignInServerFailed, McpServer> = Layer.effect(
  Account,
  Effect.gen(function*() {
    const server = yield* McpServer
    const isSignedIn = yield* Ref.make(false)
    const set = (value: boolean) => Effect.andThen(Ref.set(isSignedIn, value), server.listChanged("tools"))

    /** The notifications of visits, by the ids of their elicitations. An id cannot be guessed (ELI-15). */
    const expected = new Map<string, Effect.Effect<void>>()
    const visits = yield* Queue.unbounded<Effect.Effect<void>>()
    yield* Effect.forkScoped(
      Effect.forever(Effect.flatMap(Queue.take(visits), (notify) => Effect.andThen(set(true), notify)))
    )

    const address = yield* servePages(({ url = "" }, response) => {
      const elicitationId = url.slice("/sign-in/".length)
      const notify = expected.get(elicitationId)
      expected.delete(elicitationId)
      if (notify !== undefined) Queue.offerUnsafe(visits, notify)
      response.writeHead(notify !== undefined ? 200 : 404, {
        "content-type": "text/plain; charset=utf-8",
        "connection": "close"
      })
      response.end(
        notify !== undefined ? "You are signed in. You can close this page.\n" : "This page does not exist.\n"
      )
    })

    return {
      isSignedIn: Ref.get(isSignedIn),
      page: Effect.map(RequestContext, ({ session }) => {
        const elicitationId = randomUUID()
        expected.set(
          elicitationId,
          session === undefined ? Effect.void : Effect.catch(
            session.elicitationComplete(elicitationId),
            ({ message }) => Effect.logWarning(`could not notify the client of the visit: ${message}`)
          )
        )
        return {
          mode: "url",
          message: "Sign in to publish.",
          url: `${address}/sign-in/${elicitationId}`,
          elicitationId
        }
      }),
      signOut: set(false)
    }
  })
)
