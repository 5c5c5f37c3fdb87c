/** The subject for Streamable HTTP without sessions: the server handles the client's session as single requests. */
import { LawServer } from "@effect-mcp/testing/laws"
import { Authentication, StatelessHttpServer, StreamableHttpClient } from "@effect-mcp/transport/node"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Hosted from "../Hosted.ts"
import type { Server, Subject } from "../Subject.ts"
import { unexpected } from "../Unexpected.ts"
import * as Http from "./http.ts"
import { transportOf } from "./transportOf.ts"

const start = (port = 0) => (): Effect.Effect<Server, unknown, Scope.Scope> =>
  Effect.gen(function*() {
    const context = yield* Layer.build(Layer.fresh(
      StatelessHttpServer.layerNode(LawServer.make(), {
        ...LawServer.options,
        limits: Hosted.limits,
        port,
        ...Http.limits,
        detachedRequestTimeout: "500 millis"
      }).pipe(Layer.provide(Authentication.anonymous))
    ))
    const bound = yield* Http.portOf(context)
    return {
      dial: (_, route) =>
        Effect.gen(function*() {
          const { port, relay } = yield* Http.reach(bound, route)
          const transport = yield* transportOf(
            StreamableHttpClient.layerNode({
              url: `http://127.0.0.1:${port}/mcp`,
              reconnect: { initialInterval: "20 millis", maxAttempts: 3 }
            })
          )
          return {
            transport,
            serverSide: Effect.fail(unexpected("a server without sessions has no session to inspect")),
            ...Http.faultsOf(relay)
          }
        }),
      tables: Effect.succeed({}),
      restart: start(bound)
    }
  })

export const stateless: Subject = {
  name: "http-stateless",
  weight: 10,
  concurrency: 6,
  start: start(),
  sendsRequests: false,
  survivesRestart: true,
  endings: {
    "client-close": { client: "Requested", server: undefined },
    "scope-close": { client: "Requested", server: undefined },
    "cancel-handshake": { client: "Requested", server: undefined },
    "cancel-call": { client: "Requested", server: undefined },
    timeout: { client: "Requested", server: undefined },
    destroy: { client: "Requested", server: undefined },
    reset: { client: "Requested", server: undefined },
    "half-close": { client: "Requested", server: undefined },
    shutdown: { client: "Requested", server: undefined }
  }
}
