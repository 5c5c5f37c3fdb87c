/**
 * `WebSocketClient` on Node, over `ws`, which sends headers and controls the socket.
 *
 * @stability unstable
 */
import { LoadedPackages } from "@effect-mcp/protocol/internal"
import { NumericOption } from "@effect-mcp/session/internal"
import * as Transport from "@effect-mcp/session/Transport"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as HttpClientOptions from "../HttpClientOptions.ts"
import { thisPackage } from "../internal/thisPackage.ts"
import { rules, settings } from "../internal/websocket/client/ClientSettings.ts"
import type { NodeSettings } from "../internal/websocket/client/NodeWebSocketClientConnection.ts"
import * as WebSocketSettings from "../internal/websocket/WebSocketSettings.ts"
import type { Options } from "../WebSocketClient.ts"

export * from "../WebSocketClient.ts"

/**
 * Options of a WebSocket client on Node.
 *
 * @category options
 */
export interface NodeOptions extends Options, HttpClientOptions.HeaderOptions {
  /**
   * The largest message to receive, in bytes; a larger one closes the connection with 1009. It is at most the length of
   * a string on Node (512 MiB). Default: four times `maxMessageBytes`.
   */
  readonly maxPayloadBytes?: number | undefined
  /**
   * The interval of liveness checks. A server that was silent since the previous check is pinged. If it is still silent
   * at the next check, the connection fails; that takes two to three intervals. `"Infinity"` disables the checks, and
   * the shortest interval is 1 second. Default 15 seconds.
   */
  readonly keepAliveInterval?: Duration.Input | undefined
}

const nodeSettings = (
  options: NodeOptions,
  { authorization, headers }: Pick<NodeSettings, "authorization" | "headers">
): NodeSettings => {
  NumericOption.check(options, {
    ...rules,
    maxPayloadBytes: NumericOption.count,
    keepAliveInterval: NumericOption.duration
  })
  const { keepAliveInterval } = options
  return {
    ...settings(options),
    maxPayloadBytes: WebSocketSettings.maxPayload(options),
    pingMillis: Duration.toMillis(keepAliveInterval ?? "15 seconds"),
    headers,
    authorization
  }
}

// Loaded on first use: a program that uses only stdio must not pay for them.
const loaded = Effect.promise(() => import("../internal/websocket/client/NodeWebSocketClientConnection.ts"))
const loadedSecretHeaders = Effect.promise(() => import("../internal/http/client/SecretHeaders.ts"))

/**
 * Provides the transport on Node. In addition to the errors of `make`, `connect` fails with
 *
 * - `Unauthenticated` if the server answers 401. With an authorization also `AuthorizationRequired` while a person has
 *   to act, and `AuthorizationFailed`;
 * - `Rejected` if it answers with another status, or with a redirect, which is never followed.
 *
 * `run` also fails with `ReadFailed` if the server is dead.
 *
 * @example
 * ```ts
 * import { ClientSession } from "@effect-mcp/session"
 * import { WebSocketClient } from "@effect-mcp/transport/node"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 * import * as Redacted from "effect/Redacted"
 *
 * const server = WebSocketClient.layerNode({
 *   url: "wss://example.com/mcp",
 *   headers: { authorization: Redacted.make(`Bearer ${process.env["EXAMPLE_TOKEN"]}`) }
 * })
 * const session = ClientSession.layer({ info: { name: "example", version: "1.0.0" } })
 *
 * export const program = Effect.gen(function*() {
 *   const example = yield* ClientSession.ClientSession
 *   return yield* example.callTool("search", { words: "birthday" })
 * }).pipe(
 *   Effect.provide(Layer.provide(session, server))
 * )
 * ```
 *
 * @category layers
 */
export const layerNode = (options: NodeOptions): Layer.Layer<Transport.Transport> =>
  Layer.effect(
    Transport.Transport,
    Effect.gen(function*() {
      LoadedPackages.check(thisPackage)
      const connection = yield* loaded
      const SecretHeaders = yield* loadedSecretHeaders
      const secret = yield* SecretHeaders.make(options)
      return secret.hide(connection.make(nodeSettings(options, secret)))
    })
  )
