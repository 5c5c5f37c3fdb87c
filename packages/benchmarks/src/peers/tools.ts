/**
 * The two tools of every peer. `add` returns at once. `addLater` returns after one turn of the event loop, as a tool
 * that reads a file or queries a database would. Only then are many calls in flight at the same time.
 */
export type ToolName = "add" | "addLater"

/** The name and version of every client and server. */
export const info = { name: "benchmark", version: "1.0.0" }

/** Returns the result text of either tool. */
export const sum = (input: { readonly [name: string]: unknown } | undefined): string =>
  String(Number(input?.["a"]) + Number(input?.["b"]))

/** Returns the result text of the tool `text`, which has the requested number of bytes. */
export const textOf = (input: { readonly [name: string]: unknown } | undefined): string =>
  "x".repeat(Number(input?.["bytes"]))

/** Waits for one turn of the event loop, for servers whose handlers are promises. */
export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve)
  })

/** Returns the number in a result. Throws if there is none. */
export const numberIn = (result: object): number => {
  const block: unknown = "content" in result && Array.isArray(result.content) ? result.content[0] : undefined
  if (typeof block === "object" && block !== null && "text" in block && typeof block.text === "string") {
    return Number(block.text)
  }
  throw new Error(`no text in ${JSON.stringify(result)}`)
}
