/** The connections of a WebSocket client, over any WebSocket or over `ws`. */
import type * as Transport from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Socket from "effect/socket/Socket"
import type { ClientAuthorization } from "../../../ClientAuthorization.ts"
import type { HeaderValues } from "../../../HttpClientOptions.ts"
import type { HttpResponse } from "../../http/client/HttpCall.ts"
import * as HttpErrorResponse from "../../http/client/HttpErrorResponse.ts"
import { plainHeaders } from "../../http/client/ProgramHeaders.ts"
import * as RequestAuthorization from "../../http/client/RequestAuthorization.ts"
import * as ResponseBody from "../../http/client/ResponseBody.ts"
import * as ServerAddress from "../../shared/ServerAddress.ts"
import * as Heartbeat from "../Heartbeat.ts"
import * as WebSocketConnection from "../WebSocketConnection.ts"
import type * as WebSocketFraming from "../WebSocketFraming.ts"
import * as StandardWebSocketDialer from "./StandardWebSocketDialer.ts"
import type { Dial, Dialled } from "./WebSocketDialer.ts"

/** The settings of every client. */
export interface Settings {
  readonly url: string | URL
  readonly limits: WebSocketFraming.Limits
  readonly connectMillis: number
  readonly closeMillis: number
}

/** The settings of a client on Node. */
export interface NodeSettings extends Settings {
  readonly maxPayloadBytes: number
  readonly pingMillis: number
  readonly headers: Effect.Effect<HeaderValues>
  readonly authorization: ClientAuthorization["Service"] | undefined
}

interface Target {
  readonly url: URL
  /** The URL without its secrets. */
  readonly target: string
}

const targetOf = (given: string | URL): Effect.Effect<Target, TransportError.TransportError> =>
  Effect.map(ServerAddress.parse(given), (url) => {
    url.protocol = url.protocol.replace(/^http/, "ws")
    return { url, target: ServerAddress.shown(url) }
  })

/** Returns the URL of the request that becomes a WebSocket. */
const requested = (socket: URL): URL => {
  const url = new URL(socket)
  url.protocol = url.protocol.replace(/^ws/, "http")
  return url
}

const causeOf = ({ reason }: Socket.SocketError): unknown => {
  if (reason._tag === "SocketOpenError" && reason.kind === "Timeout") {
    return new Error("the server did not answer within connectTimeout")
  }
  const cause = "cause" in reason ? WebSocketConnection.errorIn(reason.cause) : reason
  // Browsers give a page no reason.
  return cause instanceof Error && cause.message !== ""
    ? cause
    : new Error("the WebSocket did not open; the platform reports no reason", { cause })
}

/** The error of an upgrade that the server answered with another HTTP response. */
class UpgradeRejected {
  readonly _tag = "UpgradeRejected"
  readonly response: HttpResponse

  constructor(response: HttpResponse) {
    this.response = response
  }
}

type Opened = Effect.Effect<Transport.Connection, TransportError.TransportError | UpgradeRejected, Scope.Scope>

const opened = Effect.fnUntraced(function*(
  { control, rejection, socket }: Dialled,
  target: string,
  { closeMillis, limits }: Settings,
  pingMillis: number
): Effect.fn.Return<Transport.Connection, TransportError.TransportError | UpgradeRejected, Scope.Scope> {
  return yield* WebSocketConnection.make(socket, control, {
    side: Effect.succeed("client"),
    limits,
    closeMillis,
    heartbeat: yield* Heartbeat.make(pingMillis)
  }).pipe(
    Effect.mapError((error) => {
      if (error._tag === "TransportError") return error
      const response = rejection()
      return response === undefined
        ? TransportError.make({ _tag: "ConnectFailed", target, cause: causeOf(error) })
        : new UpgradeRejected(response)
    })
  )
})

/** Creates the transport over any WebSocket. */
export const makeStandard = (
  settings: Settings,
  construct: Socket.WebSocketConstructor["Service"]
): Transport.Transport["Service"] => ({
  connect: Effect.gen(function*() {
    const target = yield* targetOf(settings.url)
    const { connectMillis } = settings
    const dial = StandardWebSocketDialer.make({ ...target, connectMillis, construct })
    return yield* opened(yield* dial({}), target.target, settings, Number.POSITIVE_INFINITY)
  }).pipe(Effect.catchTag("UpgradeRejected", ({ response }) => HttpErrorResponse.fail(response)))
})

/** Creates the transport over `ws`, which is loaded with the first connection. */
export const makeNode = (settings: NodeSettings): Transport.Transport["Service"] => {
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
