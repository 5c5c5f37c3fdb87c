/**
 * The files of hosts on this machine, and what is written into an entry in place of paths and commands.
 */
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

/**
 * Returns a word of a command. The host starts the server in a folder of its own, so a file of this folder gets its
 * absolute path. The entry of a project is for every clone, so it has the path from the folder of the project.
 */
export const word = (written: string, host: Host.Host, scope: Host.Scope): string => {
  if (path.isAbsolute(written) || written.startsWith("-") || !fs.existsSync(written)) return written
  if (scope === "user") return path.resolve(written)
  const relative = path.relative(process.cwd(), path.resolve(written)).replaceAll(path.sep, "/")
  if (relative.startsWith("..")) return path.resolve(written)
  const { projectFolder } = Host.descriptions[host]
  return projectFolder === undefined ? relative : `${projectFolder}/${relative}`
}

/** The options of launchers that a package does not follow. */
const isOption = (text: string): boolean => text.startsWith("-")

/** Returns a name for a server: that of its script, of its package or of its host. */
export const nameOf = (server: Host.Server): string => {
  const named = server._tag === "Url"
    ? new URL(server.url).hostname
    : path.basename(server.args.find((arg) => !isOption(arg) && !/^\/c$/i.test(arg)) ?? server.command)
      .replace(/(?<=.)@.*$/, "").replace(/\.[cm]?[jt]s$/, "")
  return named.replaceAll(/[^A-Za-z0-9_-]+/g, "-").replaceAll(/^-+|-+$/g, "").slice(0, 64) || "server"
}
