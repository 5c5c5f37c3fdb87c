/**
 * The place of a server, as a value: a command to start, a URL to connect to, or the Layer of a transport.
 *
 * @stability unstable
 */
import type { Transport } from "@effect-mcp/session/Transport"
import type { Account, ClientAuthorization } from "@effect-mcp/transport/ClientAuthorization"
import * as HttpFallbackClient from "@effect-mcp/transport/HttpFallbackClient"
import * as WebSocketClient from "@effect-mcp/transport/WebSocketClient"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as UrlTarget from "./internal/targets/UrlTarget.ts"

const TypeId = "~@effect-mcp/client/McpTarget"

/**
 * The place of a server. A client that loses its server connects to the same place again.
 *
 * @category models
 */
export interface McpTarget<out E = never, out R = never> {
  readonly [TypeId]: typeof TypeId
  /**
   * The place in the words of logs, errors and questions. It has no query of a URL, and no argument of a command that
   * may be a secret. The path of a URL is shown: put secrets into headers.
   */
  readonly description: string
  readonly transport: Layer.Layer<Transport, E, R>
  /** Returns the transport with a function that also receives each line of the child's standard error. */
  readonly withStderr?: (onLine: (line: string) => void) => Layer.Layer<Transport, E, R>
  /** Returns the account at the server of a URL, with the authorization of the options, or else with this one. */
  readonly account?: (
    provided: ClientAuthorization["Service"] | undefined
  ) => Effect.Effect<Account | undefined>
}

/**
 * The error of a URL that leads to no server. Its `url` has no user, password, query and fragment.
 *
 * @example
 * ```ts
 * import { McpTarget } from "@effect-mcp/client"
 *
 * const error = new McpTarget.InvalidUrlError({ url: "ftp://example.com", problem: "ftp: is not supported" })
 *
 * export const message = error.message
 * // => "the URL ftp://example.com leads to no server: ftp: is not supported"
 * ```
 *
 * @category errors
 */
export class InvalidUrlError
  extends Data.TaggedError("InvalidUrlError")<{ readonly url: string; readonly problem: string }>
{
  override get message(): string {
    return `the URL ${this.url} leads to no server: ${this.problem}`
  }
}

/**
 * Creates a target of any transport. A reconnecting client connects the same transport again, or builds the Layer anew
 * if its transport carries one session only.
 *
 * @example
 * ```ts
 * import { McpTarget } from "@effect-mcp/client"
 * import { ServerSession } from "@effect-mcp/session"
 *
 * const server = ServerSession.layerMemory({}, { info: { name: "own", version: "1.0.0" } })
 *
 * export const description = McpTarget.transport(server, "own").description // => "own"
 * ```
 *
 * @category constructors
 */
export const transport = <E, R>(
  layer: Layer.Layer<Transport, E, R>,
  description = "a transport"
): McpTarget<E, R> => ({ [TypeId]: TypeId, description, transport: layer })

/**
 * Options of {@link url}. Those that the transport of the URL lacks have no effect. A Unix socket has no `headers` and
 * no `authorization`, and neither has the WebSocket of a page: there, they are an error.
 *
 * @category models
 */
export interface UrlOptions extends Omit<HttpFallbackClient.Options, "url" | "connectTimeout"> {}

/** Returns the target that was found for a URL, or throws its problem. */
const targetOf = (found: UrlTarget.Found): McpTarget => {
  if (Result.isFailure(found)) throw new InvalidUrlError(found.failure)
  const { account, description, layer } = found.success
  return { ...transport(layer, description), ...(account === undefined ? undefined : { account }) }
}

/**
 * Creates the target of a URL:
 *
 * - `http:` and `https:` lead to Streamable HTTP, or to HTTP+SSE if the server supports nothing else;
 * - `ws:` and `wss:` lead to WebSocket.
 *
 * The clients are those of every platform: `fetch`, and the global `WebSocket`, which sends no headers. `McpTarget.url`
 * of `@effect-mcp/client/node` has those of Node, and leads to Unix sockets as well.
 *
 * Throws {@link InvalidUrlError} for any other URL, and for `headers` or `authorization` with a WebSocket.
 *
 * @example
 * ```ts
 * import { McpTarget } from "@effect-mcp/client"
 *
 * const remote = McpTarget.url("https://example.com/mcp?key=secret", { headers: { authorization: "Bearer ada" } })
 *
 * export const description = remote.description // => "https://example.com/mcp"
 * ```
 *
 * @category constructors
 */
export const url = (url: string | URL, options: UrlOptions = {}): McpTarget =>
  targetOf(UrlTarget.of(url, options, {
    http: () => HttpFallbackClient.layerFetch({ ...options, url }),
    webSocket: () => {
      const { maxMessageBytes, maxMessageNodes } = options
      const option = UrlTarget.identifying(options)
      return option === undefined
        ? Result.succeed(WebSocketClient.layerGlobal({ url, maxMessageBytes, maxMessageNodes }))
        : Result.fail(
          `the WebSocket of this platform has no headers; remove the option ${option}, or import McpTarget from ` +
            "@effect-mcp/client/node"
        )
    },
    unix: () => Result.fail("a Unix socket needs Node; import McpTarget from @effect-mcp/client/node")
  }))
