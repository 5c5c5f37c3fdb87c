import { JsonRpc, RequestMetadata, Revision } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import { KnownClients } from "../../../src/internal/server/KnownClients.ts"

const { keys } = RequestMetadata

type Members = { readonly [name: string]: unknown }

const metaOf = (over: Members = {}): Members => ({
  [keys.protocolVersion]: Revision.latest,
  [keys.clientInfo]: { name: "client", version: "1.0.0" },
  [keys.clientCapabilities]: { elicitation: { form: {} } },
  ...over
})

const requestWith = (meta: unknown) => JsonRpc.request(1, "tools/list", { _meta: meta })

const clientIn = (clients: KnownClients, meta: unknown) => Result.getOrThrow(clients.of(requestWith(meta)))

describe("the known clients", () => {
  it("equal metadata in another order has the same client, whatever the rest of the metadata is", () => {
    const clients = new KnownClients([Revision.latest])
    const first = clientIn(clients, metaOf())
    const reversed = Object.fromEntries(Object.entries(metaOf({ progressToken: 1 })).toReversed())
    assert.strictEqual(clientIn(clients, reversed), first)
  })

  for (
    const [what, over] of Object.entries({
      "one more capability": { [keys.clientCapabilities]: { elicitation: { form: {} }, roots: {} } },
      "one capability less": { [keys.clientCapabilities]: {} },
      "a capability with another value": { [keys.clientCapabilities]: { elicitation: { url: {} } } },
      "another title": { [keys.clientInfo]: { name: "client", title: "Client", version: "1.0.0" } },
      "a log level": { [keys.logLevel]: "error" },
      "no description of itself": { [keys.clientInfo]: undefined }
    })
  ) {
    it(`metadata with ${what} is read again`, () => {
      const clients = new KnownClients([Revision.latest])
      const meta = JSON.parse(JSON.stringify(metaOf(over)))
      clientIn(clients, metaOf())
      assert.deepStrictEqual(clientIn(clients, meta), clientIn(new KnownClients([Revision.latest]), meta))
    })
  }

  for (
    const [what, over] of Object.entries({
      "invalid capabilities": { [keys.clientCapabilities]: { elicitation: 1 } },
      "an array for capabilities": { [keys.clientCapabilities]: [] },
      "an unknown log level": { [keys.logLevel]: "loud" },
      "an unknown revision": { [keys.protocolVersion]: "2030-01-01" }
    })
  ) {
    it(`metadata of a known client with ${what} is rejected`, () => {
      const clients = new KnownClients([Revision.latest])
      clientIn(clients, metaOf({ [keys.clientCapabilities]: {} }))
      assert.isTrue(Result.isFailure(clients.of(requestWith(metaOf({ [keys.clientCapabilities]: {}, ...over })))))
    })
  }

  it("large metadata is read each time, and not kept", () => {
    const clients = new KnownClients([Revision.latest])
    const large = metaOf({ [keys.clientCapabilities]: { experimental: { x: { text: "x".repeat(4_096) } } } })
    assert.notStrictEqual(clientIn(clients, large), clientIn(clients, large))
  })

  it("a client is forgotten after 16 others", () => {
    const clients = new KnownClients([Revision.latest])
    const named = (name: string) => metaOf({ [keys.clientInfo]: { name, version: "1.0.0" } })
    const first = clientIn(clients, named("first"))
    for (let other = 0; other < 16; other++) clientIn(clients, named(`other ${other}`))
    const again = clientIn(clients, named("first"))
    assert.notStrictEqual(again, first)
    assert.deepStrictEqual(again, first)
  })
})
