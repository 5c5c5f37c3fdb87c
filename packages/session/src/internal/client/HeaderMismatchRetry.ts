/** The second attempt of a call whose headers the server has rejected, because its tools have changed. */

import { ErrorCode, MethodTable, type Tool } from "@effect-mcp/protocol"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { Limits } from "../../Limits.ts"
import type * as RequestError from "../../RequestError.ts"
import type { Request } from "../engine/Sender.ts"
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
export const retrying = (send: Request, { limits, timer }: RetryingRuntime, onMismatch: () => void): Request => {
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
      const startedAt = timer.now()
      const allowed = options?.timeout === undefined ? limits.requestTimeout : Duration.toMillis(options.timeout)
      // Lists and both attempts share the time of the call. A server could make each of them last.
      const left = (millis: number) => Math.max(millis - (timer.now() - startedAt), 0)
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
        const found = Effect.timeoutOption(findListed(name), Duration.millis(left(allowed)))
        return Effect.flatMap(found, (listed) => {
          if (Option.isNone(Option.flatten(listed)) || left(allowed) === 0) return Effect.fail(error)
          const total = options?.totalTimeout === undefined ? undefined : Duration.toMillis(options.totalTimeout)
          return send(row, params, {
            ...options,
            timeout: Duration.millis(left(allowed)),
            ...(total === undefined ? undefined : { totalTimeout: Duration.millis(left(total)) })
          })
        })
      })
    })
  }
}
