/** Formatting of quantities. */
const bytes: ReadonlySet<string> = new Set([
  "heap used",
  "external",
  "array buffers",
  "resident set",
  "heap of children"
])

const inBytes = (value: number): string => {
  const size = Math.abs(value)
  if (size >= 1024 * 1024) return `${(value / 1024 / 1024).toFixed(2)} MiB`
  return size >= 1024 ? `${(value / 1024).toFixed(1)} KiB` : `${value.toFixed(0)} B`
}

/** Formats a value of a quantity. */
export const amount = (quantity: string, value: number): string => {
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞"
  if (bytes.has(quantity)) return inBytes(value)
  return Number.isInteger(value) ? String(value) : value.toFixed(2)
}

/** Formats the change of a quantity for a thousand sessions. */
export const slope = (quantity: string, perSession: number): string =>
  `${perSession > 0 ? "+" : ""}${amount(quantity, perSession * 1000)}`
