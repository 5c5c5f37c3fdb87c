import { connect, type Socket } from "node:net"

/** The response to a request. The body is decoded as Latin-1, because all bodies here are ASCII. */
export interface Answer {
  readonly status: number
  readonly head: string
  readonly body: string
}

/**
 * A persistent connection with one exchange at a time. It is a raw socket, because Node's HTTP client takes as long for
 * a request as the fastest servers for a response.
 */
export interface Connection {
  readonly exchange: (request: string) => Promise<Answer>
  readonly close: () => void
}

/** Returns the value of a header. The name is given in lower case. */
export const header = ({ head }: Answer, name: string): string | undefined => {
  const at = head.toLowerCase().indexOf(`\r\n${name}: `)
  return at < 0 ? undefined : head.slice(at + name.length + 4, head.indexOf("\r\n", at + 2))
}

/** Returns the decoded body of chunks, after the last one has arrived. */
const unchunked = (text: string, from: number): string | undefined => {
  let body = ""
  let at = from
  while (true) {
    const end = text.indexOf("\r\n", at)
    if (end < 0) return undefined
    const size = Number.parseInt(text.slice(at, end), 16)
    const start = end + 2
    if (text.length < start + size + 2) return undefined
    if (size === 0) return body
    body += text.slice(start, start + size)
    at = start + size + 2
  }
}

/** Parses a response, after all of it has arrived. */
const answerIn = (text: string): Answer | undefined => {
  const end = text.indexOf("\r\n\r\n")
  if (end < 0) return undefined
  const answer = { status: Number(text.slice(9, 12)), head: text.slice(0, end + 2), body: "" }
  const from = end + 4
  if (answer.status === 204) return answer
  const length = header(answer, "content-length")
  const body = length === undefined
    ? unchunked(text, from)
    : text.length < from + Number(length)
    ? undefined
    : text.slice(from)
  return body === undefined ? undefined : { ...answer, body }
}

const socketTo = (port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, noDelay: true }, () => {
      socket.off("error", reject)
      resolve(socket)
    })
    socket.setEncoding("latin1").once("error", reject)
  })

/** Connects to a local port. */
export const open = async (port: number): Promise<Connection> => {
  const socket = await socketTo(port)
  let text = ""
  let waiting: { readonly resolve: (answer: Answer) => void; readonly reject: (cause: Error) => void } | undefined
  const fail = (cause: Error) => {
    waiting?.reject(cause)
    waiting = undefined
  }
  socket.on("data", (chunk: string) => {
    text = text === "" ? chunk : text + chunk
    const answer = answerIn(text)
    if (answer === undefined) return
    text = ""
    waiting?.resolve(answer)
    waiting = undefined
  })
  socket.on("error", fail).on(
    "close",
    () => fail(new Error(`the server closed the connection after ${JSON.stringify(text)}`))
  )
  return {
    exchange: (request) =>
      new Promise((resolve, reject) => {
        waiting = { resolve, reject }
        socket.write(request, "latin1")
      }),
    close: () => socket.destroy()
  }
}

/**
 * Sends a request with a stream as response, and stops reading after the first event. Resolves to a function that
 * closes the connection.
 */
export const stall = async (port: number, request: string): Promise<() => void> => {
  const socket = await socketTo(port)
  await new Promise<void>((resolve, reject) => {
    let text = ""
    socket.on("error", reject).on("close", () => reject(new Error(`no event in ${JSON.stringify(text)}`)))
    socket.on("data", (chunk: string) => {
      text += chunk
      if (!/^data: ?\{/m.test(text)) return
      socket.pause()
      resolve()
    })
    socket.write(request, "latin1")
  })
  return () => socket.destroy()
}
