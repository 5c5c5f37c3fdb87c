/** The laws of requests without a handshake: those of revision 2026-07-28. */

import { JsonRpc, RequestMetadata } from "@effect-mcp/protocol"
import { jsonValues, type ProtocolLaws, Served } from "@effect-mcp/testing/internal"
import { forgedState } from "./injections.ts"
import * as Model from "./Model.ts"
import { questionIn } from "./simulatedTools.ts"

const { isMembers, memberOf } = jsonValues

/** The methods whose reply can be a question. */
const asking: ReadonlySet<string> = new Set(["tools/call", "prompts/get", "resources/read"])

const keysOf = (value: unknown): ReadonlyArray<string> => isMembers(value) ? Object.keys(value).toSorted() : []

/** Returns the answer that the user of the client gives to a question. */
const answerTo = (question: unknown): unknown => {
  const message = memberOf(question, "params", "message")
  return typeof message === "string" ? questionIn(message).answer : undefined
}

/** Returns the questions in the response to a request; `undefined` if the response is a result or an error. */
export const questionsIn = (response: JsonRpc.Response | undefined): object | undefined => {
  if (response === undefined || JsonRpc.isFailure(response) || !isMembers(response.result)) return undefined
  return memberOf(response.result, "resultType") === "input_required" ? response.result : undefined
}

/** Judges a request with answers by the questions of the round before it. */
function* ofRetry(round: Model.Outbound, before: Model.Outbound): Generator<ProtocolLaws.Finding> {
  const { params, place } = round
  const named = `${round.method} (${JSON.stringify(round.id)})`
  const questions = questionsIn(before.responses[0]?.response)
  if (questions === undefined) {
    yield { place, problem: `${named} repeats a request that has no questions` }
    return
  }
  const state = memberOf(questions, "requestState")
  if (memberOf(params, "requestState") !== state) {
    yield { place, problem: `${named} does not have the state ${JSON.stringify(state)}` }
  }
  const asked = memberOf(questions, "inputRequests")
  const answers = memberOf(params, "inputResponses")
  if (keysOf(asked).join() !== keysOf(answers).join()) {
    yield { place, problem: `${named} answers ${keysOf(answers).join()}, and was asked ${keysOf(asked).join()}` }
  }
  for (const key of keysOf(answers)) {
    const expected = answerTo(memberOf(asked, key))
    const received = memberOf(answers, key, "content", "answer")
    if (received !== expected) {
      yield { place, problem: `${named} answers ${key} with ${JSON.stringify(received)}` }
    }
  }
  for (const name of ["name", "arguments"]) {
    if (JSON.stringify(params[name]) !== JSON.stringify(before.params[name])) {
      yield { place, problem: `${named} has another ${name} than the request that it repeats` }
    }
  }
}

