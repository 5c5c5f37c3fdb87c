/** Raw WebSocket frames, valid or not (RFC 6455, section 5). */

export interface Frame {
  readonly fin: boolean
  readonly opcode: number
  readonly payload: Buffer
}

export const opcodes = { continuation: 0x0, text: 0x1, binary: 0x2, close: 0x8, ping: 0x9, pong: 0xA } as const

export interface FrameOptions {
  readonly fin?: boolean
  /** A client must mask its frames, and a server must not. */
  readonly masked?: boolean
}

const mask = Buffer.from([1, 2, 3, 4])

const masking = (payload: Buffer): Buffer => Buffer.from(payload.map((byte, at) => byte ^ (mask[at % 4] ?? 0)))

const lengthOf = (length: number, flag: number): Buffer => {
  if (length < 126) return Buffer.from([flag | length])
  const long = Buffer.alloc(length < 65_536 ? 3 : 9)
  long[0] = flag | (length < 65_536 ? 126 : 127)
  if (length < 65_536) long.writeUInt16BE(length, 1)
  else long.writeBigUInt64BE(BigInt(length), 1)
  return long
}

/** Encodes a frame. */
export const encode = (
  opcode: number,
  content: string | Uint8Array,
  { fin = true, masked = true }: FrameOptions = {}
): Buffer => {
  const payload = Buffer.from(content)
  return Buffer.concat([
    Buffer.from([(fin ? 0x80 : 0) | opcode]),
    lengthOf(payload.length, masked ? 0x80 : 0),
    ...(masked ? [mask, masking(payload)] : [payload])
  ])
}

/** Encodes the header of a frame with this many bytes, without the bytes. */
export const headerOf = (opcode: number, bytes: number, masked: boolean): Buffer =>
  Buffer.concat([Buffer.from([0x80 | opcode]), lengthOf(bytes, masked ? 0x80 : 0), masked ? mask : Buffer.alloc(0)])

/** Encodes the payload of a close frame. */
export const closePayload = (code: number, reason = ""): Buffer => {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(code)
  return Buffer.concat([bytes, Buffer.from(reason)])
}

/** A parser of frames, from chunks of any size. */
export class FrameReader {
  #rest = Buffer.alloc(0)
  readonly frames: Array<Frame> = []

  push(chunk: Uint8Array): void {
    this.#rest = Buffer.concat([this.#rest, chunk])
    for (let size = this.#next(); size > 0; size = this.#next()) this.#rest = this.#rest.subarray(size)
  }

  /** Parses the next frame, if it is complete. Returns its number of bytes, or 0. */
  #next(): number {
    const [first, second] = this.#rest
    if (first === undefined || second === undefined) return 0
    const short = second & 0x7F
    const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0
    const isMasked = (second & 0x80) !== 0
    const start = 2 + lengthBytes + (isMasked ? 4 : 0)
    if (this.#rest.length < start) return 0
    const length = lengthBytes === 0
      ? short
      : lengthBytes === 2
      ? this.#rest.readUInt16BE(2)
      : Number(this.#rest.readBigUInt64BE(2))
    if (this.#rest.length < start + length) return 0
    const payload = Buffer.from(this.#rest.subarray(start, start + length))
    const key = this.#rest.subarray(start - 4, start)
    this.frames.push({
      fin: (first & 0x80) !== 0,
      opcode: first & 0xF,
      payload: isMasked ? Buffer.from(payload.map((byte, at) => byte ^ (key[at % 4] ?? 0))) : payload
    })
    return start + length
  }
}
