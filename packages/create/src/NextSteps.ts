/** The next steps with a new project: commands, and the entry of its server for a host. */
import * as path from "node:path"
import type { Choices } from "./Choices.ts"
import * as PackageManager from "./PackageManager.ts"
import * as PackageName from "./PackageName.ts"
import type * as Project from "./Project.ts"
import type * as Template from "./Template.ts"

/** Returns a word as a shell reads it. */
const quoted = (word: string): string => {
  if (process.platform === "win32") return /[\s&^%]/.test(word) ? `"${word}"` : word
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

/** Returns the lines with the entry of a server, in the form of a file with `mcpServers`. */
const linesOf = (
  entry: Template.HostEntry,
  { name, packageManager }: Choices,
  folder: string
): ReadonlyArray<string> => {
  const lines = (hosts: string, server: unknown) => [
    `The entry of a host, such as ${hosts}:`,
    "",
    `  ${JSON.stringify({ mcpServers: { [PackageName.withoutScope(name)]: server } })}`
  ]
  if (entry.kind === "command") {
    return lines("Claude Desktop", { command: "node", args: [path.join(folder, entry.file)] })
  }
  const server = { type: "http", url: entry.url }
  const { tokenScript } = entry
  return tokenScript === undefined ? lines("Claude Code", server) : [
    ...lines("Claude Code", { ...server, headers: { Authorization: "Bearer TOKEN" } }),
    "",
    `"${PackageManager.commandOf(packageManager, tokenScript)}" prints the TOKEN.`
  ]
}

/** Returns the text that the program prints at its end. */
export const of = (
  { folder }: Project.Project,
  choices: Choices,
  from: string
): string => {
  const { isInstalled, name, packageManager, template } = choices
  const place = path.relative(from, folder)
  const commands = [
    ...place === "" ? [] : [`cd ${quoted(place)}`],
    ...isInstalled ? [] : [`${packageManager} install`],
    ...template.scripts.map((script) => PackageManager.commandOf(packageManager, script))
  ]
  const { entry } = template
  return [
    `Created ${name} from the template ${template.name}. Next:`,
    "",
    ...commands.map((command) => `  ${command}`),
    ...entry === undefined ? [] : ["", ...linesOf(entry, choices, folder)],
    "",
    "README.md has the rest."
  ].join("\n")
}
