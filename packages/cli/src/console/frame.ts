/**
 * The frame of a prompt or of a bar: the lines at the bottom of the screen, which are erased and drawn again when
 * something is printed above them.
 */
import { displayWidth } from "effect/cli/CliOutput"

/** An escape sequence of a terminal, as prompts write them. */
const sequence = /\u{1b}\[([\d;?]*)([A-Za-z])/gu

/** The sequences at the beginning of a frame that erase the frame before it and move to its place. */
const erasure = /^(?:\u{1b}\[[\d;?]*[A-GJKhl])+/u

/** Returns whether text shows anything: a bell and escape sequences do not. */
export const isVisible = (text: string): boolean => text.replaceAll(sequence, "").replaceAll("\u{7}", "") !== ""

/** Returns a frame without the erasure of the one before it. */
export const withoutErasure = (text: string): string => text.replace(erasure, "")

const rowsOf = (line: string, columns: number): number =>
  columns === 0 ? 0 : Math.floor(Math.max(displayWidth(line) - 1, 0) / columns)

/** Returns the number of rows between the first row of a frame and the row of the cursor after it was drawn. */
export const rowsAboveCursor = (frame: string, columns: number): number => {
  // An error message is drawn below the frame, and then the cursor returns to its place.
  const [drawn = ""] = frame.split("\u{1b}[s")
  const lines = drawn.replaceAll(sequence, "").split("\n")
  return lines.reduce((rows, line) => rows + rowsOf(line, columns), lines.length - 1)
}

/** Returns the sequences that erase a frame and move the cursor to its beginning. */
export const erase = (frame: string, columns: number): string => {
  const rows = rowsAboveCursor(frame, columns)
  return `${rows === 0 ? "" : `\u{1b}[${rows}A`}\r\u{1b}[J`
}
