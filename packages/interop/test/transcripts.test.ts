/** Transcripts that are played over stdio against the calculator and the official `server-everything`. */
import { ScriptedPeer } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as Child from "./fixtures/child.ts"

const script = (name: string): string =>
  fs.readFileSync(new URL(`transcripts/${name}.transcript`, import.meta.url), "utf8")

const play = Effect.fnUntraced(function*(name: string, server: Child.Server) {
  yield* ScriptedPeer.play(script(name), { timeout: "20 seconds" }).pipe(
    Effect.scoped,
    Effect.provide(server.transport)
  )
  assert.isFalse(Child.isRunning(server.pid()))
})

describe("a transcript matches", () => {
  it.live("[CAN-04] [STD-07] the calculator", () => play("calculator", Child.server(Child.calculator)))

  it.live("[STD-07] server-everything", () => play("everything", Child.server(Child.everything, "stdio")))
})
