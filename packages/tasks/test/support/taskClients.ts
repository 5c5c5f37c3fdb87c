/** Clients of servers with tasks that are written by their messages, because a client session hides some of them. */
import { JsonRpc, RequestMetadata, Task, TaskExtension } from "@effect-mcp/protocol"
import { Transport } from "@effect-mcp/session"
import { RawPeer } from "@effect-mcp/testing"
import { assert } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { info, settled } from "../../../session/test/support/sessions.ts"

/** A message of the server that is no response. */
export type Received = JsonRpc.Request | JsonRpc.Notification

/** Returns the response to a request of the server. `undefined` leaves it without one. */
export type Answer = (request: JsonRpc.Request) => JsonRpc.Response | undefined

export interface TaskClientOptions {
  readonly capabilities?: object
  readonly answer?: Answer
}

const decodeTask = Schema.decodeUnknownSync(Task.TaskResult)
const decodeCreated = Schema.decodeUnknownSync(Task.CreateTaskResult)

/** Connects a client that matches responses, and adds these metadata to each of its requests. */
const rawClient = Effect.fnUntraced(function*(
  transport: Transport.Transport["Service"],
  answer: Answer | undefined,
  metadata: () => JsonRpc.Params | undefined
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
      const own = metadata()
      const described = own === undefined ? params : { ...params, _meta: { ...Object(params["_meta"]), ...own } }
      yield* Effect.orDie(raw.send(JsonRpc.request(id, method, described)))
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
  return {
    raw,
    received,
    send,
    request,
    result,
    code,
    /** Returns the messages of one method. */
    of: (method: string) => received.filter((message) => message.method === method)
  }
})

/** Connects a client of revision 2025-11-25, and performs its handshake. */
export const taskClient = Effect.fnUntraced(function*(
  transport: Transport.Transport["Service"],
  { answer, capabilities = { elicitation: {}, sampling: {}, roots: {} } }: TaskClientOptions = {}
) {
  const client = yield* rawClient(transport, answer, () => undefined)
  const { raw, result } = client
  const initialized = yield* result("initialize", { protocolVersion: "2025-11-25", capabilities, clientInfo: info })
  yield* Effect.orDie(raw.send(JsonRpc.notification("notifications/initialized")))
  yield* settled
  return {
    ...client,
    initialized,
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
    get: (taskId: string) => Effect.map(result("tasks/get", { taskId }), decodeTask)
  }
})

const { clientCapabilities, clientInfo, protocolVersion } = RequestMetadata.keys

const decodeExtensionTask = Schema.decodeUnknownSync(TaskExtension.DetailedTask)
const decodeExtensionCreated = Schema.decodeUnknownSync(TaskExtension.CreatedTask)

/** Connects a client of revision 2026-07-28, which has declared the extension unless it has other capabilities. */
export const extensionClient = Effect.fnUntraced(function*(
  transport: Transport.Transport["Service"],
  { capabilities = { elicitation: {}, extensions: { [TaskExtension.name]: {} } } }: TaskClientOptions = {}
) {
  const client = yield* rawClient(transport, undefined, () => ({
    [protocolVersion]: "2026-07-28",
    [clientInfo]: info,
    [clientCapabilities]: capabilities
  }))
  const { result } = client
  return {
    ...client,
    /** Calls a tool, and returns the task that the call became. */
    start: (name: string) =>
      Effect.map(result("tools/call", { name }), (created) => {
        assert.strictEqual(Object(created).resultType, "task")
        return decodeExtensionCreated(created)
      }),
    get: (taskId: string) => Effect.map(result("tasks/get", { taskId }), decodeExtensionTask)
  }
})
