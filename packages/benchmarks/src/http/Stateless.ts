/** Requests of revision 2026-07-28, which belong to no session. */
import { sumIn } from "../applications/Application.ts"
import { info } from "../peers/tools.ts"
import type { Connection } from "./Connection.ts"
import { complaint, post, resultIn } from "./Session.ts"

const revision = "2026-07-28"

const meta = JSON.stringify({
  "io.modelcontextprotocol/protocolVersion": revision,
  "io.modelcontextprotocol/clientInfo": info,
  "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } }
})

const head = (port: number, tool: string): string =>
  [
    "POST /mcp HTTP/1.1",
    `host: 127.0.0.1:${port}`,
    "accept: application/json, text/event-stream",
    `mcp-protocol-version: ${revision}`,
    "mcp-method: tools/call",
    `mcp-name: ${tool}`,
    ""
  ].join("\r\n")

/** Calls of a server without sessions. */
export interface StatelessCalls {
  /** Calls the tool `add`, and checks the sum. */
  readonly add: (connection: Connection, a: number) => Promise<void>
  /** Calls the tool `ask`, answers its question, and checks the sum: two exchanges. */
  readonly ask: (connection: Connection, a: number) => Promise<void>
}

/** Returns the members with which a client answers the questions of a result. */
const answersTo = (result: object): string => {
  if (!("inputRequests" in result) || !("requestState" in result) || typeof result.inputRequests !== "object") {
    throw new Error(`no question in ${JSON.stringify(result)}`)
  }
  const inputResponses = Object.fromEntries(
    Object.keys(result.inputRequests ?? {}).map((key) => [key, { action: "accept", content: { sure: true } }])
  )
  return `,"inputResponses":${JSON.stringify(inputResponses)},"requestState":${JSON.stringify(result.requestState)}`
}

/** Returns the calls of a client at a local port. */
export const calls = (port: number): StatelessCalls => {
  const heads = { add: head(port, "add"), ask: head(port, "ask") }
  let ids = 0
  const call = async (connection: Connection, name: "add" | "ask", a: number, more = "") => {
    const id = ++ids
    const params = `{"name":"${name}","arguments":{"a":${a},"b":1},"_meta":${meta}${more}}`
    const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`
    const answer = await connection.exchange(post(heads[name], body))
    return { answer, result: resultIn(answer, id) }
  }
  const check = ({ answer, result }: Awaited<ReturnType<typeof call>>, a: number): void => {
    if (sumIn(result) !== a + 1) throw complaint(answer)
  }
  return {
    add: async (connection, a) => check(await call(connection, "add", a), a),
    ask: async (connection, a) => {
      const { result } = await call(connection, "ask", a)
      check(await call(connection, "ask", a, answersTo(result)), a)
    }
  }
}
