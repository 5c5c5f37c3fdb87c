/** The connections of a WebSocket client over any WebSocket, and the parts of those over `ws`. */
import type * as Transport from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Socket from "effect/socket/Socket"
import type { HttpResponse } from "../../http/client/HttpCall.ts"
import * as HttpErrorResponse from "../../http/client/HttpErrorResponse.ts"
import * as ServerAddress from "../../shared/ServerAddress.ts"
import * as Heartbeat from "../Heartbeat.ts"
import * as WebSocketConnection from "../WebSocketConnection.ts"
import type * as WebSocketFraming from "../WebSocketFraming.ts"
import * as StandardWebSocketDialer from "./StandardWebSocketDialer.ts"
import type { Dialled } from "./WebSocketDialer.ts"

/** The settings of every client. */
export interface Settings {
  readonly url: string | URL
  readonly limits: WebSocketFraming.Limits
  readonly connectMillis: number
  readonly closeMillis: number
}

/** The server to dial. */
export interface Target {
  readonly url: URL
  /** The URL without its secrets. */
  readonly target: string
}

/** Returns the server to dial. */
export const targetOf = (given: string | URL): Effect.Effect<Target, TransportError.TransportError> =>
  Effect.map(ServerAddress.parse(given), (url) => {
    url.protocol = url.protocol.replace(/^http/, "ws")
    return { url, target: ServerAddress.shown(url) }
  })

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
export class UpgradeRejected {
  readonly _tag = "UpgradeRejected"
  readonly response: HttpResponse

  constructor(response: HttpResponse) {
    this.response = response
  }
}

export type Opened = Effect.Effect<Transport.Connection, TransportError.TransportError | UpgradeRejected, Scope.Scope>

export const opened = Effect.fnUntraced(function*(
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
