/**
 * What is left open when a session has gone. It should be nothing.
 */
import { CloseReason } from "@effect-mcp/protocol"
import type { ClientSession } from "@effect-mcp/session"
import { Census } from "@effect-mcp/testing"
import * as Effect from "effect/Effect"
import { check, type Unexpected } from "./check.ts"
import * as Transcript from "./transcript.ts"

/** How many children of this process Node knows to be running. */
export const childProcesses = (): number =>
  process.getActiveResourcesInfo().filter((resource) => resource === "ProcessWrap").length

/** How many TCP sockets of this process Node knows to be open. */
const sockets = (): number => process.getActiveResourcesInfo().filter((resource) => resource === "TCPSocketWrap").length

/**
 * Runs a program whose session ends with it, and looks whether anything was left behind. The program gives back the
 * session, which can still be asked.
 */
export const none = Effect.fnUntraced(function*<E, R>(
  program: Effect.Effect<ClientSession.Shape, E, R>
): Effect.fn.Return<void, E | Unexpected, R> {
  const census = Census.make()
  const session = yield* census.count(program)
  Transcript.note(CloseReason.describe(yield* session.closed))

  const { sent, served } = yield* session.inFlight
  yield* check(sent === 0 && served === 0, `requests waiting ${sent}, handlers running ${served}`)

  yield* check(census.living() === 0, `fibers alive ${census.living()}, of ${census.started()} that were started`)

  // A process that has ended, and a socket that has closed, stay on Node's list for another turn or two of its loop.
  yield* Effect.repeat(Effect.sleep("5 millis"), { times: 20, while: () => childProcesses() + sockets() > 0 })
  yield* check(childProcesses() === 0, `child processes alive ${childProcesses()}`)
  yield* check(sockets() === 0, `sockets open ${sockets()}`)
})
