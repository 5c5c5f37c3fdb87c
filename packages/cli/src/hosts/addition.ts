/**
 * A server that is added to a host: its entry is printed, and written into the file of the host if the person wants it.
 */
import * as PlainText from "@effect-mcp/client/PlainText"
import * as Prompt from "effect/cli/Prompt"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as path from "node:path"
import { InvalidCommand } from "../console/failures.ts"
import { Screen } from "../console/screen.ts"
import type * as Change from "./change.ts"
import * as File from "./file.ts"
import * as Host from "./host.ts"
import * as JsonFile from "./jsonFile.ts"
import * as Place from "./place.ts"
import * as TomlFile from "./tomlFile.ts"

/** Options of the command line. */
export interface Options {
  readonly host: Host.Host
  readonly name: string | undefined
  readonly scope: Host.Scope
  readonly system: Host.System
  /** The words of the command, or one URL. */
  readonly words: ReadonlyArray<string>
  readonly url: string | undefined
  /** The names of variables of the environment. */
  readonly variables: ReadonlyArray<string>
  readonly token: string | undefined
  /** The path of the file, if it is not the usual one. */
  readonly file: string | undefined
  readonly isConfirmed: boolean
  readonly replaces: boolean
  /** Whether the result is printed as JSON, and not as the text of the entry. */
  readonly isJson: boolean
}

const invalid = (problem: string): Effect.Effect<never, InvalidCommand> => Effect.fail(new InvalidCommand({ problem }))

const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/

const serverName = /^[A-Za-z0-9_-]{1,64}$/

const urlServer = (options: Options, url: string): Effect.Effect<Host.Server, InvalidCommand> => {
  if (options.variables.length > 0) return invalid("--env is for a server that is started; use --bearer-env for a URL")
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    return invalid("the URL of a server for a host begins with http: or https:")
  }
  const { password, username } = new URL(url)
  return username === "" && password === ""
    ? Effect.succeed({ _tag: "Url", url, token: options.token })
    : invalid("the URL contains a user or a password; put a token into a variable, and name it with --bearer-env")
}

const commandServer = (options: Options): Effect.Effect<Host.Server, InvalidCommand> => {
  const { host, scope, system, token, variables, words } = options
  const [command, ...args] = Place.located(words, host, scope)
  if (command === undefined) return invalid("name the server after --: a command such as `-- node server.ts`, or a URL")
  if (token !== undefined) return invalid("--bearer-env is for a URL; use --env for a server that is started")
  const script = Place.packageScript(words)
  if (script !== undefined && scope === "user") {
    return invalid(
      `${script} runs a script of this folder, and a host starts the server in another one; name the program of the ` +
        "script, such as `-- node dist/server.mjs`" +
        (Host.descriptions[host].files.project === undefined ? "" : ", or use --scope project")
    )
  }
  const [started, startedArgs] = system === "windows" ? Place.forWindows(command, args) : [command, args]
  return Effect.succeed({ _tag: "Command", command: started, args: startedArgs, variables })
}

/** Returns the server that the command line names. */
const serverOf = (options: Options): Effect.Effect<Host.Server, InvalidCommand> => {
  const { token, url, variables, words } = options
  const other = [...variables, ...token === undefined ? [] : [token]].find((variable) => !variableName.test(variable))
  if (other !== undefined) {
    // The text is not shown: it may be the value.
    return invalid("--env and --bearer-env take the name of a variable of the environment, and never its value")
  }
  const [first = ""] = words
  if (url !== undefined && words.length > 0) return invalid("name the server with --url or after --, but not both")
  return url !== undefined || /^[a-z]+:\/\//i.test(first) ? urlServer(options, url ?? first) : commandServer(options)
}

/** Returns the text of an entry alone, with the field around it. */
const snippet = (host: Host.Host, name: string, entry: object): string => {
  const { field, format } = Host.descriptions[host]
  return format === "toml"
    ? TomlFile.write({ field, name, entry }).trimEnd()
    : JsonFile.write({ [field]: { [name]: entry } }, "  ")
}

const withEntry = (
  host: Host.Host,
  text: string,
  change: Change.Change
): Effect.Effect<Result.Result<string, Change.Refusal>> =>
  Host.descriptions[host].format === "toml"
    ? TomlFile.withEntry(text, change)
    : Effect.sync(() => JsonFile.withEntry(text, change))

/** Prints an entry, and adds it to the file of the host. */
export const add = Effect.fnUntraced(function*(options: Options) {
  const { host, scope, system } = options
  const screen = yield* Screen
  const { field, files, title } = Host.descriptions[host]
  const place = files[scope]?.(system)
  if (place === undefined) {
    return yield* invalid(`${title} has no file with --scope ${scope}; use --scope ${Object.keys(files).join(" or ")}`)
  }
  const server = yield* serverOf(options)
  const problem = Host.problemOf(host, server)
  if (problem !== undefined) return yield* invalid(problem)
  const name = options.name ?? Place.nameOf(server, options.words)
  if (!serverName.test(name)) {
    return yield* invalid("--name takes at most 64 letters, digits, _ and -, because not every host accepts others")
  }
  const entry = Host.entryOf(host, server)
  const text = snippet(host, name, entry)
  const isHere = system === Place.thisSystem()
  const at = options.file !== undefined
    ? { file: path.resolve(options.file), base: path.dirname(path.resolve(options.file)) }
    : Place.local(place)
  const file = isHere || options.file !== undefined ? at.file : Place.shown(place, system)
  const end = (isWritten: boolean, copy?: string) =>
    options.isJson
      ? screen.print(PlainText.json({ host, file, name, entry, written: isWritten, copy }))
      : Effect.void
  if (!isHere && options.isConfirmed) return yield* invalid("--yes writes a file of this machine; remove --system")
  if (!options.isJson) yield* screen.print(text)
  if (isHere && server._tag === "Command") {
    for (const missing of Place.missingFiles(options.words)) {
      yield* screen.note(`* warning: there is no file ${missing} yet; build it before the host starts the server`)
    }
  }
  yield* screen.note(`* ${title} reads this in ${file}`)
  if (!isHere) return yield* end(false)
  if (!options.isConfirmed && !screen.canAsk) {
    yield* screen.note("* add --yes to write it into this file")
    return yield* end(false)
  }
  const before = yield* File.read(at)
  const changed = yield* withEntry(host, before?.text ?? "", { field, name, entry, replaces: options.replaces })
  if (Result.isFailure(changed)) {
    const { isParsed, problem } = changed.failure
    return yield* new File.HostFileError({
      file,
      problem: isParsed ? problem : `${problem}; correct it first, or name another file with --file`
    })
  }
  if (changed.success === before?.text) {
    yield* screen.note("* the file has this entry already")
    return yield* end(false)
  }
  if (!options.isConfirmed) {
    const message = before === undefined ? "Write this new file?" : "Add it to this file? A copy of the file stays."
    if (!(yield* screen.ask(Prompt.Confirm({ message, initial: false })))) return yield* end(false)
  }
  const copy = yield* File.write(at, changed.success, before, scope === "project")
  yield* screen.note(copy === undefined ? "* written" : `* written; the copy of the file is ${copy}`)
  yield* end(true, copy)
})
