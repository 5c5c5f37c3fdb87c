/** The last lines that the child process of one client has written to its standard error. */

import { Excerpt } from "@effect-mcp/protocol/internal"

/** The number of lines that are kept, and the length of one, in characters. */
const kept = { lines: 20, length: 1_000 }

/** The lines of the present process. */
export class StderrLines {
  #lines: ReadonlyArray<string> = []

  /** The lines, in their order. */
  get last(): ReadonlyArray<string> {
    return this.#lines
  }

  add(line: string): void {
    this.#lines = [...this.#lines.slice(1 - kept.lines), Excerpt.of(line, kept.length)]
  }

  /** Drops the lines, because another process starts. */
  clear(): void {
    this.#lines = []
  }
}
