import { OAuth } from "@effect-mcp/auth"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as caller from "./support/caller.ts"
import * as identityServer from "./support/identityServer.ts"
import * as protectedServer from "./support/protectedServer.ts"
import * as scriptedPerson from "./support/scriptedPerson.ts"

describe("a server with several authorization servers", () => {
  it.live("[AUT-15] is used with the one for which the program has a client", () =>
    Effect.gen(function*() {
      const ada = scriptedPerson.make()
      const client = {
        client_id: "notes",
        token_endpoint_auth_method: "none",
        redirect_uris: ["http://127.0.0.1/callback"],
        application_type: "native"
      }
      const other = yield* identityServer.start()
      const identity = yield* identityServer.start({ clients: [client] })
      const server = yield* protectedServer.start(identity)
      server.issuers = [other.issuer, identity.issuer]
      const preRegistered = [{ issuer: identity.issuer, clientId: "notes" }]
      const layer = OAuth.layer({ userAgent: ada.userAgent, identity: { preRegistered } })
      const oauth = Context.get(yield* Layer.build(layer), OAuth.OAuth)
      assert.deepInclude(yield* caller.callAndWait(oauth.authorization, server.url), { status: 200, account: "ada" })
      assert.lengthOf(other.requests, 0)
      assert.lengthOf(identity.to("/reg"), 0)
    }))
})
