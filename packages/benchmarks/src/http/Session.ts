import { sumIn } from "../applications/Application.ts"
import { info, numberIn } from "../peers/tools.ts"
import { type Answer, type Connection, header } from "./Connection.ts"

/** A session after its handshake, for a client that sends one request at a time. */
export interface Session {
  /** Calls the tool `add`, and checks the sum. */
  readonly add: (connection: Connection, a: number) => Promise<void>
  readonly ping: (connection: Connection) => Promise<void>
  /** Returns a request that calls a tool with arguments in JSON, and its id. */
  readonly call: (tool: string, input: string) => { readonly id: number; readonly request: string }
  /** Returns a request that calls a tool without end, and the notification that cancels it. */
  readonly flood: () => { readonly request: string; readonly cancel: string }
  readonly end: (connection: Connection) => Promise<void>
}

const revision = "2025-11-25"

const head = (method: string, port: number, id: string | undefined): string =>
  [
    `${method} /mcp HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    "accept: application/json, text/event-stream",
    ...(id === undefined ? [] : [`mcp-session-id: ${id}`, `mcp-protocol-version: ${revision}`]),
    ""
  ].join("\r\n")

/** Returns a POST request with a JSON body, from its first lines. */
export const post = (head: string, body: string): string =>
  `${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`

/** Returns the error for a response that a server should not have sent. */
export const complaint = (answer: Answer): Error => new Error(`unexpected response: ${JSON.stringify(answer)}`)

/** Returns the result with an id from a response in JSON or as an event stream. */
export const resultIn = (answer: Answer, id: number): object => {
  if (answer.status !== 200) throw complaint(answer)
  const messages = answer.body.startsWith("{")
    ? [answer.body]
    : answer.body.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice("data:".length))
  for (const text of messages) {
    const message = text.trim() === "" ? undefined : JSON.parse(text)
    if (message?.id === id && typeof message.result === "object") return message.result
  }
  throw complaint(answer)
}

const initialize = JSON.stringify({
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: revision, capabilities: {}, clientInfo: info }
})
const initialized = JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })

/** Opens a session with `initialize` and `notifications/initialized`. */
export const open = async (port: number, connection: Connection): Promise<Session> => {
  const answer = await connection.exchange(post(head("POST", port, undefined), initialize))
  const result = resultIn(answer, 0)
  const session = header(answer, "mcp-session-id")
  if (!("protocolVersion" in result) || result.protocolVersion !== revision || session === undefined) {
    throw complaint(answer)
  }
  const posting = head("POST", port, session)
  const accepted = await connection.exchange(post(posting, initialized))
  if (accepted.status !== 202) throw complaint(accepted)
  let ids = 0
  const callOf = (id: number, name: string, input: string) =>
    post(
      posting,
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","arguments":${input}}}`
    )
  return {
    add: async (connection, a) => {
      const id = ++ids
      const answer = await connection.exchange(callOf(id, "add", `{"a":${a},"b":1}`))
      const result = resultIn(answer, id)
      const sum = "structuredContent" in result ? sumIn(result) : numberIn(result)
      if (sum !== a + 1) throw complaint(answer)
    },
    call: (tool, input) => {
      const id = ++ids
      return { id, request: callOf(id, tool, input) }
    },
    ping: async (connection) => {
      const id = ++ids
      resultIn(await connection.exchange(post(posting, `{"jsonrpc":"2.0","id":${id},"method":"ping"}`)), id)
    },
    flood: () => {
      const id = ++ids
      const cancelled = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id}}}`
      return { request: callOf(id, "flood", "{}"), cancel: post(posting, cancelled) }
    },
    end: async (connection) => {
      const answer = await connection.exchange(`${head("DELETE", port, session)}\r\n`)
      if (answer.status !== 200 && answer.status !== 204) throw complaint(answer)
    }
  }
}