export const laws: ReadonlyArray<Model.Law> = [
  {
    name: "[VER-01] without a handshake, every request of the client carries its revision and its capabilities",
    lossy: true,
    *findings({ outbound, side }, { conversation }) {
      if (conversation.era !== "Modern" || side !== "client") return
      for (const { id, method, params, place } of outbound) {
        const meta = params["_meta"]
        const isComplete = memberOf(meta, RequestMetadata.keys.protocolVersion) === "2026-07-28" &&
          isMembers(memberOf(meta, RequestMetadata.keys.clientCapabilities))
        if (!isComplete) yield { place, problem: `${method} (${JSON.stringify(id)}) does not carry its client` }
      }
    }
  },
  {
    name: "without a handshake, the client sends only requests and cancellations",
    lossy: true,
    *findings({ entries, opened, side }, { conversation }) {
      if (conversation.era !== "Modern" || side !== "client") return
      for (const { event, place } of entries) {
        if (event._tag !== "Sent" || JsonRpc.isRequest(event.message)) continue
        if ("method" in event.message) {
          const { method } = event.message
          if (method !== "notifications/cancelled") yield { place, problem: `the client sent ${method}` }
        } else if (opened !== undefined && opened < place) {
          yield { place, problem: "the client replied to a request of a server without a handshake" }
        }
      }
    }
  },
  {
    name: "without a handshake, the server sends no requests",
    lossy: true,
    *findings({ entries, inbound, side }, { conversation }) {
      if (conversation.era !== "Modern" || side !== "server") return
      const from = inbound.find(({ isModern }) => isModern)?.place
      if (from === undefined) return
      // A second client on the same connection has a handshake, and gets requests.
      const until = inbound.find(({ method }) => method === "initialize")?.place ?? Number.POSITIVE_INFINITY
      for (const { event, place } of entries) {
        if (place < from || place > until) continue
        if (event._tag === "Sent" && JsonRpc.isRequest(event.message)) {
          yield { place, problem: `the server sent ${event.message.method}` }
        }
      }
    }
  },
  {
    name: "[MRTR-15] a request is repeated with the state and an answer to each question of the round before",
    lossy: true,
    *findings(side) {
      if (side.side !== "client") return
      for (const { nonce } of side.requests) {
        const rounds = Model.roundsOf(side, nonce)
        for (const [index, round] of rounds.entries()) {
          const before = rounds[index - 1]
          if (before !== undefined) yield* ofRetry(round, before)
        }
      }
    }
  },
  {
    name: "questions that are asked at once belong to one round",
    lossy: true,
    *findings({ inbound, side }) {
      if (side !== "server") return
      for (const { params, place, reply } of inbound) {
        const questions = questionsIn(reply)
        if (questions === undefined || params["name"] !== "elicitBoth") continue
        const asked = keysOf(memberOf(questions, "inputRequests"))
        if (asked.length !== 2) yield { place, problem: `elicitBoth asks ${asked.length} of 2 questions` }
      }
    }
  },
  {
    name: "[MSG-18] without a handshake, every result has a type, and only some methods have questions",
    lossy: true,
    *findings({ inbound }) {
      for (const { isModern, method, replied, reply } of inbound) {
        if (!isModern || reply === undefined || replied === undefined || JsonRpc.isFailure(reply)) continue
        const type = memberOf(reply.result, "resultType")
        if (type !== "complete" && (type !== "input_required" || !asking.has(method))) {
          yield { place: replied, problem: `the result of ${method} has the type ${JSON.stringify(type)}` }
        }
      }
    }
  },
  {
    name: "a run has ended before its questions are sent",
    lossy: true,
    *findings({ handlers, inbound }) {
      for (const { id, method, place: receivedAt, replied, reply } of inbound) {
        if (replied === undefined || questionsIn(reply) === undefined) continue
        const run = handlers.find((handler) => handler.id === id && handler.place > receivedAt)
        if (run === undefined || run.place > replied || (run.ended?.place ?? replied) < replied) continue
        yield { place: replied, problem: `the handler of ${method} (${JSON.stringify(id)}) runs after its questions` }
      }
    }
  },
  {
    name: "a step with a sealed result does not run again",
    lossy: true,
    *findings({ entries, inbound }) {
      for (const { event, place } of entries) {
        if (event._tag !== "Stepped") continue
        const request = inbound.findLast((one) => one.id === event.id && one.place < place && !one.duplicate)
        if (request?.params["requestState"] === undefined) continue
        yield { place, problem: `the step of call ${JSON.stringify(event.nonce)} runs again` }
      }
    }
  },
  {
    name: "[MRTR-08] a state that the server has not sealed is rejected",
    lossy: true,
    *findings({ inbound }) {
      for (const { params, replied, reply } of inbound) {
        if (
          params["requestState"] === forgedState && reply !== undefined && replied !== undefined &&
          !JsonRpc.isFailure(reply)
        ) {
          yield { place: replied, problem: "a request with a forged state got a result" }
        }
      }
    }
  },
  {
    name: "law 4: progress of a call grows over its rounds",
    lossy: false,
    *findings({ entries, inbound }) {
      const highest = new Map<unknown, number>()
      for (const { event, place } of entries) {
        if (event._tag !== "Sent" || !JsonRpc.isNotification(event.message)) continue
        const { method, params } = event.message
        const progress = params?.["progress"]
        if (method !== "notifications/progress" || typeof progress !== "number") continue
        const request = inbound.findLast((one) => one.id === params?.["progressToken"] && one.place < place)
        const nonce = request && Model.nonceIn(request)
        if (typeof nonce !== "number") continue
        const before = highest.get(nonce) ?? Number.NEGATIVE_INFINITY
        if (progress <= before) yield { place, problem: `call ${nonce} goes from ${before} to ${progress}` }
        highest.set(nonce, progress)
      }
    }
  },
  {
    name: "[SUB-05] a client without a handshake receives changes only on its streams",
    lossy: true,
    *findings({ entries, inbound, listens, side }, { conversation }) {
      if (conversation.era !== "Modern" || side !== "server") return
      // A second client on the same connection has a handshake, and no streams.
      const until = inbound.find(({ method }) => method === "initialize")?.place ?? Number.POSITIVE_INFINITY
      for (const { event, place } of entries) {
        if (event._tag !== "Sent" || !JsonRpc.isNotification(event.message) || place > until) continue
        const { method } = event.message
        const isOfStream = method === "notifications/resources/updated" || method.endsWith("/acknowledged")
        const id = Served.subscriptionIn(event.message)
        if (isOfStream && !listens.some(({ request }) => request.id === id && request.place < place)) {
          yield { place, problem: `${method} belongs to the stream ${JSON.stringify(id)}` }
        }
      }
    }
  },
  {
    name: "a change of a resource reaches each client that has subscribed to it",
    lossy: false,
    *findings({ entries, intact, quietAt, requests, session, side }, { entries: all }) {
      if (!intact || side !== "client" || quietAt === undefined) return
      for (const [place, { event, session: of }] of all.entries()) {
        if (of !== session || event._tag !== "Changed" || place > quietAt) continue
        const about = requests.filter((request) => request.place < place && request.what.endsWith(event.uri))
        const isSubscribed = about.length > 0 &&
          about.every(({ ended, what }) =>
            what.startsWith("subscribe") && ended !== undefined && ended.place < place && ended.end.kind === "Success"
          )
        if (!isSubscribed) continue
        const isDelivered = entries.some((entry) =>
          entry.place > place && entry.place < quietAt && entry.event._tag === "Updated" &&
          entry.event.uri === event.uri
        )
        const isLeft = requests.some((request) => request.place > place && request.what === `unsubscribe ${event.uri}`)
        if (!isDelivered && !isLeft) yield { place, problem: `the change of ${event.uri} is not delivered` }
      }
    }
  },
  {
    name: "law 1: when a call has ended, its questions are no longer answered",
    lossy: true,
    *findings({ handlers, quietAt: place, requests, side }, { conversation }) {
      if (conversation.era !== "Modern" || side !== "client" || place === undefined) return
      for (const { ended, nonce } of handlers) {
        const call = requests.find((request) => request.nonce === nonce)?.ended
        if (call === undefined || call.place > place || (ended !== undefined && ended.place < place)) continue
        yield { place: call.place, problem: `a question of call ${JSON.stringify(nonce)} is still being answered` }
      }
    }
  }
]
