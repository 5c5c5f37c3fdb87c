/**
 * The seal of `requestState` in revision 2026-07-28: what a server must know again when its client repeats a request
 * with answers. The state travels through the client, which can neither read nor change it.
 *
 * @stability unstable
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as NodeCipher from "./internal/ciphers/NodeCipher.ts"
import * as WebCipher from "./internal/ciphers/WebCipher.ts"
import * as webCrypto from "./internal/webCrypto.ts"
import { InvalidOptionError } from "./InvalidOptionError.ts"

/**
 * The error of a seal whose operation failed, for example because a key service cannot be reached.
 *
 * @example
 * ```ts
 * import { RequestStateSeal } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * // Runs an operation of a key service.
 * export const call = <A>(run: () => Promise<A>) =>
 *   Effect.tryPromise({ try: run, catch: (cause) => new RequestStateSeal.SealError({ cause }) })
 * ```
 *
 * @category errors
 */
export class SealError extends Data.TaggedError("SealError")<{
  readonly cause: unknown
}> {}

/**
 * Authenticated encryption of texts, and the digest of questions. `context` is authenticated and not stored: it says
 * which principal, method and params a state belongs to.
 *
 * @category models
 */
export interface RequestStateSeal {
  /** Encrypts a text. The result is of the characters that JSON writes without escapes. */
  readonly seal: (text: string, context: string) => Effect.Effect<string, SealError>
  /** Decrypts a text. Returns `undefined` if this seal did not make it, or made it for another context (MRTR-08). */
  readonly open: (sealed: string, context: string) => Effect.Effect<string | undefined, SealError>
  /** Returns a short digest of a text. It is not feasible to find two texts with the same digest. */
  readonly digest: (text: string) => Effect.Effect<string, SealError>
}

/**
 * Options of {@link make} and {@link layer}.
 *
 * @category models
 */
export interface Options {
  /**
   * Secrets of at least 32 characters from a cryptographic source, such as `openssl rand -base64 32`. The first seals,
   * and all of them open. To replace a secret, first put the new one at the end of the list in every process, then at
   * its beginning, and remove the old one when its states have expired. All processes that serve the same clients need
   * the same secrets. One secret is good for four billion states.
   */
  readonly secrets: readonly [Redacted.Redacted<string>, ...ReadonlyArray<Redacted.Redacted<string>>]
}

const minSecretCharacters = 32

/**
 * Makes a seal with AES-256-GCM of the platform. Throws an `InvalidOptionError` for a secret that is too short.
 *
 * @example
 * ```ts
 * import { RequestStateSeal } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 * import * as Redacted from "effect/Redacted"
 *
 * const seal = RequestStateSeal.make({ secrets: [Redacted.make("x".repeat(32))] })
 *
 * export const opened = Effect.gen(function*() {
 *   const sealed = yield* seal.seal("approved", "ada")
 *   return [yield* seal.open(sealed, "ada"), yield* seal.open(sealed, "bob")]
 * }) // => ["approved", undefined]
 * ```
 *
 * @category constructors
 */
export const make = ({ secrets }: Options): RequestStateSeal => {
  for (const secret of secrets) {
    const { length } = Redacted.value(secret)
    if (length < minSecretCharacters) {
      throw new InvalidOptionError({
        option: "secrets",
        given: `a text of ${length}`,
        allowed: `texts of at least ${minSecretCharacters} characters`
      })
    }
  }
  const [first = "", ...others] = secrets.map((secret) => Redacted.value(secret))
  const cipher = NodeCipher.make(first, others) ?? WebCipher.make(first, others)
  // The operations of `node:crypto` have ended when they return. Such a result stays an `Exit`, which needs no fiber.
  return {
    seal: (text, context) =>
      Effect.mapBothEager(cipher.encrypt(webCrypto.bytesOf(text), webCrypto.bytesOf(context)), {
        onSuccess: Base64Url.encode,
        onFailure: sealError
      }),
    open: (sealed, context) => {
      const bytes = Base64Url.decode(sealed)
      return Result.isFailure(bytes)
        ? Exit.succeed(undefined)
        : Effect.mapBothEager(cipher.decrypt(bytes.success, webCrypto.bytesOf(context)), {
          onSuccess: (opened) => opened === undefined ? undefined : webCrypto.textOf(opened),
          onFailure: sealError
        })
    },
    digest: (text) =>
      Effect.mapBothEager(cipher.digest(webCrypto.bytesOf(text)), {
        onSuccess: (digest) => Base64Url.encode(digest.subarray(0, digestBytes)),
        onFailure: sealError
      })
  }
}

const sealError = (cause: unknown): SealError => new SealError({ cause })

/** 128 bits: a client that wants two questions with the same digest would have to try 2^64 of them. */
const digestBytes = 16

/** Makes a seal whose secret only this process knows. */
const generated = (): RequestStateSeal =>
  make({ secrets: [Redacted.make(Base64Url.encode(webCrypto.randomBytes(32)))] })

/** Makes a seal whose secret only this process knows, and that logs a warning when it is used first. */
const unconfigured = (): RequestStateSeal => {
  const seal = generated()
  let isReported = false
  return {
    ...seal,
    seal: (text, context) => {
      if (isReported) return seal.seal(text, context)
      return Effect.andThen(
        Effect.suspend(() => {
          isReported = true
          return Effect.logWarning(
            "a question to a client is sealed with a secret that was generated for this process: its answer is " +
              "accepted by no other process, and not after a restart; provide RequestStateSeal.layer({ secrets }) to " +
              "the server, or RequestStateSeal.layerEphemeral if one process is enough"
          )
        }),
        seal.seal(text, context)
      )
    }
  }
}

/**
 * The seal of the servers. A server reads this reference when it is made, so provide it to the server. A server of
 * groups (`McpServer`) takes it from the Layers of its groups as well. The default has a random secret that only this
 * process knows, and logs a warning when it is used first.
 *
 * @example
 * ```ts
 * import { RequestStateSeal } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const digest = Effect.flatMap(RequestStateSeal.RequestStateSeal, (seal) => seal.digest("Delete all notes?"))
 * ```
 *
 * @category services
 */
export const RequestStateSeal: Context.Reference<RequestStateSeal> = Context.Reference(
  "@effect-mcp/session/RequestStateSeal",
  { defaultValue: unconfigured }
)

/**
 * Provides a seal with these secrets to the servers that use this Layer.
 *
 * @example
 * ```ts
 * import { RequestStateSeal } from "@effect-mcp/session"
 * import * as Config from "effect/Config"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * // Several replicas with the same variable answer each other's clients.
 * export const shared = Layer.unwrap(
 *   Effect.map(Config.Redacted("MCP_STATE_SECRET"), (secret) => RequestStateSeal.layer({ secrets: [secret] }))
 * )
 * ```
 *
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<never> =>
  Layer.effect(RequestStateSeal, Effect.sync(() => make(options)))

/**
 * Provides a seal with a secret that is generated for this Layer, and logs no warning. No other process accepts its
 * states, and they end with this process. `McpServer.runMainStdio` does so, because its one client has one process, and
 * so do servers in memory.
 *
 * @example
 * ```ts
 * import { RequestStateSeal, ServerSession } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const main = ServerSession.serve({}, { info: { name: "example", version: "1.0.0" } }).pipe(
 *   Effect.provide(RequestStateSeal.layerEphemeral)
 * )
 * ```
 *
 * @category layers
 */
export const layerEphemeral: Layer.Layer<never> = Layer.effect(RequestStateSeal, Effect.sync(generated))
