/**
 * The printed output of the demonstration. On a terminal it has colours and growing progress bars. Anywhere else, and
 * with `NO_COLOR`, it is plain lines.
 *
 * Printing is not an Effect here, because it happens in callbacks as often as in the program.
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

/** Whether the last line is a progress bar that may still grow. */
let barIsOpen = false

const print = (line: string): void => {
  output.write(barIsOpen ? `\n${line}\n` : `${line}\n`)
  barIsOpen = false
}

/** Prints the title of a conversation. */
export const heading = (title: string): void => print(`\n${style(["bold", "inverse"], ` ${title} `)}`)

/** Prints the title of a step. */
export const section = (name: string): void => print(`\n${style(["bold", "cyan"], name)}`)

/** Prints an action, or a message. */
export const note = (text: string): void => print(`  ${text}`)

/** Prints a check that passed. */
export const passed = (text: string): void => print(`  ${style("green", "✓")} ${text}`)

/** Prints a check that failed. */
export const failed = (text: string): void => print(`  ${style("red", "✗")} ${text}`)

/** Prints a line that the server has logged. */
export const serverLog = (line: string): void => print(style("gray", `  log of the server │ ${line}`))

/** Prints a notification of the client. */
export const sent = ({ method, params }: JsonRpc.Notification): void =>
  print(`  ${style("yellow", `→ ${method}`)} ${JSON.stringify(params)}`)

/** Prints a log message of the server. */
export const logged = ({ data, level, logger }: Logging.LogMessageParams): void =>
  print(`  ${style("magenta", `← ${level}${logger === undefined ? "" : ` from ${logger}`}`)}: ${JSON.stringify(data)}`)

/** Prints a step of progress. On a terminal, it replaces the previous bar. */
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

/** Prints an event of the session. */
export const event = (event: SessionEvent.SessionEvent): void => {
  switch (event._tag) {
    case "StateChanged":
      return print(`  ${style("gray", event.from)} → ${style("bold", event.to)}`)
    case "ProgressDropped":
      return print(style("gray", `  dropped progress of a call that has ended (${event.reason})`))
    case "NotificationIgnored":
      return print(style("gray", `  ignored ${event.method} (${event.problem})`))
    case "FellBack":
      return print(style("gray", `  fell back to a handshake: ${event.problem}`))
    case "Closed":
      return
    default:
      return print(style("gray", `  ${event._tag}`))
  }
}
