/**
 * Simulates a conversation in virtual time, and returns its history.
 *
 * The sessions are the real ones. The time, the connection, and the programs on both sides are simulated.
 */
import type { RequestError } from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as VirtualRuntime from "../../VirtualRuntime.ts"
import type { Command } from "./Command.ts"
import type { Conversation } from "./Conversation.ts"
import type { Event, History } from "./History.ts"
import { lineOf, progressBehind, unterminated } from "./injections.ts"
import type { Asked, Book } from "./Recorder.ts"
import * as SimulatedSession from "./SimulatedSession.ts"
import { nonceOf } from "./simulatedTools.ts"

/** The idle time before the sessions are examined, in milliseconds: longer than any deadline. */
const quietMillis = 120_000

/** The time limit of a probe, and of the sessions to close, in milliseconds. */
const probeMillis = 10_000
const closingMillis = 60_000

/** The greatest extension of a deadline by progress, in milliseconds. */
const totals = { None: undefined, Capped: 45, Free: 3_600_000 }

/** The deadline of a request of the server, in milliseconds. */
const patience = 5000

const sides = ["client", "server"] as const

const question = { type: "object" as const, properties: { answer: { type: "string" as const } } }

const nothing = () => undefined

/**
 * Simulates a conversation, from its first command to the end of everything in it, and returns its history. The same
 * conversation always has the same history (law 13). It takes about a millisecond.
 */
export const run = (conversation: Conversation): History => {
  const world = VirtualRuntime.make(conversation)
  const book: Book = { entries: [], now: world.now, nonces: 0, runs: 0 }
  const sessions = new Map<number, SimulatedSession.SimulatedSession>()
  const calls: Array<Fiber.Fiber<unknown, unknown>> = []

  const open = (session: number): SimulatedSession.SimulatedSession => {
    const known = sessions.get(session)
    if (known !== undefined) return known
    const opened = SimulatedSession.open(world, book, session, conversation)
    sessions.set(session, opened)
    return opened
  }

  const call = (session: number, asked: Asked) => {
    const { client, recorders } = open(session)
    return world.start(
      Effect.flatMap(
        client,
        (session) =>
          recorders.client.asking(asked, (nonce) =>
            session.callTool(asked.what, { nonce }, {
              timeout: asked.deadline,
              ...(asked.total === undefined ? undefined : { extendOnProgress: true, totalTimeout: asked.total }),
              onProgress: ({ progress }) =>
                Effect.sync(() => recorders.client.note({ _tag: "Stepped", nonce, progress }))
            }), nonceOf)
      )
    )
  }

  const ask = (session: number, asked: Asked) => {
    const { recorders, server } = open(session)
    world.start(
      Effect.flatMap(
        server,
        (session) =>
          recorders.server.asking(asked, (): Effect.Effect<unknown, RequestError.RequestError> => {
            const options = { timeout: asked.deadline }
            switch (asked.what) {
              case "elicit":
                return session.elicitForm("elicit", question, options)
              case "roots":
                return session.listRoots(options)
              default:
                return session.ping(options)
            }
          }, nothing)
      )
    )
  }

  const ping = (session: number) => {
    const { client, recorders } = open(session)
    world.start(
      Effect.flatMap(
        client,
        (session) =>
          recorders.client.asking(
            { what: "ping", deadline: patience, total: undefined, probe: true },
            () => session.ping({ timeout: patience }),
            nothing
          )
      )
    )
  }

  const carryOut = (command: Command): void => {
    switch (command._tag) {
      case "Call":
        calls.push(call(command.session, {
          what: command.tool,
          deadline: command.deadline,
          total: totals[command.extension],
          probe: false
        }))
        return
      case "CallAndInterrupt": {
        const fiber = call(command.session, { what: command.tool, deadline: 60_000, total: undefined, probe: false })
        world.act(() => fiber.interruptUnsafe())
        calls.push(fiber)
        return
      }
      case "Burst":
        for (let count = 0; count < command.count; count++) {
          calls.push(call(command.session, { what: command.tool, deadline: 60_000, total: undefined, probe: false }))
        }
        return
      case "Interrupt":
        return world.act(() => calls[command.call]?.interruptUnsafe())
      case "Advance":
        return world.advance(command.millis)
      case "Inject": {
        const { pair, recorders } = open(command.session)
        const { at, what } = command
        const towards = at === "client" ? pair.toClient : pair.toServer
        if (what !== "ProgressBehind") {
          return world.act(() => towards.inject(lineOf(what, recorders[at].last, book.entries.length)))
        }
        const other = at === "client" ? recorders.server : recorders.client
        return other.behindReply((id) => towards.inject(progressBehind(id)))
      }
      case "Ask":
        return ask(command.session, { what: command.what, deadline: patience, total: undefined, probe: false })
      case "Notify": {
        const { client, server } = open(command.session)
        const number = book.entries.length
        const notifying = command.by === "client"
          ? Effect.flatMap(client, (session) => session.rootsListChanged)
          : Effect.flatMap(server, (session) => session.log({ level: "info", data: number }))
        world.start(Effect.exit(notifying))
        return
      }
      case "Stall":
      case "Recover": {
        const { pair } = open(command.session)
        const towards = command.towards === "client" ? pair.toClient : pair.toServer
        return world.act(command._tag === "Stall" ? towards.stall : towards.recover)
      }
      case "FailWrite":
      case "HalfClose": {
        const { pair } = open(command.session)
        const from = command.by === "client" ? pair.toServer : pair.toClient
        if (command._tag === "HalfClose" && command.unterminated && command.by === "client") {
          world.act(() => from.inject(unterminated))
        }
        return world.act(command._tag === "FailWrite" ? from.failNext : from.end)
      }
      case "Cut":
        return world.act(open(command.session).pair.cut)
      case "Close":
        world.start(open(command.session).close(command.by))
        return
      case "Open":
        open(command.session)
        return
    }
  }

  const note = (session: number, happening: Event) =>
    book.entries.push({ at: world.now(), session, side: "client", happening })

  const look = (when: "Quiet" | "End") => {
    for (const { made, recorders } of sessions.values()) {
      for (const side of sides) {
        const session = made[side]
        if (session === undefined) continue
        const { sent, served } = Effect.runSync(session.inFlight)
        recorders[side].note({ _tag: "Looked", when, state: Effect.runSync(session.state)._tag, sent, served })
      }
    }
  }

  for (const command of conversation.commands) {
    note("session" in command ? command.session : 0, { _tag: "Commanded", command })
    carryOut(command)
  }

  note(0, { _tag: "Commanded", command: "Quiet" })
  for (const { pair } of sessions.values()) {
    world.act(pair.toClient.recover)
    world.act(pair.toServer.recover)
  }
  world.advance(quietMillis)
  look("Quiet")

  note(0, { _tag: "Commanded", command: "Probe" })
  for (const session of sessions.keys()) {
    ping(session)
    call(session, { what: "echo", deadline: patience, total: undefined, probe: true })
    ask(session, { what: "ping", deadline: patience, total: undefined, probe: true })
  }
  world.advance(probeMillis)

  note(0, { _tag: "Commanded", command: "End" })
  for (const { close } of sessions.values()) for (const side of sides) world.start(close(side))
  world.advance(closingMillis)
  look("End")

  return { conversation, entries: book.entries, fibersLeft: world.living(), incoming: SimulatedSession.incoming }
}
