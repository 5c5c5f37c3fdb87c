/** The second attempt of a call whose headers the server has rejected, because its tools have changed. */

import { ErrorCode, MethodTable, type Tool } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type * as RequestError from "../../RequestError.ts"
import type { Request } from "../engine/Sender.ts"
import { trust } from "../trust.ts"
import * as Paging from "./Paging.ts"

const { "tools/call": call, "tools/list": list } = MethodTable.requests

const isMismatch = ({ reason }: RequestError.RequestError): boolean =>
  reason._tag === "ErrorResponse" && reason.error.code === ErrorCode.HeaderMismatch

/**
 * Wraps the sending of requests. The transport makes headers of the arguments that the listed tools name (SHE-25). If
 * the server rejects them, the client lists the tools again, up to the called one, and calls it once more (SHE-30). The
 * server has not run the tool then. If the tool is no longer listed, the call fails with the error of the server.
 */
export const retrying = (send: Request, limits: { readonly maxPages: number }): Request => {
  const isListed = (name: string) =>
    Paging.stream(list.name, limits, (cursor) =>
      Effect.map(
        send(list, cursor === undefined ? {} : { cursor }),
        ({ nextCursor, tools }) => ({ items: tools, nextCursor })
      )).pipe(
        Stream.filter((tool) => tool.name === name),
        Stream.runHead,
        Effect.map(Option.isSome),
        Effect.catch(() => Effect.succeed(false))
      )

  return (row, params, options) => {
    // Compares rows and not names: a row of the program may have the same name.
    if (!Object.is(row, call)) return send(row, params, options)
    return Effect.catchIf(send(row, params, options), isMismatch, (error) => {
      // The row is that of `tools/call`, so the params have its type.
      const { name } = trust<Tool.CallToolParams>(params)
      return Effect.flatMap(isListed(name), (found) => found ? send(row, params, options) : Effect.fail(error))
    })
  }
}
