/**
 * Prints a token of a user: `npm run token ada`, or `npm run token ada 30`, which is valid for 30 days. Writes a secret
 * to `.env` first, if there is none yet.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { randomBytes } from "node:crypto"
import { appendFileSync, existsSync, readFileSync } from "node:fs"
import { Tokens } from "./Tokens.ts"

const [, , user, days = "7"] = process.argv

/** Makes a secret, with which the server on this machine starts as well. */
const firstSecret = Effect.gen(function*() {
  const secret = randomBytes(32).toString("base64")
  const before = existsSync(".env") ? readFileSync(".env", "utf8") : ""
  // The last line may have no end.
  const end = before === "" || before.endsWith("\n") ? "" : "\n"
  yield* Effect.sync(() => appendFileSync(".env", `${end}TOKEN_SECRET=${secret}\n`, { mode: 0o600 }))
  yield* Console.error("a new secret is in .env; on other machines, set TOKEN_SECRET in the environment")
  return Tokens.layerOf(Redacted.make(secret))
})

const main = Effect.gen(function*() {
  if (user === undefined || !(Number(days) > 0)) {
    return yield* Effect.fail("name the user, and the days for which the token is valid: npm run token ada 7")
  }
  const tokens = process.env["TOKEN_SECRET"] === undefined ? yield* firstSecret : Tokens.layer
  const { issue } = yield* Effect.provide(Tokens, tokens)
  yield* Console.log(yield* issue(user, { days: Number(days) }))
})

NodeRuntime.runMain(main)
