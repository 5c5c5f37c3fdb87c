/**
 * The configuration of servers that hosts keep in files: Claude Desktop, Claude Code, VS Code, Cursor, Codex, Gemini
 * CLI, Zed and Windsurf.
 *
 * @stability unstable
 */
import { Excerpt } from "@effect-mcp/protocol/internal"
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
import * as CodexFields from "../internal/configuration/CodexFields.ts"
import * as EntryKind from "../internal/configuration/EntryKind.ts"
import * as EntryReader from "../internal/configuration/EntryReader.ts"
import * as Expansion from "../internal/configuration/Expansion.ts"
import * as HostRules from "../internal/configuration/HostRules.ts"
import * as JsonWithComments from "../internal/configuration/JsonWithComments.ts"
import * as OAuthEntry from "../internal/configuration/OAuthEntry.ts"
import * as ServerAccount from "../internal/configuration/ServerAccount.ts"
import * as Toml from "../internal/configuration/Toml.ts"
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

/** The most characters of a path, a problem and an advice in a message: the file decides the lengths of its names. */
const maxShown = 512

const shownText = (text: string): string => Excerpt.line(text, maxShown)

const lineOf = ({ advice, path, problem }: EntryProblem): string =>
  `${path === "" ? "" : `${shownText(path)}: `}${shownText(problem)}; ${shownText(advice)}`

/**
 * The error of a configuration that leads to no targets, with its problems: at most 100. Its message shows names of the
 * file escaped and cut, so that a file controls no terminal and writes no lines of its own.
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
    const lines = this.problems.map(lineOf)
    const orMore = lines.length < EntryReader.maxProblems ? "" : "or more "
    return lines.length === 1
      ? `the configuration of servers is invalid: ${lines.join()}`
      : `the configuration of servers has ${lines.length} ${orMore}problems:\n${
        lines.map((line) => `- ${line}`).join("\n")
      }`
  }
}

/**
 * The name of a host whose files are known: `claude-desktop`, `claude-code`, `vscode`, `cursor`, `codex`, `gemini-cli`,
 * `zed` or `windsurf`.
 *
 * @category models
 */
export type Host = HostRules.Host

/**
 * The names of the hosts whose files are known.
 *
 * @category constants
 */
export const hosts: ReadonlyArray<Host> = HostRules.hosts

/**
 * Options of a configuration.
 *
 * @category models
 */
