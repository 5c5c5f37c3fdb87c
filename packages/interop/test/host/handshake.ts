import { ClientSession } from "@effect-mcp/session"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { misreadBy } from "../../../protocol/test/revisions.ts"
import type { Conditions } from "./conditions.ts"

export const handshake = ({ host, it, peer, revision }: Conditions) => {
  it.effect("[INIT-02] [INIT-04] [INIT-07] receives the server's profile", () =>
    Effect.gen(function*() {
      const { profile } = yield* ClientSession.ClientSession
      assert.strictEqual(profile.revision, revision)
      assert.deepStrictEqual(profile.info, {
        name: peer.name,
        title: "Abacus",
        version: "1.0.0",
        websiteUrl: "https://example.com",
        icons: [{ src: "https://example.com/bead.svg", mimeType: "image/svg+xml", sizes: ["any"] }]
      })
      assert.strictEqual(profile.instructions, "Be kind — and patient.")
      assert.deepStrictEqual(profile.capabilities, {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        logging: {},
        experimental: { "example.com/abacus": { beads: 100 } },
        completions: {}
      })
      assert.deepStrictEqual(host.events.map(({ _tag }) => _tag), ["StateChanged", "StateChanged"])
    }))

  it.effect("[INIT-13] its initialize params have nothing that a reader of the offered revision would misread", () =>
    Effect.sync(() => {
      const first = host.entries[0]
      assert(first?._tag === "Sent" && "params" in first.frame)
      assert.deepStrictEqual(misreadBy(revision, "initialize", "params", first.frame.params), [])
    }))
}
