/**
 * Bearer tokens that this server signs by itself: the name of a user, the time of their expiry, and a signature.
 *
 * They need no database, and cannot be revoked before they expire. For users of an identity provider, replace them
 * with `ResourceServer.layer` of `@effect-mcp/auth`, which verifies OAuth tokens.
 */
import { Authentication } from "@effect-mcp/transport"
import * as Clock from "effect/Clock"
import * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { createHmac, timingSafeEqual } from "node:crypto"

/** The error of a secret that can be guessed. */
export class WeakSecretError extends Schema.TaggedError<WeakSecretError>()("WeakSecretError", { length: Schema.Int }) {
  override get message() {
    return this.length === 0
      ? "TOKEN_SECRET is not set; npm run token NAME writes it to .env, which npm start and node --env-file=.env read"
      : `TOKEN_SECRET has ${this.length} characters; set at least 32 random ones, such as openssl rand -base64 32`
  }
}

interface Identity {
  readonly id: string
  /** In milliseconds since the epoch. */
  readonly expiresAt: number
}

export class Tokens extends Context.Service<Tokens, {
  /** Returns a token of a user that is valid for this time. */
  readonly issue: (user: string, lifetime: Duration.Input) => Effect.Effect<string>
  /** Returns the user of a token; `undefined` if the token is not from this server, or has expired. */
  readonly verify: (token: Redacted.Redacted<string>) => Effect.Effect<Identity | undefined>
}>()("app/Tokens") {
  /** Signs tokens with this secret. */
  static readonly layerOf = (secret: Redacted.Redacted<string>) =>
    Layer.effect(
      Tokens,
      Effect.gen(function*() {
        const key = Redacted.value(secret)
        if (key.length < 32) return yield* new WeakSecretError({ length: key.length })
        const signed = (claims: string) => `${claims}.${createHmac("sha256", key).update(claims).digest("base64url")}`
        return {
          issue: (user, lifetime) =>
            Effect.map(Clock.currentTimeMillis, (now) => {
              const expiresAt = Math.round(now + Duration.toMillis(lifetime))
              return signed(`${Buffer.from(user).toString("base64url")}.${expiresAt}`)
            }),
          verify: (token) =>
            Effect.map(Clock.currentTimeMillis, (now) => {
              const text = Redacted.value(token)
              const [user = "", expiry = ""] = text.split(".")
              // The whole token is compared, so that each one has one form.
              const expected = Buffer.from(signed(`${user}.${expiry}`))
              const actual = Buffer.from(text)
              if (actual.length !== expected.length || !timingSafeEqual(actual, expected)) return undefined
              const expiresAt = Number(expiry)
              return expiresAt > now ? { id: Buffer.from(user, "base64url").toString(), expiresAt } : undefined
            })
        }
      })
    )

  /** Signs tokens with the secret in the environment variable `TOKEN_SECRET`. */
  static readonly layer = Layer.unwrap(
    Effect.map(Config.withDefault(Config.Redacted("TOKEN_SECRET"), Redacted.make("")), Tokens.layerOf)
  )

  /** Accepts requests with a token of this server. */
  static readonly authentication = Layer.unwrap(
    Effect.map(Tokens, ({ verify }) => Authentication.layerBearer({ realm: "notes", verify }))
  )
}
