/** The mutants: sessions and framings with one bug each, one line away from the library. */
import { type Mutant, mutantsOf } from "./Mutant.ts"

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
const requestSender = `${session}/engine/RequestSender.ts`
const sessionRuntime = `${session}/engine/SessionRuntime.ts`
const jsonLines = "packages/transport/src/JsonLines.ts"
const clientHandshake = `${session}/client/ClientHandshake.ts`
const serverHandshake = `${session}/server/ServerHandshake.ts`
const serverSession = `${session}/server/ServerSessionImplementation.ts`
const inputRounds = `${session}/client/InputRounds.ts`
const listening = `${session}/client/Listening.ts`
const listenStream = `${session}/server/ListenStream.ts`
const modernReplies = `${session}/server/ModernReplies.ts`
const questionJournal = `${session}/server/replay/QuestionJournal.ts`
const replayedRun = `${session}/server/replay/ReplayedRun.ts`
const runFiber = `${session}/server/replay/RunFiber.ts`
const requestState = `${session}/server/replay/RequestState.ts`
const handshakeRows = "packages/protocol/src/internal/handshake/rows.ts"

export const mutants: ReadonlyArray<Mutant> = [
  ...mutantsOf(pendingRequests, [
    ["does not remove a completed request", "HashMap.remove(state.exchanges, exchange.id)", "state.exchanges"],
    ["matches \"1\" to 1", "HashMap.get(this.#current, id)", "HashMap.get(this.#current, Number(id))"],
    [
      "fails no pending request when it closes",
      ": [state.exchanges, { _tag: \"Closed\", reason }]",
      ": [HashMap.empty(), { _tag: \"Closed\", reason }]"
    ],
    ["uses a request id twice", "id: this.nextId(),", "id: this.nextId() % 3,"],
    ["never ends the mailbox of progress", "  exchange.progress?.end()\n", "\n"],
    ["does not time out requests", "else fail(exchange, { _tag: \"Timeout\", afterMillis: waited(exchange) })", ""]
  ]),
  ...mutantsOf(responseMatcher, [
    [
      "does not take \"1\" for 1",
      "number === undefined ? undefined : exchanges.find(number)",
      "number === undefined ? exchanges.find(id) : undefined"
    ],
    [
      "treats the id 0 as missing",
      "if (message.id === undefined || message.id === null) return unmatched(runtime, \"NoId\", message)",
      "if (!message.id) return unmatched(runtime, \"NoId\", message)"
    ]
  ]),
  ...mutantsOf(incomingRequests, [
    ["leaves handlers running when it closes", "all.forEach(interrupt)", ""],
    ["frees a request id before the reply is sent", "request.hasReply = true", "this.claim(request)"]
  ]),
  ...mutantsOf(capacity, [
    [
      "handles one request more than the limit",
      "this.#requests >= maxIncomingRequests",
      "this.#requests > maxIncomingRequests"
    ]
  ]),
  ...mutantsOf(requestServer, [
    [
      "handles a second request with the id of one in flight",
      "if (inflight.isTaken(message.id)) return this.#reject(gate, message, RequestRejections.duplicate, origin)",
      ""
    ],
    [
      "replies twice to a rejected request",
      "  replies.reply(JsonRpc.failure(id, error), origin)",
      "  for (const _ of \"12\") replies.reply(JsonRpc.failure(id, error), origin)"
    ]
  ]),
  ...mutantsOf(cancellation, [
    [
      "replies to a cancelled request",
      "  inflight.release(request)\n  return true",
      "  inflight.release(request)\n  return false"
    ],
    [
      "does not interrupt the handler of a cancelled request",
      "  IncomingRequests.interrupt(request)\n  runtime.replies.settle",
      "  runtime.replies.settle"
    ],
    [
      "serves a request after its client has left the stream",
      "Batch.unwrap(request.origin) !== origin || !inflight.claim(request)",
      "true"
    ]
  ]),
  ...mutantsOf(progressMatcher, [
    ["delivers no progress", "const taken = exchange.progress.offer(params, bytes)", "const taken = \"Taken\""],
    [
      "does not restart a timeout on progress",
      "if (taken !== \"NotIncreasing\") extendDeadline(runtime, exchange)",
      ""
    ],
    [
      "ignores the maximum total timeout on progress",
      "Math.min(runtime.timer.now() + exchange.allowedMillis, exchange.extendsTo)",
      "runtime.timer.now() + exchange.allowedMillis"
    ]
  ]),
  ...mutantsOf(inboundProcessor, [
    [
      "reads nothing while a handler runs",
      "    if (Result.isFailure(frame)) this.#unreadable",
      "    if (this.#runtime.inflight.size > 0) return\n    if (Result.isFailure(frame)) this.#unreadable"
    ],
    [
      "as a client, replies to malformed lines of its server",
      "if (this.#runtime.role === \"client\") return this.#runtime.replies.settle(origin)",
      ""
    ],
    [
      "does not limit its error replies",
      "if (malformedReplies?.take(timer.now()) === false) return replies.reject(origin)",
      ""
    ]
  ]),
  ...mutantsOf(handlerFiber, [
    [
      "replies to every failure with an internal error",
      "JsonRpc.failure(id, errorOf(ending.cause) ?? McpError.internalError)",
      "JsonRpc.failure(id, McpError.internalError)"
    ],
    [
      "sends the defect of a handler to its peer",
      "errorOf(ending.cause) ?? McpError.internalError)",
      "errorOf(ending.cause) ?? McpError.invalidRequest(String(Cause.squash(ending.cause))))"
    ]
  ]),
  ...mutantsOf("packages/session/src/internal/engine/Dispatch.ts", [
    [
      "stops reading after a handler throws",
      "      Effect.suspend(() =>\n        middleware",
      "      ((make) => make())(() =>\n        middleware"
    ]
  ]),
  ...mutantsOf(`${session}/engine/HandlerContext.ts`, [
    ["sends progress after the response", "if (incoming.ended) return dropped(\"ExchangeEnded\")", ""]
  ]),
  ...mutantsOf(replies, [
    ["sends no error for a reply that is not JSON", "error.reason._tag !== \"Unserializable\" ||", "true ||"]
  ]),
  ...mutantsOf(outbox, [
    [
      "sends queued messages in reverse order",
      "for (const entry of lane.waiting) {\n      this.#take(lane, entry)\n      return",
      "for (const entry of Array.from(lane.waiting).reverse()) {\n      this.#take(lane, entry)\n      return"
    ],
    [
      "stops sending after back-pressure",
      "    this.#drop(lane, entry)\n    this.#pump()",
      "    this.#drop(lane, entry)"
    ]
  ]),
  ...mutantsOf(requestSender, [
    ["cancels only requests that it has not sent", "!outbox.withdraw(entry)", "outbox.withdraw(entry)"],
    ["cancels initialize", "&& this.#isCancelled(exchange)", ""],
    [
      "does not abandon a request whose caller is interrupted",
      "if (Exit.isFailure(exit)) this.#abandon(entry, opened)",
      ""
    ],
    [
      "as a server, cancels no requests at its client",
      "&& this.#isCancelled(exchange)",
      "&& this.#isCancelled(exchange) && runtime.role === \"client\""
    ],
    [
      "cancels an id that it never sent",
      "{ requestId: exchange.id, reason }",
      "{ requestId: exchange.id + 1000, reason }"
    ],
    [
      "delivers progress only after the response",
      "Effect.andThen(exchange.progress.drain(onProgress), response),",
      "Effect.tap(response, () => exchange.progress.drain(onProgress)),"
    ],
    [
      "uses the id of the last round for the next one",
      "const message = JsonRpc.request(\n            exchange.id,",
      "const message = JsonRpc.request(\n            exchange.id - Number(\"requestState\" in projected),"
    ],
    [
      "leaves out the metadata when it answers questions",
      "Outgoing.params(projected, options.meta, token, metadata)",
      "Outgoing.params(projected, options.meta, token, \"requestState\" in projected ? undefined : metadata)"
    ],
    [
      "gives each round of a call the whole timeout",
      "deadline.at = opened.deadline",
      "deadline.at = timer.now() + deadline.allowedMillis"
    ]
  ]),
  ...mutantsOf(sessionRuntime, [
    [
      "shares its pending requests with other sessions",
      "this.exchanges = new PendingRequests(side.firstId, side.life)",
      "const all = globalThis.all ??= new WeakMap(); this.exchanges = all.get(this.clock) ?? new PendingRequests(0); all.set(this.clock, this.exchanges)"
    ],
    ["leaves calls waiting when it ends", "this.exchanges.close(reason)", ""],
    [
      "treats the end of input as the end of the connection",
      "writable ? \"Graceful\" : \"DrainInbound\"",
      "\"DrainInbound\""
    ]
  ]),
  ...mutantsOf(`${session}/engine/SessionShutdown.ts`, [
    ["does not close its connection", "yield* Scope.close(scope, Exit.void)", ""],
    ["closes without waiting for its handlers", "if (isBusy()) yield* within(handledOrCutOff, finishMillis)", ""]
  ]),
  ...mutantsOf(`${session}/engine/Timer.ts`, [
    [
      "watches only one timeout",
      "if (this.#stopped || at >= this.#wakeAt) return",
      "if (this.#stopped || this.#sleeper !== undefined) return"
    ]
  ]),
  ...mutantsOf(clientHandshake, [
    ["never opens the standalone stream", "connection.onHandshake?.(state.profile)", ""],
    [
      "handles early log messages after later ones",
      "[\"notifications/initialized\"], {})))\n    this.#dependencies.logs.deliver()",
      "[\"notifications/initialized\"], {})))\n    setImmediate(() => this.#dependencies.logs.deliver())"
    ],
    [
      "never sends notifications/initialized",
      "this.#runtime.fork(Effect.ignore(sender.notify(MethodTable.notifications[\"notifications/initialized\"], {})))",
      ""
    ]
  ]),
  ...mutantsOf(serverHandshake, [
    [
      "accepts a second initialize",
      "return reject(runtime, message, errorOfSecond(state, client.success.profile), origin)",
      "return runtime.replies.reply(responseOf(owner.description, message.id, client.success.profile.revision), origin)"
    ]
  ]),
  ...mutantsOf(handshakeRows, [
    [
      "sends requests before notifications/initialized",
      "SendRequest: stay(\"Hold\"),\n    ReceiveInitialize:",
      "SendRequest: stay(\"Send\"),\n    ReceiveInitialize:"
    ],
    [
      "drops log messages that arrive before the initialize result",
      "ReceiveInitializeFailure: abort,\n    ReceivePing: stay(\"Answer\"),\n    ReceiveRequest: stay(\"Reject\"),\n    ReceiveLog: stay(\"Keep\")",
      "ReceiveInitializeFailure: abort,\n    ReceivePing: stay(\"Answer\"),\n    ReceiveRequest: stay(\"Reject\"),\n    ReceiveLog: stay(\"Ignore\")"
    ]
  ]),
  ...mutantsOf(`${session}/server/ServerSessionMembers.ts`, [
    [
      "as a server, drops progress that is sent through the session",
      "this.sender.progress(token, step, replyTo)",
      "Effect.void"
    ],
    [
      "ignores the request that a message relates to",
      "if (id === undefined) return use(undefined)",
      "return use(undefined)"
    ],
    [
      "as a server, sends requests to a client without a handshake",
      "this.hasModernClient && !(\"reason\" in this.runtime.state())",
      "false"
    ]
  ]),
  ...mutantsOf(serverSession, [
    [
      "does not end its streams of notifications when it closes",
      "if (session?.modern !== undefined) ListenStream.endAll(session.modern)",
      ""
    ]
  ]),
  ...mutantsOf(jsonLines, [
    ["skips a byte of the line after a malformed one", "start = at + 1", "start = at + (line[0] === 0x6e ? 2 : 1)"],
    ["drops the part of a line in the next chunk", "if (start < chunk.length) keep(chunk.subarray(start))", ""],
    ["drops a last line without a newline", "if (partial.length() > 0) end()", ""],
    [
      "prepends the previous line to the next one",
      "    partial.clear()\n    skipping = false\n    atStart",
      "    skipping = false\n    atStart"
    ],
    ["reads each chunk as one line", "let start = 0", "if (chunk.at(-1) !== newline) return; let start = 0"]
  ]),
  ...mutantsOf(inputRounds, [
    [
      "does not return the state",
      "const state = requestState === undefined ? {} : { requestState }",
      "const state = {}"
    ],
    [
      "changes the state that it returns",
      "const state = requestState === undefined ? {} : { requestState }",
      "const state = requestState === undefined ? {} : { requestState: ` ${requestState}` }"
    ],
    [
      "answers only the first question of a round",
      "const questions = Object.entries(inputRequests)",
      "const questions = Object.entries(inputRequests).slice(0, 1)"
    ],
    ["answers questions whose call has ended", "if (inflight.claim(request)) IncomingRequests.interrupt(request)", ""]
  ]),
  ...mutantsOf(replayedRun, [
    [
      "delivers the progress of earlier rounds again",
      "if (this.incoming !== undefined && state.progress !== undefined) this.incoming.highest = state.progress",
      ""
    ],
    [
      "asks only one of the questions of a run",
      "const questions = [...this.#open].map(",
      "const questions = [...this.#open].slice(0, 1).map("
    ],
    [
      "runs a step again although its result is sealed",
      "steps: this.#steps === undefined ? this.#journal.state.steps : Object.fromEntries(this.#steps.results),",
      "steps: {},"
    ]
  ]),
  ...mutantsOf(questionJournal, [
    [
      "loses the answers of earlier rounds",
      "answers: { ...this.#answered, ...Object.fromEntries(this.#taken), ...this.state.answers },",
      "answers: {},"
    ]
  ]),
  ...mutantsOf(runFiber, [
    [
      "does not interrupt a run that waits for an answer",
      "    this.#close()\n    const root = this.#root\n    root?.interruptUnsafe()\n",
      "    this.#isClosed = true\n    const root = this.#root\n"
    ]
  ]),
  ...mutantsOf(requestState, [
    [
      "accepts a state that it has not sealed",
      "if (text === undefined) {\n",
      "if (text === undefined) {\n    return initial\n"
    ]
  ]),
  ...mutantsOf(modernReplies, [
    ["sends results without their type", "        resultType,\n", ""]
  ]),
  ...mutantsOf(listenStream, [
    [
      "acknowledges a stream of notifications after the first change",
      "Effect.andThen(\n        this.#send(acknowledged),\n        Effect.as(",
      "Effect.andThen(\n        Effect.andThen(Latch.await(this.#arrived), this.#send(acknowledged)),\n        Effect.as("
    ],
    [
      "sends notifications without the id of their stream",
      "{ ...params, _meta: Subscription.meta(this.#id) }",
      "method.length > 0 && name.endsWith(\"updated\") ? params : { ...params, _meta: Subscription.meta(this.#id) }"
    ],
    [
      "serves more than its acknowledgement says",
      "for (const uri of offered) if (requested.has(uri)) uris.add(uri)",
      "for (const uri of offered) uris.add(uri)"
    ]
  ]),
  ...mutantsOf(listening, [
    [
      "closes a stream of notifications before it opens the next one",
      "    const requested = this.#wanted()\n    if (ListenFilter.isEmpty(requested)) return Effect.void\n",
      "    const requested = this.#wanted()\n    if (ListenFilter.isEmpty(requested)) return Effect.void\n    this.#replace(undefined)\n"
    ]
  ])
]
