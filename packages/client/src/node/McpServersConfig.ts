/**
 * The configuration of servers that hosts keep in files: `mcpServers` of Claude Desktop, Claude Code and Cursor, and
 * `servers` of VS Code.
 */
import { Transport } from "@effect-mcp/session/Transport"
import * as ClientAuthorization from "@effect-mcp/transport/ClientAuthorization"
import * as HiddenSecrets from "@effect-mcp/transport/HiddenSecrets"
import * as HttpSseClient from "@effect-mcp/transport/node/HttpSseClient"
import * as StreamableHttpClient from "@effect-mcp/transport/node/StreamableHttpClient"
import * as WebSocketClient from "@effect-mcp/transport/node/WebSocketClient"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as EntryReader from "../internal/configuration/EntryReader.ts"
import type * as Expansion from "../internal/configuration/Expansion.ts"
import * as JsonWithComments from "../internal/configuration/JsonWithComments.ts"
import * as OAuthEntry from "../internal/configuration/OAuthEntry.ts"
import * as ServerAccount from "../internal/configuration/ServerAccount.ts"
import * as UnixPath from "../internal/configuration/UnixPath.ts"
import * as McpTarget from "./McpTarget.ts"

/**
 * A problem of a configuration. It contains no values of environment variables and headers.
 *
 * @category models
 */
export interface EntryProblem {
  /** The place, such as `mcpServers.files.args[1]`. */
  readonly path: string
  readonly problem: string
  /** The way to solve it. */
  readonly advice: string
}

/**
 * The error of a configuration that leads to no targets, with all of its problems.
 *
 * @example
 * ```ts
 * import { McpServersConfig } from "@effect-mcp/client/node"
 * import * as Effect from "effect/Effect"
 *
 * export const message = McpServersConfig.decode({ mcpServers: { files: { args: ["-y"] } } }).pipe(
 *   Effect.flip,
 *   Effect.map((error) => error.problems[0]?.problem)
 * ) // => "the entry has neither command nor url"
 * ```
 *
 * @category errors
 */
export class InvalidConfigError
  extends Data.TaggedError("InvalidConfigError")<{ readonly problems: ReadonlyArray<EntryProblem> }>
{
  override get message(): string {
    const lines = this.problems.map(({ advice, path, problem }) =>
      `${path === "" ? "" : `${path}: `}${problem}; ${advice}`
    )
    return lines.length === 1
      ? `the configuration of servers is invalid: ${lines.join()}`
      : `the configuration of servers has ${lines.length} problems:\n${lines.map((line) => `- ${line}`).join("\n")}`
  }
}

/**
 * Options of a configuration.
 *
 * @category models
 */
export interface Options {
  /**
   * The names of the servers to read. The entries of others are not checked. A disabled server is a problem. Default:
   * all servers that are not disabled.
   */
  readonly servers?: ReadonlyArray<string>
  /**
   * Whether references such as `${NAME}` are replaced. Default: true. Claude Desktop replaces none, so files for it may
   * have `${NAME}` for a shell.
   */
  readonly expand?: boolean
  /** The values of `${NAME}` and `${env:NAME}`. Default: the environment of this process. */
  readonly env?: { readonly [name: string]: string | undefined }
  /** The values of other references, such as `workspaceFolder` of VS Code. They precede `env`, and are no secrets. */
  readonly variables?: { readonly [name: string]: string | undefined }
  /** The values of `${input:id}`, which VS Code asks its user for. */
  readonly inputs?: { readonly [id: string]: string | Redacted.Redacted<string> | undefined }
  /** Options of all servers that are child processes. */
  readonly command?: Omit<McpTarget.CommandOptions, "env" | "cwd" | "description">
  /** Options of all servers that have a URL. */
  readonly url?: Omit<McpTarget.UrlOptions, "headers">
  /**
   * Headers for all servers that have a URL, except Unix sockets. They replace those of an entry with the same names.
   */
  readonly headers?: { readonly [name: string]: string | Redacted.Redacted<string> }
}

