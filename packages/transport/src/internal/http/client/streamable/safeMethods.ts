/** The safe methods: requests that change nothing, so a client may repeat them. */

/** Methods that are not in this set may have effects, also those of extensions. */
const safeMethods: ReadonlySet<string> = new Set([
  "ping",
  "tools/list",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "prompts/list",
  "prompts/get",
  "completion/complete",
  "tasks/get",
  "tasks/list"
])

/** Returns whether a method is safe. */
export const isSafe = (method: string): boolean => safeMethods.has(method)
