/** A client for web pages whose server needs a token. It has a secret of its own, because no person is there. */
import { Grant, OAuth } from "@effect-mcp/auth"
import { StreamableHttpClient } from "@effect-mcp/transport"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as greeting from "./greeting.ts"

/** Returns the content of the greeting. */
export const greet = (url: string, issuer: string, name: string): Promise<unknown> =>
  greeting.over(
    StreamableHttpClient.layerFetch({ url }).pipe(Layer.provide(OAuth.layer({
      grant: Grant.clientCredentials,
      identity: { preRegistered: [{ issuer, clientId: "greeter", secret: Redacted.make("open sesame") }] }
    }))),
    name
  )