type Kind = "stdio" | "http" | "sse" | "ws"

const kinds: ReadonlyMap<string, Kind> = new Map([
  ["stdio", "stdio"],
  ["http", "http"],
  ["streamablehttp", "http"],
  ["sse", "sse"],
  ["ws", "ws"],
  ["websocket", "ws"]
])

const schemes: Readonly<Record<Exclude<Kind, "stdio"> | "any", ReadonlyArray<string>>> = {
  http: ["http:", "https:"],
  sse: ["http:", "https:"],
  ws: ["ws:", "wss:"],
  any: ["http:", "https:", "ws:", "wss:", "unix:"]
}

type Reader = EntryReader.EntryReader

type Authorization = ClientAuthorization.ClientAuthorization["Service"] | undefined

/** Returns the kind that a text names. Hosts write `streamable-http`, `streamable_http` and `HTTP`. */
const kindNamed = (text: string): Kind | undefined => kinds.get(text.toLowerCase().replace(/[-_]/g, ""))

/** Returns the kind that an entry declares, or `undefined` after a problem. */
const declaredKind = (reader: Reader): Kind | "any" | undefined => {
  const type = reader.raw("type")
  const transport = reader.raw("transport")
  if (type !== undefined && transport !== undefined && kindNamed(type) !== kindNamed(transport)) {
    reader.report("transport", "it differs from type", "remove one of them")
    return undefined
  }
  const declared = type ?? transport
  if (declared === undefined) return reader.problems.length === 0 ? "any" : undefined
  const kind = kindNamed(declared)
  if (kind === undefined) {
    reader.report(
      type === undefined ? "transport" : "type",
      `${JSON.stringify(declared)} is no transport`,
      "use stdio, http, streamable-http, sse or ws"
    )
  }
  return kind
}

/** Returns the kind of an entry: what it declares, or what its fields show. */
const kindOf = (reader: Reader): Kind | "any" | undefined => {
  const kind = declaredKind(reader)
  if (kind === undefined) return undefined
  const hasCommand = reader.has("command")
  const hasUrl = reader.has("url")
  if (kind === "any") {
    if (hasCommand && hasUrl) {
      reader.report("url", "the entry has command, too", "remove one of them, or set type")
      return undefined
    }
    if (hasCommand) return "stdio"
    if (hasUrl) return "any"
    reader.report("command", "the entry has neither command nor url", "give command for a program, or url for a server")
    return undefined
  }
  if (kind === "stdio" ? hasCommand : hasUrl) return kind
  const field = kind === "stdio" ? "command" : "url"
  reader.report(field, "it is missing", kind === "stdio" ? "give the program to start" : "give the URL of the server")
  return undefined
}

const commandTarget = (reader: Reader, options: Options): McpTarget.McpTarget | undefined => {
  const command = reader.text("command")
  const args = reader.texts("args")
  const env = reader.variables("env")
  const cwd = reader.text("cwd")
  if (command?.value === "") reader.report("command", "it is empty", "give the program to start")
  if (reader.has("envFile")) {
    reader.report("envFile", "files of variables are not supported", "put the variables into env")
  }
  if (command === undefined || reader.problems.length > 0) return undefined
  return McpTarget.command(command.value, args, {
    ...options.command,
    env,
    secrets: [...options.command?.secrets ?? [], ...command.secrets, ...cwd?.secrets ?? []],
    ...cwd === undefined ? undefined : { cwd: cwd.value },
    ...command.isSecret ? { description: reader.raw("command") } : undefined
  })
}

