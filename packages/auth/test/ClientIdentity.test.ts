/** The client ids that a program gives. */
import { ClientIdentity, OAuth } from "@effect-mcp/auth"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"

const wrong = [
  "https://notes.example",
  "https://notes.example/",
  "http://notes.example/client.json",
  "https://notes.example/client.json#fragment",
  "https://ada:secret@notes.example/client.json",
  "/client.json",
  "notes"
]

describe("[AUT-14] the URL of a Client ID Metadata Document", () => {
  it("is an https: URL with a path", () => {
    assert.isUndefined(ClientIdentity.check({ metadataUrl: "https://notes.example/client.json" }))
    assert.isUndefined(ClientIdentity.check({ metadataUrl: "https://notes.example/clients/notes?version=2" }))
    for (const metadataUrl of wrong) {
      assert.strictEqual(ClientIdentity.check({ metadataUrl })?.given, metadataUrl)
    }
  })

  it.effect("is checked when the Layer is built", () =>
    Effect.gen(function*() {
      const identity = { metadataUrl: "https://notes.example" }
      for (const options of [{ identity }, { servers: { "https://mcp.example/mcp": { identity } } }]) {
        const exit = yield* Effect.exit(Layer.build(OAuth.layer(options)))
        const defect = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
        assert.include(String(defect), "https: URL with a path")
      }
    }))

  it("is the client id in the document, with a name and the redirect URIs", () => {
    const url = "https://notes.example/client.json"
    const redirectUris = ["http://127.0.0.1/callback", "https://notes.example/callback"]
    assert.deepInclude(ClientIdentity.document({ url, clientName: "Notes", redirectUris }), {
      client_id: url,
      client_name: "Notes",
      redirect_uris: redirectUris
    })
  })
})

describe("a client id of a registration", () => {
  it("is not empty", () => {
    assert.isUndefined(ClientIdentity.check({ preRegistered: [{ clientId: "notes" }] }))
    assert.deepInclude(ClientIdentity.check({ preRegistered: [{ clientId: "" }] }), { option: "clientId" })
  })
})
