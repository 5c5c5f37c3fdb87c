import { sum, textOf } from "../../peers/tools.ts"

/** The name and version of every server. */
export { info } from "../../peers/tools.ts"

/** The form of responses, from the command line. */
export const mode = process.argv[2] ?? ""

/** The parameters of a call. */
interface Call {
  readonly name: string
  readonly arguments?: { readonly [name: string]: unknown } | undefined
}

/** Returns the result of `add`, and of `text`. */
export const resultOf = ({ arguments: input, name }: Call) => ({
  content: [{ type: "text" as const, text: name === "text" ? textOf(input) : sum(input) }]
})

/** The log message of 1 KB that the tool `flood` sends until its call is cancelled. */
export const logged = { level: "error" as const, logger: "flood", data: "x".repeat(1024) }

/** The number of messages after which the tool waits for the next turn of the event loop. */
export const burst = 16

/** Waits for one turn of the event loop. */
export { nextTurn } from "../../peers/tools.ts"
