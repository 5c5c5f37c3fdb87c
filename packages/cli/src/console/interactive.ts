/**
 * The interactive mode: a person enters one command after the other.
 */
import { type McpClient, ServerStatus } from "@effect-mcp/client"
import * as PlainText from "@effect-mcp/client/PlainText"
import * as Logging from "@effect-mcp/protocol/Logging"
import * as Prompt from "effect/cli/Prompt"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Commands from "./commands.ts"
import * as Failures from "./failures.ts"
import * as Render from "./render.ts"
import { Screen } from "./screen.ts"

const help = [
  "list                            what the server has; also: tools, resources, prompts",
  "describe <tool>                 one tool, with its schemas",
  "call <tool>                     calls a tool, and asks for its arguments",
  "call <tool> {\"a\":1}             calls a tool with arguments in JSON; also: call <tool> a=1 b=text",
  "read <uri>                      reads a resource; without a URI, offers those that there are",
  "prompt <name> [name=value …]    gets a prompt",
  "complete <prompt> <arg> [text]  completes an argument; a resource template instead of a prompt is possible",
  "watch <uri>, unwatch <uri>      prints a resource now and whenever it changes",
  "log <level>                     sets the level of the server's log messages",
  "status                          whether the server can be called, what it is, and who is signed in",
  "login [scope …]                 signs in; login <address> passes on the address that the browser was led to",
  "logout                          forgets the tokens, and revokes them",
  "quit                            also: Ctrl-C. While a call runs, Ctrl-C cancels the call",
  "An empty line offers a menu."
].join("\n")

/** Divides a line into words. Quotes keep blanks in a word. */
const wordsOf = (line: string): ReadonlyArray<string> =>
  Array.from(
    line.matchAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g),
    ([word]) =>
      word.replaceAll(/"([^"]*)"|'([^']*)'/g, (_, double: string | undefined, single: string | undefined) =>
        double ?? single ?? "")
  )

