/** The implementations to compare. A further one is a row in this table and a folder beside it. */

/** A target program. */
export type Program = "a" | "b" | "c" | "d" | "e" | "f" | "g" | "h"

/** The target programs, and what they are. */
export const programs: ReadonlyArray<readonly [program: Program, title: string]> = [
  ["a", "stdio server"],
  ["b", "HTTP server with users"],
  ["c", "server that asks"],
  ["d", "client of three servers"],
  ["e", "HTTP server with OAuth"],
  ["f", "client that signs in"],
  ["g", "HTTP server without sessions"],
  ["h", "server of an OpenAPI document"]
]

/** An implementation of the target programs. */
export interface Implementation {
  readonly name: string
  /** The folder of its programs. */
  readonly folder: string
  /** The programs that can be written with it. */
  readonly programs: ReadonlyArray<Program>
}

/** The implementations, in the order of the tables. */
export const implementations: ReadonlyArray<Implementation> = [
  { name: "Effect MCP", folder: "effect-mcp", programs: ["a", "b", "c", "d", "e", "f", "g", "h"] },
  { name: "official SDK", folder: "official", programs: ["a", "b", "c", "d", "e", "f", "g", "h"] },
  { name: "FastMCP", folder: "fastmcp", programs: ["a", "b", "c", "g", "h"] },
  { name: "effect/ai", folder: "effect-ai", programs: ["a", "b", "c", "d", "g"] }
]
