/** The texts that hostile peers send: JSON-RPC messages, and texts that resemble them. */

export const initialize = (revision = "2025-11-25", capabilities: string = "{}"): string =>
  `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{` +
  `"protocolVersion":"${revision}","capabilities":${capabilities},` +
  `"clientInfo":{"name":"hostile","version":"1.0.0"}}}`

export const initialized = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"

/** Returns a ping with a unique id of a given length. */
export const ping = (number: number, idLength: number): string =>
  `{"jsonrpc":"2.0","id":"${String(number).padEnd(idLength, "x")}","method":"ping"}`

/** Returns `[[],[],…]` of a given size: the text that takes most heap for its length. */
export const nested = (bytes: number): string => `[${"[],".repeat(Math.max(0, Math.floor((bytes - 4) / 3)))}[]]`

export const call = (id: number | string, name: string, input: string): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"tools/call","params":{"name":${JSON.stringify(name)},` +
  `"arguments":${input}}}`

/** Returns a call with a progress token of a given length. */
export const callWithToken = (id: number, tokenLength: number): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"echo","_meta":{"progressToken":"${
    String(id).padEnd(tokenLength, "x")
  }"}}}`

/** Returns a request. `params` are members of its params. */
export const request = (id: number | string, method: string, params = ""): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":${JSON.stringify(method)}` +
  `${params === "" ? "" : `,"params":{${params}}`}}`

/** Returns a batch of a given size in which no entry is a message. */
export const badBatch = (bytes: number): string => `[${"1,".repeat(Math.floor(bytes / 2) - 2)}1]`

export const log = (data: string): string =>
  `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":${data}}}`

export const success = (id: unknown, result: string): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`

export const MiB = 1024 * 1024
