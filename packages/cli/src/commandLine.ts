/**
 * The command line of the console.
 */
import * as PlainText from "@effect-mcp/client/PlainText"
import * as Logging from "@effect-mcp/protocol/Logging"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Argument from "effect/cli/Argument"
import * as CliConfig from "effect/cli/CliConfig"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import { TerminalCapabilities } from "effect/cli/TerminalCapabilities"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as References from "effect/References"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { PassThrough, type Readable } from "node:stream"
import * as Arguments from "./console/arguments.ts"
import * as Commands from "./console/commands.ts"
import * as Connection from "./console/connection.ts"
import * as Failures from "./console/failures.ts"
import * as Interactive from "./console/interactive.ts"
import * as PipedScreen from "./console/pipedScreen.ts"
import * as Render from "./console/render.ts"
import { Screen } from "./console/screen.ts"
import * as Server from "./console/server.ts"
import { waysToSignIn } from "./console/signInOptions.ts"
import { StartLines } from "./console/startLines.ts"
import * as TerminalScreen from "./console/terminalScreen.ts"
import * as Usage from "./console/usage.ts"
import * as Addition from "./hosts/addition.ts"
import type { HostFileError } from "./hosts/file.ts"
import * as Host from "./hosts/host.ts"
import * as Place from "./hosts/place.ts"

const flags = {
  json: Flag.Boolean("json").pipe(
    Flag.withDescription("Print the result as JSON"),
    Flag.withDefault(false)
  ),
  revision: Flag.Literals("revision", Revision.supported).pipe(
    Flag.withDescription("Speak this revision of the protocol only"),
    Flag.optional
  ),
  header: Flag.String("header").pipe(
    Flag.withDescription("Send this header to an HTTP server, as \"name: value\"; may be repeated"),
    Flag.atLeast(0)
  ),
  config: Flag.String("config").pipe(
    Flag.withDescription("Read the server from the file of a host, such as .mcp.json"),
    Flag.optional
  ),
  server: Flag.String("server").pipe(
    Flag.withDescription("The name of the server in the file"),
    Flag.optional
  ),
  root: Flag.String("root").pipe(
    Flag.withDescription("A folder that the server may use (roots); may be repeated"),
    Flag.atLeast(0)
  ),
  answer: Flag.String("answer").pipe(
    Flag.withDescription("In a script: the values of the next form of the server, as JSON; may be repeated"),
    Flag.atLeast(0)
  ),
  signIn: Flag.Literals("sign-in", waysToSignIn).pipe(
    Flag.withDescription("How a person signs in to a server of a URL (default: url in a terminal, none in a script)"),
    Flag.optional
  ),
  tokens: Flag.String("tokens").pipe(
    Flag.withDescription("Keep the tokens of sign-ins in this folder, not encrypted"),
    Flag.optional
  ),
  logLevel: Flag.Literals("log-level", Logging.levels).pipe(
    Flag.withDescription("The level of the server's log messages (default: info)"),
    Flag.withDefault("info")
  )
}

const hostFlags = {
  host: Flag.Literals("for", Host.hosts).pipe(Flag.withDescription("The host")),
  name: Flag.String("name").pipe(
    Flag.withDescription("The name of the server (default: that of its script, its package or its host)"),
    Flag.optional
  ),
  scope: Flag.Literals("scope", Host.scopes).pipe(
    Flag.withDescription("The file of this project, or that of this person (default: user)"),
    Flag.withDefault("user")
  ),
  url: Flag.String("url").pipe(Flag.withDescription("The URL of a server, in place of a command"), Flag.optional),
  env: Flag.String("env").pipe(
    Flag.withDescription("The name of a variable of the environment that the server gets; may be repeated"),
    Flag.atLeast(0)
  ),
  bearerEnv: Flag.String("bearer-env").pipe(
    Flag.withDescription("The name of the variable of the environment with the token for the URL"),
    Flag.optional
  ),
  system: Flag.Literals("system", Host.systems).pipe(
    Flag.withDescription("The operating system of the host (default: this one)"),
    Flag.optional
  ),
  file: Flag.String("file").pipe(Flag.withDescription("Another file than the usual one of the host"), Flag.optional),
  yes: Flag.Boolean("yes").pipe(Flag.withDescription("Write the file without a question"), Flag.withDefault(false)),
  replace: Flag.Boolean("replace").pipe(
    Flag.withDescription("Replace another server of this name"),
    Flag.withDefault(false)
  )
}

/** The status of the process: whether a command has failed. */
class Exit {
  isFailure = false
}

const headersOf = Effect.fnUntraced(function*(headers: ReadonlyArray<string>) {
  const pairs = headers.map((header) => [header.slice(0, header.indexOf(":")), header] as const)
  const other = pairs.find(([name]) => name.trim() === "")
  if (other !== undefined) {
    return yield* new Failures.InvalidCommand({ problem: `--header: expected "name: value", but got ${other[1]}` })
  }
  return Object.fromEntries(pairs.map(([name, header]) => [name.trim(), header.slice(name.length + 1).trim()]))
})

