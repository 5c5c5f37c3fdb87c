/** The messages that clients send and receive. They are written and read here, without the library. */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Message } from "./History.ts"

const Received = Schema.Struct({
  id: Schema.optionalKey(Schema.Unknown),
  method: Schema.optionalKey(Schema.String),
  params: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  result: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  error: Schema.optionalKey(Schema.Struct({ code: Schema.Int, message: Schema.String }))
})

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Received))

const ToolResult = Schema.Struct({ content: Schema.Tuple([Schema.Struct({ text: Schema.String })]) })

const textOf = (result: unknown): string | undefined =>
  Option.getOrUndefined(
    Option.map(Schema.decodeUnknownOption(ToolResult)(result), ({ content: [{ text }] }) => text)
  )

/** The number of a call in a text of a tool. */
const nonceIn = (value: unknown): number => Number(/\d+$/.exec(String(value))?.[0] ?? Number.NaN)

/** Returns the id of the request whose final response a text is; `undefined` if it is another message. */
export const finalIdIn = (text: string): number | undefined => {
  const message = Option.getOrUndefined(decode(text))
  return message !== undefined && message.method === undefined && typeof message.id === "number"
    ? message.id
    : undefined
}

/** Returns a message that has arrived; `undefined` if it is none. */
export const read = (text: string): Message | undefined => {
  const received = Option.getOrUndefined(decode(text))
  if (received === undefined) return undefined
  const { error, id, method, params = {}, result } = received
  const number = typeof id === "number" ? id : undefined
  switch (method) {
    case undefined:
      if (error !== undefined) return { _tag: "Error", id: number, code: error.code }
      return number === undefined ? undefined : { _tag: "Result", id: number, answer: textOf(result) }
    case "elicitation/create":
      return { _tag: "Question", id: JSON.stringify(id), nonce: nonceIn(params["message"]) }
    case "notifications/message":
      return { _tag: "Log", nonce: nonceIn(params["data"]) }
    case "notifications/resources/updated":
      return { _tag: "Update", nonce: nonceIn(params["uri"]) }
    case "notifications/cancelled":
      return { _tag: "Cancelled", id: JSON.stringify(params["requestId"]) }
    case "notifications/progress":
      return { _tag: "Progress", nonce: Number(params["progressToken"]), progress: Number(params["progress"]) }
    default:
      return { _tag: "Other", method }
  }
}

/** One event of an event stream. */
export interface ServerSentEvent {
  readonly id: string | undefined
  readonly data: string
}

/** Divides the text of an event stream into its events. */
export class EventStreamReader {
  readonly #decoder = new TextDecoder()
  #rest = ""

  read(bytes: Uint8Array): ReadonlyArray<ServerSentEvent> {
    const blocks = (this.#rest + this.#decoder.decode(bytes, { stream: true })).split("\n\n")
    this.#rest = blocks.pop() ?? ""
    return blocks.flatMap((block) => {
      const fields = block.split("\n").flatMap((line) => {
        const match = /^(id|data): ?(.*)$/.exec(line)
        return match === null ? [] : [{ name: match[1], value: match[2] ?? "" }]
      })
      if (fields.length === 0) return []
      const id = fields.find(({ name }) => name === "id")?.value
      const data = fields.filter(({ name }) => name === "data").map(({ value }) => value).join("\n")
      return [{ id, data }]
    })
  }
}

/** Returns the text of a request. */
export const request = (id: number, method: string, params: Readonly<Record<string, unknown>>): string =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params })

/** Returns the text of a notification. */
export const notification = (method: string, params: Readonly<Record<string, unknown>> = {}): string =>
  JSON.stringify({ jsonrpc: "2.0", method, params })

/** Returns the text of an answer to a question. `id` is JSON. */
export const answer = (id: string, text: string): string =>
  JSON.stringify({ jsonrpc: "2.0", id: JSON.parse(id), result: { action: "accept", content: { answer: text } } })
