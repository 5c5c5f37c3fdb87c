/**
 * A check that a session leaves no request, fiber, child process or socket open after its end.
 */
import { CloseReason } from "@effect-mcp/protocol"
import type { ClientSession } from "@effect-mcp/session"
import { FiberCount } from "@effect-mcp/testing"
import * as Effect from "effect/Effect"
import { subscribe } from "node:diagnostics_channel"
import { Socket } from "node:net"
import { check, type CheckFailed } from "./check.ts"
import * as Transcript from "./transcript.ts"

/** Returns the number of running child processes. */
export const childProcesses = (): number =>
  process.getActiveResourcesInfo().filter((resource) => resource === "ProcessWrap").length

const openSockets = new Set<Socket>()

// Node's list of resources does not distinguish Unix sockets from the standard streams, so this module counts sockets
// when they open and close.
subscribe("net.client.socket", (message) => {
  if (typeof message !== "object" || message === null || !("socket" in message)) return
  const { socket } = message
  if (!(socket instanceof Socket)) return
  openSockets.add(socket)
  socket.once("close", () => openSockets.delete(socket))
})

/** Returns the number of open sockets that this process has opened. */
export const sockets = (): number => openSockets.size

/**
 * Runs a program whose session ends with it, and checks that nothing stays open. The program returns its session,
 * which reports its requests after the end.
 */
export const checkNone = Effect.fnUntraced(function*<E, R>(
  program: Effect.Effect<ClientSession.ClientSessionShape, E, R>
): Effect.fn.Return<void, E | CheckFailed, R> {
  const fibers = FiberCount.make()
  const session = yield* fibers.count(program)
  Transcript.note(CloseReason.describe(yield* session.closed))

  const { sent, served } = yield* session.inFlight
  yield* check(sent === 0 && served === 0, `requests waiting ${sent}, handlers running ${served}`)

  yield* check(fibers.living() === 0, `fibers alive ${fibers.living()}, of ${fibers.started()} that were started`)

  // A process that has ended stays on Node's list for one or two turns of the event loop, and longer if that is busy.
  yield* Effect.repeat(Effect.sleep("5 millis"), { times: 200, while: () => childProcesses() + sockets() > 0 })
  yield* check(childProcesses() === 0, `child processes alive ${childProcesses()}`)
  yield* check(sockets() === 0, `sockets open ${sockets()}`)
})
