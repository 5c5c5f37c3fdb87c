/** The target of a URL: a transport by its scheme, with the clients of a platform. */
import type { Transport } from "@effect-mcp/session/Transport"
import type { ClientAuthorization } from "@effect-mcp/transport/ClientAuthorization"
import { url as shown } from "@effect-mcp/transport/HiddenSecrets"
import type { HeaderOptions } from "@effect-mcp/transport/HttpClientOptions"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as ServerAccount from "../configuration/ServerAccount.ts"

type TransportLayer = Layer.Layer<Transport>

/** The transports of a platform. One that it does not have is a problem. */
export interface Transports {
  readonly http: () => TransportLayer
  readonly webSocket: () => Result.Result<TransportLayer, string>
  readonly unix: (url: URL) => Result.Result<{ readonly layer: TransportLayer; readonly path: string }, string>
}

/** The transport, or the problem of a URL that leads to none. */
export type Found = Result.Result<{
  readonly layer: TransportLayer
  readonly description: string
  readonly account?: ServerAccount.Find
}, { readonly url: string; readonly problem: string }>

/** Returns the name of an option that identifies the client by a header. */
export const identifying = (
  { authorization, headers = {} }: {
    readonly authorization?: ClientAuthorization["Service"] | undefined
    readonly headers?: HeaderOptions["headers"]
  }
): string | undefined =>
  authorization !== undefined
    ? "authorization"
    : Effect.isEffect(headers) || Object.keys(headers).length > 0
    ? "headers"
    : undefined

/** Returns the target of a URL. */
export const of = (
  url: string | URL,
  { authorization }: { readonly authorization?: ClientAuthorization["Service"] | undefined },
  { http, unix, webSocket }: Transports
): Found => {
  const place = shown(url)
  const fail = (problem: string) => Result.fail({ url: place, problem })
  const unreadable = "it is no absolute URL; write one such as https://example.com/mcp"
  if (!URL.canParse(String(url))) return fail(unreadable)
  const parsed = new URL(url)
  const account = ServerAccount.at(parsed, authorization)
  switch (parsed.protocol) {
    case "http:":
    case "https:":
      return Result.succeed({ layer: http(), description: place, account })
    case "ws:":
    case "wss:": {
      const layer = webSocket()
      return Result.isFailure(layer)
        ? fail(layer.failure)
        : Result.succeed({ layer: layer.success, description: place, account })
    }
    case "unix:": {
      const found = unix(parsed)
      return Result.isFailure(found)
        ? fail(found.failure)
        : Result.succeed({ layer: found.success.layer, description: `unix:${found.success.path}` })
    }
    default:
      // A user without a scheme before it would be shown as the scheme.
      return fail(
        place.startsWith(parsed.protocol)
          ? `${parsed.protocol} is not supported; use http:, https:, ws:, wss: or unix:`
          : unreadable
      )
  }
}
