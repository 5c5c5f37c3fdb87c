import type * as Transport from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import type { Redacted } from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type * as Socket from "effect/socket/Socket"
import { AuthorizationHeaders, type Authorize } from "../../http/client/AuthorizationHeaders.ts"
import type { Answer } from "../../http/client/HttpCall.ts"
import * as HttpErrorResponse from "../../http/client/HttpErrorResponse.ts"
import { plainHeaders } from "../../http/client/plainHeaders.ts"
import * as ServerAddress from "../../http/client/serverAddress.ts"
import * as Heartbeat from "../Heartbeat.ts"
import * as WebSocketConnection from "../WebSocketConnection.ts"
import type * as WebSocketFraming from "../WebSocketFraming.ts"
import * as StandardWebSocketDialer from "./StandardWebSocketDialer.ts"
import type { Dial, Dialled } from "./WebSocketDialer.ts"

type HeaderValues = Readonly<Record<string, string | Redacted<string>>>

/** What every client says. */
export interface Settings {
  readonly url: string | URL
  readonly limits: WebSocketFraming.Limits
  readonly connectMillis: number
  readonly closeMillis: number
}

/** What one on Node says besides. */
export interface NodeSettings extends Settings {
  readonly maxPayloadBytes: number
  readonly pingMillis: number
  readonly headers: Effect.Effect<HeaderValues>
  readonly authorize: Authorize | undefined
}

interface Place {
  readonly url: URL
  /** The same, without what may be secret. */
  readonly target: string
}

const placeOf = (given: string | URL): Effect.Effect<Place, TransportError.TransportError> =>
  Effect.map(ServerAddress.parse(given), (url) => {
    url.protocol = url.protocol.replace(/^http/, "ws")
    return { url, target: ServerAddress.shown(url) }
  })

const unauthenticated = (answer: Answer): TransportError.TransportError =>
  TransportError.make({ _tag: "Unauthenticated", challenge: answer.header("www-authenticate") })

const causeOf = ({ reason }: Socket.SocketError): unknown => {
  if (reason._tag === "SocketOpenError" && reason.kind === "Timeout") {
    return new Error("the server did not answer in time")
  }
  const cause = "cause" in reason ? WebSocketConnection.errorIn(reason.cause) : reason
  // Browsers do not say more to a page.
  return cause instanceof Error && cause.message !== ""
    ? cause
    : new Error("the WebSocket did not open, and nobody says why", { cause })
}

/** A server that answered the request for a WebSocket with something else. */
class Refused {
  readonly _tag = "Refused"
  readonly answer: Answer

  constructor(answer: Answer) {
    this.answer = answer
  }
}

type Opening = Effect.Effect<Transport.Connection, TransportError.TransportError | Refused, Scope.Scope>

const opened = Effect.fnUntraced(function*(
  { refused, socket, wire }: Dialled,
  target: string,
  { closeMillis, limits }: Settings,
  pingMillis: number
): Effect.fn.Return<Transport.Connection, TransportError.TransportError | Refused, Scope.Scope> {
  return yield* WebSocketConnection.make(socket, wire, {
    side: Effect.succeed("client"),
    limits,
    closeMillis,
    heartbeat: yield* Heartbeat.make(pingMillis)
  }).pipe(
    Effect.mapError((error) => {
      if (error._tag === "TransportError") return error
      const answer = refused()
      return answer === undefined
        ? TransportError.make({ _tag: "ConnectFailed", target, cause: causeOf(error) })
        : new Refused(answer)
    })
  )
})

/** Over any WebSocket. */
export const makeBare = (
  settings: Settings,
  construct: Socket.WebSocketConstructor["Service"]
): Transport.Transport["Service"] => ({
  connect: Effect.gen(function*() {
    const place = yield* placeOf(settings.url)
    const { connectMillis } = settings
    const dial = StandardWebSocketDialer.make({ ...place, connectMillis, construct })
    return yield* opened(yield* dial({}), place.target, settings, Number.POSITIVE_INFINITY)
  }).pipe(Effect.catchTag("Refused", ({ answer }) => HttpErrorResponse.fail(answer)))
})

/** Over `ws`, which is loaded when the first connection is made. */
export const makeNode = (settings: NodeSettings): Transport.Transport["Service"] => {
  const { authorize, closeMillis, connectMillis, headers, maxPayloadBytes, pingMillis } = settings
  const proof = new AuthorizationHeaders(authorize)

  const connect = Effect.gen(function*() {
    const node = yield* Effect.promise(() => import("./NodeWebSocketDialer.ts"))
    const place = yield* placeOf(settings.url)
    const dial: Dial = node.make({ ...place, connectMillis, closeMillis, maxPayloadBytes })

    const attempt: Opening = Effect.gen(function*() {
      const dialled = yield* dial({ ...plainHeaders(yield* headers), ...proof.headers })
      return yield* opened(dialled, place.target, settings, pingMillis)
    })

    const since = proof.count
    return yield* Effect.catchTag(attempt, "Refused", (refused): Opening => {
      const { answer } = refused
      if (answer.status !== 401) return Effect.fail(refused)
      return Effect.flatMap(
        proof.renew(answer.header("www-authenticate"), since),
        (isNew) => isNew ? attempt : unauthenticated(answer)
      )
    })
  })
  return {
    connect: Effect.catchTag(
      connect,
      "Refused",
      ({ answer }) => answer.status === 401 ? unauthenticated(answer) : HttpErrorResponse.fail(answer)
    )
  }
}
