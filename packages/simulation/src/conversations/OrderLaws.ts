/** The laws of the order and the completeness of messages (laws 6 and 7). */

import { JsonRpc } from "@effect-mcp/protocol"
import { Served } from "@effect-mcp/testing/internal"
import { lastId } from "./injections.ts"
import * as Model from "./Model.ts"

/** These laws. */
export const laws: ReadonlyArray<Model.Law> = [
  {
    name: "law 7: the last line is delivered, also without a line feed",
    lossy: false,
    *findings({ entries, session, side }, { entries: all }) {
      const ended = all.findIndex((entry) =>
        entry.session === session && entry.event._tag === "Commanded" &&
        typeof entry.event.command === "object" &&
        entry.event.command._tag === "HalfClose" && entry.event.command.by === "client"
      )
      const half = all[ended]?.event
      if (side !== "server" || half?._tag !== "Commanded" || typeof half.command === "string") return
      if (half.command._tag !== "HalfClose" || !half.command.unterminated) return
      const others = all.filter((entry) =>
        entry.session === session && entry.event._tag === "Commanded" &&
        typeof entry.event.command === "object" &&
        ["Cut", "Close", "FailWrite", "HalfClose", "Call", "CallAndInterrupt"].includes(entry.event.command._tag)
      )
      const over = all.slice(0, ended).some((entry) => entry.session === session && Served.isClosing(entry))
      // Another event may end the session earlier.
      if (others.length > 1 || over) return
      const wasReceived = entries.some(({ event }) =>
        event._tag === "Received" && JsonRpc.isRequest(event.message) &&
        event.message.id === lastId
      )
      if (!wasReceived) yield { place: ended, problem: "the last line was not received" }
    }
  },
  {
    name: "law 6: before the handshake only it has an effect, and a second one has none",
    lossy: false,
    *findings({ entries, handlers, inbound, opened, side }) {
      for (const { id, place } of handlers) {
        const request = inbound.findLast((one) => one.id === id && one.place < place && !one.duplicate)
        const ready = request === undefined || opened !== -1
          ? opened
          : inbound.find(({ method }) => method === "initialize")?.place
        if (request?.isModern !== true && (ready === undefined || place < ready)) {
          yield { place, problem: "a handler runs before the handshake" }
        }
      }
      const notifications = entries.filter(({ event }) =>
        event._tag === "Sent" && "method" in event.message &&
        event.message.method === "notifications/initialized"
      )
      if (notifications.length > 1) {
        yield {
          place: notifications[1]?.place ?? 0,
          problem: `notifications/initialized was sent ${notifications.length} times`
        }
      }
      let answers = 0
      const initializeIds = new Set<unknown>()
      for (const { event, place } of entries) {
        const message = event._tag === "Sent" || event._tag === "Received" ? event.message : undefined
        if (message === undefined) continue
        if ("method" in message) {
          if (message.method === "initialize" && "id" in message) initializeIds.add(message.id)
          const early = message.method === "notifications/initialized" && event._tag === "Sent"
          if (early && (opened === undefined || place < opened)) {
            yield { place, problem: "notifications/initialized was sent before the handshake was complete" }
          }
        } else if (
          side === "server" && event._tag === "Sent" && initializeIds.delete(message.id) && !JsonRpc.isFailure(message)
        ) {
          if (++answers > 1) yield { place, problem: "a second initialize got a result" }
        }
      }
    }
  },
  {
    name: "law 6: log messages wait for the response to initialize, and keep their order",
    lossy: true,
    *findings({ closing, logs, opened, quiet, quietAt, side }) {
      if (side !== "client") return
      for (const [index, { data, place }] of logs.handled.entries()) {
        const log = logs.received[index]
        if (opened === undefined || place < opened) yield { place, problem: "a log message is handled too early" }
        if (log === undefined || JSON.stringify(log.data) !== JSON.stringify(data)) {
          yield { place, problem: `${JSON.stringify(data)} is handled, and ${JSON.stringify(log?.data)} was received` }
          return
        }
      }
      if (quietAt === undefined || !Model.serving.has(quiet?.state ?? "") || (closing ?? quietAt) < quietAt) return
      const due = logs.received.filter(({ place }) => place < quietAt).length
      const handled = logs.handled.filter(({ place }) => place < quietAt).length
      if (due !== handled) {
        yield { place: quietAt, problem: `${due} log messages were received, and ${handled} were handled` }
      }
    }
  },
  {
    name: "law 7: messages arrive completely and in order, whatever arrives between them",
    lossy: false,
    *findings({ entries, session, side }, { conversation, entries: all }) {
      if (conversation.form !== "OneStream") return
      const broken = all.some((entry) =>
        entry.session === session && entry.event._tag === "Commanded" &&
        typeof entry.event.command === "object" &&
        ["Cut", "Close", "FailWrite", "HalfClose"].includes(entry.event.command._tag)
      )
      const end = all.findIndex(({ event }) => event._tag === "Commanded" && event.command === "End")
      const closed = all.findIndex((entry) => entry.session === session && Served.isClosing(entry))
      if (broken || (closed !== -1 && closed < end)) return
      const messages = (of: "client" | "server", tag: "Sent" | "Received") =>
        all.slice(0, end).flatMap(({ event, ...entry }) =>
          entry.session === session && entry.side === of && event._tag === tag
            ? [JSON.stringify(event._tag === "Sent" ? event.carried : event.message)]
            : []
        )
      const receivedMessages = messages(side, "Received")
      let at = 0
      for (const message of messages(side === "client" ? "server" : "client", "Sent")) {
        const found = receivedMessages.indexOf(message, at)
        // A message that cannot be written was never on the wire.
        if (found === -1) {
          yield { place: entries.at(-1)?.place ?? 0, problem: `not received: ${message}` }
          return
        }
        at = found + 1
      }
    }
  }
]
