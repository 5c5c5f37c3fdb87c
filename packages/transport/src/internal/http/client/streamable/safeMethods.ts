/**
 * What a client may ask twice without a difference to anything but the time it takes. The method table does not say this, and
 * what it does not name may do anything.
 */
const readingMethods: ReadonlySet<string> = new Set([
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

export const isReading = (method: string): boolean => readingMethods.has(method)