/** Returns the command of the console whose server is named by these words. */
const command = (serverWords: ReadonlyArray<string>, version: string, exit: Exit) => {
  const shared = Command.make("effect-mcp").pipe(Command.withSharedFlags(flags))

  const connect = Effect.fnUntraced(function*(
    options: Effect.Success<typeof shared>,
    isLasting: boolean,
    pasted: Readable = new PassThrough()
  ) {
    const screen = yield* Screen
    const start = new StartLines()
    const place = yield* Server.place({
      words: serverWords,
      headers: yield* headersOf(options.header),
      config: Option.getOrUndefined(options.config),
      host: Option.getOrUndefined(Option.map(options.config, Place.hostOf)),
      server: Option.getOrUndefined(options.server),
      onStderr: (line) => {
        if (isLasting || start.isNew(line)) Effect.runFork(screen.note(`server: ${line}`))
      }
    })
    const answers = yield* Effect.fromResult(Result.all(options.answer.map(Arguments.fromJson)))
    const client = yield* Connection.make({
      place,
      revision: Option.getOrUndefined(options.revision),
      roots: options.root,
      logLevel: options.logLevel,
      answers,
      isLasting,
      signIn: {
        way: Option.getOrElse(options.signIn, () => screen.canAsk ? "url" : "none"),
        folder: Option.getOrUndefined(options.tokens),
        pasted
      },
      version
    })
    start.end()
    return client
  })

  /** Runs one command, and prints its result. */
  const once = <R>(
    run: (client: Effect.Success<ReturnType<typeof connect>>) => Effect.Effect<Commands.Outcome, Failures.Failure, R>
  ) =>
    Effect.gen(function*() {
      const options = yield* shared
      const screen = yield* Screen
      const outcome = yield* screen.untilCancelled(Effect.flatMap(connect(options, false), run))
      if (Option.isNone(outcome)) return yield* Effect.interrupt
      const { isFailure, text, value } = outcome.value
      yield* screen.print(options.json ? PlainText.json(value) : text)
      exit.isFailure = isFailure
    }).pipe(
      Effect.scoped,
      reportingFailure,
      // A list that the server does not end is cut, which only a warning says.
      Effect.provideService(References.MinimumLogLevel, "Warn")
    )

  const reportingFailure = <A, R>(effect: Effect.Effect<A, Failures.Failure | HostFileError, R>) =>
    Effect.catch(effect, (failure) =>
      Effect.flatMap(Screen, (screen) => {
        exit.isFailure = true
        return screen.note(
          `error: ${failure._tag === "HostFileError" ? failure.message : Failures.describe(failure)}`
        )
      }))

  const words = Argument.String("argument").pipe(
    Argument.withDescription("An object in JSON, or name=value"),
    Argument.variadic()
  )
  const named = (name: string, description: string) => Argument.String(name).pipe(Argument.withDescription(description))

  const list = Command.make("list", {
    only: Argument.Literals("part", ["tools", "resources", "prompts"]).pipe(Argument.optional)
  }, ({ only }) => once((client) => Commands.list(client, Option.getOrUndefined(only)))).pipe(
    Command.withDescription("List what the server has")
  )
  const part = (name: "tools" | "resources" | "prompts") =>
    Command.make(name, {}, () => once((client) => Commands.list(client, name))).pipe(
      Command.withDescription(`List the ${name} of the server`)
    )
  const describe = Command.make(
    "describe",
    { tool: named("tool", "The name of the tool") },
    ({ tool }) => once((client) => Commands.describe(client, tool))
  ).pipe(Command.withDescription("Show a tool with its schemas"))
  const call = Command.make(
    "call",
    { tool: named("tool", "The name of the tool"), words },
    ({ tool, words }) => once((client) => Commands.call(client, tool, words))
  ).pipe(Command.withDescription("Call a tool; exits with status 1 if it fails"))
  const read = Command.make(
    "read",
    { uri: named("uri", "The URI of the resource") },
    ({ uri }) => once((client) => Commands.read(client, uri))
  ).pipe(Command.withDescription("Read a resource"))
  const prompt = Command.make(
    "prompt",
    { name: named("name", "The name of the prompt"), words },
    ({ name, words }) => once((client) => Commands.prompt(client, name, words))
  ).pipe(Command.withDescription("Get a prompt"))
  const complete = Command.make(
    "complete",
    {
      target: named("target", "The name of a prompt, or a resource template"),
      argument: named("name", "The name of the argument"),
      value: named("text", "The beginning of the argument"),
      words: Argument.String("argument").pipe(
        Argument.withDescription("Other arguments, as name=value"),
        Argument.variadic()
      )
    },
    ({ argument, target, value, words }) => once((client) => Commands.complete(client, target, argument, value, words))
  ).pipe(Command.withDescription("Complete an argument of a prompt or of a resource template"))
  const watch = Command.make(
    "watch",
    { uri: named("uri", "The URI of the resource") },
    ({ uri }) =>
      Effect.gen(function*() {
        const options = yield* shared
        const screen = yield* Screen
        const client = yield* connect(options, true)
        const watched = Stream.runForEach(
          client.watch(uri),
          (result) => screen.print(options.json ? PlainText.json(result) : Render.readResult(result))
        )
        if (Option.isNone(yield* screen.untilCancelled(watched))) return yield* Effect.interrupt
      }).pipe(Effect.scoped, reportingFailure)
  ).pipe(
    Command.withDescription("Print a resource now, and whenever it changes, until Ctrl-C")
  )

  const hosts = Command.make("hosts", hostFlags, (chosen) =>
    Effect.gen(function*() {
      const { answer, config, header, json, revision, root, server, signIn, tokens } = yield* shared
      const given = [config, server, revision, signIn, tokens].some(Option.isSome)
      if (given || [answer, header, root].some((values) => values.length > 0)) {
        return yield* new Failures.InvalidCommand({
          problem: "hosts starts no server, and takes no options for one, such as --header and --config; " +
            "name the variable of a token with --bearer-env"
        })
      }
      yield* Addition.add({
        host: chosen.host,
        name: Option.getOrUndefined(chosen.name),
        scope: chosen.scope,
        system: Option.getOrElse(chosen.system, Place.thisSystem),
        words: serverWords,
        url: Option.getOrUndefined(chosen.url),
        variables: chosen.env,
        token: Option.getOrUndefined(chosen.bearerEnv),
        file: Option.getOrUndefined(chosen.file),
        isConfirmed: chosen.yes,
        replaces: chosen.replace,
        isJson: json
      })
    }).pipe(reportingFailure)).pipe(
      Command.withDescription("Print the entry of a server for a host, and add it to the file of the host after a yes")
    )

  return shared.pipe(
    Command.withHandler((options) =>
      Effect.gen(function*() {
        const screen = yield* Screen
        const pasted = new PassThrough()
        const client = yield* connect(options, true, pasted)
        if (!screen.canAsk) {
          return yield* new Failures.InvalidCommand({
            problem: "the interactive mode needs a terminal; in a script, use list, call, read, prompt or complete"
          })
        }
        yield* Interactive.run(client, (address) => void pasted.write(`${address}\n`))
      }).pipe(Effect.scoped, reportingFailure)
    ),
    Command.withDescription(
      "Tries an MCP server. The server is named after --: a command, or a URL. Without a command of the console, a " +
        "person enters one after the other."
    ),
    Command.withExamples([
      { command: "npx @effect-mcp/cli -- npx -y some-server", description: "Enter commands for a server over stdio" },
      {
        command: "npx @effect-mcp/cli --header \"Authorization: Bearer …\" -- https://example.com/mcp",
        description: "… over HTTP"
      },
      {
        command: "npx @effect-mcp/cli call add '{\"a\":15,\"b\":27}' --json -- node calculator.ts",
        description: "Call a tool"
      },
      {
        command: "npx @effect-mcp/cli hosts --for vscode -- node server.ts",
        description: "Add a server to a host"
      },
      {
        command: "npx @effect-mcp/cli list --config mcp.json --server files",
        description: "List what a configured server has"
      }
    ]),
    Command.withSubcommands([
      list,
      part("tools"),
      part("resources"),
      part("prompts"),
      describe,
      call,
      read,
      prompt,
      complete,
      watch,
      hosts
    ])
  )
}

