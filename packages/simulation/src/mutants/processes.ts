/** The mutants of fleets: processes and stores with one bug each, one line away from the library. */
import type { Mutant } from "./Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  // ===================================================================================================================
  // The lease of a process
  // ===================================================================================================================
  {
    name: "serves for as long as its wall clock says",
    at: "LeasedProcess.#stands",
    original: "monotonicMillis(this.#clock) < steady && this.#clock",
    broken: "this.#clock"
  },
  {
    name: "serves after a machine was suspended for longer than a lease",
    at: "LeasedProcess.#stands",
    original: "< steady && this.#clock.currentTimeMillisUnsafe() < wall",
    broken: "< steady"
  },
  {
    name: "counts its lease from the answer of the store",
    at: "LeasedProcess.#renew",
    original: "this.#until = until",
    broken: "this.#until = { steady: until.steady + monotonicMillis(this.#clock) - sentAt, wall: until.wall + 800 }"
  },
  {
    name: "serves again before it knows which sessions it has lost",
    at: "LeasedProcess.#renew",
    original: "return this.#isDoubtful ? this.#confirm(sentAt + this.#millis / renewals) : Effect.succeed(true)",
    broken: "return Effect.succeed(true)"
  },
  {
    name: "does not ask again for its lost sessions after a failure",
    at: "LeasedProcess.#renew",
    original: "return this.#isDoubtful ? this.#confirm(sentAt + this.#millis / renewals) : Effect.succeed(true)",
    broken: "return stood ? Effect.succeed(true) : this.#confirm(sentAt + this.#millis / renewals)"
  },
  {
    name: "does not report the sessions that it has lost",
    at: "LeasedProcess.#lose",
    original: "listener(session, epoch)",
    broken: "void listener"
  },
  {
    name: "keeps its lease when it ends",
    at: "LeasedProcess.#retire",
    original: "this.#address === undefined ? Effect.void :",
    broken: "this.#address !== undefined ? Effect.void :"
  },
  // ===================================================================================================================
  // The store of owners in memory
  // ===================================================================================================================
  {
    name: "counts the time of a lease also while it was over",
    at: "OwnersInMemory.renew",
    original: "since: standing?.since ?? now",
    broken: "since: 0"
  },
  {
    name: "reports a lease that was over as one that stood",
    at: "OwnersInMemory.renew",
    original: "standing !== undefined",
    broken: "true"
  },
  {
    name: "keeps the lease of a process that has ended",
    at: "OwnersInMemory.retire",
    original: "this.#processes.delete(process)",
    broken: ""
  },
  {
    name: "names an owner whose lease is over",
    at: "OwnersInMemory.#standing",
    original: "|| known.expiresAt <= monotonicMillis(this.#clock)",
    broken: ""
  },
  {
    name: "grants a claim of an earlier epoch",
    at: "OwnersInMemory.claim",
    original: "claimer === undefined || (row?.epoch ?? 0) !== epoch",
    broken: "claimer === undefined"
  },
  {
    name: "grants a claim of a session whose owner lives",
    at: "OwnersInMemory.claim",
    original: "this.#standing(other) !== undefined || !hasStood",
    broken: "!hasStood"
  },
  {
    name: "grants a claim right after an outage",
    at: "OwnersInMemory.claim",
    original: "this.#standing(other) !== undefined || !hasStood",
    broken: "this.#standing(other) !== undefined"
  },
  {
    name: "does not raise the epoch with a claim",
    at: "OwnersInMemory.claim",
    original: "this.#sessions.set(session, { epoch: epoch + 1, owner: process })",
    broken: "this.#sessions.set(session, { epoch, owner: process })"
  },
  {
    name: "frees a session for a process that has lost it",
    at: "OwnersInMemory.release",
    original: "if (this.#sessions.get(session)?.epoch === epoch)",
    broken: ""
  },
  {
    name: "reports no session as lost",
    at: "OwnersInMemory.lost",
    original: "row?.owner !== process || row.epoch !== epoch",
    broken: "row === undefined"
  },
  // ===================================================================================================================
  // Epochs in the stores in memory
  // ===================================================================================================================
  {
    name: "stores what a superseded process writes to its session",
    at: "SessionStore.makeMemory",
    original: "entry !== undefined && entry.session.epoch > epoch",
    broken: "entry === undefined && epoch < 0"
  },
  {
    name: "stores an event of a superseded process",
    at: "EventStore.makeMemory",
    original: "writing(session, epoch, () => log.append(session, stream, data, requests))",
    broken: "Exit.succeed(log.append(session, stream, data, requests))"
  },
  {
    name: "ends a stream for a superseded process",
    at: "EventStore.makeMemory",
    original: "writing(session, epoch, () => {",
    broken: "writing(session, Number.MAX_SAFE_INTEGER, () => {"
  },
  {
    name: "drops the streams of a session for a superseded process",
    at: "EventStore.makeMemory",
    original: "writing(session, epoch, () => log.drop(session))",
    broken: "Exit.succeed(log.drop(session))"
  },
  {
    name: "lets a superseded process take over",
    at: "EventStore.makeMemory",
    original: "writing(session, epoch, () => log.takeOver(session, epoch))",
    broken: "Exit.succeed(log.takeOver(session, epoch))"
  },
  {
    name: "forgets the epoch of a session that was taken over",
    at: "EventLog.takeOver",
    original: "this.#epochs.set(sessionName, epoch, 0)",
    broken: ""
  },
  {
    name: "finds no stream to take over",
    at: "EventLog.takeOver",
    original: "ending === undefined",
    broken: "ending !== undefined"
  },
  // ===================================================================================================================
  // The host and its owners
  // ===================================================================================================================
  {
    name: "opens a session without a claim",
    at: "SessionHostImplementation.open",
    original: "owners === undefined\n          ? life",
    broken: "owners !== undefined\n          ? life"
  },
  {
    name: "restores a session without a claim",
    at: "Restorer.#load",
    original: "const claim = yield* owners?.claimStored(id, draining) ?? Effect.undefined",
    broken: "const claim = yield* (owners === undefined ? Effect.undefined : Effect.as(Effect.void, undefined))"
  },
  {
    name: "takes one principal for another",
    at: "Principal.isSame",
    original: "one?.id === other?.id",
    broken: "(one === undefined) === (other === undefined)"
  },
  {
    name: "serves a session without a lease",
    at: "SessionHostImplementation.ready",
    original: "owners === undefined || owners.isAlive",
    broken: "owners === undefined || owners.isAlive || hosted !== undefined"
  },
  {
    name: "keeps the copy of a session that it has lost",
    at: "SessionHostImplementation.lost",
    original: "this.#closer.supersede(hosted)",
    broken: "void hosted"
  },
  {
    name: "deletes its sessions when it ends",
    at: "SessionCloser.unloadAll",
    original: "hosted.keptInStore = true",
    broken: "hosted.keptInStore = false"
  },
  {
    name: "keeps the owner of a session that has ended",
    at: "HostStore.#disown",
    original: "isOwned && owners !== undefined ? owners.remove({ id, epoch }) : Effect.void",
    broken: "Effect.void"
  },
  {
    name: "does not store the log level of a client",
    at: "SessionHostImplementation.#withFacts",
    original: "(outcome === \"Unchanged\" && !hosted.facts.isUnsaved) || hosted.stored !== \"Yes\"",
    broken: "outcome !== \"Full\""
  },
  {
    name: "restores a session without its subscriptions",
    at: "Restorer.#load",
    original: "new SessionFacts(stored)",
    broken: "new SessionFacts({ logLevel })"
  },
  {
    name: "asks with the ids of the earlier owner",
    at: "ServerSessionImplementation.open",
    original: "options.isRestored === true ? Context.get(options.context, SessionId.RequestIdPrefix)() : undefined",
    broken: "undefined"
  },
  // ===================================================================================================================
  // Streams that are taken over
  // ===================================================================================================================
  {
    name: "answers a request again that its earlier owner has answered",
    at: "EarlierStream.read",
    original: "requests.filter((id) => !answered.has(id))",
    broken: "requests"
  },
  {
    name: "gives the requests of the earlier owner no response",
    at: "StreamTakeover.lastMessages",
    original: "return [...cancellations, ...replies]",
    broken: "return [...cancellations]"
  },
  {
    name: "does not cancel the questions of the earlier owner",
    at: "StreamTakeover.lastMessages",
    original: "return [...cancellations, ...replies]",
    broken: "return [...replies]"
  },
  {
    name: "sends a response that the next owner has superseded",
    at: "SseStream.#append",
    original: "error._tag === \"SupersededError\"",
    broken: "error._tag === \"SupersededError\" && data === \"\""
  },
  // ===================================================================================================================
  // Calls that go on at the next owner
  // ===================================================================================================================
  {
    name: "leaves a call that it takes over to the earlier owner",
    at: "StoredCalls.take",
    original: "? { call: { epoch }, resumption",
    broken: "? { resumption"
  },
  {
    name: "asks the question of a call again",
    at: "DurableCall.#ask",
    original: "isSent: isSent === true || durable.earlier?.questions.has(requestId) === true",
    broken: "isSent: false"
  },
  {
    name: "acknowledges an answer before it is stored",
    at: "DurableCall.#answer",
    original: "const acknowledgements = [acknowledge]",
    broken: "acknowledge(true)\n    const acknowledgements = new Array<(isStored: boolean) => void>()"
  },
  {
    name: "drops an answer to a call that it could not take over",
    at: "StreamableHttpServerConnection.knows",
    original: "Option.isSome(settled) && this.#takeover !== \"Due\"",
    broken: "Option.isSome(settled)"
  },
  {
    name: "answers an answer with a stream",
    at: "PostExchange.startStream",
    original: "if (this.requests.length === 0) return",
    broken: ""
  },
  {
    name: "begins the progress of a call again",
    at: "DurableRequest.begin",
    original: "this.#incoming.highest = earlier.progress",
    broken: "void earlier.progress"
  },
  {
    name: "does not store the steps of a call",
    at: "DurableCall.#contextOf",
    original: "steps.persist = (key, result) => StoredSteps.persist({ tasks, id, isOurs, gone }, { key, result })",
    broken: "void StoredSteps"
  },
  {
    name: "keeps a call that has its reply",
    at: "DurableCall.run",
    original: "if (reply === \"Sent\" || durable.isOwned)",
    broken: "if (reply !== \"Sent\" && durable.isOwned)"
  },
  {
    name: "keeps a call that has no stream",
    at: "StoredCalls.make",
    original: "tasks.removeOwn(id, isOurs({ ...owned, epoch: owned.epoch - 1 }))",
    broken: "Effect.void"
  },
  {
    name: "keeps the calls of earlier owners when a session ends",
    at: "StreamableHttpServerConnection.close",
    original: "watchdog.run(calls.clean({ session: this.#session, epoch: this.#epoch + 1 }, this.#principal?.id))",
    broken: ""
  },
  {
    name: "cancels the questions of its calls when it stops",
    at: "SessionRuntime.#shutDown",
    original: "if (CloseReason.goesOnElsewhere(reason)) this.inflight.handOn()",
    broken: ""
  },
  {
    name: "runs a step of a call that it has lost",
    at: "DurableCall.#contextOf",
    original: "Effect.andThen(this.#untilOwned(), step)",
    broken: "step"
  },
  // ===================================================================================================================
  // Forwarding
  // ===================================================================================================================
  {
    name: "forwards a request that was forwarded",
    at: "SessionForwarding.#forward",
    original: "if (isForwardedRequest(sender)) return yield* Effect.fail(HttpResponses.misdirected)",
    broken: ""
  },
  {
    name: "sends a request again that may have been processed",
    at: "SessionForwarding.#attempts",
    original: "if (mayBeProcessed && !attempt.isAnswer()) {",
    broken: "if (mayBeProcessed && body._tag === \"Streamed\") {"
  },
  {
    name: "serves a session of another process",
    at: "SessionForwarding.place",
    original: "place._tag === \"Here\" ? serve(sender) :",
    broken: "place._tag !== undefined ? serve(sender) :"
  }
]
