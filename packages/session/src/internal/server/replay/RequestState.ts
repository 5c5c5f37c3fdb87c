/** The state of a call with questions, which travels through the client in `requestState`. */

import { ErrorCode, ExactJson, InputRequired, type JsonRpc } from "@effect-mcp/protocol"
import { CanonicalJson } from "@effect-mcp/protocol/internal"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { Principal } from "../../../Principal.ts"
import type { RequestStateSeal } from "../../../RequestStateSeal.ts"
import type { UsedStates } from "../../../UsedStates.ts"
import * as ForeignCall from "../../engine/ForeignCall.ts"
import type { StepResult } from "../../engine/OnceSteps.ts"
import { validate } from "../../engine/validation.ts"
import * as webCrypto from "../../webCrypto.ts"

/** The settings of the states of a server. */
export interface Settings {
  readonly seal: RequestStateSeal
  /** The store of used states, if each state is accepted once. */
  readonly used: UsedStates | undefined
  /** The time that a client has to answer, in milliseconds. */
  readonly expiryMillis: number
  /** The characters that a state may have. */
  readonly maxCharacters: number
  /** The server that the states are for. */
  readonly audience: string
  /** Returns the milliseconds since the epoch. */
  readonly now: () => number
  /** Returns whether one more warning about a state that does not open may be logged. */
  readonly mayWarn: () => boolean
}

/** The knowledge that a server needs again when a client repeats a request. */
export interface RequestState {
  /** The number of rounds so far. */
  readonly round: number
  /** The answers of all rounds by their keys. */
  readonly answers: { readonly [key: string]: unknown }
  /** The digests of all questions by their keys. */
  readonly questions: { readonly [key: string]: string }
  /** The number of runs in a row that took none of the answers to the questions before. */
  readonly untaken: number
  readonly steps: { readonly [key: string]: StepResult }
  /** The highest progress that was sent; absent if none was. */
  readonly progress?: number
  /** The number of times that each log message was sent, by its digest. */
  readonly logs: { readonly [digest: string]: number }
}

/** The state of a call that has asked nothing yet. */
export const initial: RequestState = { round: 0, answers: {}, questions: {}, untaken: 0, steps: {}, logs: {} }

const Sealed = Schema.Struct({
  id: Schema.String,
  expiresAt: Schema.Number,
  round: Schema.Number,
  answers: Schema.Record(Schema.String, Schema.Unknown),
  questions: Schema.Record(Schema.String, Schema.String),
  untaken: Schema.Number,
  steps: Schema.Record(
    Schema.String,
    Schema.Union([Schema.Struct({ success: Schema.Unknown }), Schema.Struct({ failure: Schema.Unknown })])
  ),
  progress: Schema.optionalKey(Schema.Number),
  logs: Schema.Record(Schema.String, Schema.Number)
})

const validateSealed = validate(Sealed)

/** Reads the text of a state. Another version of this library may have sealed it. */
const parse = (text: string): Result.Result<typeof Sealed.Type, string> =>
  Result.flatMap(
    Result.try({ try: () => ExactJson.parse(text), catch: () => "it is not JSON" }),
    validateSealed
  )

/** The one error for a state that is not accepted. It is the same for every cause, so that a client learns none. */
export const rejected: JsonRpc.ErrorObject = {
  code: ErrorCode.InvalidParams,
  message: "Invalid or expired requestState: send the request again without requestState and inputResponses"
}

/** The deadline of each call of a seal or of a store of used states, in milliseconds. */
const callMillis = 5_000

/** Calls the seal or the store of the program. Their failures are logged, and told to no client. */
const call = <A, E>(name: string, run: () => Effect.Effect<A, E>): Effect.Effect<A, Failed> =>
  Effect.catchCause(
    ForeignCall.within(name, callMillis, run),
    (cause) => Effect.andThen(Effect.logError(`${name} failed`, cause), Effect.fail(failed))
  )

/** The failure of a call of foreign code, which is already logged. */
interface Failed {
  readonly _tag: "Failed"
}

const failed: Failed = { _tag: "Failed" }

/** Returns the digest of a question. */
export const digest = ({ seal }: Settings, text: string): Effect.Effect<string, Failed> =>
  call("RequestStateSeal.digest", () => seal.digest(text))

/** The request that a state belongs to. */
export interface Owner {
  readonly principal: Principal | undefined
  readonly method: string
  readonly params: JsonRpc.Params | undefined
}

