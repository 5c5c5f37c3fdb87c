/**
 * `McpTarget` on Node: child processes, Unix sockets, and the clients of Node for URLs.
 *
 * @stability unstable
 */
import * as HttpFallbackClient from "@effect-mcp/transport/node/HttpFallbackClient"
import * as SocketClient from "@effect-mcp/transport/node/SocketClient"
import * as StdioClient from "@effect-mcp/transport/node/StdioClient"
import * as WebSocketClient from "@effect-mcp/transport/node/WebSocketClient"
import type * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as CommandDescription from "../internal/configuration/CommandDescription.ts"
import * as UnixPath from "../internal/configuration/UnixPath.ts"
import * as UrlTarget from "../internal/targets/UrlTarget.ts"
import { InvalidUrlError, type McpTarget, transport, type UrlOptions } from "../McpTarget.ts"

export * from "../McpTarget.ts"

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
 * import { McpTarget } from "@effect-mcp/client/node"
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
 * - `ws:` and `wss:` lead to WebSocket;
 * - `unix:` leads to a Unix socket, such as `unix:///run/notes.sock`. The URL has an absolute path and no host.
 *
 * Throws {@link InvalidUrlError} for any other URL, and for `headers` or `authorization` with a Unix socket.
 *
 * @example
 * ```ts
 * import { McpTarget } from "@effect-mcp/client/node"
 *
 * const remote = McpTarget.url("https://example.com/mcp?key=secret", { headers: { authorization: "Bearer ada" } })
 *
 * export const description = remote.description // => "https://example.com/mcp"
 * ```
 *
 * @category constructors
 */
export const url = (url: string | URL, options: UrlOptions = {}): McpTarget => {
  const { authorization, headers, maxMessageBytes, maxMessageNodes } = options
  return targetOf(UrlTarget.of(url, options, {
    http: () => HttpFallbackClient.layerNode({ ...options, url }),
    webSocket: () =>
      Result.succeed(WebSocketClient.layerNode({ url, authorization, headers, maxMessageBytes, maxMessageNodes })),
    unix: (parsed) => {
      const option = UrlTarget.identifying(options)
      if (option !== undefined) {
        return Result.fail(`a Unix socket has no headers; remove the option ${option}, or use a URL of ws: or http:`)
      }
      return Result.mapBoth(UnixPath.of(parsed), {
        onFailure: ({ advice, problem }) => `${problem}; ${advice}`,
        onSuccess: (path) => ({ path, layer: SocketClient.layerUnix({ path, maxMessageBytes, maxMessageNodes }) })
      })
    }
  }))
}
