/**
 * Questions of a server to its client, in revision 2026-07-28. A server sends no requests. It answers a request with
 * its questions instead, and the client repeats the request with the answers.
 *
 * @stability unstable
 */
import * as Schema from "effect/Schema"
import { FormParams } from "./Elicitation.ts"
import { Meta } from "./Meta.ts"
import { CreateMessageParams } from "./Sampling.ts"

/**
 * The request to visit a page. It has no id: the answer of the user is that they went there.
 *
 * @category models
 */
export interface PageParams {
  readonly mode: "url"
  readonly message: string
  readonly url: string
}

export const PageParams: Schema.Codec<PageParams> = Schema.Struct({
  mode: Schema.Literal("url"),
  message: Schema.String,
  url: Schema.String
})

/**
 * A question: a request to the user, to the model or for the roots of the client (MRTR-05).
 *
 * @category models
 */
export type InputRequest =
  | { readonly method: "elicitation/create"; readonly params: FormParams | PageParams }
  | { readonly method: "sampling/createMessage"; readonly params: CreateMessageParams }
  | { readonly method: "roots/list"; readonly params?: { readonly _meta?: Meta } }

/**
 * The schema of an {@link InputRequest}.
 *
 * @category schemas
 */
export const InputRequest: Schema.Codec<InputRequest> = Schema.Union([
  Schema.Struct({ method: Schema.Literal("elicitation/create"), params: Schema.Union([FormParams, PageParams]) }),
  Schema.Struct({ method: Schema.Literal("sampling/createMessage"), params: CreateMessageParams }),
  Schema.Struct({
    method: Schema.Literal("roots/list"),
    params: Schema.optionalKey(Schema.Struct({ _meta: Schema.optionalKey(Meta) }))
  })
])

/**
 * The methods of questions.
 *
 * @category models
 */
export type InputMethod = InputRequest["method"]

/**
 * Questions, by keys that the server chooses (MRTR-04).
 *
 * @category models
 */
export interface InputRequests {
  readonly [key: string]: InputRequest
}

/**
 * The answer of a server that cannot go on without its client: questions, or a state, or both (MRTR-03). The client
 * gives back `requestState` as it is (MRTR-15): it is what the server must know again, in a form that only the server
 * reads.
 *
 * @category models
 */
export type InputRequiredResult =
  | { readonly inputRequests: InputRequests; readonly requestState?: string; readonly _meta?: Meta }
  | { readonly inputRequests?: InputRequests; readonly requestState: string; readonly _meta?: Meta }

const inputRequests = Schema.Record(Schema.String, InputRequest)

/**
 * The schema of an {@link InputRequiredResult}.
 *
 * @category schemas
 */
export const InputRequiredResult: Schema.Codec<InputRequiredResult> = Schema.Union([
  Schema.Struct({
    inputRequests,
    requestState: Schema.optionalKey(Schema.String),
    _meta: Schema.optionalKey(Meta)
  }),
  Schema.Struct({
    inputRequests: Schema.optionalKey(inputRequests),
    requestState: Schema.String,
    _meta: Schema.optionalKey(Meta)
  })
])

/**
 * Additions to the params of a request that a client repeats: the results of the questions by their keys, and the
 * state.
 *
 * @category models
 */
export interface Retry {
  /** The results. Their server knows by the key of each what it asked, and checks it. */
  readonly inputResponses?: { readonly [key: string]: { readonly [name: string]: unknown } }
  readonly requestState?: string
}

export const Retry: Schema.Codec<Retry> = Schema.Struct({
  inputResponses: Schema.optionalKey(Schema.Record(Schema.String, Meta)),
  requestState: Schema.optionalKey(Schema.String)
})

const names = ["tools/call", "prompts/get", "resources/read"] as const

/**
 * The methods that a server may answer with questions (MRTR-02).
 *
 * @category constants
 */
export const methods: ReadonlySet<string> = new Set(names)

/**
 * The members that the params of a method may have in addition when a client repeats the request: those of
 * {@link Retry} if a server may answer it with questions, and otherwise none.
 *
 * @category models
 */
export type AdditionsOf<Name extends string> = Name extends (typeof names)[number] ? Retry : unknown
