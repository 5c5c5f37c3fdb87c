/** The rules of hosts for their files, where these differ from each other. */

import * as Predicate from "effect/Predicate"

/** The hosts whose files are known. */
export const hosts = [
  "claude-desktop",
  "claude-code",
  "vscode",
  "cursor",
  "codex",
  "gemini-cli",
  "zed",
  "windsurf"
] as const

/** The name of a host. */
export type Host = typeof hosts[number]

/** The rules of a host. */
export interface HostRules {
  /** The field of a file that has the entries. */
  readonly field: "mcpServers" | "servers" | "mcp_servers" | "context_servers"
  /** The references that the host replaces. `Bare` has `$NAME` as well. */
  readonly references: "None" | "Braces" | "Bare"
}

/** The rules of each host. */
export const rules: Readonly<Record<Host, HostRules>> = {
  "claude-desktop": { field: "mcpServers", references: "None" },
  "claude-code": { field: "mcpServers", references: "Braces" },
  "vscode": { field: "servers", references: "Braces" },
  "cursor": { field: "mcpServers", references: "Braces" },
  "codex": { field: "mcp_servers", references: "None" },
  "gemini-cli": { field: "mcpServers", references: "Bare" },
  "zed": { field: "context_servers", references: "None" },
  "windsurf": { field: "mcpServers", references: "Braces" }
}

/** The rules of a file whose host is not known: those of the field that it has. */
export const byField: readonly [HostRules, ...ReadonlyArray<HostRules>] = [
  { field: "mcpServers", references: "Braces" },
  rules.vscode,
  rules.zed,
  rules.codex
]

/**
 * Returns whether a text is TOML: that of Codex, or one that does not begin as JSON and names the tables of Codex at
 * the beginning of a line.
 */
export const isToml = (text: string, host: Host | undefined): boolean =>
  host === undefined
    ? !/^[\ufeff\s]*\{/.test(text) && /^[ \t]*(?:\[[ \t]*)?mcp_servers\b/m.test(text)
    : host === "codex"

/** The reason why the entry of a server leads to no target, although nothing is wrong with it. */
export interface LeftOut {
  readonly problem: string
  readonly advice: string
}

/** Returns why an entry is left out: it is disabled, or an extension of Zed has its command. */
export const leftOut = (entry: unknown): LeftOut | undefined => {
  if (!Predicate.isObject(entry)) return undefined
  const off = entry["disabled"] === true ? "disabled" : entry["enabled"] === false ? "enabled" : undefined
  if (off !== undefined) {
    return { problem: "it is disabled", advice: `remove ${off}, or leave it out of the option servers` }
  }
  return entry["source"] === "extension"
    ? {
      problem: "it belongs to an extension of Zed, which has its command",
      advice: "leave it out of the option servers"
    }
    : undefined
}
