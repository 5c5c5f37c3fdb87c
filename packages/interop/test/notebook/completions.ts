import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { OfficialClient } from "../fixtures/officialClient.ts"
import type { Conditions } from "../fixtures/officialClients.ts"
import { members } from "./results.ts"

const prompt = (name: string) => ({ type: "ref/prompt" as const, name })
const template = (uri: string) => ({ type: "ref/resource" as const, uri })

export const completions = ({ it, peer }: Conditions) => {
  const completed = Effect.fnUntraced(
    function*(...params: Parameters<OfficialClient["Service"]["request"]["complete"]>) {
      const { request } = yield* OfficialClient
      return members((yield* request.complete(...params))["completion"])
    }
  )

  it.effect("[CMP-01] [CMP-02] completes an argument of a prompt", () =>
    Effect.gen(function*() {
      const found = yield* completed({ ref: prompt("summarize"), argument: { name: "style", value: "as" } })
      assert.deepStrictEqual(found, { values: ["as a haiku", "as a list"], total: 2, hasMore: false })
    }))

  it.effect("[CMP-01] completes a variable of a template", () =>
    Effect.gen(function*() {
      const found = yield* completed({ ref: template("note:///{name}"), argument: { name: "name", value: "co" } })
      assert.deepStrictEqual(found["values"], ["colours"])
    }))

  it.effect("[CMP-01] completes with the values of other arguments", () =>
    Effect.gen(function*() {
      const argument = { name: "second", value: "pl" }
      const ref = prompt("compare")
      assert.deepStrictEqual((yield* completed({ ref, argument }))["values"], ["plan"])
      const context = { arguments: { first: "plan" } }
      assert.deepStrictEqual((yield* completed({ ref, argument, context }))["values"], [])
    }))

  it.effect("[CMP-03] rejects an unknown prompt, template or argument", () =>
    Effect.gen(function*() {
      const errorOf = Effect.fnUntraced(function*(...params: Parameters<typeof completed>) {
        const failure = yield* Effect.flip(completed(...params))
        assert(failure._tag === "ErrorResponse", failure.message)
        return { code: failure.code, message: failure.message }
      })
      const invalid = (message: string) => ({ code: -32602, message: peer.errorMessage(-32602, message) })
      const argument = { name: "colour", value: "" }
      assert.deepStrictEqual(yield* errorOf({ ref: prompt("burn"), argument }), invalid("Unknown prompt: burn"))
      assert.deepStrictEqual(
        yield* errorOf({ ref: template("note:///{id}"), argument }),
        invalid("Unknown resource template: note:///{id}")
      )
      assert.deepStrictEqual(
        yield* errorOf({ ref: prompt("compare"), argument }),
        invalid("There is no argument \"colour\" to complete")
      )
      assert.deepStrictEqual(
        yield* errorOf({ ref: template("note:///{name}"), argument }),
        invalid("There is no argument \"colour\" to complete")
      )
    }))
}
