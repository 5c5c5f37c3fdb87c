/**
 * The files of hosts on this machine, and what is written into an entry in place of paths and commands.
 */
import * as Predicate from "effect/Predicate"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Host from "./host.ts"

/** Returns the operating system of this machine. */
export const thisSystem = (): Host.System =>
  process.platform === "win32" ? "windows" : process.platform === "darwin" ? "macos" : "linux"

/** A file of a host on this machine. */
export interface LocalFile {
  readonly file: string
  /** The folder that the file has to be in, also after symbolic links are followed. */
  readonly base: string
}

const folderOf = (base: Host.Base): string => {
  if (base === "project") return process.cwd()
  if (base === "home") return os.homedir()
  switch (thisSystem()) {
    case "windows":
      return process.env["APPDATA"] ?? path.join(os.homedir(), "AppData", "Roaming")
    case "macos":
      return base === "settings"
        ? path.join(os.homedir(), "Library", "Application Support")
        : path.join(os.homedir(), ".config")
    case "linux":
      return process.env["XDG_CONFIG_HOME"] ?? path.join(os.homedir(), ".config")
  }
}

/** Returns the file of a host on this machine. */
export const local = ({ base, path: names, variable }: Host.Place): LocalFile => {
  const other = variable === undefined ? undefined : process.env[variable]
  return other === undefined || other === ""
    ? { file: path.join(folderOf(base), ...names), base: folderOf(base) }
    : { file: path.join(path.resolve(other), names.at(-1) ?? ""), base: path.resolve(other) }
}

/** The folders as people write them. */
const shownFolders: Readonly<Record<Host.System, Readonly<Record<Host.Base, ReadonlyArray<string>>>>> = {
  macos: {
    project: [],
    home: ["~"],
    settings: ["~", "Library", "Application Support"],
    configuration: ["~", ".config"]
  },
  windows: { project: [], home: ["%USERPROFILE%"], settings: ["%APPDATA%"], configuration: ["%APPDATA%"] },
  linux: { project: [], home: ["~"], settings: ["~", ".config"], configuration: ["~", ".config"] }
}

/** Returns the file of a host on any machine with an operating system, as people write it. */
export const shown = ({ base, path: names }: Host.Place, system: Host.System): string =>
  [...shownFolders[system][base], ...names].join(system === "windows" ? "\\" : "/")

/** Returns the host to which a file belongs by its path, as far as the path shows one. */
export const hostOf = (file: string): Host.Host | undefined => {
  const names = path.resolve(file).split(path.sep)
  const isOf = ({ path: end }: Host.Place): boolean => end.join() === names.slice(-end.length).join()
  return Host.hosts.find((host) =>
    Object.values(Host.descriptions[host].files).some((placeOn) => Host.systems.some((system) => isOf(placeOn(system))))
  ) ?? (file.endsWith(".toml") ? "codex" : undefined)
}

/** Programs that Windows starts without a shell. Others, such as `npx`, are scripts there. */
const executables: ReadonlySet<string> = new Set([
  "bun",
  "cmd",
  "deno",
  "docker",
  "node",
  "podman",
  "python",
  "uv",
  "uvx"
])

/** Returns a command as Windows has to start it: a script needs `cmd`. */
export const forWindows = (command: string, args: ReadonlyArray<string>): readonly [string, ReadonlyArray<string>] =>
  executables.has(command.toLowerCase()) || /[\\/]|\.(?:exe|com)$/i.test(command)
    ? [command, args]
    : ["cmd", ["/c", command, ...args]]

/** Programs whose words name packages and images, and not only files. */
const runners: ReadonlySet<string> = new Set(["bunx", "docker", "npx", "pipx", "pnpx", "podman", "uvx"])

const script = /\.(?:[cm]?[jt]sx?|jar|lua|php|pl|py|rb|sh|wasm)$/i

/** Returns whether a word has the form of the path of a file, which may not exist yet. */
const isPath = (word: string, index: number, command: string): boolean =>
  index === 0
    ? /[\\/]/.test(word)
    : !runners.has(command) && !/^@|:\/\//.test(word) && (/^\.{1,2}[\\/]/.test(word) || script.test(word))

const isAbsolute = (word: string): boolean => path.isAbsolute(word) || path.win32.isAbsolute(word)

