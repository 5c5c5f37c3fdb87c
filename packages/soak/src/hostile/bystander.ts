/** Harmless clients beside a hostile one. */
import { ClientSession, type Transport } from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Bystander } from "./Vitals.ts"

const session = ClientSession.layer({ info: { name: "bystander", version: "1.0.0" } })

/** The timeout of a bystander's call. */
const callTimeout = "15 seconds"

const call = (bystander: Bystander, client: ClientSession.ClientSessionShape) =>
  Effect.suspend(() => {
    const start = performance.now()
    return Effect.match(client.callTool("echo", { bytes: 10 }, { timeout: callTimeout }), {
      onSuccess: () => bystander.record(start, undefined),
      onFailure: (error) => bystander.record(start, error.message)
    })
  })

/** Waits until the transport connects, because the victim may still be starting. */
const withSession = <A, R>(
  use: Effect.Effect<A, unknown, R | ClientSession.ClientSession>,
  bystander: Bystander,
  transport: Layer.Layer<Transport.Transport>
) =>
  Effect.suspend(() => {
    const start = performance.now()
    return Effect.provide(use, Layer.provide(Layer.fresh(session), Layer.fresh(transport))).pipe(
      Effect.catch((error) => Effect.sync(() => bystander.record(start, String(error))))
    )
  })

/** Calls 20 times a second in one session, and opens another after a close. Runs until interrupted. */
export const keepSession = (bystander: Bystander, transport: Layer.Layer<Transport.Transport>) =>
  Effect.forever(Effect.andThen(
    withSession(
      Effect.flatMap(ClientSession.ClientSession, (client) =>
        Effect.raceFirst(
          Effect.forever(Effect.andThen(call(bystander, client), Effect.sleep(50))),
          Effect.flatMap(client.closed, ({ _tag }) => Effect.fail(`the session closed: ${_tag}`))
        )),
      bystander,
      transport
    ),
    Effect.sleep(100)
  ))

/** Opens a session twice a second, calls once, and closes it. Runs until interrupted. */
export const openSessions = (bystander: Bystander, transport: Layer.Layer<Transport.Transport>) =>
  Effect.forever(Effect.andThen(
    withSession(Effect.flatMap(ClientSession.ClientSession, (client) => call(bystander, client)), bystander, transport),
    Effect.sleep(500)
  ))