/** Divides a line into words. An object in JSON is the last word, as it is. */
const parse = (line: string): ReadonlyArray<string> => {
  const [, before = line, object] = /^([^{]*\s)(\{.*\})\s*$/.exec(line) ?? []
  return object === undefined ? wordsOf(line) : [...wordsOf(before), object]
}

const isLevel = (word: string): word is Logging.Level => Logging.levels.some((level) => level === word)

const lacking = (usage: string) => new Failures.InvalidCommand({ problem: `the command lacks a word: ${usage}` })

/** Returns whether a word is the address of a redirect, and not a scope. */
const isRedirect = (word: string | undefined): word is string =>
  word !== undefined && URL.canParse(word) && new URL(word).searchParams.has("state")

/** Runs the prompt loop until the person leaves it. `pass` takes the address of a redirect that the person pastes. */
export const run = Effect.fnUntraced(function*(client: McpClient.McpClientShape, pass: (address: string) => void) {
  const screen = yield* Screen
  const watching = yield* FiberMap.make<string>()
  const signingIn = yield* FiberMap.make<string>()

  const account = Effect.suspend(() =>
    client.account === undefined
      ? Effect.fail(new Failures.InvalidCommand({ problem: "the server has no URL to sign in to" }))
      : Effect.succeed(client.account)
  )

  // The person has to be able to enter an address meanwhile.
  const login = Effect.fnUntraced(function*(scopes: ReadonlyArray<string>) {
    const { login } = yield* account
    const signedIn = login(scopes.length === 0 ? {} : { scopes }).pipe(
      Effect.andThen(screen.note("* you are signed in")),
      Effect.catch((failure) => screen.note(`login: ${Failures.describe(failure)}`))
    )
    yield* FiberMap.run(signingIn, "login", signedIn)
  })

  const watch = (uri: string) =>
    FiberMap.run(
      watching,
      uri,
      Stream.runForEach(client.watch(uri), (result) => screen.print(Render.readResult(result))).pipe(
        Effect.catch((failure) => screen.note(`watch ${PlainText.line(uri)}: ${Failures.describe(failure)}`))
      )
    )

  const show = (outcome: Commands.Outcome) => screen.print(outcome.text)

  const chooseResource = Effect.gen(function*() {
    const resources = yield* client.resources
    const templates = yield* client.resourceTemplates
    const choices = [
      ...resources.map(({ uri }) => ({ title: PlainText.line(uri), value: Commands.read(client, uri) })),
      ...templates.map(({ uriTemplate }) => ({
        title: PlainText.line(uriTemplate),
        value: Commands.readTemplate(client, uriTemplate)
      }))
    ]
    if (choices.length === 0) {
      return yield* new Failures.InvalidCommand({ problem: "the server has no resources" })
    }
    return yield* yield* screen.exclusively(screen.ask(Prompt.Select({ message: "Resource", choices })))
  })

  const chooseName = Effect.fnUntraced(function*(kind: "tool" | "prompt") {
    const members = yield* kind === "tool" ? client.tools : client.prompts
    if (members.length === 0) return yield* new Failures.InvalidCommand({ problem: `the server has no ${kind}s` })
    return yield* screen.exclusively(screen.ask(Prompt.AutoComplete({
      message: kind === "tool" ? "Tool" : "Prompt",
      choices: members.map(({ name, title }) => ({
        title: PlainText.line(name),
        value: name,
        ...(title === undefined ? {} : { description: PlainText.line(title) })
      }))
    })))
  })

  const execute = (
    words: ReadonlyArray<string>
  ): Effect.Effect<"done" | "quit", Failures.Failure, Screen> =>
    Effect.gen(function*() {
      const [verb = "", first, ...rest] = words
      switch (verb) {
        case "":
          return yield* execute([
            yield* screen.exclusively(screen.ask(Prompt.Select({
              message: "What do you want to do?",
              choices: ["call", "read", "prompt", "list", "status", "help", "quit"].map((value) => ({
                title: value,
                value
              }))
            })))
          ])
        case "list":
          yield* show(yield* Commands.list(client))
          break
        case "tools":
        case "resources":
        case "prompts":
          yield* show(yield* Commands.list(client, verb))
          break
        case "describe":
          yield* show(yield* Commands.describe(client, first ?? (yield* chooseName("tool"))))
          break
        case "call":
          yield* show(yield* Commands.call(client, first ?? (yield* chooseName("tool")), rest))
          break
        case "read":
          yield* show(yield* first === undefined ? chooseResource : Commands.read(client, first))
          break
        case "prompt":
          yield* show(yield* Commands.prompt(client, first ?? (yield* chooseName("prompt")), rest))
          break
        case "complete": {
          const [argument, value = "", ...others] = rest
          if (first === undefined || argument === undefined) {
            return yield* lacking("complete <prompt> <argument> [text]")
          }
          yield* show(yield* Commands.complete(client, first, argument, value, others))
          break
        }
        case "watch":
          if (first === undefined) return yield* lacking("watch <uri>")
          yield* watch(first)
          break
        case "unwatch":
          if (first === undefined) return yield* lacking("unwatch <uri>")
          yield* FiberMap.remove(watching, first)
          break
        case "log":
          if (first === undefined || !isLevel(first)) {
            return yield* new Failures.InvalidCommand({ problem: `log needs a level: ${Logging.levels.join(", ")}` })
          }
          yield* client.setLogLevel(first)
          break
        case "status": {
          const status = yield* client.status
          yield* screen.print(status._tag === "Ready" ? Render.profile(status.profile) : ServerStatus.describe(status))
          if (client.account !== undefined) {
            const now = yield* Clock.currentTimeMillis
            yield* screen.print(Render.account(yield* client.account.status, now))
          }
          break
        }
        case "login":
          if (isRedirect(first)) pass(first)
          else yield* login(first === undefined ? [] : [first, ...rest])
          break
        case "logout":
          yield* (yield* account).logout
          yield* screen.print("You are signed out.")
          break
        case "help":
          yield* screen.print(help)
          break
        case "quit":
        case "exit":
          return "quit"
        default:
          return yield* new Failures.InvalidCommand({ problem: `there is no command ${verb}; enter help for a list` })
      }
      return "done"
    })

  yield* screen.print("Enter a command, or help for a list of them.")
  while (true) {
    const line = yield* Effect.option(screen.askIdle(Prompt.String({ message: "mcp" })))
    if (Option.isNone(line)) return
    const outcome = yield* screen.untilCancelled(execute(parse(line.value.trim()))).pipe(
      Effect.catch((failure) => Effect.as(screen.print(`error: ${Failures.describe(failure)}`), Option.some("done")))
    )
    if (Option.isNone(outcome)) yield* screen.print("cancelled")
    else if (outcome.value === "quit") return
  }
})