const screen = Layer.unwrap(
  Effect.map(
    TerminalCapabilities,
    ({ canPrompt }) => canPrompt ? TerminalScreen.layer : PipedScreen.layer
  )
)

/**
 * Errors that the library logs appear as notes, and so do its warnings in a script. In the interactive mode, these
 * would repeat what the status of the server says.
 */
const logs = Layer.merge(
  Layer.unwrap(Effect.map(Screen, ({ note }) =>
    Logger.layer([
      Logger.make(({ cause, logLevel, message }) => {
        const kind = logLevel === "Warn" ? "warning" : "error"
        const words = [...(Array.isArray(message) ? message : [message]), ...cause.reasons.map(String)].join(" ")
        Effect.runFork(note(`${kind}: ${words}`))
      })
    ]))),
  Layer.succeed(References.MinimumLogLevel, "Error")
)

/** Runs the console with the words of its command line, and returns the status with which the process is to exit. */
export const run = Effect.fnUntraced(
  function*(words: ReadonlyArray<string>, version: string) {
    const { command: own, server } = Server.divide(words)
    const exit = new Exit()
    yield* Command.runWith(command(server, version, exit), { version })(own).pipe(
      Effect.provide(Layer.mergeAll(Layer.provideMerge(logs, screen), Usage.layer)),
      Effect.provide(CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version] }))
    )
    return exit.isFailure ? 1 : 0
  },
  // The command line has already printed its error.
  Effect.catchTag("ShowHelp", ({ errors }) => Effect.succeed(errors.length > 0 ? 1 : 0)),
  Effect.provide(NodeServices.layer)
)
