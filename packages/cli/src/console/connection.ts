/**
 * The connection to the server: a supervised client whose messages appear on the screen.
 */
import { type McpAnswers, McpClient, ServerStatus } from "@effect-mcp/client"
import * as PlainText from "@effect-mcp/client/PlainText"
import type * as Logging from "@effect-mcp/protocol/Logging"
import type * as Revision from "@effect-mcp/protocol/Revision"
import type * as ClientSession from "@effect-mcp/session/ClientSession"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { pathToFileURL } from "node:url"
import * as Answers from "./answers.ts"
import * as Render from "./render.ts"
import { Screen } from "./screen.ts"
import type * as Server from "./server.ts"
import type { SignInOptions } from "./signInOptions.ts"

/** Options of the command line about the connection. */
export interface Options {
  readonly place: Server.Place
  readonly revision: Revision.Revision | undefined
  readonly roots: ReadonlyArray<string>
  readonly logLevel: Logging.Level
  /** The answers to forms, if there is no person to ask. */
  readonly answers: ReadonlyArray<object>
  /** Whether the console connects again after it has lost the server. A script fails instead. */
  readonly isLasting: boolean
  readonly signIn: SignInOptions
  /** The version of this program. */
  readonly version: string
}

/** The time for a server to start: `npx` may have to download it. */
const startTime = "2 minutes"

/** Returns a status as a note, with the last lines that a child process has written to its standard error. */
const statusNote = (status: ServerStatus.ServerStatus): string => `* ${PlainText.line(ServerStatus.describe(status))}`

/** Streams the texts in a session that are no messages. */
const straysIn = ({ events }: ClientSession.ClientSessionShape): Stream.Stream<string> =>
  Stream.filterMap(events, (event) =>
    event._tag === "BadFrame" && event.error._tag === "NotJson"
      ? Result.succeed(event.error.text)
      : Result.failVoid)

/** Returns the warning about a text that is no message. This program skips it, and not all hosts do. */
const strayNote = (text: string, isPrinted: boolean): string =>
  `* warning: the server has sent a text that is no message: ${PlainText.json(text)}; hosts may fail at it` +
  (isPrinted ? ": a server over stdio prints only messages to its standard output" : "")

/** Returns the authorization at a server of a URL. Its modules are loaded for such a server only. */
const authorization = Effect.fnUntraced(function*({ place, signIn }: Options) {
  if (place.target.account === undefined || (signIn.way === "none" && signIn.folder === undefined)) {
    return Context.empty()
  }
  const { note } = yield* Screen
  const { layer } = yield* Effect.promise(() => import("./signIn.ts"))
  return yield* Layer.build(layer({ ...signIn, note: (text) => Effect.runFork(note(text)) }))
})

/** Connects in the background until the scope closes. */
export const make = Effect.fnUntraced(function*(options: Options) {
  const screen = yield* Screen
  const changed = (list: string) => () => screen.note(`* the list of ${list} has changed`)
  const handlers = {
    "notifications/message": (params: Logging.LogMessageParams) => screen.note(Render.log(params)),
    "notifications/elicitation/complete": () => screen.note("* the server has seen your visit of its page"),
    "notifications/tools/list_changed": changed("tools"),
    "notifications/prompts/list_changed": changed("prompts"),
    "notifications/resources/list_changed": changed("resources")
  }
  const roots = options.roots.map((path) => ({ uri: pathToFileURL(path).href }))
  const questions = screen.canAsk
    ? Answers.ofPerson
    : options.answers.length === 0
    ? {}
    : Answers.ofScript(options.answers)
  const answers: McpAnswers.Answers<Screen> = { ...questions, ...(roots.length === 0 ? {} : { roots }) }
  const client = yield* McpClient.make(options.place.target, {
    info: { name: "effect-mcp-cli", title: "Effect MCP CLI", version: options.version },
    name: options.place.name,
    handlers,
    answers,
    // A person may halt the server in a debugger.
    healthCheck: false,
    ...(options.revision === undefined ? {} : { revisions: [options.revision] as const }),
    ...(options.isLasting ? {} : { reconnect: Schedule.recurs(0) }),
    limits: { handshakeTimeout: startTime, requestTimeout: "1 hour" },
    waitTimeout: startTime
  }).pipe(Effect.provideContext(yield* authorization(options)))
  // A server without log messages rejects this, and a server that is down fails the next command.
  const setLogLevel = Effect.ignore(client.setLogLevel(options.logLevel))
  if (!options.isLasting) {
    // The library warns of those before the response to the handshake.
    const strays = Stream.unwrap(Effect.match(client.session, { onFailure: () => Stream.empty, onSuccess: straysIn }))
    const isPrinted = options.place.target.withStderr !== undefined
    yield* Effect.forkScoped(
      Stream.runForEach(Stream.take(strays, 1), (text) => screen.note(strayNote(text, isPrinted)))
    )
    yield* setLogLevel
    return client
  }
  // The other ways show the person what to do by themselves.
  const isShown = ({ _tag }: ServerStatus.ServerStatus) => _tag !== "Authorizing" || options.signIn.way === "browser"
  yield* Effect.forkScoped(
    Stream.runForEach(Stream.filter(client.statuses, isShown), (status) => screen.note(statusNote(status)))
  )
  yield* Effect.forkScoped(setLogLevel)
  return client
})
