/**
 * The bar that shows the progress of a call.
 */
import * as PlainText from "@effect-mcp/client/PlainText"
import type * as Progress from "@effect-mcp/protocol/Progress"

const width = 24

const figures = ({ progress, total }: Progress.Progress): string =>
  total === undefined || total <= 0 ? `${progress}` : `${Math.floor(progress / total * 100)} % ${progress}/${total}`

/** Returns the bar. Without a total, a server only says how far it is, and the bar is empty. */
const bar = ({ progress, total }: Progress.Progress): string => {
  const share = total === undefined || total <= 0 ? 0 : Math.min(Math.max(progress / total, 0), 1)
  const filled = Math.round(share * width)
  return `[${"█".repeat(filled)}${"░".repeat(width - filled)}]`
}

/** Returns a step of progress as one line of at most this many columns. */
export const line = (step: Progress.Progress, columns: number): string => {
  const words = [bar(step), figures(step), ...(step.message === undefined ? [] : [PlainText.line(step.message)])].join(
    " "
  )
  // The terminal would wrap a longer line, and a wide character needs two columns.
  return Array.from(words).slice(0, Math.max(Math.floor(columns / 2), columns - 24)).join("")
}