export interface Options {
  /**
   * The host whose rules the file has, where hosts differ: the field with the entries, the references that are
   * replaced, and TOML. Without one, the field `mcp_servers` and TOML show Codex, and `context_servers` Zed. Any other
   * file has the references of all hosts, except `$NAME` of Gemini CLI.
   */
  readonly host?: Host
  /**
   * The names of the servers to read. The entries of others are not checked. A disabled server is a problem. Default:
   * all servers that are not disabled.
   */
  readonly servers?: ReadonlyArray<string>
  /**
   * Whether references such as `${NAME}` are replaced. Default: true, except for Claude Desktop, Codex and Zed, which
   * replace none, so that their files may have `${NAME}` for a shell.
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

const schemes: Readonly<Record<EntryKind.UrlKind, ReadonlyArray<string>>> = {
  http: ["http:", "https:"],
  sse: ["http:", "https:"],
  ws: ["ws:", "wss:"],
  any: ["http:", "https:", "ws:", "wss:", "unix:"]
}

type Reader = EntryReader.EntryReader

type Authorization = ClientAuthorization.ClientAuthorization["Service"] | undefined

const commandTarget = (
  reader: Reader,
  environment: Expansion.ExpansionValues["env"],
  options: Options
): McpTarget.McpTarget | undefined => {
  // Older versions of Zed have an object with the path of the program, its arguments and its variables.
  const nested = reader.isObject("command") ? reader.within("command") : undefined
  const program = nested ?? reader
  const command = nested === undefined ? reader.text("command") : nested.text("path")
  const args = program.texts("args")
  const env = { ...CodexFields.variables(reader, environment), ...program.variables("env") }
  const cwd = reader.text("cwd")
  if (nested !== undefined && !nested.has("path")) nested.report("path", "it is missing", "give the program to start")
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
    ...command.isSecret ? { description: nested === undefined ? reader.raw("command") : nested.raw("path") } : undefined
  })
}

/** Returns a URL as it is written, without what may be secret: user, password, query and fragment. */
const shown = (raw: string): string => raw.replace(/[?#].*$/s, "").replace(/\/\/[^/]*@/, "//")

/** Reports what a Unix socket cannot have. */
const checkUnix = (
  reader: Reader,
  urlField: EntryKind.UrlField,
  url: URL,
  headers: object,
  client: object | undefined
): void => {
  const path = UnixPath.of(url)
  if (Result.isFailure(path)) reader.report(urlField, path.failure.problem, path.failure.advice)
  if (Object.keys(headers).length > 0) {
    reader.report("headers", "a Unix socket has no headers", "remove them, or use a URL of ws: or http:")
  }
  if (client !== undefined) {
    const field = reader.has("oauth") ? "oauth" : "auth"
    reader.report(field, "a Unix socket has no authorization", "remove it, or use a URL of ws: or http:")
  }
}

/** Requests without spans, which would show the host and the path of a URL. They never show the query. */
const untraced: Layer.Layer<never> = Layer.unwrap(
  Effect.map(
    Effect.promise(() => import("effect/http/HttpClient")),
    ({ TracerDisabledWhen }) => Layer.succeed(TracerDisabledWhen, () => true)
  )
)

const urlTarget = (
  kind: EntryKind.UrlKind,
  reader: Reader,
  urlField: EntryKind.UrlField,
  environment: Expansion.ExpansionValues["env"],
  options: Options
): McpTarget.McpTarget | undefined => {
  const text = reader.text(urlField)
  const headers = { ...reader.headers("headers"), ...CodexFields.headers(reader, environment) }
  const client = OAuthEntry.read(reader)
  if (text === undefined || text.problems.length > 0) return undefined
  if (!URL.canParse(text.value)) {
    reader.report(urlField, "it is no absolute URL", "write one such as https://example.com/mcp")
    return undefined
  }
  const url = new URL(text.value)
  const allowed = schemes[kind]
  if (!allowed.includes(url.protocol)) {
    // A scheme that is not written in the file is the value of a reference.
    const isWritten = !text.isSecret || reader.raw(urlField)?.toLowerCase().startsWith(url.protocol) === true
    const problem = isWritten ? `it begins with ${url.protocol}` : "its scheme is not supported"
    reader.report(urlField, problem, `use a URL that begins with ${allowed.join(" or ")}`)
  }
  if (url.username !== "" || url.password !== "") {
    reader.report(urlField, "it contains a user or a password", "send them in headers, as Authorization")
  }
  if (url.protocol === "unix:" && kind === "any") checkUnix(reader, urlField, url, headers, client)
  if (reader.problems.length > 0) return undefined
  const all = { ...options.url, headers: { ...headers, ...options.headers } }
  const { maxMessageBytes, maxMessageNodes } = all
  const description = shown(reader.raw(urlField) ?? "")
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
  const { text: hide, transport } = HiddenSecrets.make(text.secrets, description)
  const place = `${url.origin}${url.pathname}`
  const layer = text.secrets.length === 0
    ? authorized
    : Layer.effect(Transport, Effect.map(Transport, transport)).pipe(
      Layer.provide(authorized),
      Layer.provide(hide(place) === place ? Layer.empty : untraced)
    )
  const target = McpTarget.transport(layer, description)
  return url.protocol === "unix:"
    ? target
    : { ...target, account: ServerAccount.at(url, all.authorization, client) }
}

const entryTarget = (
  reader: Reader,
  environment: Expansion.ExpansionValues["env"],
  options: Options
): McpTarget.McpTarget | undefined => {
  const urlField = EntryKind.urlFieldOf(reader)
  const kind = EntryKind.of(reader, urlField)
  if (kind === undefined) return undefined
  return kind === "stdio"
    ? commandTarget(reader, environment, options)
    : urlTarget(kind, reader, urlField, environment, options)
}

const quoted = (name: string): string => /^[\w-]+$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`

type Targets = { readonly [server: string]: McpTarget.McpTarget }

const invalid = (path: string, problem: string, advice: string): Result.Result<never, InvalidConfigError> =>
  Result.fail(new InvalidConfigError({ problems: [{ path, problem, advice }] }))

/** The entries of a configuration, and the rules of its host. */
interface Entries {
  readonly rules: HostRules.HostRules
  readonly entries: { readonly [server: string]: unknown }
}

const entriesOf = (json: unknown, host: Host | undefined): Result.Result<Entries, InvalidConfigError> => {
  const known = host === undefined ? HostRules.byField : [HostRules.rules[host]] as const
  const [{ field: usual }] = known
  const example = usual === "mcp_servers" ? "write [mcp_servers.NAME]" : `write {"${usual}": {…}}`
  if (!EntryReader.isObject(json)) return invalid("", "it is not an object", example)
  const [rules, other] = known.filter(({ field }) => Object.hasOwn(json, field))
  if (rules === undefined) return invalid("", `it has no ${usual}`, example)
  if (other !== undefined) return invalid(other.field, `there is ${rules.field}, too`, "keep one of them")
  const entries = json[rules.field]
  return EntryReader.isObject(entries)
    ? Result.succeed({ rules, entries })
    : invalid(rules.field, "it is not an object", "write an entry for each server, by its name")
}

const enabledIn = (entries: Entries["entries"]): ReadonlyArray<string> =>
  Object.keys(entries).filter((server) => HostRules.leftOut(entries[server]) === undefined)

const targetsOf = ({ entries, rules }: Entries, options: Options): Result.Result<Targets, InvalidConfigError> => {
  const env = options.env ?? process.env
  const values: Expansion.ExpansionValues | undefined = options.expand ?? rules.references !== "None"
    ? {
      env,
      variables: options.variables ?? {},
      inputs: options.inputs ?? {},
      allowance: { left: Expansion.maxCharacters },
      hasBareNames: rules.references === "Bare"
    }
    : undefined
  const problems: Array<EntryProblem> = []
  const targets: Array<readonly [string, McpTarget.McpTarget]> = []
  for (const server of options.servers ?? Object.keys(entries)) {
    if (problems.length >= EntryReader.maxProblems) break
    const path = `${rules.field}${quoted(server)}`
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
    const leftOut = HostRules.leftOut(entry)
    if (leftOut !== undefined) {
      if (options.servers !== undefined) problems.push({ path, ...leftOut })
      continue
    }
    if (!EntryReader.isObject(entry)) {
      problems.push({ path, problem: "it is not an object", advice: "give command for a program, or url for a server" })
      continue
    }
    const reader = new EntryReader.EntryReader(entry, values)
    const target = entryTarget(reader, env, options)
    if (target !== undefined) targets.push([server, target])
    for (const { advice, field, problem } of reader.problems) {
      problems.push({ path: `${path}.${field}`, problem, advice })
    }
  }
  return problems.length > 0
    ? Result.fail(new InvalidConfigError({ problems: problems.slice(0, EntryReader.maxProblems) }))
    : Result.succeed(Object.fromEntries(targets))
}

/**
 * Returns the targets of a configuration, by the names of their servers. Fails with the problems of all entries, up to
 * 100. References are replaced by at most 1,048,576 characters.
 *
 * - `command`, `args`, `env` and `cwd` lead to a child process. It inherits few variables, as from `StdioClient`.
 * - `url` and `headers` lead to a server of HTTP or WebSocket, and `url` alone to a Unix socket. `serverUrl` of
 *   Windsurf is the same. `httpUrl` of Gemini CLI leads to Streamable HTTP.
 * - `type` or `transport` is `stdio`, `http`, `streamable-http`, `sse` or `ws`, in any case. Without one, a URL of HTTP
 *   leads to Streamable HTTP, or to HTTP+SSE if the server has nothing newer. So a `url` works that older versions of
 *   Gemini CLI take for HTTP+SSE.
 * - Of Codex, `http_headers` are headers. `bearer_token_env_var`, `env_http_headers` and `env_vars` name variables of
 *   the environment. `bearer_token` is a problem. Of older versions of Zed, `command` may be an object with `path`,
 *   `args` and `env`.
 * - `oauth` or `auth` describes the client of OAuth at the server of a URL, for the authorization of the program
 *   (`OAuth.layer` of `@effect-mcp/auth`): `clientId`, `CLIENT_ID` or `client_id`, `clientSecret` or `CLIENT_SECRET`,
 *   `issuer`, the authorization server that has given them, `scopes` as a list or a text, and `callbackPort`, the port
 *   of the redirect URI `http://localhost:PORT/callback`. Without `issuer`, the secret belongs to the issuer at which a
 *   person signs in first. Members that name endpoints of an authorization server are a problem, because its metadata
 *   names them.
 * - In all of these texts, `${NAME}` and `${env:NAME}` stand for variables of the environment, `${NAME:-default}` has a
 *   default, and `${input:id}`, `${userHome}` and `${pathSeparator}` are those of VS Code. `$NAME` is a reference with
 *   the host `gemini-cli`. A reference without a value is a problem, and so is `${file:/path}` of Windsurf, because no
 *   files are read. `$${NAME}` is the text `${NAME}`. Braces that no host has a value for, such as `${1:-x}` and
 *   `${#a}`, are text. Values are not searched for references. In the files of Claude Desktop, Codex and Zed, all
 *   references are text.
 * - An entry with `disabled: true` or `enabled: false`, or of an extension of Zed, is left out. It is a problem if the
 *   option `servers` names it. `envFile` is a problem. Other fields are ignored.
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
  Effect.suspend(() =>
    Effect.fromResult(Result.flatMap(entriesOf(json, options.host), (entries) => targetsOf(entries, options)))
  )

/** Returns the value of a text. */
const valueOf = (text: string, host: Host | undefined): Effect.Effect<unknown, InvalidConfigError> => {
  const isToml = HostRules.isToml(text, host)
  const parsed = isToml ? Toml.parse(text) : Effect.sync(() => JsonWithComments.parse(text))
  return Effect.flatMap(parsed, (result) =>
    Effect.fromResult(Result.match(result, {
      onSuccess: (value): Result.Result<unknown, InvalidConfigError> => Result.succeed(value),
      onFailure: (problem) =>
        invalid(
          "",
          `the text is not ${isToml ? "TOML" : "JSON"}: ${problem}`,
          "check brackets, quotes and commas there"
        )
    })))
}

/**
 * Returns the targets of a configuration in the text of a file. The text is JSON, which may have comments and trailing
 * commas, or TOML: with the host `codex`, or if it begins with no brace and has tables of `mcp_servers`. It has at most
 * 1,048,576 characters and 128 levels.
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
  Effect.suspend(() => Effect.flatMap(valueOf(text, options.host), (value) => decode(value, options)))

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
export const names = (
  text: string,
  options: Pick<Options, "host"> = {}
): Effect.Effect<ReadonlyArray<string>, InvalidConfigError> =>
  Effect.suspend(() =>
    Effect.flatMap(valueOf(text, options.host), (value) =>
      Effect.fromResult(
        Result.map(entriesOf(value, options.host), ({ entries }) => enabledIn(entries))
      ))
  )
