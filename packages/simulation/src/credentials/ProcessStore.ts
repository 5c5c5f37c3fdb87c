/** The token store as a simulated process reaches it. */
import { TokenStore } from "@effect-mcp/auth"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { ProcessEvent } from "./History.ts"
import type { Lifeline } from "./Lifeline.ts"
import type { World } from "./World.ts"

type Store = TokenStore.TokenStore["Service"]

/** Returns the refresh token of an entry of tokens. */
export const refreshTokenOf = (entry: TokenStore.Entry | undefined): string | undefined => {
  if (entry === undefined) return undefined
  const json: unknown = JSON.parse(Redacted.value(entry.text))
  return typeof json === "object" && json !== null && "refreshToken" in json && typeof json.refreshToken === "string"
    ? json.refreshToken
    : undefined
}

const keyText = (key: TokenStore.Key): string => `${key._tag} ${key.issuer}`

/** Makes the store of a process. */
export const make = (world: World, lifeline: Lifeline, record: (event: ProcessEvent) => void): Store => {
  const { store } = world
  const operation = <A>(
    name: TokenStore.TokenStoreError["operation"],
    effect: Effect.Effect<A, TokenStore.TokenStoreError>
  ): Effect.Effect<A, TokenStore.TokenStoreError> =>
    lifeline.operation(Effect.gen(function*() {
      yield* world.storeLatency
      const fault = world.takeStoreFault(name)
      const failure = new TokenStore.TokenStoreError({
        operation: name,
        reason: { _tag: "Unavailable", cause: "a fault" }
      })
      if (fault !== undefined) record({ _tag: "StoreFailed", operation: name })
      if (fault === "Fails") return yield* failure
      const result = yield* effect
      return fault === "Lost" ? yield* failure : result
    }))
  return {
    keys: operation("keys", store.keys),
    read: (key) => operation("read", store.read(key)),
    write: (key, text, expected) =>
      operation(
        "write",
        Effect.tap(store.write(key, text, expected), (version) =>
          Effect.sync(() => {
            const refreshToken = refreshTokenOf({ text, version })
            if (refreshToken !== undefined) record({ _tag: "Wrote", refreshToken })
          }))
      ),
    remove: (key, expected) =>
      operation(
        "remove",
        Effect.flatMap(store.read(key), (entry) =>
          Effect.tap(store.remove(key, expected), () =>
            Effect.sync(() => {
              const refreshToken = refreshTokenOf(entry)
              if (refreshToken !== undefined) record({ _tag: "Removed", refreshToken })
              if (key._tag === "Registration") record({ _tag: "Forgot" })
            })))
      ),
    acquire: (key, owner, millis) =>
      operation(
        "acquire",
        Effect.tap(store.acquire(key, owner, millis), (isHeld) =>
          Effect.sync(() => {
            if (isHeld) record({ _tag: "Acquired", key: keyText(key), owner })
          }))
      ),
    release: (key, owner) =>
      operation(
        "release",
        Effect.tap(store.release(key, owner), () =>
          Effect.sync(() => record({ _tag: "Released", key: keyText(key), owner })))
      )
  }
}
