/**
 * The seal of `requestState` in revision 2026-07-28: what a server must know again when its client repeats a request
 * with answers. The state travels through the client, which can neither read nor change it.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as webCrypto from "./internal/webCrypto.ts"
import { InvalidOption } from "./NumericOption.ts"

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
const nonceBytes = 12
/** Distinguishes these keys from other uses of the same secret. */
const purpose = "effect-mcp request state 1\n"

const attempt = <A>(run: () => Promise<A>): Effect.Effect<A, SealError> =>
  Effect.tryPromise({ try: run, catch: (cause) => new SealError({ cause }) })

const keyOf = async (secret: string): Promise<webCrypto.CryptoKey> =>
  webCrypto.subtle.importKey(
    "raw",
    await webCrypto.subtle.digest("SHA-256", webCrypto.bytesOf(`${purpose}${secret}`)),
    "AES-GCM",
    false,
    ["encrypt", "decrypt"]
  )

const encrypt = async (key: webCrypto.CryptoKey, text: string, context: string): Promise<string> => {
  const iv = webCrypto.randomBytes(nonceBytes)
  const additionalData = webCrypto.bytesOf(context)
  const encrypted = new Uint8Array(
    await webCrypto.subtle.encrypt({ name: "AES-GCM", iv, additionalData }, key, webCrypto.bytesOf(text))
  )
  const sealed = new Uint8Array(nonceBytes + encrypted.length)
  sealed.set(iv)
  sealed.set(encrypted, nonceBytes)
  return Base64Url.encode(sealed)
}

const decrypt = async (
  keys: ReadonlyArray<webCrypto.CryptoKey>,
  sealed: Uint8Array,
  context: string
): Promise<string | undefined> => {
  const iv = sealed.subarray(0, nonceBytes)
  const additionalData = webCrypto.bytesOf(context)
  for (const key of keys) {
    try {
      const opened = await webCrypto.subtle.decrypt(
        { name: "AES-GCM", iv, additionalData },
        key,
        sealed.subarray(nonceBytes)
      )
      return webCrypto.textOf(opened)
    } catch {
      // Another key may have sealed it. Web Crypto does not say why it could not decrypt.
    }
  }
  return undefined
}

/**
 * Makes a seal with AES-256-GCM of Web Crypto. Throws an `InvalidOption` for a secret that is too short.
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
      throw new InvalidOption({
        option: "secrets",
        given: `a text of ${length}`,
        allowed: `texts of at least ${minSecretCharacters} characters`
      })
    }
  }
  const [first, ...others] = secrets.map((secret) => Redacted.value(secret))
  const sealing = keyOf(first ?? "")
  const opening = Promise.all([sealing, ...others.map(keyOf)])
  return {
    seal: (text, context) => attempt(async () => encrypt(await sealing, text, context)),
    open: (sealed, context) => {
      const bytes = Base64Url.decode(sealed)
      return Result.isFailure(bytes) || bytes.success.length <= nonceBytes
        ? Effect.succeed(undefined)
        : attempt(async () => decrypt(await opening, bytes.success, context))
    },
    digest: (text) =>
      attempt(async () => {
        const digest = await webCrypto.subtle.digest("SHA-256", webCrypto.bytesOf(text))
        return Base64Url.encode(new Uint8Array(digest).subarray(0, digestBytes))
      })
  }
}

/** 128 bits: a client that wants two questions with the same digest would have to try 2^64 of them. */
const digestBytes = 16

/** Makes a seal whose secret only this process knows, and says so when it is used first. */
const ephemeral = (): RequestStateSeal => {
  const seal = make({ secrets: [Redacted.make(Base64Url.encode(webCrypto.randomBytes(32)))] })
  let isReported = false
  return {
    ...seal,
    seal: (text, context) =>
      Effect.suspend(() => {
        if (isReported) return seal.seal(text, context)
        isReported = true
        return Effect.andThen(
          Effect.logWarning(
            "a question to a client is sealed with a secret that was generated for this process: its answer is " +
              "accepted by no other process, and not after a restart; provide RequestStateSeal.layer({ secrets })"
          ),
          seal.seal(text, context)
        )
      })
  }
}

/**
 * The seal of the servers. A server reads this reference when it is made. The default has a random secret that only
 * this process knows, and logs a warning when it is used first.
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
  { defaultValue: ephemeral }
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
