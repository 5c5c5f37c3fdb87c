/** Numbers as people read them. */
const bytes: ReadonlySet<string> = new Set(["heap used", "external", "array buffers", "resident set"])

const inBytes = (value: number): string => {
  const size = Math.abs(value)
  if (size >= 1024 * 1024) return `${(value / 1024 / 1024).toFixed(2)} MiB`
  return size >= 1024 ? `${(value / 1024).toFixed(1)} KiB` : `${value.toFixed(0)} B`
}

/** How much there is of something. */
export const amount = (quantity: string, value: number): string => {
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞"
  if (bytes.has(quantity)) return inBytes(value)
  return Number.isInteger(value) ? String(value) : value.toFixed(2)
}

/** How much more there is of it after a thousand sessions, or less. */
export const slope = (quantity: string, perSession: number): string =>
  `${perSession > 0 ? "+" : ""}${amount(quantity, perSession * 1000)}`