/** Returns a URL as it is written, without what may be secret: user, password, query and fragment. */
const shown = (raw: string): string => raw.replace(/[?#].*$/s, "").replace(/\/\/[^/]*@/, "//")

/** Reports what a Unix socket cannot have. */
const checkUnix = (reader: Reader, url: URL, headers: object, client: object | undefined): void => {
  const path = UnixPath.of(url)
  if (Result.isFailure(path)) reader.report("url", path.failure.problem, path.failure.advice)
  if (Object.keys(headers).length > 0) {
    reader.report("headers", "a Unix socket has no headers", "remove them, or use a URL of ws: or http:")
  }
  if (client !== undefined) {
    const field = reader.has("oauth") ? "oauth" : "auth"
    reader.report(field, "a Unix socket has no authorization", "remove it, or use a URL of ws: or http:")
  }
}

const urlTarget = (
  kind: Exclude<Kind, "stdio"> | "any",
  reader: Reader,
  options: Options
): McpTarget.McpTarget | undefined => {
  const text = reader.text("url")
  const headers = reader.headers("headers")
  const client = OAuthEntry.read(reader)
  if (text === undefined || text.problems.length > 0) return undefined
  if (!URL.canParse(text.value)) {
    reader.report("url", "it is no absolute URL", "write one such as https://example.com/mcp")
    return undefined
  }
  const url = new URL(text.value)
  const allowed = schemes[kind]
  if (!allowed.includes(url.protocol)) {
    // A scheme that is not written in the file is the value of a reference.
    const isWritten = !text.isSecret || reader.raw("url")?.toLowerCase().startsWith(url.protocol) === true
    const problem = isWritten ? `it begins with ${url.protocol}` : "its scheme is not supported"
    reader.report("url", problem, `use a URL that begins with ${allowed.join(" or ")}`)
  }
  if (url.username !== "" || url.password !== "") {
    reader.report("url", "it contains a user or a password", "send them in headers, as Authorization")
  }
  if (url.protocol === "unix:" && kind === "any") checkUnix(reader, url, headers, client)
  if (reader.problems.length > 0) return undefined
  const all = { ...options.url, headers: { ...headers, ...options.headers } }
  const { maxMessageBytes, maxMessageNodes } = all
  const description = shown(reader.raw("url") ?? "")
  const layerOf = (authorization: Authorization): McpTarget.McpTarget["transport"] => {
    switch (kind) {
      case "http":
        return StreamableHttpClient.layerNode({ ...all, authorization, url })
      case "sse":
        return HttpSseClient.layerNode({ url, headers: all.headers, authorization, maxMessageBytes, maxMessageNodes })
      case "ws":
        return WebSocketClient.layerNode({ url, headers: all.headers, authorization, maxMessageBytes, maxMessageNodes })
      case "any": {
        const isUnix = url.protocol === "unix:"
        return McpTarget.url(url, isUnix ? { maxMessageBytes, maxMessageNodes } : { ...all, authorization }).transport
      }
    }
  }
  const authorized = client === undefined ? layerOf(all.authorization) : Layer.unwrap(
    Effect.map(
      Effect.serviceOption(ClientAuthorization.ClientAuthorization),
      (provided) => layerOf(ServerAccount.configured(all.authorization ?? Option.getOrUndefined(provided), client))
    )
  )
  // The values of references in the URL. The transport itself hides those in the headers.
  const { transport } = HiddenSecrets.make(text.secrets, description)
  const layer = text.secrets.length === 0
    ? authorized
    : Layer.provide(Layer.effect(Transport, Effect.map(Transport, transport)), authorized)
  const target = McpTarget.transport(layer, description)
  return url.protocol === "unix:"
    ? target
    : { ...target, account: ServerAccount.at(url, all.authorization, client) }
}

const entryTarget = (reader: Reader, options: Options): McpTarget.McpTarget | undefined => {
  const kind = kindOf(reader)
  if (kind === undefined) return undefined
  return kind === "stdio" ? commandTarget(reader, options) : urlTarget(kind, reader, options)
}

const quoted = (name: string): string => /^[\w-]+$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`

type Targets = { readonly [server: string]: McpTarget.McpTarget }

const invalid = (path: string, problem: string, advice: string): Result.Result<never, InvalidConfigError> =>
  Result.fail(new InvalidConfigError({ problems: [{ path, problem, advice }] }))

/** The entries of a configuration, and the name of the field that has them. */
interface Entries {
  readonly field: string
  readonly entries: { readonly [server: string]: unknown }
}

const entriesOf = (json: unknown): Result.Result<Entries, InvalidConfigError> => {
  if (!EntryReader.isObject(json)) {
    return invalid("", "it is not an object", "write {\"mcpServers\": {…}}")
  }
  const keys = ["mcpServers", "servers"].filter((key) => Object.hasOwn(json, key))
  const [field] = keys
  if (field === undefined) return invalid("", "it has no mcpServers", "write {\"mcpServers\": {…}}")
  if (keys.length > 1) return invalid("servers", "there is mcpServers, too", "keep one of them")
  const entries = json[field]
  return EntryReader.isObject(entries)
    ? Result.succeed({ field, entries })
    : invalid(field, "it is not an object", "write an entry for each server, by its name")
}

const isDisabled = (entry: unknown): boolean => EntryReader.isObject(entry) && entry["disabled"] === true

const enabledIn = (entries: Entries["entries"]): ReadonlyArray<string> =>
  Object.keys(entries).filter((server) => !isDisabled(entries[server]))

const targetsOf = ({ entries, field }: Entries, options: Options): Result.Result<Targets, InvalidConfigError> => {
  const values: Expansion.ExpansionValues | undefined = options.expand === false ? undefined : {
    env: options.env ?? process.env,
    variables: options.variables ?? {},
    inputs: options.inputs ?? {}
  }
  const problems: Array<EntryProblem> = []
  const targets: Array<readonly [string, McpTarget.McpTarget]> = []
  for (const server of options.servers ?? Object.keys(entries)) {
    const path = `${field}${quoted(server)}`
    if (!Object.hasOwn(entries, server)) {
      const known = enabledIn(entries)
      problems.push({
        path,
        problem: "there is no such server",
        advice: known.length === 0 ? "add it" : `use one of: ${known.join(", ")}`
      })
      continue
    }
    const entry = entries[server]
    if (isDisabled(entry)) {
      if (options.servers !== undefined) {
        problems.push({
          path,
          problem: "it is disabled",
          advice: "remove disabled, or leave it out of the option servers"
        })
      }
      continue
    }
    if (!EntryReader.isObject(entry)) {
      problems.push({ path, problem: "it is not an object", advice: "give command for a program, or url for a server" })
      continue
    }
    const reader = new EntryReader.EntryReader(entry, values)
    const target = entryTarget(reader, options)
    if (target !== undefined) targets.push([server, target])
    for (const { advice, field, problem } of reader.problems) {
      problems.push({ path: `${path}.${field}`, problem, advice })
    }
  }
  return problems.length > 0
    ? Result.fail(new InvalidConfigError({ problems }))
    : Result.succeed(Object.fromEntries(targets))
}

/**
 * Returns the targets of a configuration, by the names of their servers. Fails with all problems of all entries.
 *
 * - `command`, `args`, `env` and `cwd` lead to a child process. It inherits few variables, as from `StdioClient`.
 * - `url` and `headers` lead to a server of HTTP or WebSocket, and `url` alone to a Unix socket.
 * - `type` or `transport` is `stdio`, `http`, `streamable-http`, `sse` or `ws`, in any case. Without one, a URL of HTTP
 *   leads to Streamable HTTP, or to HTTP+SSE if the server has nothing newer.
 * - `oauth` or `auth` describes the client of OAuth at the server of a URL, for the authorization of the program
 *   (`OAuth.layer` of `@effect-mcp/auth`): `clientId` or `CLIENT_ID`, `clientSecret` or `CLIENT_SECRET`, `issuer`, the
 *   authorization server that has given them, `scopes` as a list or a text, and `callbackPort`, the port of the
 *   redirect URI `http://localhost:PORT/callback`. Without `issuer`, the secret belongs to the issuer at which a person
 *   signs in first. Members that name endpoints of an authorization server are a problem, because its metadata names
 *   them.
 * - In all of these texts, `${NAME}` and `${env:NAME}` stand for variables of the environment, `${NAME:-default}` has a
 *   default, and `${input:id}`, `${userHome}` and `${pathSeparator}` are those of VS Code. A reference without a value
 *   is a problem. `$${NAME}` is the text `${NAME}`. Braces that no host has a value for, such as `${1:-x}` and `${#a}`,
 *   are text. Values are not searched for references.
 * - An entry with `disabled: true` is left out, and is a problem if the option `servers` names it. `envFile` is a
 *   problem. Other fields are ignored.
 *
 * The values of `env` and `headers`, the secret of a client, and all arguments with references, are redacted.
 * Descriptions and errors show the host and the path of a URL, but no query, and few arguments of a command
 * (`McpTarget.command`). They show references in `command`, `cwd` and `url` as they are written, and `<redacted>` in
 * place of values of at least 4 characters.
 *
 * @example
 * ```ts
 * import { McpServersConfig } from "@effect-mcp/client/node"
 * import * as Effect from "effect/Effect"
 *
 * export const descriptions = McpServersConfig.decode({
 *   mcpServers: {
 *     files: { command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "/home/ada"] },
 *     search: { type: "http", url: "https://example.com/mcp", headers: { authorization: "Bearer ${TOKEN}" } }
 *   }
 * }, { env: { TOKEN: "secret" } }).pipe(
 *   Effect.map((targets) => Object.values(targets).map(({ description }) => description))
 * ) // => ["npx -y @modelcontextprotocol/server-filesystem (1 more argument)", "https://example.com/mcp"]
 * ```
 *
 * @category constructors
 */
export const decode = (json: unknown, options: Options = {}): Effect.Effect<Targets, InvalidConfigError> =>
  Effect.suspend(() => Effect.fromResult(Result.flatMap(entriesOf(json), (entries) => targetsOf(entries, options))))

const jsonOf = (text: string): Result.Result<unknown, InvalidConfigError> =>
  Result.match(JsonWithComments.parse(text), {
    onSuccess: (json) => Result.succeed(json),
    onFailure: (problem) => invalid("", `the text is not JSON: ${problem}`, "check brackets, quotes and commas there")
  })

/**
 * Returns the targets of a configuration in the text of a file. The text is JSON, which may have comments and trailing
 * commas, at most 1,048,576 characters and 128 levels.
 *
 * @example
 * ```ts
 * import { McpClients, McpServersConfig } from "@effect-mcp/client/node"
 * import * as Effect from "effect/Effect"
 * import * as fs from "node:fs/promises"
 *
 * export const clients = Effect.gen(function*() {
 *   const text = yield* Effect.promise(() => fs.readFile("mcp.json", "utf8"))
 *   const targets = yield* McpServersConfig.parse(text)
 *   return yield* McpClients.make(targets, { info: { name: "host", version: "1.0.0" } })
 * })
 * ```
 *
 * @category constructors
 */
export const parse = (text: string, options: Options = {}): Effect.Effect<Targets, InvalidConfigError> =>
  Effect.suspend(() => Effect.flatMap(Effect.fromResult(jsonOf(text)), (json) => decode(json, options)))

/**
 * Returns the names of the servers of a configuration in the text of a file, without those that are disabled. It does
 * not check the entries, so that a person can choose a server although another one has a problem.
 *
 * @example
 * ```ts
 * import { McpServersConfig } from "@effect-mcp/client/node"
 *
 * export const names = McpServersConfig.names(
 *   `{ "mcpServers": { "files": { "command": "npx" }, "old": { "disabled": true } } }`
 * ) // => ["files"]
 * ```
 *
 * @category accessors
 */
export const names = (text: string): Effect.Effect<ReadonlyArray<string>, InvalidConfigError> =>
  Effect.suspend(() =>
    Effect.fromResult(Result.map(
      Result.flatMap(jsonOf(text), entriesOf),
      ({ entries }) => enabledIn(entries)
    ))
  )
