/**
 * The place of a server, as a value: a command to start, a URL to connect to, or the Layer of a transport.
 */
import type { Transport } from "@effect-mcp/session/Transport"
import type { Account, ClientAuthorization } from "@effect-mcp/transport/ClientAuthorization"
import { url as shown } from "@effect-mcp/transport/HiddenSecrets"
import * as HttpFallbackClient from "@effect-mcp/transport/node/HttpFallbackClient"
import * as SocketClient from "@effect-mcp/transport/node/SocketClient"
import * as StdioClient from "@effect-mcp/transport/node/StdioClient"
import * as WebSocketClient from "@effect-mcp/transport/node/WebSocketClient"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as CommandDescription from "./internal/configuration/CommandDescription.ts"
import * as ServerAccount from "./internal/configuration/ServerAccount.ts"
import * as UnixPath from "./internal/configuration/UnixPath.ts"

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
 * Options of {@link command}, besides the command and its arguments.
 *
 * @category models
 */
export interface CommandOptions extends Omit<StdioClient.Options, "command" | "args" | "description"> {
  /** The words of logs, errors and questions for this command. Default: see {@link command}. */
  readonly description?: string | undefined
}

/**
 * Creates the target of a child process that serves stdio. The client starts the process, and starts it again after it
 * has ended.
 *
 * Arguments may be secrets, so descriptions and errors show only their number. They show the first argument of programs
 * such as `npx` and `node`, which is the package or the file that they start.
 *
 * @example
 * ```ts
 * import { McpTarget } from "@effect-mcp/client"
 *
 * const files = McpTarget.command("npx", ["-y", "@modelcontextprotocol/server-filesystem", "/home/ada"])
 *
 * export const description = files.description
 * // => "npx -y @modelcontextprotocol/server-filesystem (1 more argument)"
 * ```
 *
 * @category constructors
 */
export const command = (
  command: string,
  args: ReadonlyArray<string | Redacted.Redacted<string>> = [],
  { stderr, ...options }: CommandOptions = {}
): McpTarget => {
  const count = CommandDescription.shownArguments(command, args)
  const { description = CommandDescription.of(command, args.slice(0, count), args.length - count) } = options
  const layerOf = (stderr: CommandOptions["stderr"]) =>
    StdioClient.layerNode({ ...options, command, args, description, stderr })
  const target = transport(layerOf(stderr), description)
  return stderr === "inherit" ? target : {
    ...target,
    withStderr: (onLine) =>
      layerOf((line) => {
        onLine(line)
        stderr?.(line)
      })
  }
}

/**
 * Options of {@link url}. Those that the transport of the URL lacks have no effect. A Unix socket has no `headers` and
 * no `authorization`: there, they are an error.
 *
 * @category models
 */
export interface UrlOptions extends Omit<HttpFallbackClient.Options, "url" | "connectTimeout"> {}

/** Returns the name of an option that would identify the client, but that a Unix socket does not send. */
const inapplicable = ({ authorization, headers = {} }: UrlOptions): string | undefined =>
  authorization !== undefined
    ? "authorization"
    : Effect.isEffect(headers) || Object.keys(headers).length > 0
    ? "headers"
    : undefined

const unix = (url: URL, options: UrlOptions): McpTarget => {
  const option = inapplicable(options)
  const named = Result.mapError(UnixPath.of(url), ({ advice, problem }) => `${problem}; ${advice}`)
  const path = option === undefined
    ? named
    : Result.fail(`a Unix socket has no headers; remove the option ${option}, or use a URL of ws: or http:`)
  if (Result.isFailure(path)) throw new InvalidUrlError({ url: shown(url), problem: path.failure })
  const { maxMessageBytes, maxMessageNodes } = options
  return transport(
    SocketClient.layerUnix({ path: path.success, maxMessageBytes, maxMessageNodes }),
    `unix:${path.success}`
  )
}

/**
 * Creates the target of a URL:
 *
 * - `http:` and `https:` lead to Streamable HTTP, or to HTTP+SSE if the server supports nothing else;
 * - `ws:` and `wss:` lead to WebSocket;
 * - `unix:` leads to a Unix socket, such as `unix:///run/notes.sock`. The URL has an absolute path and no host.
 *
 * Throws {@link InvalidUrlError} for any other URL, and for `headers` or `authorization` with a Unix socket.
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
export const url = (url: string | URL, options: UrlOptions = {}): McpTarget => {
  const place = shown(url)
  const unreadable = () =>
    new InvalidUrlError({ url: place, problem: "it is no absolute URL; write one such as https://example.com/mcp" })
  if (!URL.canParse(String(url))) throw unreadable()
  const parsed = new URL(url)
  switch (parsed.protocol) {
    case "http:":
    case "https:":
      return {
        ...transport(HttpFallbackClient.layerNode({ ...options, url }), place),
        account: ServerAccount.at(parsed, options.authorization)
      }
    case "ws:":
    case "wss:": {
      const { authorization, headers, maxMessageBytes, maxMessageNodes } = options
      return {
        ...transport(
          WebSocketClient.layerNode({ url, authorization, headers, maxMessageBytes, maxMessageNodes }),
          place
        ),
        account: ServerAccount.at(parsed, authorization)
      }
    }
    case "unix:":
      return unix(parsed, options)
    default:
      // A user without a scheme before it would be shown as the scheme.
      if (!place.startsWith(parsed.protocol)) throw unreadable()
      throw new InvalidUrlError({
        url: place,
        problem: `${parsed.protocol} is not supported; use http:, https:, ws:, wss: or unix:`
      })
  }
}
