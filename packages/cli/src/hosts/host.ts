/**
 * The hosts: their files, and the entries of servers in them.
 */
import { HostRules } from "@effect-mcp/client/internal"
import type { McpServersConfig } from "@effect-mcp/client/node"

/** The name of a host. */
export type Host = McpServersConfig.Host

/** The names of all hosts. */
export const hosts: ReadonlyArray<Host> = HostRules.hosts

/** The operating systems, whose folders for configuration differ. */
export const systems = ["macos", "windows", "linux"] as const

/** An operating system. */
export type System = typeof systems[number]

/** Where a server is added: for one project, or for all projects of a person. */
export const scopes = ["project", "user"] as const

/** The scope of an entry. */
export type Scope = typeof scopes[number]

/**
 * A folder that is found in the environment: the project, the home of a person, the folder of the settings of programs,
 * or that of Linux, which some programs use on macOS as well.
 */
export type Base = "project" | "home" | "settings" | "configuration"

/** A file, below a folder of the environment. */
export interface Place {
  readonly base: Base
  readonly path: ReadonlyArray<string>
  /** The variable of the environment with another folder, if it is set. */
  readonly variable?: string
}

/** A server, as a person names it. */
export type Server =
  | {
    readonly _tag: "Command"
    readonly command: string
    readonly args: ReadonlyArray<string>
    /** The names of variables of the environment that the server gets. */
    readonly variables: ReadonlyArray<string>
  }
  | {
    readonly _tag: "Url"
    readonly url: string
    /** The name of the variable of the environment that has a bearer token. */
    readonly token: string | undefined
  }

/** A host, its files, and the form of its entries. */
export interface Description {
  readonly title: string
  readonly field: HostRules.HostRules["field"]
  readonly format: "json" | "toml"
  /** The files of each scope. */
  readonly files: Partial<Record<Scope, (system: System) => Place>>
  /** Whether entries have a `type`. */
  readonly hasTypes?: true
  /** The field of a URL. Without it, the file has none. */
  readonly urlField?: string
  /** Returns the text that the host replaces by a variable of the environment. Without it, the host replaces none. */
  readonly reference?: (variable: string) => string
  /** The folder of the project, as the host names it. Other hosts start the servers of a project in it. */
  readonly projectFolder?: string
}

const home = (...path: ReadonlyArray<string>) => (): Place => ({ base: "home", path })

const project = (...path: ReadonlyArray<string>) => (): Place => ({ base: "project", path })

const settings = (...path: ReadonlyArray<string>) => (): Place => ({ base: "settings", path })

const inEnvironment = (variable: string): string => `\${env:${variable}}`

/** The hosts by their names. */
export const descriptions: Readonly<Record<Host, Description>> = {
  "claude-desktop": {
    title: "Claude Desktop",
    field: "mcpServers",
    format: "json",
    files: { user: settings("Claude", "claude_desktop_config.json") }
  },
  "claude-code": {
    title: "Claude Code",
    field: "mcpServers",
    format: "json",
    files: { project: project(".mcp.json"), user: home(".claude.json") },
    hasTypes: true,
    urlField: "url",
    reference: (variable) => `\${${variable}}`
  },
  "vscode": {
    title: "VS Code",
    field: "servers",
    format: "json",
    files: { project: project(".vscode", "mcp.json"), user: settings("Code", "User", "mcp.json") },
    hasTypes: true,
    urlField: "url",
    reference: inEnvironment,
    projectFolder: "${workspaceFolder}"
  },
  "cursor": {
    title: "Cursor",
    field: "mcpServers",
    format: "json",
    files: { project: project(".cursor", "mcp.json"), user: home(".cursor", "mcp.json") },
    urlField: "url",
    reference: inEnvironment,
    projectFolder: "${workspaceFolder}"
  },
  "codex": {
    title: "Codex",
    field: "mcp_servers",
    format: "toml",
    files: {
      project: project(".codex", "config.toml"),
      user: () => ({ base: "home", path: [".codex", "config.toml"], variable: "CODEX_HOME" })
    },
    urlField: "url",
    // Fields of its own have the names of variables.
    reference: (variable) => variable
  },
  "gemini-cli": {
    title: "Gemini CLI",
    field: "mcpServers",
    format: "json",
    files: { project: project(".gemini", "settings.json"), user: home(".gemini", "settings.json") },
    urlField: "httpUrl",
    reference: (variable) => `$${variable}`
  },
  "zed": {
    title: "Zed",
    field: "context_servers",
    format: "json",
    files: {
      user: (system) => ({ base: "configuration", path: [system === "windows" ? "Zed" : "zed", "settings.json"] })
    },
    urlField: "url"
  },
  "windsurf": {
    title: "Windsurf",
    field: "mcpServers",
    format: "json",
    files: { user: home(".codeium", "windsurf", "mcp_config.json") },
    urlField: "serverUrl",
    reference: inEnvironment
  }
}

/** Returns why a host cannot have a server. */
export const problemOf = (host: Host, server: Server): string | undefined => {
  const { reference, title, urlField } = descriptions[host]
  if (server._tag === "Url" && urlField === undefined) {
    return `the file of ${title} has no URLs; add the server in its settings, as a connector`
  }
  const variables = server._tag === "Command" ? server.variables : server.token === undefined ? [] : [server.token]
  return variables.length > 0 && reference === undefined
    ? `${title} replaces no variables in its file; write the values of ${variables.join(", ")} into it by hand`
    : undefined
}

/** Returns the entry of a server. */
export const entryOf = (host: Host, server: Server): object => {
  const { format, hasTypes, reference = (variable) => variable, urlField = "url" } = descriptions[host]
  if (server._tag === "Command") {
    const { args, command, variables } = server
    const env = Object.fromEntries(variables.map((variable) => [variable, reference(variable)]))
    return {
      ...hasTypes ? { type: "stdio" } : {},
      command,
      ...args.length === 0 ? {} : { args },
      ...variables.length === 0 ? {} : format === "toml" ? { env_vars: variables } : { env }
    }
  }
  const { token, url } = server
  return {
    ...hasTypes ? { type: "http" } : {},
    [urlField]: url,
    ...token === undefined
      ? {}
      : format === "toml"
      ? { bearer_token_env_var: token }
      : { headers: { Authorization: `Bearer ${reference(token)}` } }
  }
}
