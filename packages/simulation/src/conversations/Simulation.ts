/**
 * Simulates a conversation in virtual time, and returns its history.
 *
 * The sessions are the real ones. The time, the connection, and the programs on both sides are simulated.
 */
import type { ClientSession, RequestError } from "@effect-mcp/session"
import { type Recorder, World } from "@effect-mcp/testing/internal"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { Command } from "./Command.ts"
import type { Conversation } from "./Conversation.ts"
import type { Commanded, Event, History } from "./History.ts"
import { lateProgress, lineOf, unterminated } from "./injections.ts"
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
const requestTimeout = 5000

const sides = ["client", "server"] as const

const formSchema = { type: "object" as const, properties: { answer: { type: "string" as const } } }

const noNonce = () => undefined

/** Returns a request of a program, with these properties besides the usual ones. */
const requestOf = (what: string, others: Partial<Recorder.ProgramRequest> = {}): Recorder.ProgramRequest => ({
  what,
  deadline: requestTimeout,
  total: undefined,
  probe: false,
  ...others
})

/**
 * Simulates a conversation, from its first command to the end of everything in it, and returns its history. The same
 * conversation always has the same history (law 13). It takes about a millisecond.
 */
export const run = (conversation: Conversation): History => {
  const world = new World.World<Commanded>(conversation)
  const { journal, runtime } = world
  const sessions = new Map<number, SimulatedSession.SimulatedSession>()
  const calls: Array<Fiber.Fiber<unknown, unknown>> = []

  const open = (session: number): SimulatedSession.SimulatedSession => {
    const known = sessions.get(session)
    if (known !== undefined) return known
    const opened = SimulatedSession.open(world, session, conversation.era)
    sessions.set(session, opened)
    return opened
  }

  const requestFromClient = <A>(
    session: number,
    request: Recorder.ProgramRequest,
    send: (
      session: ClientSession.ClientSessionShape,
      nonce: number,
      recorder: Recorder.Recorder
    ) => Effect.Effect<A, RequestError.RequestError>,
    nonceIn: (result: A) => unknown = noNonce
  ) => {
    const { client, connection: { recorders } } = open(session)
    return runtime.start(
      Effect.flatMap(
        client,
        (session) => recorders.client.requesting(request, (nonce) => send(session, nonce, recorders.client), nonceIn)
      )
    )
  }

  const call = (session: number, request: Recorder.ProgramRequest) =>
    requestFromClient(session, request, (session, nonce, recorder) =>
      session.callTool(request.what, { nonce }, {
        timeout: request.deadline,
        ...(request.total === undefined ? undefined : { extendOnProgress: true, totalTimeout: request.total }),
        onProgress: ({ progress }) => Effect.sync(() => recorder.note({ _tag: "Progressed", nonce, progress }))
      }), nonceOf)

  const requestFromServer = (session: number, request: Recorder.ProgramRequest) => {
    const { connection: { recorders }, server } = open(session)
    runtime.start(
      Effect.flatMap(
        server,
        (session) =>
          recorders.server.requesting(request, (): Effect.Effect<unknown, RequestError.RequestError> => {
            const options = { timeout: request.deadline }
            switch (request.what) {
              case "elicit":
                return session.elicitForm("elicit", formSchema, options)
              case "roots":
                return session.listRoots(options)
              default:
                return session.ping(options)
            }
          }, noNonce)
      )
    )
  }

  /** Subscribes to a resource, or ends that. */
  const subscription = (session: number, what: "subscribe" | "unsubscribe", resource: "a" | "b") => {
    const uri = SimulatedSession.uriOf(resource)
    const options = { timeout: requestTimeout }
    return requestFromClient(
      session,
      requestOf(`${what} ${uri}`),
      (session): Effect.Effect<unknown, RequestError.RequestError> =>
        what === "subscribe" ? session.subscribeResource(uri, options) : session.unsubscribeResource(uri, options)
    )
  }

  const execute = (command: Command): void => {
    switch (command._tag) {
      case "Call":
        calls.push(call(
          command.session,
          requestOf(command.tool, { deadline: command.deadline, total: totals[command.extension] })
        ))
        return
      case "CallAndInterrupt": {
        const fiber = call(command.session, requestOf(command.tool, { deadline: 60_000 }))
        runtime.act(() => fiber.interruptUnsafe())
        calls.push(fiber)
        return
      }
      case "Burst":
        for (let count = 0; count < command.count; count++) {
          calls.push(call(command.session, requestOf(command.tool, { deadline: 60_000 })))
        }
        return
      case "Interrupt":
        return runtime.act(() => calls[command.call]?.interruptUnsafe())
      case "Advance":
        return runtime.advance(command.millis)
      case "Inject": {
        const { pair, recorders } = open(command.session).connection
        const { at, what } = command
        const towards = at === "client" ? pair.toClient : pair.toServer
        const other = at === "client" ? recorders.server : recorders.client
        if (what === "TextualId") return other.textualReply()
        if (what === "LateProgress") return other.afterReply((id) => towards.inject(lateProgress(id)))
        return runtime.act(() =>
          towards.inject(lineOf(what, recorders[at].last, journal.entries.length, conversation.era))
        )
      }
      case "ServerRequest":
        return requestFromServer(command.session, requestOf(command.what))
      case "Notify": {
        const { client, server } = open(command.session)
        const number = journal.entries.length
        const notifying = command.by === "client"
          ? Effect.flatMap(client, (session) => session.rootsListChanged)
          : Effect.flatMap(server, (session) => session.log({ level: "info", data: number }))
        runtime.start(Effect.exit(notifying))
        return
      }
      case "Subscribe":
        calls.push(subscription(command.session, "subscribe", command.resource))
        return
      case "Unsubscribe":
        subscription(command.session, "unsubscribe", command.resource)
        return
      case "Change":
        runtime.start(open(command.session).change(SimulatedSession.uriOf(command.resource)))
        return
      case "Stall":
      case "Recover":
      case "Cut":
        return world.disturb(open(command.session).connection, command)
      case "FailWrite":
      case "HalfClose": {
        const { pair } = open(command.session).connection
        const from = command.by === "client" ? pair.toServer : pair.toClient
        if (command._tag === "HalfClose" && command.unterminated && command.by === "client") {
          runtime.act(() => from.inject(unterminated(conversation.era)))
        }
        return runtime.act(command._tag === "FailWrite" ? from.failNext : from.end)
      }
      case "Close":
        runtime.start(open(command.session).close(command.by))
        return
      case "Open":
        open(command.session)
        return
    }
  }

  const note = (session: number, event: Event) =>
    journal.entries.push({ at: runtime.now(), session, side: "client", event })

  const inspect = (when: "Quiet" | "End") => {
    for (const { connection: { recorders }, made } of sessions.values()) {
      for (const side of sides) {
        const session = made[side]
        if (session === undefined) continue
        const { sent, served } = Effect.runSync(session.inFlight)
        recorders[side].note({ _tag: "Inspected", when, state: Effect.runSync(session.state)._tag, sent, served })
      }
    }
  }

  for (const command of conversation.commands) {
    note("session" in command ? command.session : 0, { _tag: "Commanded", command })
    execute(command)
  }

  note(0, { _tag: "Commanded", command: "Quiet" })
  world.recover()
  runtime.advance(quietMillis)
  inspect("Quiet")

  note(0, { _tag: "Commanded", command: "Probe" })
  for (const session of sessions.keys()) {
    const probe = { probe: true }
    requestFromClient(session, requestOf("ping", probe), (session) => session.ping({ timeout: requestTimeout }))
    call(session, requestOf("echo", probe))
    requestFromServer(session, requestOf("ping", probe))
  }
  runtime.advance(probeMillis)

  note(0, { _tag: "Commanded", command: "End" })
  world.close(closingMillis)
  inspect("End")

  return { conversation, entries: journal.entries, fibersLeft: runtime.living(), incoming: SimulatedSession.incoming }
}
