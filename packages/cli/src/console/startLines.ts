/**
 * The lines that a server writes to its standard error while the client connects. A server that fails at its start is
 * started again without the request for a revision, which it may not survive, and then fails with the same lines.
 */

/** The lines that are kept. A line after them is shown each time. */
const maxLines = 1_000

/** Recognizes lines of a second start that repeat those of the first one, in their order. */
export class StartLines {
  readonly #lines: Array<string> = []
  /** The place of the next line, if the last one was a repetition. */
  #next = 0
  #isOver = false

  /** Returns whether a line is to be shown, because it does not repeat that of an earlier start. */
  isNew(line: string): boolean {
    if (this.#isOver) return true
    const isRepeated = this.#next > 0 && this.#lines[this.#next] === line
    this.#next = isRepeated ? this.#next + 1 : this.#lines[0] === line ? 1 : 0
    if (this.#next > 0) return false
    if (this.#lines.length < maxLines) this.#lines.push(line)
    return true
  }

  /** Ends the start. All later lines are new. */
  end(): void {
    this.#isOver = true
  }
}
