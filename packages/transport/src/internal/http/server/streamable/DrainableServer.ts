/** A server without sessions whose requests in flight can be waited for. */
import { LoadedPackages } from "@effect-mcp/protocol/internal"
import type * as Handlers from "@effect-mcp/session/Handlers"
import { NumericOption } from "@effect-mcp/session/internal"
import * as Limits from "@effect-mcp/session/Limits"
import * as StatelessServer from "@effect-mcp/session/StatelessServer"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as HttpServerOptions from "../../../../HttpServerOptions.ts"
import { thisPackage } from "../../../thisPackage.ts"
import * as StatelessHandler from "./StatelessHandler.ts"
import * as StreamableParts from "./StreamableParts.ts"

interface Options<R> extends HttpServerOptions.StreamableOptions, StatelessServer.Options<R> {}

/** The services that a server without sessions needs for these handlers. */
export type ServicesOf<H, R> = Exclude<Handlers.ServicesOf<H, "client"> | R, Scope.Scope>

/** Makes the server. Its `drain` waits for the requests in flight, and rejects new ones. */
export const make = Effect.fnUntraced(function*<const H extends Handlers.Handlers<"client", unknown>, R>(
  handlers: H & Handlers.Only<H, "client">,
  options: Options<R>
) {
  NumericOption.check<HttpServerOptions.StreamableOptions>(options, StreamableParts.rules)
  LoadedPackages.check(thisPackage)
  const { exchanges, guard, responses } = yield* StreamableParts.make(options)
  const server = yield* StatelessServer.make<H, R>(handlers, options)
  const gracefulMillis = Limits.make(options.limits).gracefulTimeout
  const handler = yield* StatelessHandler.make(server, guard, responses, { ...exchanges, gracefulMillis })
  yield* Effect.addFinalizer(() => handler.drain)
  return handler
})
