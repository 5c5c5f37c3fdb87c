import { randomUUID } from "node:crypto"
import { info, resultOf } from "./tools.ts"

/** Returns the response of a server without a protocol, which only parses the message and writes a result. */
export const answer = (text: string): { readonly id: string | undefined; readonly body: string | undefined } => {
  const { id, method, params } = JSON.parse(text)
  const reply = (result: object) => JSON.stringify({ jsonrpc: "2.0", id, result })
  switch (method) {
    case "initialize":
      return {
        id: randomUUID(),
        body: reply({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: info })
      }
    case "tools/call":
      return { id: undefined, body: reply(resultOf(params)) }
    case "ping":
      return { id: undefined, body: reply({}) }
    default:
      return { id: undefined, body: undefined }
  }
}
