import { assert, describe, it } from "@effect/vitest"
import { BodyReader } from "../src/http/BodyReader.ts"

const responses: ReadonlyArray<readonly [name: string, response: string]> = [
  ["a length", "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world"],
  ["chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nhello \r\n5\r\nworld\r\n0\r\n\r\n"],
  ["an empty line of the response before", "\r\nHTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world"]
]

describe("a reader of a body", () => {
  it.each(responses)("reads a body with %s, wherever its pieces end", (_, response) => {
    const bytes = Buffer.from(response, "latin1")
    for (let at = 1; at < bytes.length; at++) {
      const reader = new BodyReader()
      const isEarly = reader.read(bytes.subarray(0, at))
      assert.isTrue(isEarly || reader.read(bytes.subarray(at)))
      assert.strictEqual(Buffer.concat(reader.body).toString(), "hello world")
      assert.match(reader.head, /^http\/1\.1 200 ok/)
    }
  })
})
