/** The server in a worker: a function of web standards, without modules of Node. */
import * as HttpRouter from "effect/http/HttpRouter"
import { routes } from "./server.ts"

const make = () => HttpRouter.toWebHandler(routes, { disableLogger: true })

// Made with the first request, because workers permit no timers and no random values while they are loaded.
let made: ReturnType<typeof make> | undefined

export default { fetch: (request: Request): Promise<Response> => (made ??= make()).handler(request) }
