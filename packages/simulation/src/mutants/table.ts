/**
 * The mutants: sessions and framings with one bug each, one line away from the library.
 */
import type { Mutant } from "./Mutant.ts"

const session = "packages/session/src/internal"
const pendingRequests = `${session}/engine/PendingRequests.ts`
const incomingRequests = `${session}/engine/IncomingRequests.ts`
const cancellation = `${session}/engine/Cancellation.ts`
const capacity = `${session}/engine/Capacity.ts`
const handlerFiber = `${session}/engine/HandlerFiber.ts`
const inboundProcessor = `${session}/engine/InboundProcessor.ts`
const requestServer = `${session}/engine/RequestServer.ts`
const progressMatcher = `${session}/engine/ProgressMatcher.ts`
const responseMatcher = `${session}/engine/ResponseMatcher.ts`
const replies = `${session}/engine/Replies.ts`
const outbox = `${session}/engine/Outbox.ts`
const sender = `${session}/engine/Sender.ts`
const sessionRuntime = `${session}/engine/SessionRuntime.ts`
const jsonLines = "packages/transport/src/JsonLines.ts"
const clientHandshake = `${session}/client/ClientHandshake.ts`
const serverHandshake = `${session}/server/ServerHandshake.ts`
const serverSession = `${session}/server/ServerSessionImplementation.ts`
const inputRounds = `${session}/client/InputRounds.ts`
const listening = `${session}/client/Listening.ts`
const listenStream = `${session}/server/ListenStream.ts`
const modernReplies = `${session}/server/ModernReplies.ts`
const replayedRun = `${session}/server/replay/ReplayedRun.ts`
const requestState = `${session}/server/replay/RequestState.ts`
const handshakeRows = "packages/protocol/src/internal/handshake/rows.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    name: "does not remove a completed request",
    file: pendingRequests,
    original: "HashMap.remove(state.exchanges, exchange.id)",
    broken: "state.exchanges"
  },
  {
    name: "matches \"1\" to 1",
    file: pendingRequests,
    original: "HashMap.get(this.#current, id)",
    broken: "HashMap.get(this.#current, Number(id))"
  },
  {
    name: "does not take \"1\" for 1",
    file: responseMatcher,
    original: "number === undefined ? undefined : exchanges.find(number)",
    broken: "number === undefined ? exchanges.find(id) : undefined"
  },
  {
    name: "fails no pending request when it closes",
    file: pendingRequests,
    original: ": [state.exchanges, { _tag: \"Closed\", reason }]",
    broken: ": [HashMap.empty(), { _tag: \"Closed\", reason }]"
  },
  {
    name: "uses a request id twice",
    file: pendingRequests,
    original: "id: this.nextId(),",
    broken: "id: this.nextId() % 3,"
  },
  {
    name: "never ends the mailbox of progress",
    file: pendingRequests,
    original: "  exchange.progress?.end()\n",
    broken: "\n"
  },
  {
    name: "does not time out requests",
    file: pendingRequests,
    original: "else fail(exchange, { _tag: \"Timeout\", afterMillis: waited(exchange) })",
    broken: ""
  },
  {
    name: "leaves handlers running when it closes",
    file: incomingRequests,
    original: "all.forEach(interrupt)",
    broken: ""
  },
  {
    name: "handles one request more than the limit",
    file: capacity,
    original: "this.#requests >= maxIncomingRequests",
    broken: "this.#requests > maxIncomingRequests"
  },
  {
    name: "frees a request id before the reply is sent",
    file: incomingRequests,
    original: "request.hasReply = true",
    broken: "this.claim(request)"
  },
  {
    name: "handles a second request with the id of one in flight",
    file: requestServer,
    original:
      "if (this.#runtime.inflight.isTaken(message.id)) {\n      return reject(this.#runtime, message, RequestRejections.duplicate, origin)\n    }\n    const prepared",
    broken: "const prepared"
  },
  {
    name: "replies to a cancelled request",
    file: cancellation,
    original: "  inflight.release(request)\n  return true",
    broken: "  inflight.release(request)\n  return false"
  },
  {
    name: "replies twice to a rejected request",
    file: requestServer,
    original: "  runtime.replies.reply(JsonRpc.failure(id, error), origin)",
    broken: "  for (const _ of \"12\") runtime.replies.reply(JsonRpc.failure(id, error), origin)"
  },
  {
    name: "does not interrupt the handler of a cancelled request",
    file: cancellation,
    original: "  IncomingRequests.interrupt(request)\n  runtime.replies.settle",
    broken: "  runtime.replies.settle"
  },
  {
    name: "delivers no progress",
    file: progressMatcher,
    original: "const taken = exchange.progress.offer(params, bytes)",
    broken: "const taken = \"Taken\""
  },
  {
    name: "treats the id 0 as missing",
    file: responseMatcher,
    original: "if (message.id === undefined || message.id === null) return unmatched(runtime, \"NoId\", message)",
    broken: "if (!message.id) return unmatched(runtime, \"NoId\", message)"
  },
  {
    name: "reads nothing while a handler runs",
    file: inboundProcessor,
    original: "    if (Result.isFailure(frame)) this.#unreadable",
    broken: "    if (this.#runtime.inflight.size > 0) return\n    if (Result.isFailure(frame)) this.#unreadable"
  },
  {
    name: "replies to every failure with an internal error",
    file: handlerFiber,
    original: "JsonRpc.failure(id, errorOf(ending.cause) ?? McpError.internalError)",
    broken: "JsonRpc.failure(id, McpError.internalError)"
  },
  {
    name: "stops reading after a handler throws",
    file: "packages/session/src/internal/engine/Dispatch.ts",
    original: "      Effect.suspend(() =>\n        middleware",
    broken: "      ((make) => make())(() =>\n        middleware"
  },
  {
    name: "sends progress after the response",
    file: `${session}/engine/HandlerContext.ts`,
    original: "if (incoming.ended) return dropped(\"ExchangeEnded\")",
    broken: ""
  },
  {
    name: "sends no error for a reply that is not JSON",
    file: replies,
    original: "error.reason._tag !== \"Unserializable\" ||",
    broken: "true ||"
  },
  {
    name: "sends queued messages in reverse order",
    file: outbox,
    original: "for (const entry of lane.waiting) {\n      this.#take(lane, entry)\n      return",
    broken: "for (const entry of Array.from(lane.waiting).reverse()) {\n      this.#take(lane, entry)\n      return"
  },
  {
    name: "stops sending after back-pressure",
    file: outbox,
    original: "    this.#drop(lane, entry)\n    this.#pump()",
    broken: "    this.#drop(lane, entry)"
  },
  {
    name: "cancels only requests that it has not sent",
    file: sender,
    original: "!outbox.withdraw(entry)",
    broken: "outbox.withdraw(entry)"
  },
  {
    name: "cancels initialize",
    file: sender,
    original: "&& this.#isCancelled(exchange)",
    broken: ""
  },
  {
    name: "does not abandon a request whose caller is interrupted",
    file: sender,
    original: "if (Exit.isFailure(exit)) this.#abandon(entry, opened)",
    broken: ""
  },
  {
    name: "shares its pending requests with other sessions",
    file: sessionRuntime,
    original: "this.exchanges = new PendingRequests(side.firstId, side.life)",
    broken:
      "const all = globalThis.all ??= new WeakMap(); this.exchanges = all.get(this.clock) ?? new PendingRequests(0); all.set(this.clock, this.exchanges)"
  },
  {
    name: "leaves calls waiting when it ends",
    file: sessionRuntime,
    original: "this.exchanges.close(reason)",
    broken: ""
  },
  {
    name: "does not close its connection",
    file: sessionRuntime,
    original: "yield* Scope.close(this.#connectionScope, Exit.void)",
    broken: ""
  },
  {
    name: "watches only one timeout",
    file: `${session}/engine/Timer.ts`,
    original: "if (this.#stopped || at >= this.#wakeAt) return",
    broken: "if (this.#stopped || this.#sleeper !== undefined) return"
  },
  {
    name: "treats the end of input as the end of the connection",
    file: sessionRuntime,
    original: "writable ? \"Graceful\" : \"DrainInbound\"",
    broken: "\"DrainInbound\""
  },
  {
    name: "closes without waiting for its handlers",
    file: sessionRuntime,
    original: "if (isBusy()) yield* within(handledOrCutOff, finishMillis)",
    broken: ""
  },
  {
    name: "as a server, cancels no requests at its client",
    file: sender,
    original: "&& this.#isCancelled(exchange)",
    broken: "&& this.#isCancelled(exchange) && runtime.role === \"client\""
  },
  {
    name: "cancels an id that it never sent",
    file: sender,
    original: "{ requestId: exchange.id, reason }",
    broken: "{ requestId: exchange.id + 1000, reason }"
  },
  {
    name: "delivers progress only after the response",
    file: sender,
    original: "Effect.andThen(exchange.progress.drain(onProgress), response),",
    broken: "Effect.tap(response, () => exchange.progress.drain(onProgress)),"
  },
  {
    name: "does not restart a timeout on progress",
    file: progressMatcher,
    original: "if (taken !== \"NotIncreasing\") extendDeadline(runtime, exchange)",
    broken: ""
  },
  {
    name: "ignores the maximum total timeout on progress",
    file: progressMatcher,
    original: "Math.min(runtime.timer.now() + exchange.allowedMillis, exchange.extendsTo)",
    broken: "runtime.timer.now() + exchange.allowedMillis"
  },
  {
    name: "as a client, replies to malformed lines of its server",
    file: inboundProcessor,
    original: "if (this.#runtime.role === \"client\") return this.#runtime.replies.settle(origin)",
    broken: ""
  },
  {
    name: "does not limit its error replies",
    file: inboundProcessor,
    original:
      "if (!this.#runtime.malformedReplies.take(this.#runtime.timer.now())) return this.#runtime.replies.reject(origin)",
    broken: ""
  },
  {
    name: "sends the defect of a handler to its peer",
    file: handlerFiber,
    original: "errorOf(ending.cause) ?? McpError.internalError)",
    broken: "errorOf(ending.cause) ?? McpError.invalidRequest(String(Cause.squash(ending.cause))))"
  },
  {
    name: "never opens the standalone stream",
    file: clientHandshake,
    original: "connection.onHandshake?.(state.profile)",
    broken: ""
  },
  {
    name: "accepts a second initialize",
    file: serverHandshake,
    original: "return reject(runtime, message, errorOfSecond(state, client.success.profile), origin)",
    broken:
      "return runtime.replies.reply(responseOf(owner.description, message.id, client.success.profile.revision), origin)"
  },
  {
    name: "sends requests before notifications/initialized",
    file: handshakeRows,
    original: "SendRequest: stay(\"Hold\"),\n    ReceiveInitialize:",
    broken: "SendRequest: stay(\"Send\"),\n    ReceiveInitialize:"
  },
  {
    name: "drops log messages that arrive before the initialize result",
    file: handshakeRows,
    original:
      "ReceiveInitializeFailure: abort,\n    ReceivePing: stay(\"Answer\"),\n    ReceiveRequest: stay(\"Reject\"),\n    ReceiveLog: stay(\"Keep\")",
    broken:
      "ReceiveInitializeFailure: abort,\n    ReceivePing: stay(\"Answer\"),\n    ReceiveRequest: stay(\"Reject\"),\n    ReceiveLog: stay(\"Ignore\")"
  },
  {
    name: "handles early log messages after later ones",
    file: clientHandshake,
    original: "[\"notifications/initialized\"], {})))\n    this.#deliverLogs()",
    broken: "[\"notifications/initialized\"], {})))\n    setImmediate(() => this.#deliverLogs())"
  },
  {
    name: "as a server, drops progress that is sent through the session",
    file: serverSession,
    original: "this.sender.progress(token, step, replyTo)",
    broken: "Effect.void"
  },
  {
    name: "ignores the request that a message relates to",
    file: serverSession,
    original: "if (id === undefined) return use(undefined)",
    broken: "return use(undefined)"
  },
  {
    name: "never sends notifications/initialized",
    file: clientHandshake,
    original:
      "this.#runtime.fork(Effect.ignore(sender.notify(MethodTable.notifications[\"notifications/initialized\"], {})))",
    broken: ""
  },
  {
    name: "skips a byte of the line after a malformed one",
    file: jsonLines,
    original: "start = at + 1",
    broken: "start = at + (line[0] === 0x6e ? 2 : 1)"
  },
  {
    name: "drops the part of a line in the next chunk",
    file: jsonLines,
    original: "if (start < chunk.length) keep(chunk.subarray(start))",
    broken: ""
  },
  {
    name: "drops a last line without a newline",
    file: jsonLines,
    original: "if (partial.length() > 0) end()",
    broken: ""
  },
  {
    name: "prepends the previous line to the next one",
    file: jsonLines,
    original: "    partial.clear()\n    skipping = false\n    atStart",
    broken: "    skipping = false\n    atStart"
  },
  {
    name: "reads each chunk as one line",
    file: jsonLines,
    original: "let start = 0",
    broken: "if (chunk.at(-1) !== newline) return; let start = 0"
  },
  {
    name: "uses the id of the last round for the next one",
    file: sender,
    original: "const message = JsonRpc.request(\n            exchange.id,",
    broken: "const message = JsonRpc.request(\n            exchange.id - Math.sign(call.rounds),"
  },
  {
    name: "leaves out the metadata when it answers questions",
    file: sender,
    original: "options?.metadata ?? this.#dependencies.metadata?.()",
    broken: "options?.metadata ?? (call.rounds > 0 ? undefined : this.#dependencies.metadata?.())"
  },
  {
    name: "does not return the state",
    file: inputRounds,
    original: "const state = requestState === undefined ? {} : { requestState }",
    broken: "const state = {}"
  },
  {
    name: "changes the state that it returns",
    file: inputRounds,
    original: "const state = requestState === undefined ? {} : { requestState }",
    broken: "const state = requestState === undefined ? {} : { requestState: ` ${requestState}` }"
  },
  {
    name: "answers only the first question of a round",
    file: inputRounds,
    original: "const questions = Object.entries(inputRequests)",
    broken: "const questions = Object.entries(inputRequests).slice(0, 1)"
  },
  {
    name: "answers questions whose call has ended",
    file: inputRounds,
    original: "if (inflight.claim(request)) IncomingRequests.interrupt(request)",
    broken: ""
  },
  {
    name: "gives each round of a call the whole timeout",
    file: sender,
    original: "      call.deadline = opened.deadline\n",
    broken: "      call.deadline = this.#runtime.timer.now() + call.allowedMillis\n"
  },
  {
    name: "delivers the progress of earlier rounds again",
    file: replayedRun,
    original: "if (this.incoming !== undefined && state.progress !== undefined) this.incoming.highest = state.progress",
    broken: ""
  },
  {
    name: "asks only one of the questions of a run",
    file: replayedRun,
    original: "const questions = [...this.#open].map(",
    broken: "const questions = [...this.#open].slice(0, 1).map("
  },
  {
    name: "loses the answers of earlier rounds",
    file: replayedRun,
    original: "answers: { ...this.#answered, ...Object.fromEntries(this.#taken), ...this.#state.answers },",
    broken: "answers: {},"
  },
  {
    name: "does not interrupt a run that waits for an answer",
    file: replayedRun,
    original: "    this.#close()\n    const root = this.#root\n    root?.interruptUnsafe()\n",
    broken: "    this.#isClosed = true\n    const root = this.#root\n"
  },
  {
    name: "runs a step again although its result is sealed",
    file: replayedRun,
    original: "steps: this.#steps === undefined ? this.#state.steps : Object.fromEntries(this.#steps.results),",
    broken: "steps: {},"
  },
  {
    name: "accepts a state that it has not sealed",
    file: requestState,
    original: "if (text === undefined) {\n",
    broken: "if (text === undefined) {\n    return initial\n"
  },
  {
    name: "sends results without their type",
    file: modernReplies,
    original: "        resultType,\n",
    broken: ""
  },
  {
    name: "serves a request after its client has left the stream",
    file: cancellation,
    original: "Batch.unwrap(request.origin) !== origin || !inflight.claim(request)",
    broken: "true"
  },
  {
    name: "as a server, sends requests to a client without a handshake",
    file: serverSession,
    original: "this.#hasModernClient && !(\"reason\" in this.runtime.state())",
    broken: "false"
  },
  {
    name: "acknowledges a stream of notifications after the first change",
    file: listenStream,
    original: "Effect.andThen(\n        this.#send(acknowledged),\n        Effect.as(",
    broken:
      "Effect.andThen(\n        Effect.andThen(Latch.await(this.#arrived), this.#send(acknowledged)),\n        Effect.as("
  },
  {
    name: "sends notifications without the id of their stream",
    file: listenStream,
    original: "{ ...params, _meta: Subscription.meta(this.#id) }",
    broken:
      "method.length > 0 && name.endsWith(\"updated\") ? params : { ...params, _meta: Subscription.meta(this.#id) }"
  },
  {
    name: "serves more than its acknowledgement says",
    file: listenStream,
    original: "for (const uri of offered) if (requested.has(uri)) uris.add(uri)",
    broken: "for (const uri of offered) uris.add(uri)"
  },
  {
    name: "does not end its streams of notifications when it closes",
    file: serverSession,
    original: "if (session?.modern !== undefined) ListenStream.endAll(session.modern)",
    broken: ""
  },
  {
    name: "closes a stream of notifications before it opens the next one",
    file: listening,
    original: "    const requested = this.#wanted()\n    if (ListenFilter.isEmpty(requested)) return Effect.void\n",
    broken:
      "    const requested = this.#wanted()\n    if (ListenFilter.isEmpty(requested)) return Effect.void\n    this.#replace(undefined)\n"
  }
]
