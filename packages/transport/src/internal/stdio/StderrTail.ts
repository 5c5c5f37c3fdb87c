/** The standard error of a child process: its lines, and the last ones for the exit report. */
import { Excerpt } from "@effect-mcp/protocol/internal"

/** The most characters of a line. Without a limit, a line without an end would fill the memory. */
const longestLine = 64 * 1024

const lineFeed = 0x0A

export interface StderrTail {
  /** Returns the part of the next bytes with the last lines to keep, for a caller that receives no lines. */
  readonly lastPart: (chunk: Uint8Array) => Uint8Array
  /** Takes the next bytes. Returns the lines that ended in them, each cut at 65,536 characters. */
  readonly push: (chunk: Uint8Array) => ReadonlyArray<string>
  /** Marks the end of the bytes. Returns the text after the last newline, if there is some. */
  readonly finish: () => ReadonlyArray<string>
  /** Returns the last lines so far, the unfinished one included. */
  readonly snapshot: () => ReadonlyArray<string>
}

export interface StderrTailOptions {
  /** The number of lines to keep. */
  readonly keep: number
  /** The most characters of a kept line. */
  readonly cutAt: number
}

/** Creates the tail of one child. */
export const make = ({ cutAt, keep }: StderrTailOptions): StderrTail => {
  const text = new TextDecoder()
  const lines: Array<string> = []
  let unfinished = ""

  const append = (part: string): void => {
    // One character more shows that the line is cut.
    const room = longestLine + 1 - unfinished.length
    if (room > 0) unfinished += part.slice(0, room)
  }

  const end = (): string => {
    const line = unfinished.endsWith("\r") ? unfinished.slice(0, -1) : unfinished
    unfinished = ""
    lines.push(Excerpt.of(line, cutAt))
    if (lines.length > keep) lines.shift()
    return Excerpt.of(line, longestLine)
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

  const lastPart = (chunk: Uint8Array): Uint8Array => {
    let begin = chunk.length
    for (let line = 0; line <= keep; line++) {
      // A negative offset would count from the end.
      begin = begin === 0 ? -1 : chunk.lastIndexOf(lineFeed, begin - 1)
      if (begin < 0) return chunk
    }
    text.decode()
    unfinished = ""
    lines.length = 0
    return chunk.subarray(begin + 1)
  }

  return {
    lastPart,
    push: (chunk) => take(text.decode(chunk, { stream: true })),
    finish: () => {
      const ended = take(text.decode())
      return unfinished === "" ? ended : [...ended, end()]
    },
    snapshot: () => {
      const all = unfinished === "" ? lines : [...lines, Excerpt.of(unfinished, cutAt)]
      return all.slice(Math.max(0, all.length - keep))
    }
  }
}
