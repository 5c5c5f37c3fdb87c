/** The texts that a victim writes to its standard output and error: the bytes, and lines of its peers among them. */
import type { Readable } from "node:stream"

/** A line that hostile peers send, and that may never be a line of a log. */
export const forgedLine = "[00:00:00.000] INFO (#1): forged"

/** The most characters of standard error that are passed on, such as the reason why a victim exited. */
const shownCharacters = 8192

export interface VictimLog {
  readonly bytes: number
  /** Whether a line of the log is that of a peer, or an escape sequence of a peer is in it. */
  readonly isForged: boolean
}

/** The log of a process that has written nothing. */
export const none = (): VictimLog => ({ bytes: 0, isForged: false })

/** Follows the streams of a process. Returns the function that reads its log so far. */
export const follow = (output: Readable, error: Readable): () => VictimLog => {
  let bytes = 0
  let isForged = false
  let shown = 0
  for (const stream of [output, error]) {
    let rest = ""
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      bytes += Buffer.byteLength(chunk)
      const text = rest + chunk
      isForged ||= text.includes(`\n${forgedLine}`) || text.includes("\u001b[2J")
      rest = text.slice(-forgedLine.length)
      if (stream === error && shown < shownCharacters) process.stderr.write(chunk.slice(0, shownCharacters - shown))
      if (stream === error) shown += chunk.length
    })
  }
  return () => ({ bytes, isForged })
}
