/**
 * Sessions and framings that are broken on purpose, each one line away from the real thing.
 */

/** One mutant: in which file, what stands there, and what stands there instead. */
export interface Mutant {
  /** What is wrong with it. */
  readonly name: string
  readonly file: string
  /** It occurs exactly once in the file. */
  readonly original: string
  readonly broken: string
}

const session = "packages/session/src/internal"
const exchanges = `${session}/engine/PendingRequests.ts`
const inflight = `${session}/engine/IncomingRequests.ts`
const capacity = `${session}/engine/Capacity.ts`
const handling = `${session}/engine/HandlerFiber.ts`
const reader = `${session}/engine/InboundProcessor.ts`
const replies = `${session}/engine/Replies.ts`
const outbox = `${session}/engine/Outbox.ts`
const sender = `${session}/engine/Sender.ts`
const core = `${session}/engine/SessionRuntime.ts`
const framing = "packages/transport/src/LineFraming.ts"
const served = `${session}/server/ServedSession.ts`
const handshake = "packages/protocol/src/Handshake.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    name: "forgets to remove an exchange",
    file: exchanges,
    original: "HashMap.remove(state.exchanges, exchange.id)",
    broken: "state.exchanges"
  },
  {
    name: "matches \"1\" to 1",
    file: exchanges,
    original: "HashMap.get(this.#current, id)",
    broken: "HashMap.get(this.#current, Number(id))"
  },
  {
    name: "sweeps nothing when it closes",
    file: exchanges,
    original: ": [state.exchanges, { _tag: \"Closed\", reason }]",
    broken: ": [HashMap.empty(), { _tag: \"Closed\", reason }]"
  },
  {
    name: "gives out an id twice",
    file: exchanges,
    original: "id: this.mint(),",
    broken: "id: this.mint() % 3,"
  },
  {
    name: "never tells the sink of progress that all has come",
    file: exchanges,
    original: "  exchange.progress?.end()\n",
    broken: "\n"
  },
  {
    name: "lets deadlines pass",
    file: exchanges,
    original: "else fail(exchange, { _tag: \"Timeout\", afterMillis: waited(exchange) })",
    broken: ""
  },
  {
    name: "leaks handlers when it closes",
    file: inflight,
    original: "all.forEach(interrupt)",
    broken: ""
  },
  {
    name: "serves one more than the limit",
    file: capacity,
    original: "this.#requests >= incoming",
    broken: "this.#requests > incoming"
  },
  {
    name: "frees an id before its reply is on its way",
    file: inflight,
    original: "served.answered = true",
    broken: "this.claim(served)"
  },
  {
    name: "serves a second request with the id of one in flight",
    file: reader,
    original:
      "if (this.#core.inflight.isTaken(message.id)) return this.#refuse(message, RequestRejections.duplicate, origin)\n    const prepared",
    broken: "\n    const prepared"
  },
  {
    name: "replies to what was cancelled",
    file: reader,
    original: "if (!claimed) return this.#core.inflight.release(served)",
    broken: "if (!claimed) this.#core.inflight.release(served)"
  },
  {
    name: "replies twice to what it refuses",
    file: reader,
    original: "    this.#core.replies.reply(JsonRpc.failure(request.id, error), origin)",
    broken: "    for (const _ of \"12\") this.#core.replies.reply(JsonRpc.failure(request.id, error), origin)"
  },
  {
    name: "interrupts no handler that is cancelled",
    file: reader,
    original: "IncomingRequests.interrupt(served)\n    this.#core.replies.settle(served.origin)\n  }\n\n  #progress",
    broken: "this.#core.replies.settle(served.origin)\n  }\n\n  #progress"
  },
  {
    name: "delivers no progress",
    file: reader,
    original: "const taken = exchange.progress.offer(params.success, bytes)",
    broken: "const taken = \"Taken\""
  },
  {
    name: "takes the id 0 for none",
    file: reader,
    original: "if (message.id === undefined || message.id === null) return unmatched(\"NoId\")",
    broken: "if (!message.id) return unmatched(\"NoId\")"
  },
  {
    name: "reads nothing while a handler runs",
    file: reader,
    original: "    if (Result.isFailure(frame)) this.#badFrame",
    broken: "    if (this.#core.inflight.size > 0) return\n    if (Result.isFailure(frame)) this.#badFrame"
  },
  {
    name: "answers every failure as an internal error",
    file: handling,
    original: "JsonRpc.failure(id, answerTo(ending.cause) ?? McpError.internalError)",
    broken: "JsonRpc.failure(id, McpError.internalError)"
  },
  {
    name: "lets a handler that throws break the reader",
    file: "packages/session/src/Dispatch.ts",
    original: "      Effect.suspend(() =>\n        middleware",
    broken: "      ((make) => make())(() =>\n        middleware"
  },
  {
    name: "reports progress of what it has answered",
    file: `${session}/engine/HandlerContext.ts`,
    original: "if (served.ended) return dropped(\"ExchangeEnded\")",
    broken: ""
  },
  {
    name: "keeps silent about a reply that no JSON can say",
    file: replies,
    original: "error.reason._tag !== \"Unserializable\" ||",
    broken: "true ||"
  },
  {
    name: "sends what waits last first",
    file: outbox,
    original: "for (const entry of lane.waiting) {\n      this.#take(lane, entry)\n      return",
    broken: "for (const entry of Array.from(lane.waiting).reverse()) {\n      this.#take(lane, entry)\n      return"
  },
  {
    name: "does not go on sending after it had to wait",
    file: outbox,
    original: "    this.#drop(lane, entry)\n    this.#pump()",
    broken: "    this.#drop(lane, entry)"
  },
  {
    name: "swallows a cancel right behind its request",
    file: sender,
    original: "!outbox.withdraw(entry)",
    broken: "outbox.withdraw(entry)"
  },
  {
    name: "cancels the handshake",
    file: sender,
    original: "&& exchange.method !== \"initialize\"",
    broken: ""
  },
  {
    name: "forgets what it was told to give up",
    file: sender,
    original: "if (Exit.isFailure(exit)) this.#abandon(entry, opened)",
    broken: ""
  },
  {
    name: "shares its exchanges with the other sessions",
    file: core,
    original: "this.exchanges = new PendingRequests(side.firstId)",
    broken:
      "const all = globalThis.all ??= new WeakMap(); this.exchanges = all.get(this.clock) ?? new PendingRequests(0); all.set(this.clock, this.exchanges)"
  },
  {
    name: "lets calls wait when it ends",
    file: core,
    original: "exchanges.close(event.reason)",
    broken: ""
  },
  {
    name: "keeps its connection when it closes",
    file: core,
    original: "yield* Scope.close(this.#connectionScope, Exit.void)",
    broken: ""
  },
  {
    name: "is watched by one deadline only",
    file: `${session}/engine/Timer.ts`,
    original: "if (this.#stopped || at >= this.#wakeAt) return",
    broken: "if (this.#stopped || this.#sleeper !== undefined) return"
  },
  {
    name: "takes the end of what its peer says for the end of all",
    file: core,
    original: "writable ? \"Finish\" : \"Listen\"",
    broken: "\"Listen\""
  },
  {
    name: "closes without waiting for its handlers",
    file: core,
    original: "yield* within(handledOrCutOff, limits.gracefulClose)",
    broken: ""
  },
  {
    name: "cancels nothing at its client",
    file: sender,
    original: "&& exchange.method !== \"initialize\"",
    broken: "&& exchange.method !== \"initialize\" && core.role === \"client\""
  },
  {
    name: "cancels what it has never sent",
    file: sender,
    original: "{ requestId: exchange.id, reason }",
    broken: "{ requestId: exchange.id + 1000, reason }"
  },
  {
    name: "delivers progress only with the response",
    file: sender,
    original: "Effect.andThen(exchange.progress.drain(onProgress), response),",
    broken: "Effect.tap(response, () => exchange.progress.drain(onProgress)),"
  },
  {
    name: "lets no progress put a deadline off",
    file: reader,
    original: "exchange.extendsTo !== undefined && taken",
    broken: "false && taken"
  },
  {
    name: "lets progress put a deadline off for ever",
    file: reader,
    original: "Math.min(this.#core.timer.now() + exchange.allowedMillis, exchange.extendsTo)",
    broken: "this.#core.timer.now() + exchange.allowedMillis"
  },
  {
    name: "answers its server's stray lines",
    file: reader,
    original: "if (this.#core.role === \"client\") return this.#core.replies.settle(origin)",
    broken: ""
  },
  {
    name: "complains as often as it has reason to",
    file: reader,
    original: "if (!this.#complaints.take(this.#core.timer.now())) return this.#core.replies.reject(origin)",
    broken: ""
  },
  {
    name: "tells its peer what a handler died of",
    file: handling,
    original: "answerTo(ending.cause) ?? McpError.internalError)",
    broken: "answerTo(ending.cause) ?? McpError.invalidRequest(String(Cause.squash(ending.cause))))"
  },
  {
    name: "never opens the standalone stream",
    file: "packages/session/src/ClientSession.ts",
    original: "core.connection.onHandshake?.(profile)",
    broken: ""
  },
  {
    name: "accepts a second initialize",
    file: handshake,
    original: "ReceiveInitialize: stay(\"Operating\", \"Refuse\")",
    broken: "ReceiveInitialize: stay(\"Operating\", \"Answer\")"
  },
  {
    name: "asks the client before it is ready",
    file: handshake,
    original: "SendRequest: stay(\"Opening\", \"Hold\")",
    broken: "SendRequest: stay(\"Opening\", \"Send\")"
  },
  {
    name: "drops log messages that come before the answer to initialize",
    file: handshake,
    original: "ReceiveLog: stay(\"Initializing\", \"Keep\")",
    broken: "ReceiveLog: stay(\"Initializing\", \"Ignore\")"
  },
  {
    name: "handles log messages from before the handshake last",
    file: "packages/session/src/ClientSession.ts",
    original: "reader.deliverKept()",
    broken: "setImmediate(() => reader.deliverKept())"
  },
  {
    name: "reports no progress by itself",
    file: served,
    original: "this.sender.progress(token, step, replyTo)",
    broken: "Effect.void"
  },
  {
    name: "takes no heed of the request that a message belongs to",
    file: served,
    original: "if (id === undefined) return use(undefined)",
    broken: "return use(undefined)"
  },
  {
    name: "never says that it is initialized",
    file: "packages/session/src/ClientSession.ts",
    original: "core.fork(Effect.ignore(sender.notify(MethodTable.notifications[\"notifications/initialized\"], {})))",
    broken: ""
  },
  {
    name: "takes a byte of the line behind a bad one",
    file: framing,
    original: "start = at + 1",
    broken: "start = at + (line[0] === 0x6e ? 2 : 1)"
  },
  {
    name: "loses the part of a line that comes later",
    file: framing,
    original: "if (start < chunk.length) keep(chunk.subarray(start))",
    broken: ""
  },
  {
    name: "loses the last line before the end",
    file: framing,
    original: "if (partial.length() > 0) end()",
    broken: ""
  },
  {
    name: "keeps the last line for the next",
    file: framing,
    original: "    partial.clear()\n    skipping = false\n    atStart",
    broken: "    skipping = false\n    atStart"
  },
  {
    name: "reads each chunk as a line",
    file: framing,
    original: "let start = 0",
    broken: "if (chunk.at(-1) !== newline) return; let start = 0"
  }
]
