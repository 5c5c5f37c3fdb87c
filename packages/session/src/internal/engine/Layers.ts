/** The layers around the sending of requests. */

import type { MethodDefinition } from "@effect-mcp/protocol"
import type * as Effect from "effect/Effect"
import type { RequestError } from "../../RequestError.ts"
import type { Send, SendOptions } from "./RequestSender.ts"

/** Sends a request and waits for its result. */
export type Request = <Params extends object, Result, R = never>(
  row: MethodDefinition.RequestMethod<string, MethodDefinition.Sender, Params, Result>,
  params: Params,
  options?: SendOptions<R>
) => Effect.Effect<Result, RequestError, R>

/** Something that stands around the sending of the program's requests. */
export type RequestLayer = (send: Request) => Request

/** Something that stands around the sending of each attempt of a request. */
export type AttemptLayer = (send: Send) => Send

/** The layers of a session, the outermost first. */
export interface Layers {
  readonly requests: ReadonlyArray<RequestLayer>
  readonly attempts: ReadonlyArray<AttemptLayer>
}
