/** The handler of the greeter for the requests of the web. */
import { StreamableHttpServer } from "@effect-mcp/transport"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Layer from "effect/Layer"
import * as Greeter from "./greeter.ts"

const make = () =>
  HttpRouter.toWebHandler(StreamableHttpServer.layer().pipe(Layer.provide(Greeter.host)), { disableLogger: true })

let made: ReturnType<typeof make> | undefined

/** Serves a request. The handler is made with the first one, because a worker permits no random values before. */
export const handle = (request: Request): Promise<Response> => (made ??= make()).handler(request)

/** Ends the sessions of the handler. */
export const dispose = async (): Promise<void> => await made?.dispose()