/**
 * Returns whether a word names something in this folder. Without a slash, a command is a program of the search path,
 * and an argument may be a command such as `run`, although there is a folder of that name.
 */
const exists = (word: string, index: number): boolean =>
  /[\\/]/.test(word)
    ? fs.existsSync(word)
    : index > 0 && fs.statSync(word, { throwIfNoEntry: false })?.isFile() === true

/** Returns the absolute path of the file that a word of a command names, or nothing if it names none. */
const fileOf = (words: ReadonlyArray<string>, index: number): string | undefined => {
  const [command = ""] = words
  const word = words[index] ?? ""
  if (word.startsWith("-") || (!exists(word, index) && !isPath(word, index, command))) return undefined
  return isAbsolute(word) ? word : path.resolve(word)
}

/** Returns the files that a command names and that do not exist on this machine. */
export const missingFiles = (words: ReadonlyArray<string>): ReadonlyArray<string> =>
  words.flatMap((_, index) => fileOf(words, index) ?? []).filter((file) => !fs.existsSync(file))

/**
 * Returns a word of a command. The host starts the server in a folder of its own, so a file of this folder gets its
 * absolute path. The entry of a project is for every clone, so it has the path from the folder of the project.
 */
const word = (words: ReadonlyArray<string>, index: number, host: Host.Host, scope: Host.Scope): string => {
  const written = words[index] ?? ""
  const file = fileOf(words, index)
  if (file === undefined || isAbsolute(written)) return written
  if (scope === "user") return file
  const relative = path.relative(process.cwd(), file).replaceAll(path.sep, "/")
  if (relative.startsWith("..")) return file
  const { projectFolder } = Host.descriptions[host]
  if (projectFolder !== undefined) return `${projectFolder}/${relative}`
  // Without the dot, a host would look for the program in its search path.
  return index === 0 && !relative.includes("/") ? `./${relative}` : relative
}

/** Returns a command with the paths that the entry of a host has. */
export const located = (words: ReadonlyArray<string>, host: Host.Host, scope: Host.Scope): ReadonlyArray<string> =>
  words.map((_, index) => word(words, index, host, scope))

/** The options by which package managers take another folder than that in which they are started. */
const folderOption = /^(?:-C|--dir|--prefix|--cwd)(?:=|$)/

/** The scripts of the `package.json` in this folder. */
const scriptsHere = (): object => {
  try {
    const { scripts }: { readonly scripts?: unknown } = JSON.parse(fs.readFileSync("package.json", "utf8"))
    return Predicate.isObject(scripts) ? scripts : {}
  } catch {
    // There is none, or it is not JSON. Then the package manager says so.
    return {}
  }
}

/** Returns the words that run a script of the `package.json` in this folder, such as `npm start`, if these do. */
export const packageScript = (words: ReadonlyArray<string>): string | undefined => {
  const [command = "", ...args] = words
  if (!/^(?:npm|pnpm|yarn|bun)$/.test(command) || args.some((arg) => folderOption.test(arg))) return undefined
  const [first = "", second = ""] = args.filter((arg) => !isOption(arg))
  if (/^(?:run|run-script)$/.test(first)) return script.test(second) ? undefined : [command, first, second].join(" ")
  const isScript = command === "npm" ? /^(?:start|test)$/.test(first) : Object.hasOwn(scriptsHere(), first)
  return isScript || first === "start" ? `${command} ${first}` : undefined
}

/** The options of launchers that a package does not follow. */
const isOption = (text: string): boolean => text.startsWith("-")

/** The commands of launchers that their program follows. */
const launching = /^(?:run|run-script|exec|dlx|x|tool|\/c)$/i

/**
 * Returns a name for a server: that of its script, of its package or of its host. A script of `package.json` has the
 * name of this folder.
 */
export const nameOf = (server: Host.Server, words: ReadonlyArray<string>): string => {
  const named = server._tag === "Url"
    ? new URL(server.url).hostname
    : packageScript(words) !== undefined
    ? path.basename(process.cwd())
    : path.basename(server.args.find((arg) => !isOption(arg) && !launching.test(arg)) ?? server.command)
      .replace(/(?<=.)@.*$/, "").replace(/\.[cm]?[jt]s$/, "")
  return named.replaceAll(/[^A-Za-z0-9_-]+/g, "-").replaceAll(/^-+|-+$/g, "").slice(0, 64) || "server"
}
