/** The second attempt of a call whose headers the server has rejected, because its tools have changed. */

import { ErrorCode, MethodTable, type Tool } from "@effect-mcp/protocol"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { Limits } from "../../Limits.ts"
import type * as RequestError from "../../RequestError.ts"
import * as Deadline from "../engine/Deadline.ts"
import type { RequestLayer } from "../engine/Layers.ts"
import { trust } from "../trust.ts"
import * as Paging from "./Paging.ts"

const { "tools/call": call, "tools/list": list } = MethodTable.requests

/** The session that calls tools. */
export interface RetryingRuntime {
  readonly limits: Pick<Limits, "maxPages" | "requestTimeout">
  readonly timer: { now(): number }
}

const isMismatch = ({ reason }: RequestError.RequestError): boolean =>
  reason._tag === "ErrorResponse" && reason.error.code === ErrorCode.HeaderMismatch

/**
 * Wraps the sending of requests. The transport makes headers of the arguments that the listed tools name (SHE-25). If
 * the server rejects them, the client lists the tools again, up to the called one, and calls it once more (SHE-30). The
 * server has not run the tool then. If it has, because it has asked questions before, or if the tool is no longer
 * listed, or the time of the call is over, the call fails with the error of the server. `onMismatch` is called before
 * the tools are listed again.
 */
export const layer = ({ limits, timer }: RetryingRuntime, onMismatch: () => void): RequestLayer => (send) => {
  const findListed = (name: string) =>
    Paging.stream(list.name, limits, (cursor) =>
      Effect.map(
        send(list, cursor === undefined ? {} : { cursor }),
        ({ nextCursor, tools }) => ({ items: tools, nextCursor })
      )).pipe(
        Stream.filter((tool) => tool.name === name),
        Stream.runHead,
        Effect.catch(() => Effect.succeed(Option.none<Tool.Tool>()))
      )

  return (row, params, options) => {
    // Compares rows and not names: a row of the program may have the same name.
    if (!Object.is(row, call)) return send(row, params, options)
    return Effect.suspend(() => {
      // Lists and both attempts share the time of the call.
      const time = Deadline.share(options, limits, timer)
      let responses = 0
      const called = send(row, params, {
        ...options,
        onResponse: (response) => {
          options?.onResponse?.(response)
          responses++
        }
      })
      return Effect.catchIf(called, isMismatch, (error) => {
        onMismatch()
        // The server has asked questions before. Another call would begin anew: ask the user again, and repeat steps.
        if (responses > 1) return Effect.fail(error)
        // The row is that of `tools/call`, so the params have its type.
        const { name } = trust<Tool.CallToolParams>(params)
        const found = Effect.timeoutOption(findListed(name), Duration.millis(time.left()))
        return Effect.flatMap(found, (listed) =>
          Option.isNone(Option.flatten(listed)) || time.left() === 0
            ? Effect.fail(error)
            : send(row, params, { ...options, ...time.options() }))
      })
    })
  }
}
