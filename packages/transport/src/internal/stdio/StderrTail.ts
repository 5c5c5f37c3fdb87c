/**
 * What a child process says on its standard error: split into lines, of which the last are remembered for the report of
 * how it exited.
 */

/** A longer line is cut here before anyone sees it, so that a line without end takes no memory. */
const longestLine = 64 * 1024

export interface StderrTail {
  /** Takes the next bytes, and yields the lines that ended in them, each cut at 65,536 characters. */
  readonly push: (chunk: Uint8Array) => ReadonlyArray<string>
  /** The bytes have come to their end: what stands after the last newline is a line. */
  readonly finish: () => ReadonlyArray<string>
  /** The last lines so far, the unfinished one included. */
  readonly snapshot: () => ReadonlyArray<string>
}

export interface LastLinesOptions {
  /** How many lines to remember. */
  readonly keep: number
  /** Where a remembered line is cut, in characters. */
  readonly cutAt: number
}

export const make = ({ cutAt, keep }: LastLinesOptions): StderrTail => {
  const text = new TextDecoder()
  const lines: Array<string> = []
  let unfinished = ""

  const append = (part: string): void => {
    const room = longestLine - unfinished.length
    if (room > 0) unfinished += part.slice(0, room)
  }

  const end = (): string => {
    const line = unfinished.endsWith("\r") ? unfinished.slice(0, -1) : unfinished
    unfinished = ""
    lines.push(line.slice(0, cutAt))
    if (lines.length > keep) lines.shift()
    return line
  }

  const take = (decoded: string): ReadonlyArray<string> => {
    const ended: Array<string> = []
    let start = 0
    for (let at = decoded.indexOf("\n"); at >= 0; at = decoded.indexOf("\n", start)) {
      append(decoded.slice(start, at))
      ended.push(end())
      start = at + 1
    }
    append(decoded.slice(start))
    return ended
  }

  return {
    push: (chunk) => take(text.decode(chunk, { stream: true })),
    finish: () => {
      const ended = take(text.decode())
      return unfinished === "" ? ended : [...ended, end()]
    },
    snapshot: () => {
      const all = unfinished === "" ? lines : [...lines, unfinished.slice(0, cutAt)]
      return all.slice(Math.max(0, all.length - keep))
    }
  }
}
