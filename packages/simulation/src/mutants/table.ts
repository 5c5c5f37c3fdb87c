/** The mutants: sessions and framings with one bug each, one line away from the library. */
import type { Mutant } from "./Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    name: "does not remove a completed request",
    at: "PendingRequests.remove",
    original: "HashMap.remove(state.exchanges, exchange.id)",
    broken: "state.exchanges"
  },
  {
    name: "matches \"1\" to 1",
    at: "PendingRequests.find",
    original: "HashMap.get(this.#current, id)",
    broken: "HashMap.get(this.#current, Number(id))"
  },
  {
    name: "fails no pending request when it closes",
    at: "PendingRequests.close",
    original: ": [state.exchanges, { _tag: \"Closed\", reason }]",
    broken: ": [HashMap.empty(), { _tag: \"Closed\", reason }]"
  },
  {
    name: "uses a request id twice",
    at: "PendingRequests.open",
    original: "id: movable?.id ?? this.nextId(),",
    broken: "id: this.nextId() % 3,"
  },
  {
    name: "never ends the mailbox of progress",
    at: "PendingRequests.settle",
    original: "exchange.progress?.end()",
    broken: ""
  },
  {
    name: "does not time out requests",
    at: "PendingRequests.expire",
    original: "else fail(exchange, { _tag: \"Timeout\", afterMillis: waited(exchange) })",
    broken: ""
  },
  {
    name: "does not take \"1\" for 1",
    at: "ResponseMatcher.requestOf",
    original: "number === undefined ? undefined : exchanges.find(number)",
    broken: "number === undefined ? exchanges.find(id) : undefined"
  },
  {
    name: "treats the id 0 as missing",
    at: "ResponseMatcher.expectedBy",
    original: "if (id === undefined || id === null) return \"NoId\"",
    broken: "if (!id) return \"NoId\""
  },
  {
    name: "leaves handlers running when it closes",
    at: "IncomingRequests.interruptAll",
    original: "all.forEach(interrupt)",
    broken: ""
  },
  {
    name: "frees a request id before the reply is sent",
    at: "IncomingRequests.claimForReply",
    original: "request.hasReply = true",
    broken: "this.claim(request)"
  },
  {
    name: "handles one request more than the limit",
    at: "Capacity.take",
    original: "this.#requests >= maxIncomingRequests",
    broken: "this.#requests > maxIncomingRequests"
  },
  {
    name: "handles a second request with the id of one in flight",
    at: "RequestServer.serve",
    original:
      "if (inflight.isTaken(message.id)) return this.#reject(gate, message, RequestRejections.duplicate, origin)",
    broken: ""
  },
  {
    name: "replies twice to a rejected request",
    at: "RequestServer.reject",
    original: "replies.reply(JsonRpc.failure(id, error), origin)",
    broken: "for (const _ of \"12\") replies.reply(JsonRpc.failure(id, error), origin)"
  },
  {
    name: "replies to a cancelled request",
    at: "Cancellation.dropReplyUnlessClaimed",
    original: "inflight.release(request)\n  return true",
    broken: "inflight.release(request)\n  return false"
  },
  {
    name: "does not interrupt the handler of a cancelled request",
    at: "Cancellation.endWithoutReply",
    original: "IncomingRequests.interrupt(request)\n  runtime.replies.settle",
    broken: "runtime.replies.settle"
  },
  {
    name: "serves a request after its client has left the stream",
    at: "Cancellation.abandon",
    original: "Batch.unwrap(request.origin) !== origin || !inflight.claim(request)",
    broken: "true"
  },
  {
    name: "delivers no progress",
    at: "ProgressMatcher.match",
    original: "const taken = exchange.progress.offer(params, bytes)",
    broken: "const taken = \"Taken\""
  },
  {
    name: "does not restart a timeout on progress",
    at: "ProgressMatcher.match",
    original: "if (taken !== \"NotIncreasing\") extendDeadline(runtime, exchange)",
    broken: ""
  },
  {
    name: "ignores the maximum total timeout on progress",
    at: "ProgressMatcher.extendDeadline",
    original: "Math.min(runtime.timer.now() + exchange.allowedMillis, exchange.extendsTo)",
    broken: "runtime.timer.now() + exchange.allowedMillis"
  },
  {
    name: "reads nothing while a handler runs",
    at: "InboundProcessor.deliver",
    original: "if (Result.isFailure(frame)) this.#unreadable",
    broken: "if (this.#runtime.inflight.size > 0) return\n    if (Result.isFailure(frame)) this.#unreadable"
  },
  {
    name: "as a client, replies to malformed lines of its server",
    at: "InboundProcessor.#unreadable",
    original: "if (this.#runtime.role === \"client\") return this.#runtime.replies.settle(origin)",
    broken: ""
  },
  {
    name: "does not limit its error replies",
    at: "InboundProcessor.#answerMalformed",
    original: "if (malformedReplies?.take(timer.now()) === false) return replies.reject(origin)",
    broken: ""
  },
  {
    name: "replies to every failure with an internal error",
    at: "HandlerFiber.response",
    original: "JsonRpc.failure(id, errorOf(ending.cause) ?? defect)",
    broken: "JsonRpc.failure(id, defect)"
  },
  {
    name: "sends the defect of a handler to its peer",
    at: "HandlerFiber.response",
    original: "errorOf(ending.cause) ?? defect)",
    broken: "errorOf(ending.cause) ?? McpError.invalidRequest(String(Cause.squash(ending.cause))))"
  },
  {
    name: "stops reading after a handler throws",
    at: "Dispatch.make",
    original: "Effect.suspend(() =>\n        middleware",
    broken: "((make) => make())(() =>\n        middleware"
  },
  {
    name: "sends progress after the response",
    at: "HandlerContext.progress",
    original: "if (incoming.ended) return dropped(\"ExchangeEnded\")",
    broken: ""
  },
  {
    name: "sends no error for a reply that is not JSON",
    at: "Replies.#post",
    original: "error.reason._tag !== \"Unserializable\" ||",
    broken: "true ||"
  },
  {
    name: "sends queued messages in reverse order",
    at: "Outbox.#next",
    original: "for (const entry of lane.waiting) {\n      this.#take(lane, entry)\n      return",
    broken: "for (const entry of Array.from(lane.waiting).reverse()) {\n      this.#take(lane, entry)\n      return"
  },
  {
    name: "stops sending after back-pressure",
    at: "Outbox.#finish",
    original: "this.#drop(lane, entry)\n    this.#pump()",
    broken: "this.#drop(lane, entry)"
  },
  {
    name: "cancels only requests that it has not sent",
    at: "RequestSender.#abandon",
    original: ": outbox.withdraw(entry)",
    broken: ": !outbox.withdraw(entry)"
  },
  { name: "cancels initialize", at: "RequestSender.#abandon", original: "&& this.#isCancelled(exchange)", broken: "" },
  {
    name: "does not abandon a request whose caller is interrupted",
    at: "RequestSender.send",
    original: "if (Exit.isFailure(exit)) this.#abandon(entry, opened, options.replyTo)",
    broken: ""
  },
  {
    name: "as a server, cancels no requests at its client",
    at: "RequestSender.#abandon",
    original: "&& this.#isCancelled(exchange)",
    broken: "&& this.#isCancelled(exchange) && runtime.role === \"client\""
  },
  {
    name: "cancels an id that it never sent",
    at: "RequestSender.#abandon",
    original: "{ requestId: exchange.id, reason }",
    broken: "{ requestId: exchange.id + 1000, reason }"
  },
  {
    name: "delivers progress only after the response",
    at: "RequestSender.send",
    original: "Effect.andThen(exchange.progress.drain(onProgress), response),",
    broken: "Effect.tap(response, () => exchange.progress.drain(onProgress)),"
  },
  {
    name: "uses the id of the last round for the next one",
    at: "RequestSender.send",
    original: "const message = JsonRpc.request(\n            exchange.id,",
    broken: "const message = JsonRpc.request(\n            exchange.id - Number(\"requestState\" in projected),"
  },
  {
    name: "leaves out the metadata when it answers questions",
    at: "RequestSender.send",
    original: "Outgoing.params(projected, options.meta, token, metadata)",
    broken: "Outgoing.params(projected, options.meta, token, \"requestState\" in projected ? undefined : metadata)"
  },
  {
    name: "gives each round of a call the whole timeout",
    at: "RequestSender.send",
    original: "deadline.at = opened.deadline",
    broken: "deadline.at = timer.now() + deadline.allowedMillis"
  },
  {
    name: "shares its pending requests with other sessions",
    at: "SessionRuntime.constructor",
    original: "this.exchanges = new PendingRequests(side.firstId, side.life)",
    broken:
      "const all = globalThis.all ??= new WeakMap(); this.exchanges = all.get(this.clock) ?? new PendingRequests(0); all.set(this.clock, this.exchanges)"
  },
  {
    name: "leaves calls waiting when it ends",
    at: "SessionRuntime.#shutDown",
    original: "this.exchanges.close(reason)",
    broken: ""
  },
  {
    name: "treats the end of input as the end of the connection",
    at: "SessionRuntime.read",
    original: "writable ? \"Graceful\" : \"DrainInbound\"",
    broken: "\"DrainInbound\""
  },
  {
    name: "does not close its connection",
    at: "SessionShutdown.run",
    original: "yield* Scope.close(scope, Exit.void)",
    broken: ""
  },
  {
    name: "closes without waiting for its handlers",
    at: "SessionShutdown.run",
    original: "if (isBusy()) yield* within(handledOrCutOff, finishMillis)",
    broken: ""
  },
  {
    name: "watches only one timeout",
    at: "Timer.watch",
    original: "if (this.#stopped || at >= this.#wakeAt) return",
    broken: "if (this.#stopped || this.#sleeper !== undefined) return"
  },
  {
    name: "never opens the standalone stream",
    at: "ClientHandshake.#establish",
    original: "connection.onHandshake?.(state.profile)",
    broken: ""
  },
  {
    name: "handles early log messages after later ones",
    at: "ClientHandshake.#establish",
    original: "[\"notifications/initialized\"], {})))\n    this.#dependencies.logs.deliver()",
    broken: "[\"notifications/initialized\"], {})))\n    setImmediate(() => this.#dependencies.logs.deliver())"
  },
  {
    name: "never sends notifications/initialized",
    at: "ClientHandshake.#establish",
    original:
      "this.#runtime.fork(Effect.ignore(sender.notify(MethodTable.notifications[\"notifications/initialized\"], {})))",
    broken: ""
  },
  {
    name: "accepts a second initialize",
    at: "ServerHandshake.initialize",
    original: "return reject(runtime, message, errorOfSecond(state, client.success.profile), origin)",
    broken:
      "return runtime.replies.reply(responseOf(owner.description, message.id, client.success.profile.revision), origin)"
  },
  {
    name: "sends requests before notifications/initialized",
    at: "rows.serverRows",
    original: "SendRequest: stay(\"Hold\"),\n    ReceiveInitialize:",
    broken: "SendRequest: stay(\"Send\"),\n    ReceiveInitialize:"
  },
  {
    name: "drops log messages that arrive before the initialize result",
    at: "rows.clientRows",
    original:
      "ReceiveInitializeFailure: abort,\n    ReceivePing: stay(\"Answer\"),\n    ReceiveRequest: stay(\"Reject\"),\n    ReceiveLog: stay(\"Keep\")",
    broken:
      "ReceiveInitializeFailure: abort,\n    ReceivePing: stay(\"Answer\"),\n    ReceiveRequest: stay(\"Reject\"),\n    ReceiveLog: stay(\"Ignore\")"
  },
  {
    name: "as a server, drops progress that is sent through the session",
    at: "ServerSessionMembers.progress",
    original: "this.sender.progress(token, step, replyTo)",
    broken: "Effect.void"
  },
  {
    name: "ignores the request that a message relates to",
    at: "ServerSessionMembers.#related",
    original: "if (id === undefined) return use(undefined)",
    broken: "return use(undefined)"
  },
  {
    name: "as a server, sends requests to a client without a handshake",
    at: "ServerSessionMembers.#send",
    original: "this.hasModernClient && !(\"reason\" in this.runtime.state())",
    broken: "false"
  },
  {
    name: "does not end its streams of notifications when it closes",
    at: "ServerSessionImplementation.open",
    original: "if (session?.modern !== undefined) ListenStream.endAll(session.modern)",
    broken: ""
  },
  {
    name: "skips a byte of the line after a malformed one",
    at: "JsonLines.decoder",
    original: "start = at + 1",
    broken: "start = at + (line[0] === 0x6e ? 2 : 1)"
  },
  {
    name: "drops the part of a line in the next chunk",
    at: "JsonLines.decoder",
    original: "if (start < chunk.length) keep(chunk.subarray(start))",
    broken: ""
  },
  {
    name: "drops a last line without a newline",
    at: "JsonLines.decoder",
    original: "if (partial.length() > 0) end()",
    broken: ""
  },
  {
    name: "prepends the previous line to the next one",
    at: "JsonLines.decoder",
    original: "partial.clear()\n    skipping = false\n    atStart",
    broken: "skipping = false\n    atStart"
  },
  {
    name: "reads each chunk as one line",
    at: "JsonLines.decoder",
    original: "let start = 0",
    broken: "if (chunk.at(-1) !== newline) return; let start = 0"
  },
  {
    name: "does not return the state",
    at: "InputRounds.#retry",
    original: "const state = requestState === undefined ? {} : { requestState }",
    broken: "const state = {}"
  },
  {
    name: "changes the state that it returns",
    at: "InputRounds.#retry",
    original: "const state = requestState === undefined ? {} : { requestState }",
    broken: "const state = requestState === undefined ? {} : { requestState: ` ${requestState}` }"
  },
  {
    name: "answers only the first question of a round",
    at: "InputRounds.#retry",
    original: "const questions = Object.entries(inputRequests)",
    broken: "const questions = Object.entries(inputRequests).slice(0, 1)"
  },
  {
    name: "answers questions whose call has ended",
    at: "InputRounds.#answer",
    original: "if (inflight.claim(request)) IncomingRequests.interrupt(request)",
    broken: ""
  },
  {
    name: "delivers the progress of earlier rounds again",
    at: "ReplayedRun.serve",
    original: "if (this.incoming !== undefined && state.progress !== undefined) this.incoming.highest = state.progress",
    broken: ""
  },
  {
    name: "asks only one of the questions of a run",
    at: "ReplayedRun.#suspend",
    original: "const questions = [...this.#open].map(",
    broken: "const questions = [...this.#open].slice(0, 1).map("
  },
  {
    name: "runs a step again although its result is sealed",
    at: "ReplayedRun.#inputRequired",
    original: "steps: this.#steps === undefined ? this.#journal.state.steps : Object.fromEntries(this.#steps.results),",
    broken: "steps: {},"
  },
  {
    name: "loses the answers of earlier rounds",
    at: "QuestionJournal.next",
    original: "answers: { ...this.#answered, ...Object.fromEntries(this.#taken), ...this.state.answers },",
    broken: "answers: {},"
  },
  {
    name: "does not interrupt a run that waits for an answer",
    at: "RunFiber.cut",
    original: "this.#close()\n    const root = this.#root\n    root?.interruptUnsafe()",
    broken: "this.#isClosed = true\n    const root = this.#root"
  },
  {
    name: "accepts a state that it has not sealed",
    at: "RequestState.open",
    original: "if (text === undefined) {",
    broken: "if (text === undefined) {\n    return initial"
  },
  { name: "sends results without their type", at: "ModernReplies.typed", original: "resultType,", broken: "" },
  {
    name: "acknowledges a stream of notifications after the first change",
    at: "ListenStream.serve",
    original: "Effect.andThen(\n        this.#send(acknowledged),\n        Effect.as(",
    broken:
      "Effect.andThen(\n        Effect.andThen(Latch.await(this.#arrived), this.#send(acknowledged)),\n        Effect.as("
  },
  {
    name: "sends notifications without the id of their stream",
    at: "ListenStream.#notification",
    original: "{ ...params, _meta: Subscription.meta(this.#id) }",
    broken:
      "method.length > 0 && name.endsWith(\"updated\") ? params : { ...params, _meta: Subscription.meta(this.#id) }"
  },
  {
    name: "serves more than its acknowledgement says",
    at: "ListenStream.servedNames",
    original: "for (const uri of offered) if (requested.has(uri)) uris.add(uri)",
    broken: "for (const uri of offered) uris.add(uri)"
  },
  {
    name: "closes a stream of notifications before it opens the next one",
    at: "Listening.#open",
    original: "const requested = this.#wanted.filter\n    if (ListenFilter.isEmpty(requested)) return Effect.void",
    broken:
      "const requested = this.#wanted.filter\n    if (ListenFilter.isEmpty(requested)) return Effect.void\n    this.#replace(undefined)"
  }
]
