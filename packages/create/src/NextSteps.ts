/** The next steps with a new project: commands, and the entry of its server for a host. */
import * as path from "node:path"
import * as PackageManager from "./PackageManager.ts"
import type * as Project from "./Project.ts"
import type * as Template from "./Template.ts"
import type { Wishes } from "./Wishes.ts"

/** Returns a word as a shell reads it. */
const quoted = (word: string): string => /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`

/** Returns the entry of the server in a file with `mcpServers`. */
const entryOf = (entry: Template.HostEntry, folder: string) =>
  entry.kind === "command"
    ? { command: "node", args: [path.join(folder, entry.file)] }
    : { type: "http", url: entry.url, ...entry.hasToken ? { headers: { Authorization: "Bearer TOKEN" } } : {} }

/** Returns the text that the program prints at its end. */
export const of = (
  { folder }: Project.Project,
  { isInstalled, name, packageManager, template }: Wishes,
  from: string
): string => {
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
    ...entry === undefined ? [] : [
      "",
      "The entry of a host, such as Claude Desktop:",
      "",
      `  ${JSON.stringify({ mcpServers: { [name.replace(/^@[^/]*\//, "")]: entryOf(entry, folder) } })}`
    ],
    "",
    "README.md has the rest."
  ].join("\n")
}