/** Returns the text that a state is bound to: another principal, another server or another call has another one. */
const contextOf = ({ audience }: Settings, { method, params, principal }: Owner): string => {
  const { _meta: _, inputResponses: __, requestState: ___, ...own } = params ?? {}
  return CanonicalJson.textOf([audience, principal?.id ?? null, method, own])
}

/** The random bytes of the id of a state: no two states have the same one, whichever processes have sealed them. */
const idBytes = 16

/** Returns the sealed state with an id of its own, or `undefined` if it has too many characters. */
export const seal = (
  settings: Settings,
  owner: Owner,
  state: RequestState
): Effect.Effect<string | undefined, Failed> =>
  Effect.suspend(() => {
    const { expiryMillis, maxCharacters, now } = settings
    const id = Base64Url.encode(webCrypto.randomBytes(idBytes))
    const text = JSON.stringify({ ...state, id, expiresAt: now() + expiryMillis })
    if (text.length > maxCharacters) return Effect.succeed(undefined)
    return Effect.map(
      call("RequestStateSeal.seal", () => settings.seal.seal(text, contextOf(settings, owner))),
      (sealed) => sealed.length > maxCharacters ? undefined : sealed
    )
  })

/**
 * Logs that a state does not open. Otherwise nothing would show that the processes of a deployment have different
 * secrets, because the client receives the one error for all causes.
 */
const warnOfForeign = ({ mayWarn }: Settings, { method }: Owner): Effect.Effect<void> =>
  Effect.suspend(() =>
    mayWarn()
      ? Effect.logWarning(
        `${method}: rejected a requestState that does not open: it was sealed with another secret, or for another ` +
          "principal, server or call, or it was changed; if questions fail again and again, give all processes that " +
          "serve the same clients the same secrets and the same name of the server"
      )
      : Effect.void
  )

/** The difference that the clocks of two processes may have. */
const maxSkewMillis = 60_000

/** Opens a state (MRTR-07 to MRTR-10). Fails with the error for the client. */
const open = Effect.fnUntraced(function*(
  settings: Settings,
  owner: Owner,
  sealed: string
): Effect.fn.Return<RequestState, Failed | JsonRpc.ErrorObject> {
  const { expiryMillis, maxCharacters, now, used } = settings
  if (sealed.length > maxCharacters) return yield* Effect.fail(rejected)
  const text = yield* call("RequestStateSeal.open", () => settings.seal.open(sealed, contextOf(settings, owner)))
  if (text === undefined) {
    yield* warnOfForeign(settings, owner)
    return yield* Effect.fail(rejected)
  }
  const state = parse(text)
  if (Result.isFailure(state)) return yield* Effect.fail(rejected)
  const { expiresAt, id, ...rest } = state.success
  if (expiresAt <= now()) return yield* Effect.fail(rejected)
  // It was sealed in the future: the clock was set back, and the state would live as much longer.
  if (expiresAt > now() + expiryMillis + maxSkewMillis) return yield* Effect.fail(rejected)
  if (used !== undefined && !(yield* call("UsedStates.use", () => used.use(id, expiresAt, owner.principal?.id)))) {
    return yield* Effect.fail(rejected)
  }
  return rest
})

/** A repeated request: what the server knows again, and the new answers of the client. */
export interface Restored {
  readonly state: RequestState
  readonly responses: ReadonlyMap<string, unknown>
}

/** Returns whether a request is repeated, or brings answers. */
export const isRetry = (params: JsonRpc.Params | undefined): boolean =>
  params !== undefined && (Object.hasOwn(params, "requestState") || Object.hasOwn(params, "inputResponses"))

/** Returns the params as a handler receives them. */
export const paramsOf = (params: JsonRpc.Params): JsonRpc.Params => {
  const { inputResponses: _, requestState: __, ...own } = params
  return own
}

const validateRetry = validate(InputRequired.Retry)

/** Restores the state of a repeated request. Fails with the error for the client. */
export const restore = (settings: Settings, owner: Owner): Effect.Effect<Restored, JsonRpc.ErrorObject> =>
  Effect.suspend(() => {
    const retry = validateRetry(owner.params ?? {})
    if (Result.isFailure(retry)) {
      return Effect.fail({
        code: ErrorCode.InvalidParams,
        message: `Invalid params for ${owner.method}: ${retry.failure}`
      })
    }
    const { inputResponses = {}, requestState } = retry.success
    const responses = new Map(Object.entries(inputResponses))
    return requestState === undefined
      ? Effect.succeed({ state: initial, responses })
      : Effect.mapBoth(open(settings, owner, requestState), {
        onSuccess: (state) => ({ state, responses }),
        onFailure: () => rejected
      })
  })
