/**
 * Clients that use the hostile server of a gateway: `node gatewayClients.ts http://127.0.0.1:3000/mcp`. Each has a
 * principal of its own, follows the progress of its calls, and answers questions.
 */
import { ClientSession } from "@effect-mcp/session"
import { StreamableHttpClient } from "@effect-mcp/transport/node"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Bearer from "./Bearer.ts"

const [url = ""] = process.argv.slice(2)

process.on("disconnect", () => process.exit(0))

/** The name of a tool of the hostile server, with the prefix of its mount. */
const tool = "remote_x"

const use = Effect.gen(function*() {
  const client = yield* ClientSession.ClientSession
  const list = Effect.ignore(client.listTools({}, { timeout: "5 seconds" }))
  const call = Effect.ignore(client.callTool(tool, {}, { timeout: "5 seconds", onProgress: () => Effect.void }))
  yield* Effect.raceFirst(Effect.forever(Effect.andThen(list, Effect.andThen(call, Effect.sleep(20)))), client.closed)
})

const session = ClientSession.layer({
  info: { name: "user", version: "1.0.0" },
  handlers: { "elicitation/create": () => Effect.succeed({ action: "decline" }) }
})

const sessionsOf = (principal: string) =>
  Effect.forever(Effect.andThen(
    Effect.suspend(() =>
      Effect.ignore(Effect.provide(
        use,
        Layer.provide(
          Layer.fresh(session),
          Layer.fresh(
            StreamableHttpClient.layerNode({ url, headers: { authorization: Redacted.make(Bearer.header(principal)) } })
          )
        )
      ))
    ),
    Effect.sleep(200)
  ))

for (let index = 0; index < 4; index++) Effect.runFork(sessionsOf(`user-${index}`))
