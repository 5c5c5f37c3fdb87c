/** The templates: their descriptions, and the next steps with their projects. */

/** The names of the templates, which are the names of their folders. */
export type Name = "stdio" | "http" | "stateless" | "agent" | "tools"

/** The entry by which a host starts or reaches the server of a project. */
export type HostEntry =
  | { readonly kind: "command"; readonly file: string }
  | { readonly kind: "url"; readonly url: string; readonly tokenScript?: string }

export interface Template {
  readonly name: Name
  /** The kind of its projects, for a list. */
  readonly description: string
  /** The scripts to run first, in this order. A script may have arguments. */
  readonly scripts: ReadonlyArray<string>
  readonly entry?: HostEntry
}

const url = "http://127.0.0.1:3000/mcp"

const templates: { readonly [Key in Name]: Omit<Template, "name"> } = {
  stdio: {
    description: "a server that hosts start, bundled into one file",
    scripts: ["check", "test", "build"],
    entry: { kind: "command", file: "dist/server.mjs" }
  },
  http: {
    description: "a server for many users, with bearer tokens and sessions",
    scripts: ["check", "test", "token ada", "start"],
    entry: { kind: "url", url, tokenScript: "token ada" }
  },
  stateless: {
    description: "a server without sessions, for any number of processes and for workers",
    scripts: ["check", "test", "start"],
    entry: { kind: "url", url }
  },
  agent: {
    description: "a model that uses servers, and asks before a tool changes anything",
    scripts: ["check", "test", "start \"Remember to buy milk\""]
  },
  tools: {
    description: "a library of tools for servers, tested by simulation",
    scripts: ["check", "test", "build"]
  }
}

/** The names of all templates, in the order in which they are offered. */
export const names: ReadonlyArray<Name> = ["stdio", "http", "stateless", "agent", "tools"]

/** Returns the template of a name. */
export const of = (name: Name): Template => ({ name, ...templates[name] })

/** All templates, in the order of their names. */
export const all: ReadonlyArray<Template> = names.map(of)
