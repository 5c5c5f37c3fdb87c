/**
 * The server that the console connects to: the words of the command line after `--`, or an entry of the file of a host,
 * such as Claude Code, VS Code or Codex.
 */
import { McpServersConfig, McpTarget } from "@effect-mcp/client/node"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { createReadStream } from "node:fs"

/** The error of a command line that names no server. */
export class NoServer extends Data.TaggedError("NoServer")<{ readonly problem: string }> {
  override get message(): string {
    return this.problem
  }
}

/** The place of the server, and the name that questions and errors show. The server itself does not choose it. */
export interface Place {
  readonly name: string
  readonly target: McpTarget.McpTarget
}

const described = (target: McpTarget.McpTarget): Place => ({ name: target.description, target })

const isUrl = (word: string): boolean => /^(?:https?|wss?|unix):/.test(word)

/** Divides the words of the command line. Those after `--` are the server, and a URL in front is one as well. */
export const divide = (
  words: ReadonlyArray<string>
): { readonly command: ReadonlyArray<string>; readonly server: ReadonlyArray<string> } => {
  const at = words.indexOf("--")
  const command = at < 0 ? words : words.slice(0, at)
  const server = at < 0 ? [] : words.slice(at + 1)
  const [first] = command
  return server.length === 0 && first !== undefined && isUrl(first)
    ? { command: command.slice(1), server: [first] }
    : { command, server }
}

/** Options of the command line about the server. */
export interface Options {
  readonly words: ReadonlyArray<string>
  readonly headers: Readonly<Record<string, string>>
  readonly config: string | undefined
  /** The host whose file that is, if it is known. */
  readonly host: McpServersConfig.Host | undefined
  readonly server: string | undefined
  readonly onStderr: (line: string) => void
}

const ofUrl = (url: string, headers: Readonly<Record<string, string>>): Effect.Effect<Place, NoServer> =>
  Effect.try({
    try: () => described(McpTarget.url(url, { headers })),
    catch: (error) => new NoServer({ problem: error instanceof Error ? error.message : String(error) })
  })

/**
 * The bytes that are read of a file: more than the characters that `McpServersConfig` accepts. A file of a project may
 * be a link to a device without an end.
 */
const maxBytes = 4 * 1_048_576

const read = (path: string): Effect.Effect<string, NoServer> =>
  Effect.tryPromise({
    try: async (signal) => {
      let text = ""
      for await (const part of createReadStream(path, { encoding: "utf8", end: maxBytes - 1, signal })) text += part
      return text
    },
    catch: (error) =>
      new NoServer({ problem: `could not read ${path}: ${error instanceof Error ? error.message : String(error)}` })
  })

const ofFile = Effect.fnUntraced(function*(path: string, { headers, host, onStderr, server }: Options) {
  const text = yield* read(path)
  const file = host === undefined ? {} : { host }
  const invalid = ({ message }: McpServersConfig.InvalidConfigError) => new NoServer({ problem: `${path}: ${message}` })
  const names = yield* Effect.mapError(McpServersConfig.names(text, file), invalid)
  const name = server ?? (names.length === 1 ? names[0] : undefined)
  const known = names.length === 0 ? "it has none" : `it has: ${names.join(", ")}`
  if (name === undefined) return yield* new NoServer({ problem: `name a server of ${path} with --server; ${known}` })
  const options = {
    ...file,
    servers: [name],
    headers,
    command: { stderr: onStderr },
    variables: { workspaceFolder: process.cwd() }
  }
  const targets = names.includes(name)
    ? yield* Effect.mapError(McpServersConfig.parse(text, options), invalid)
    : {}
  const target = targets[name]
  if (target !== undefined) return { name, target }
  return yield* new NoServer({ problem: `${path} has no server ${JSON.stringify(name)}; ${known}` })
})

/** Returns the place of the server. */
export const place = (options: Options): Effect.Effect<Place, NoServer> => {
  const [first, ...args] = options.words
  if (first !== undefined && options.config !== undefined) {
    return Effect.fail(new NoServer({ problem: "name the server after -- or with --config, but not both" }))
  }
  if (options.config !== undefined) return ofFile(options.config, options)
  if (first === undefined) {
    return Effect.fail(
      new NoServer({ problem: "name the server after --: a command such as `-- npx -y some-server`, or a URL" })
    )
  }
  return isUrl(first)
    ? ofUrl(first, options.headers)
    : Effect.succeed(described(McpTarget.command(first, args, { stderr: options.onStderr })))
}
