/** Clients of servers with tasks that are written by their messages, because a client session hides some of them. */
import { JsonRpc, Task } from "@effect-mcp/protocol"
import { Transport } from "@effect-mcp/session"
import { RawPeer } from "@effect-mcp/testing"
import { assert } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { info, settled } from "./sessions.ts"

/** A message of the server that is no response. */
export type Received = JsonRpc.Request | JsonRpc.Notification

export interface TaskClientOptions {
  readonly capabilities?: object
  /** Returns the response to a request of the server. `undefined` leaves it without one. */
  readonly answer?: (request: JsonRpc.Request) => JsonRpc.Response | undefined
}

const decodeTask = Schema.decodeUnknownSync(Task.TaskResult)
const decodeCreated = Schema.decodeUnknownSync(Task.CreateTaskResult)

/** Connects a client of revision 2025-11-25, and performs its handshake. */
export const taskClient = Effect.fnUntraced(function*(
  transport: Transport.Transport["Service"],
  { answer, capabilities = { elicitation: {}, sampling: {}, roots: {} } }: TaskClientOptions = {}
) {
  const raw = yield* RawPeer.make.pipe(Effect.provideService(Transport.Transport, transport))
  const received: Array<Received> = []
  const waiting = new Map<JsonRpc.Request["id"], Deferred.Deferred<JsonRpc.Response>>()
  let nextId = 0
  const handle = (message: JsonRpc.Message): Effect.Effect<void> => {
    if (!("method" in message)) {
      const waiter = "id" in message && message.id !== undefined && message.id !== null
        ? waiting.get(message.id)
        : undefined
      return waiter === undefined ? Effect.void : Effect.asVoid(Deferred.succeed(waiter, message))
    }
    received.push(message)
    if (!("id" in message)) return Effect.void
    const response = answer?.(message)
    return response === undefined ? Effect.void : Effect.orDie(raw.send(response))
  }
  yield* Effect.forkScoped(Effect.forever(Effect.flatMap(raw.receive, handle)), { startImmediately: true })
  /** Sends a request, and waits for its response. */
  const send = (method: string, params: JsonRpc.Params, id: JsonRpc.Request["id"]) =>
    Effect.gen(function*() {
      const waiter = yield* Deferred.make<JsonRpc.Response>()
      waiting.set(id, waiter)
      yield* Effect.orDie(raw.send(JsonRpc.request(id, method, params)))
      return yield* Deferred.await(waiter)
    })
  const request = (method: string, params: JsonRpc.Params = {}) => send(method, params, ++nextId)
  /** Returns the result of a request. */
  const result = (method: string, params: JsonRpc.Params = {}) =>
    Effect.map(request(method, params), (response) => {
      if ("error" in response) assert.fail(`${method}: ${response.error.code} ${response.error.message}`)
      return response.result
    })
  /** Returns the code of the error of a request, or `undefined` for a result. */
  const code = (method: string, params: JsonRpc.Params = {}) =>
    Effect.map(request(method, params), (response) => "error" in response ? response.error.code : undefined)
  const initialized = yield* result("initialize", { protocolVersion: "2025-11-25", capabilities, clientInfo: info })
  yield* Effect.orDie(raw.send(JsonRpc.notification("notifications/initialized")))
  yield* settled
  return {
    raw,
    received,
    initialized,
    send,
    request,
    result,
    code,
    /** Calls a tool as a task, and returns the task. */
    start: (name: string, { meta, ttl, ...input }: { meta?: object; ttl?: number; [name: string]: unknown } = {}) =>
      Effect.map(
        result("tools/call", {
          name,
          arguments: input,
          task: ttl === undefined ? {} : { ttl },
          ...(meta === undefined ? undefined : { _meta: meta })
        }),
        (created) => decodeCreated(created).task
      ),
    get: (taskId: string) => Effect.map(result("tasks/get", { taskId }), decodeTask),
    /** Returns the messages of one method. */
    of: (method: string) => received.filter((message) => message.method === method)
  }
})
