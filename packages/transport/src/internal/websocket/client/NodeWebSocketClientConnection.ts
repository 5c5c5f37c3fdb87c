/** The connections of a WebSocket client over `ws`, which sends headers. */
import type * as Transport from "@effect-mcp/session/Transport"
import * as Effect from "effect/Effect"
import type { ClientAuthorization } from "../../../ClientAuthorization.ts"
import type { HeaderValues } from "../../../HttpClientOptions.ts"
import * as HttpErrorResponse from "../../http/client/HttpErrorResponse.ts"
import { plainHeaders } from "../../http/client/ProgramHeaders.ts"
import * as RequestAuthorization from "../../http/client/RequestAuthorization.ts"
import * as ResponseBody from "../../http/client/ResponseBody.ts"
import { type Opened, opened, type Settings, targetOf, UpgradeRejected } from "./WebSocketClientConnection.ts"
import type { Dial } from "./WebSocketDialer.ts"

/** The settings of a client on Node. */
export interface NodeSettings extends Settings {
  readonly maxPayloadBytes: number
  readonly pingMillis: number
  readonly headers: Effect.Effect<HeaderValues>
  readonly authorization: ClientAuthorization["Service"] | undefined
}

/** Returns the URL of the request that becomes a WebSocket. */
const requested = (socket: URL): URL => {
  const url = new URL(socket)
  url.protocol = url.protocol.replace(/^ws/, "http")
  return url
}

/** Creates the transport over `ws`, which is loaded with the first connection. */
export const make = (settings: NodeSettings): Transport.Transport["Service"] => {
  const { closeMillis, connectMillis, headers, maxPayloadBytes, pingMillis } = settings

  const connect = Effect.gen(function*() {
    const node = yield* Effect.promise(() => import("./NodeWebSocketDialer.ts"))
    const target = yield* targetOf(settings.url)
    const dial: Dial = node.make({ ...target, connectMillis, closeMillis, maxPayloadBytes })
    const url = requested(target.url)
    const authorization = yield* RequestAuthorization.of(settings.authorization, url)

    const attempt = (authorizing: Readonly<Record<string, string>>): Opened =>
      Effect.gen(function*() {
        const dialled = yield* dial({ ...plainHeaders(yield* headers), ...authorizing })
        return yield* opened(dialled, target.target, settings, pingMillis)
      })
    if (authorization === undefined) return yield* attempt({})

    const sent = authorization.begin("GET", url, () => undefined)
    const authorized: Opened = Effect.flatMap(
      authorization.headers(sent, url),
      attempt
    ).pipe(
      Effect.tap(() => Effect.sync(() => authorization.isRejection(sent, { status: 101, header: () => undefined }))),
      Effect.catchTag("UpgradeRejected", (rejected): Opened => {
        if (!authorization.isRejection(sent, rejected.response)) return Effect.fail(rejected)
        return Effect.flatMap(ResponseBody.collected(rejected.response), (response) =>
          Effect.flatMap(
            authorization.rejected(sent, response),
            (isAgain) => isAgain ? authorized : Effect.fail(new UpgradeRejected(response))
          ))
      })
    )
    return yield* authorized
  })
  return {
    connect: Effect.catchTag(
      connect,
      "UpgradeRejected",
      ({ response }) =>
        response.status === 401
          ? Effect.fail(RequestAuthorization.unauthenticated(response))
          : HttpErrorResponse.fail(response)
    )
  }
}
