import { randomUUID } from "node:crypto"
import { added, info } from "./tools.ts"

/**
 * What a server without any protocol answers: it takes the message apart and writes a result, and that is all.
 */
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
      return { id: undefined, body: reply(added(params.arguments)) }
    case "ping":
      return { id: undefined, body: reply({}) }
    default:
      return { id: undefined, body: undefined }
  }
}
