/** Returns the number after a header's name in a head, of which names are in lower case. */
const lengthIn = (head: string): number | undefined => {
  const found = /\r\ncontent-length: *(\d+)/.exec(head)
  return found === null ? undefined : Number(found[1])
}

/** The greatest number of bytes of a head, or of a line with the size of a chunk. */
const longest = 65_536

/**
 * Reads one response from pieces of bytes, and copies none of its body. A response of 10 MB as a text would cost the
 * load more than the server.
 */
export class BodyReader {
  readonly body: Array<Buffer> = []
  #state: "head" | "sized" | "size" | "chunk" | "ended" = "head"
  /** The bytes of an unfinished line or head. */
  #rest: Buffer = Buffer.alloc(0)
  /** The bytes of the body or chunk that are missing. */
  #missing = 0
  #head = ""

  /** The status line and the headers, in lower case. */
  get head(): string {
    return this.#head
  }

  /** Reads a piece. Returns whether the response is complete. */
  read(piece: Buffer): boolean {
    let left = piece
    while (left.length > 0 && this.#state !== "ended") left = this.#step(left)
    return this.#state === "ended"
  }

  #step(piece: Buffer): Buffer {
    return this.#state === "sized" || this.#state === "chunk" ? this.#take(piece) : this.#line(piece)
  }

  #take(piece: Buffer): Buffer {
    const taken = piece.subarray(0, this.#missing)
    this.#missing -= taken.length
    this.body.push(taken)
    if (this.#missing === 0) this.#state = this.#state === "sized" ? "ended" : "size"
    return piece.subarray(taken.length)
  }

  #line(piece: Buffer): Buffer {
    const end = this.#state === "head" ? "\r\n\r\n" : "\r\n"
    const all = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece])
    // The line feed of the chunk before is in front of a size.
    const from = this.#state === "size" && all[0] === 13 ? 2 : 0
    const at = all.indexOf(end, from)
    if (at < 0) {
      if (all.length > longest) throw new Error(`no end of a head or a line in ${all.length} bytes`)
      this.#rest = all
      return Buffer.alloc(0)
    }
    this.#rest = Buffer.alloc(0)
    const line = all.toString("latin1", from, at)
    // The empty line after the last chunk of the response before may be in front of a head.
    if (this.#state === "head") this.#begin(line.trimStart().toLowerCase())
    else this.#beginChunk(Number.parseInt(line, 16))
    return all.subarray(at + end.length)
  }

  #begin(head: string): void {
    this.#head = head
    const length = lengthIn(head)
    this.#missing = length ?? 0
    this.#state = length === undefined ? "size" : length === 0 ? "ended" : "sized"
  }

  #beginChunk(size: number): void {
    if (Number.isNaN(size)) throw new Error("a chunk without a size")
    this.#missing = size
    this.#state = size === 0 ? "ended" : "chunk"
  }
}
