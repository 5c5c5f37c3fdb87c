/** The texts that hostile clients send in revision 2026-07-28, where each request names its client. */

/** The revision of these texts. */
export const revision = "2026-07-28"

/** The capabilities of a client that answers questions. */
const elicitation = `{"elicitation":{"form":{}}}`

/** The capabilities of a client whose calls may become tasks. */
export const tasks = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`

const meta = (id: number, capabilities: string): string =>
  `"_meta":{"io.modelcontextprotocol/protocolVersion":"${revision}","io.modelcontextprotocol/clientInfo":` +
  `{"name":"hostile","version":"${id % 40}"},"io.modelcontextprotocol/clientCapabilities":${capabilities}}`

/** Returns a request. `params` are further members of its params. */
export const request = (id: number, method: string, params: string, capabilities = elicitation): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"${method}",` +
  `"params":{${params}${params === "" ? "" : ","}${meta(id, capabilities)}}}`

/** Returns the request of a stream of notifications about many resources. */
export const listen = (id: number, uris: number): string =>
  request(
    id,
    "subscriptions/listen",
    `"notifications":{"toolsListChanged":true,"resourceSubscriptions":[${
      Array.from({ length: uris }, (_, index) => `"a:${id}/${index}"`).join(",")
    }]}`
  )

/** Returns a call of the tool that asks. */
export const ask = (id: number, others = ""): string =>
  request(id, "tools/call", `"name":"ask"${others === "" ? "" : `,${others}`}`)

/** Returns answers to questions that no server has asked, with a state that no server has sealed. */
export const foreignAnswer = (id: number, stateLength: number, answers: number): string =>
  ask(
    id,
    `"requestState":"${String(id).padEnd(stateLength, "A")}","inputResponses":{${
      Array.from({ length: answers }, (_, index) => `"k${index}":{"action":"accept"}`).join(",")
    }}`
  )
