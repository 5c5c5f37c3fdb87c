/**
 * How the demonstration is printed. On a terminal it has colours and bars that grow in place; anywhere else, or with
 * `NO_COLOR`, it is plain lines.
 *
 * Printing is the one thing here that is not an Effect: what there is to show comes from callbacks as often as from the
 * program.
 */
import type { JsonRpc, Logging, Progress } from "@effect-mcp/protocol"
import type { SessionEvent } from "@effect-mcp/session"
import * as readline from "node:readline"
import { styleText } from "node:util"

const output = process.stdout
const isLive = output.isTTY && output.hasColors()
const barWidth = 30

const style = (format: Parameters<typeof styleText>[0], text: string): string =>
  styleText(format, text, { stream: output })

/** Whether the cursor stands behind a bar that may still grow. */
let barIsOpen = false

const print = (line: string): void => {
  output.write(barIsOpen ? `\n${line}\n` : `${line}\n`)
  barIsOpen = false
}

/** What the client is talking to from here on. */
export const heading = (title: string): void => print(`\n${style(["bold", "inverse"], ` ${title} `)}`)

/** What it is about to try. */
export const section = (name: string): void => print(`\n${style(["bold", "cyan"], name)}`)

/** What it does, or is told. */
export const note = (text: string): void => print(`  ${text}`)

/** What came out as it should. */
export const passed = (text: string): void => print(`  ${style("green", "✓")} ${text}`)

/** What did not. */
export const failed = (text: string): void => print(`  ${style("red", "✗")} ${text}`)

/** What the server writes into its own log. */
export const serverLog = (line: string): void => print(style("gray", `  server's own log │ ${line}`))

/** A message that the client sent on its own account. */
export const sent = ({ method, params }: JsonRpc.Notification): void =>
  print(`  ${style("yellow", `→ ${method}`)} ${JSON.stringify(params)}`)

/** A log message that the server sent. */
export const logged = ({ data, level, logger }: Logging.LogMessageParams): void =>
  print(`  ${style("magenta", `← ${level}${logger === undefined ? "" : ` from ${logger}`}`)}: ${JSON.stringify(data)}`)

/** A step of progress. A live bar takes the place of the one before it. */
export const progress = ({ message, progress, total }: Progress.Progress): void => {
  const filled = total === undefined ? 0 : Math.round(barWidth * progress / total)
  const bar = style("blue", "█".repeat(filled)) + style("gray", "░".repeat(barWidth - filled))
  const line = `  ${bar} ${message ?? `${progress} of ${total ?? "unknown"}`}`
  if (!isLive) return print(line)
  if (barIsOpen) {
    readline.cursorTo(output, 0)
    readline.clearLine(output, 0)
  }
  output.write(line)
  barIsOpen = true
}

/** What the session lets us see of itself. */
export const event = (event: SessionEvent.SessionEvent): void => {
  switch (event._tag) {
    case "StateChanged":
      return print(`  ${style("gray", event.from)} → ${style("bold", event.to)}`)
    case "ProgressDropped":
      return print(style("gray", `  dropped progress that nobody waits for (${event.reason})`))
    case "NotificationIgnored":
      return print(style("gray", `  ignored ${event.method} (${event.problem})`))
    case "Closed":
      return
    default:
      return print(style("gray", `  ${event._tag}`))
  }
}
