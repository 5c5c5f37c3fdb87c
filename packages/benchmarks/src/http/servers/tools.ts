import { sum } from "../../peers/tools.ts"

/** Who every server says it is. */
export { info } from "../../peers/tools.ts"

/** How the server answers: the word in its command line. */
export const mode = process.argv[2] ?? ""

/** The result of `add`. */
export const added = (input: { readonly [name: string]: unknown } | undefined) => ({
  content: [{ type: "text" as const, text: sum(input) }]
})

/** What the tool `flood` says again and again, until its call is cancelled: a kilobyte each time. */
export const logged = { level: "error" as const, logger: "flood", data: "x".repeat(1024) }

/** After so many the tool waits for the next turn of the event loop, as one that reads what it says would. */
export const burst = 16

/** One turn of the event loop. */
export { nextTurn } from "../../peers/tools.ts"
