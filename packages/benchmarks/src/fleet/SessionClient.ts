/** A client of one session on plain HTTP, which chooses the process for each request. */
import * as Http from "node:http"

const agent = new Http.Agent({ keepAlive: true, maxSockets: 256 })

export interface Reply {
  readonly status: number
  readonly session: string | undefined
  readonly body: string
}

const headersOf = (session: string | undefined): Http.OutgoingHttpHeaders => ({
  authorization: "Bearer ada",
  accept: "application/json, text/event-stream",
  "content-type": "application/json",
  ...(session === undefined ? undefined : { "mcp-session-id": session, "mcp-protocol-version": "2025-11-25" })
})

/** Sends a message to a process, and reads the whole response. Calls `onText` with its text so far. */
export const post = (
  port: number,
  session: string | undefined,
  message: unknown,
  onText?: (text: string) => void
): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const options = { agent, host: "127.0.0.1", port, path: "/mcp", method: "POST", headers: headersOf(session) }
    const request = Http.request(options, (response) => {
      const chunks: Array<Buffer> = []
      response.on("data", (chunk: Buffer) => {
        chunks.push(chunk)
        onText?.(Buffer.concat(chunks).toString())
      })
      response.on("error", reject)
      response.on("end", () => {
        const id = response.headers["mcp-session-id"]
        resolve({
          status: response.statusCode ?? 0,
          session: typeof id === "string" ? id : undefined,
          body: Buffer.concat(chunks).toString()
        })
      })
    })
    request.on("error", reject)
    request.end(JSON.stringify(message))
  })

let ids = 0

/** Calls a tool of a session at a process. */
export const call = (port: number, session: string, name: string, params: Readonly<Record<string, unknown>> = {}) =>
  post(port, session, { jsonrpc: "2.0", id: ++ids, method: "tools/call", params: { name, arguments: params } })

/** Calls a tool of a session that asks one question, and answers it with this content. */
export const callAndAnswer = (
  port: number,
  session: string,
  name: string,
  params: Readonly<Record<string, unknown>>,
  content: Readonly<Record<string, unknown>>
): Promise<Reply> => {
  let answered: Promise<unknown> | undefined
  const message = { jsonrpc: "2.0", id: ++ids, method: "tools/call", params: { name, arguments: params } }
  const called = post(port, session, message, (text) => {
    const [, asked] = /^data: (.*"elicitation\/create".*)$/m.exec(text) ?? []
    if (asked === undefined || answered !== undefined) return
    const { id } = JSON.parse(asked)
    answered = post(port, session, { jsonrpc: "2.0", id, result: { action: "accept", content } })
  })
  return called.then((reply) => Promise.resolve(answered).then(() => reply))
}

/** Sends a request of a session to a process. */
export const request = (port: number, session: string, method: string, params: Readonly<Record<string, unknown>>) =>
  post(port, session, { jsonrpc: "2.0", id: ++ids, method, params })

/** Opens a session at a process. */
export const open = async (port: number): Promise<string> => {
  const params = {
    protocolVersion: "2025-11-25",
    capabilities: { elicitation: {} },
    clientInfo: { name: "benchmark", version: "1.0.0" }
  }
  const { body, session, status } = await post(port, undefined, {
    jsonrpc: "2.0",
    id: 0,
    method: "initialize",
    params
  })
  if (session === undefined) throw new Error(`no session was opened: ${status} ${body}`)
  await post(port, session, { jsonrpc: "2.0", method: "notifications/initialized" })
  return session
}

/** Reads the standalone stream of a session at a process. Returns the function that closes it. */
export const listen = (port: number, session: string, onData: (text: string) => void): Promise<() => void> =>
  new Promise((resolve, reject) => {
    const headers = { ...headersOf(session), accept: "text/event-stream" }
    const request = Http.request({ host: "127.0.0.1", port, path: "/mcp", method: "GET", headers }, (response) => {
      if (response.statusCode !== 200) return reject(new Error(`the stream was not opened: ${response.statusCode}`))
      response.setEncoding("utf8").on("data", onData).on("error", () => {})
      resolve(() => request.destroy())
    })
    request.on("error", reject)
    request.end()
  })

/** Closes the connections that are kept. */
export const close = (): void => agent.destroy()
