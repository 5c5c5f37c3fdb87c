/** JSON-RPC messages, parsed without the library. */

export type Json = Readonly<Record<string, unknown>>

export const isJson = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export type Id = string | number

/** The members of a message that the clients and the checker read. */
export interface Message {
  readonly id: Id | undefined
  readonly method: string | undefined
  readonly params: Json
  readonly result: unknown
  readonly error: { readonly code: number; readonly message: string; readonly data: unknown } | undefined
}

const idIn = (value: unknown): Id | undefined =>
  typeof value === "string" || typeof value === "number" ? value : undefined

/** Returns the message in a text; `undefined` if the text is none. */
export const parse = (text: string): Message | undefined => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isJson(value)) return undefined
  const { error, id, method, params, result } = value
  return {
    id: idIn(id),
    method: typeof method === "string" ? method : undefined,
    params: isJson(params) ? params : {},
    result,
    error: isJson(error) && typeof error["code"] === "number"
      ? { code: error["code"], message: String(error["message"]), data: error["data"] }
      : undefined
  }
}

/** A message without members: that of a request without a body. */
export const nothing: Message = { id: undefined, method: undefined, params: {}, result: undefined, error: undefined }

/** Returns whether a message is a response to the request with this id. */
export const isResponseTo = (message: Message, id: Id): boolean =>
  message.method === undefined && message.id === id && (message.result !== undefined || message.error !== undefined)

/** The code of a request whose outcome its server does not know. */
export const outcomeUnknown = -31013

/** Returns whether a message is an error that says that the outcome of its request is unknown. */
export const saysOutcomeUnknown = ({ error }: Message): boolean => error?.code === outcomeUnknown

/** The code of a request that was not carried out, and can be sent again later. */
export const overloaded = -31010

/** Returns the name of the tool that a request calls. */
export const toolOf = ({ method, params }: Message): string | undefined =>
  method === "tools/call" && typeof params["name"] === "string" ? params["name"] : undefined

/** Returns an argument of the tool that a request calls. */
export const argumentOf = ({ params }: Message, name: string): unknown =>
  isJson(params["arguments"]) ? params["arguments"][name] : undefined

/** Returns the text of a tool's result. */
export const textOf = ({ result }: Message): string | undefined => {
  if (!isJson(result) || !Array.isArray(result["content"])) return undefined
  const texts = result["content"].map((item: unknown) => isJson(item) ? item["text"] : undefined)
  return texts.length === 1 && typeof texts[0] === "string" ? texts[0] : undefined
}
