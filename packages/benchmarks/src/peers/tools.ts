/**
 * The two tools that every peer serves. `add` answers at once. `addLater` answers one turn of the event loop later, as a
 * tool that reads a file or asks a database would: only then are many calls really in flight at the same time.
 */
export type ToolName = "add" | "addLater"

/** Who every client and every server says it is. */
export const info = { name: "benchmark", version: "1.0.0" }

/** The text that either tool answers. */
export const sum = (input: { readonly [name: string]: unknown } | undefined): string =>
  String(Number(input?.["a"]) + Number(input?.["b"]))

/** One turn of the event loop, for the servers whose handlers are promises. */
export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve)
  })

/** The number that a result says, or a complaint. */
export const numberIn = (result: object): number => {
  const block: unknown = "content" in result && Array.isArray(result.content) ? result.content[0] : undefined
  if (typeof block === "object" && block !== null && "text" in block && typeof block.text === "string") {
    return Number(block.text)
  }
  throw new Error(`no text in ${JSON.stringify(result)}`)
}
