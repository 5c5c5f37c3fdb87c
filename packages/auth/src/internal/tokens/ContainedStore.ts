/**
 * A store whose operations end in time, and whose defects are failures.
 */
import { ForeignCall } from "@effect-mcp/session/internal"
import * as Effect from "effect/Effect"
import { type TokenStore, TokenStoreError } from "../../TokenStore.ts"

type Store = TokenStore["Service"]

/** The deadline of an operation, in milliseconds. */
const deadline = 10_000

const unavailable = (operation: TokenStoreError["operation"], cause: unknown) =>
  new TokenStoreError({ operation, reason: { _tag: "Unavailable", cause } })

const contained = <A>(
  operation: TokenStoreError["operation"],
  run: () => Effect.Effect<A, TokenStoreError>
): Effect.Effect<A, TokenStoreError> =>
  ForeignCall.within(`TokenStore.${operation}`, deadline, run).pipe(
    Effect.mapError((error) => error._tag === "TokenStoreError" ? error : unavailable(operation, error)),
    Effect.catchDefect((defect) => Effect.fail(unavailable(operation, defect)))
  )

/** Returns a store that fails with `Unavailable` after ten seconds, and if an operation throws. */
export const of = (store: Store): Store => ({
  read: (key) => contained("read", () => store.read(key)),
  write: (key, text, expected) => contained("write", () => store.write(key, text, expected)),
  remove: (key, expected) => contained("remove", () => store.remove(key, expected)),
  keys: contained("keys", () => store.keys),
  acquire: (key, owner, millis) => contained("acquire", () => store.acquire(key, owner, millis)),
  release: (key, owner) => contained("release", () => store.release(key, owner))
})
