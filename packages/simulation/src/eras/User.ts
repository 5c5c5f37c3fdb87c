/** The user of a client. Each answer is a function of its question, and takes a time that depends on it as well. */
import type { Elicitation, InputRequired, Roots, Sampling } from "@effect-mcp/protocol"
import * as Hash from "effect/Hash"

/** The times that the user takes to answer, in milliseconds. */
const delays = [0, 1, 25]

/** Returns a number below a limit that depends on a text. */
const choose = (text: string, below: number): number => Math.abs(Hash.string(text)) % below

/** Returns the time that the answer takes, in milliseconds. */
export const delayOf = (question: string): number => delays[choose(`delay ${question}`, delays.length)] ?? 0

/** Returns the answer to a form. */
export const fill = (message: string): Elicitation.ElicitResult => {
  const choice = choose(message, 4)
  if (choice === 0) return { action: "decline" }
  if (choice === 1) return { action: "cancel" }
  return { action: "accept", content: { value: `<${message}>` } }
}

/** Returns the answer of the model. */
export const complete = (prompt: string): Sampling.CreateMessageResultWithoutTools => ({
  role: "assistant",
  content: { type: "text", text: `<${prompt}>` },
  model: "simulated"
})

/** The roots of the client. */
export const roots: Roots.ListRootsResult = { roots: [{ uri: "file:///home" }] }

/** Returns the text of a question of a method. */
export const questionText = (method: InputRequired.InputRequest["method"], text: string): string =>
  method === "roots/list" ? method : `${method} ${text}`

/** Returns the part of the answer to a question that a handler returns. */
export const answerTo = (method: InputRequired.InputRequest["method"], text: string): string => {
  switch (method) {
    case "elicitation/create": {
      const { action, content } = fill(text)
      return action === "accept" ? String(content?.["value"]) : action
    }
    case "sampling/createMessage":
      return `<${text}>`
    case "roots/list":
      return roots.roots.map(({ uri }) => uri).join()
  }
}
