/**
 * The authorization of a program at one server: tokens, their renewal, and the sign-in of a person.
 *
 * A rejection is handled in this order: tokens that are newer, a nonce, a refresh, a grant without a person, a person.
 * Rejections are handled one after the other. None waits for a person.
 */
import type { TransportError } from "@effect-mcp/session/TransportError"
import * as AuthenticationChallenge from "@effect-mcp/transport/AuthenticationChallenge"
import type {
  Account,
  AccountStatus,
  OutgoingRequest,
  RejectedRequest,
  SentRequest,
  ServerAuthorization
} from "@effect-mcp/transport/ClientAuthorization"
import type { HeaderValues } from "@effect-mcp/transport/HttpClientOptions"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as OAuthError from "../../OAuthError.ts"
import type { Use } from "../discovery/Discovery.ts"
import * as ScopeSelection from "../discovery/ScopeSelection.ts"
import type { Target } from "../discovery/Target.ts"
import { shown } from "../fetch/shown.ts"
import type * as TokenEndpoint from "../flow/TokenEndpoint.ts"
import { Nonces } from "../proof/Nonces.ts"
import * as ProofKey from "../proof/ProofKey.ts"
import type { RegisteredClient } from "../registration/Registration.ts"
import type { Credentials, TokensKey } from "../tokens/Credentials.ts"
import * as SharedCredentials from "../tokens/SharedCredentials.ts"
import type { StoredTokens } from "../tokens/StoredTokens.ts"
import { AccessHeaders, none } from "./AccessHeaders.ts"
import type { Reason } from "./AccessReason.ts"
import { failed } from "./failures.ts"
import type { PendingSignIn } from "./PendingSignIn.ts"
import * as PersonFlow from "./PersonFlow.ts"
import * as ProgramGrant from "./ProgramGrant.ts"
import * as RememberedKey from "./RememberedKey.ts"
import type { ServerSettings } from "./ServerSettings.ts"
import { SignIns } from "./SignIns.ts"
import * as StepUps from "./StepUps.ts"
import { TokenRequests } from "./TokenRequests.ts"

type Challenge = AuthenticationChallenge.AuthenticationChallenge

const sameToken = (one: StoredTokens | undefined, other: StoredTokens | undefined): boolean =>
  one !== undefined && other !== undefined &&
  Redacted.value(one.accessToken) === Redacted.value(other.accessToken)

/** Returns the challenge that OAuth answers. */
const challengeIn = (challenges: ReadonlyArray<Challenge>): Challenge | undefined =>
  AuthenticationChallenge.find(challenges, "DPoP") ?? AuthenticationChallenge.find(challenges, "Bearer")

/** Returns why the server rejects a token, unless the server repeats the token. */
const descriptionIn = (challenge: Challenge | undefined, sent: StoredTokens | undefined) => {
  const description = challenge?.parameters["error_description"]
  const isShown = description !== undefined && sent !== undefined &&
    !description.includes(Redacted.value(sent.accessToken))
  return isShown ? { description } : {}
}

/** Returns the challenge with an error, of any scheme. */
const withError = (challenges: ReadonlyArray<Challenge>, error: string): Challenge | undefined =>
  challenges.find(({ parameters }) => parameters["error"] === error)

export class ServerAccess implements ServerAuthorization {
  readonly #settings: ServerSettings
  readonly #scope: Scope.Scope
  readonly #server: string
  readonly #nonces = new Nonces()
  readonly #headers = new AccessHeaders(this.#nonces)
  readonly #tokenRequests: TokenRequests
  readonly #signIns: SignIns
  readonly #stepUps = new StepUps.StepUps()
  /** The operations for which the server has rejected tokens that were just issued, although it accepts others. */
  readonly #refusals = new StepUps.StepUps()
  readonly #serialized = Semaphore.makeUnsafe(1).withPermits(1)
  #credentials: Credentials | undefined = undefined
  /** The scope of the credentials. */
  #used: Scope.Closeable | undefined = undefined
  /** Whether the store was searched for tokens of an earlier program. */
  #isRestored = false
  /** The scopes that were requested, and those that the server has asked for. */
  #scopes: ReadonlyArray<string> | undefined = undefined
  /** Tokens that were just issued, until the server accepts them. */
  #unproven: StoredTokens | undefined = undefined
  /** Whether the server has accepted tokens of this issuer. Then it rejects a request, and not all tokens. */
  #accepts = false
  /** The authorization that the grant of the program has given last. */
  #granted: Reason | undefined = undefined
  /** The failure of all requests until a person acts. */
  #failure: OAuthError.OAuthError | undefined = undefined

  constructor(settings: ServerSettings, scope: Scope.Scope) {
    this.#settings = settings
    this.#scope = scope
    this.#server = shown(settings.server)
    this.#tokenRequests = new TokenRequests(settings, this.#nonces)
    this.#signIns = new SignIns(settings, this.#server, scope, (reason, pending) => this.#signIn(reason, pending))
  }

  readonly headers = (request: OutgoingRequest): Effect.Effect<HeaderValues, TransportError> => {
    // A token goes to its server only (AUT-34).
    if (request.url.origin !== this.#settings.server.origin) return Effect.succeed(none)
    const fresh = this.#failure === undefined
      ? this.#credentials?.freshAt(this.#settings.clock.currentTimeMillisUnsafe())
      : undefined
    // An `Exit` for most requests, whose caller needs no fiber and no deadline then.
    if (fresh !== undefined) return this.#headers.of(fresh, request)
    return this.#failing(Effect.flatMap(
      this.#usable,
      (tokens): Effect.Effect<HeaderValues, TransportError> => {
        if (tokens !== undefined) return this.#headers.of(tokens, request)
        const { pending } = this.#signIns
        return pending === undefined ? Effect.succeed(none) : Effect.fail(pending.required)
      }
    ))
  }

  readonly rejected = (request: RejectedRequest): Effect.Effect<"Again" | "Final", TransportError> =>
    Effect.suspend(() => {
      const { challenges, header, status, url } = request
      const hasNewNonce = this.#nonces.set(url.origin, header("dpop-nonce"))
      if (hasNewNonce && withError(challenges, "use_dpop_nonce") !== undefined) return Effect.succeed("Again" as const)
      const sent = this.#headers.tokensOf(request.sentWith)
      const operation = request.operation ?? request.method
      if (status === 401) {
        return this.#failing(this.#serialized(this.#unauthorized(sent, challengeIn(challenges), operation)))
      }
      this.#accepted(sent)
      const challenge = withError(challenges, "insufficient_scope")
      const wanted = ScopeSelection.parse(challenge?.parameters["scope"] ?? "")
      return challenge === undefined || wanted.length === 0
        ? Effect.succeed("Final" as const)
        : this.#failing(this.#serialized(this.#insufficient(sent, challenge, operation)))
    })

  readonly responded = ({ sentWith, url }: SentRequest, header: (name: string) => string | undefined): void => {
    this.#accepted(this.#headers.tokensOf(sentWith))
    this.#nonces.set(url.origin, header("dpop-nonce"))
  }

  /** Records that the server has accepted tokens. Those of another request say nothing about those just issued. */
  #accepted(sent: StoredTokens | undefined): void {
    if (sent !== undefined) this.#accepts = true
    if (sameToken(sent, this.#unproven)) this.#unproven = undefined
  }

  /** Signs a person in, or requests the grant of the program. This is the act that permits a window. */
  readonly login = (scopes: ReadonlyArray<string> | undefined): Effect.Effect<void, OAuthError.OAuthError> =>
    Effect.flatMap(this.begin(scopes), (pending) => pending?.authorized ?? Effect.void)

  /** Begins to sign a person in. Returns the sign-in when its URL is known; `undefined` if no person was needed. */
  readonly begin = (
    scopes: ReadonlyArray<string> | undefined
  ): Effect.Effect<PendingSignIn | undefined, OAuthError.OAuthError> =>
    this.#serialized(Effect.gen({ self: this }, function*() {
      this.#failure = undefined
      this.#unproven = undefined
      this.#stepUps.reset()
      this.#refusals.reset()
      this.#signIns.permit()
      this.#scopes = ScopeSelection.union(this.#scopes, scopes)
      const target = yield* this.#discover(undefined, true)
      // Those that the program or an earlier challenge names, and not all that the server supports.
      const isNamed = this.#scopes !== undefined && this.#scopes.length > 0
      const selected = this.#select(isNamed ? { ...target, scopes: undefined } : target, undefined)
      const reason: Reason = { target, scopes: selected, isProven: this.#settings.isProven }
      if (this.#settings.grant !== undefined) {
        yield* this.#request(reason)
        return undefined
      }
      yield* this.#forgetUnknown(target)
      return yield* this.#signIns.begin(reason, true)
    }))

  /** Removes the tokens, and revokes them at the issuer (RFC 7009). No window opens without another `login`. */
  readonly logout: Effect.Effect<void, OAuthError.OAuthError> = Effect.suspend(() =>
    this.#serialized(Effect.gen({ self: this }, function*() {
      yield* this.#signIns.abandon
      yield* this.#restore
      this.#scopes = undefined
      this.#unproven = undefined
      const credentials = this.#credentials
      if (credentials === undefined) return
      // While the store fails, they are still those of this program, and the next logout removes them.
      const tokens = yield* credentials.remove
      yield* this.#leave
      if (tokens !== undefined) yield* this.#tokenRequests.revoke(credentials.key, tokens)
    }))
  )

  readonly status: Effect.Effect<AccountStatus, OAuthError.OAuthError> = Effect.gen({ self: this }, function*() {
    const { pending } = this.#signIns
    if (pending !== undefined) {
      const { code, isQueued, since, url } = pending
      return { _tag: "Authorizing", url, code, since, ...(isQueued ? { isQueued } : {}) }
    }
    yield* this.#restore
    const tokens = yield* this.#credentials?.current ?? Effect.undefined
    if (this.#credentials === undefined || tokens === undefined) return { _tag: "SignedOut" }
    return {
      _tag: "SignedIn",
      issuer: this.#credentials.key.issuer,
      scopes: tokens.scopes,
      expiresAt: tokens.expiresAt,
      isRefreshable: tokens.refreshToken !== undefined
    }
  })

  /** The account, with the errors of a transport. */
  readonly account: Account = {
    login: ({ scopes } = {}) => this.#failing(this.login(scopes)),
    logout: Effect.suspend(() => this.#failing(this.logout)),
    status: Effect.suspend(() => this.#failing(this.status))
  }

  /** Turns errors of the authorization into those of a transport. */
  #failing<A>(effect: Effect.Effect<A, OAuthError.OAuthError | TransportError>): Effect.Effect<A, TransportError> {
    return Effect.mapError(effect, (error) => error._tag === "OAuthError" ? failed(this.#server, error) : error)
  }

  /** Returns the tokens for the next request, after a refresh or a new grant if they expire. */
  get #usable(): Effect.Effect<StoredTokens | undefined, OAuthError.OAuthError> {
    return Effect.gen({ self: this }, function*() {
      if (this.#failure !== undefined) return yield* this.#failure
      if (!this.#isRestored) yield* this.#serialized(this.#restore)
      const tokens = yield* this.#credentials?.refreshIfNeeded ?? Effect.undefined
      if (tokens !== undefined) return tokens
      if (this.#signIns.pending !== undefined) return yield* this.#serialized(this.#ofOthers)
      // Without a grant, the server answers with a challenge, which says what it needs.
      return this.#granted === undefined ? undefined : yield* this.#serialized(this.#renewed(this.#granted))
    })
  }

  /** Returns the tokens of another program, in which a person may have signed in while a person is asked here. */
  get #ofOthers(): Effect.Effect<StoredTokens | undefined, OAuthError.OAuthError> {
    return Effect.andThen(
      this.#search,
      Effect.suspend(() => this.#credentials?.refreshIfNeeded ?? Effect.undefined)
    )
  }

  /** Requests the grant of the program again, because its tokens have expired. */
  #renewed(reason: Reason): Effect.Effect<StoredTokens | undefined, OAuthError.OAuthError> {
    return Effect.gen({ self: this }, function*() {
      if (this.#failure !== undefined) return yield* this.#failure
      const others = yield* this.#credentials?.refreshIfNeeded ?? Effect.undefined
      if (others !== undefined) return others
      yield* this.#request(reason)
      return yield* this.#credentials?.current ?? Effect.undefined
    })
  }

  /** Searches the store for the tokens of an earlier program, once. */
  get #restore(): Effect.Effect<void, OAuthError.OAuthError> {
    return Effect.gen({ self: this }, function*() {
      if (this.#isRestored) return
      yield* this.#search
      this.#isRestored = true
    })
  }

  /** Searches the store for tokens of this program at the server, and uses them. */
  get #search(): Effect.Effect<void, OAuthError.OAuthError> {
    return Effect.flatMap(
      RememberedKey.find(this.#settings),
      (key) => key === undefined ? Effect.void : Effect.asVoid(this.#use(key))
    )
  }

  /** Uses the tokens of a key from now on. */
  #use(key: TokensKey): Effect.Effect<Credentials> {
    return Effect.uninterruptible(Effect.gen({ self: this }, function*() {
      const known = this.#credentials
      if (known !== undefined && isSameKey(known.key, key)) return known
      yield* this.#leave
      const used = yield* Scope.fork(this.#scope)
      const credentials = yield* Scope.provide(
        SharedCredentials.make({
          store: this.#settings.store,
          key,
          refresh: (tokens) => this.#tokenRequests.refresh(key, tokens)
        }),
        used
      )
      this.#credentials = credentials
      this.#used = used
      return credentials
    }))
  }

  /**
   * Uses the present tokens no longer. A server can name another issuer with each response, so that they would add up.
   * A refresh that runs has some time to end, without the caller.
   */
  get #leave(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const used = this.#used
      this.#credentials = undefined
      this.#used = undefined
      this.#accepts = false
      return used === undefined
        ? Effect.void
        : Effect.asVoid(Effect.forkIn(Effect.uninterruptible(Scope.close(used, Exit.void)), this.#scope))
    })
  }

  #keyOf({ issuer, resource }: Target, { client }: RegisteredClient): TokensKey {
    return { _tag: "Tokens", issuer, resource, client: client.client_id, account: this.#settings.account }
  }

  get #purpose(): Use {
    const { grant, userAgent } = this.#settings
    if (grant !== undefined || userAgent._tag === "None") return "Token"
    return userAgent._tag === "Device" ? "Device" : "Code"
  }

  #discover(challenge: Challenge | undefined, isFresh: boolean): Effect.Effect<Target, OAuthError.OAuthError> {
    const { discovery, server } = this.#settings
    return discovery.discover({ server, challenge, isFresh, use: this.#purpose })
  }

  #select(target: Target, challenge: Challenge | undefined): ReadonlyArray<string> | undefined {
    return ScopeSelection.select({
      target,
      challenge,
      wanted: this.#settings.scopes,
      requested: this.#scopes,
      isOffline: this.#settings.grant === undefined
    })
  }

  /** Handles 401. */
  #unauthorized(
    sent: StoredTokens | undefined,
    challenge: Challenge | undefined,
    operation: string
  ): Effect.Effect<"Again", OAuthError.OAuthError | TransportError> {
    return Effect.gen({ self: this }, function*() {
      if (this.#failure !== undefined) return yield* this.#failure
      if (this.#signIns.pending !== undefined) return yield* this.#signIns.pending.required
      yield* this.#restore
      const newer = yield* this.#credentials?.refreshIfNeeded ?? Effect.undefined
      if (newer !== undefined && !sameToken(newer, sent)) return "Again" as const
      const now = yield* Clock.currentTimeMillis
      const rejected = OAuthError.make({
        _tag: "TokenRejected",
        server: this.#server,
        ...descriptionIn(challenge, sent)
      })
      if (sent !== undefined && !this.#refusals.permits(operation, now)) return yield* rejected
      if (sameToken(sent, this.#unproven)) {
        if (this.#accepts) this.#refusals.add(operation, now)
        else this.#failure = rejected
        return yield* rejected
      }
      // The server may have other metadata than before it rejected the token (RFC 9728, section 5.2).
      const discovered = yield* Effect.result(this.#discover(challenge, sent !== undefined))
      const refreshed = yield* this.#refreshed(sent, discovered)
      if (refreshed !== undefined) {
        this.#unproven = refreshed
        return "Again" as const
      }
      const target = yield* Effect.fromResult(discovered)
      const isProven = this.#settings.isProven || challenge?.scheme.toLowerCase() === "dpop"
      return yield* this.#authorize({ target, scopes: this.#select(target, challenge), isProven }, operation)
    })
  }

  /** Returns other tokens than those that were rejected, without a person. */
  #refreshed(
    sent: StoredTokens | undefined,
    discovered: Result.Result<Target, OAuthError.OAuthError>
  ): Effect.Effect<StoredTokens | undefined, OAuthError.OAuthError> {
    return Effect.gen({ self: this }, function*() {
      const credentials = this.#credentials
      if (Result.isFailure(discovered)) {
        // Metadata that is out of reach now does not prevent a refresh at the issuer that is known.
        if (discovered.failure.reason._tag !== "Unavailable" || credentials === undefined || sent === undefined) {
          return yield* discovered.failure
        }
        return yield* credentials.refreshAfter(sent.accessToken)
      }
      const target = discovered.success
      const client = yield* this.#settings.registration.known(target)
      const isKnown = credentials !== undefined && credentials.key.issuer === target.issuer &&
        credentials.key.resource === target.resource &&
        (client === undefined || credentials.key.client === client.client.client_id)
      if (isKnown) return sent === undefined ? undefined : yield* credentials.refreshAfter(sent.accessToken)
      // Another program may have signed in, also as another client, or this one at another issuer.
      if (client === undefined) return undefined
      const other = yield* this.#use(this.#keyOf(target, client))
      const tokens = yield* other.refreshIfNeeded
      return sameToken(tokens, sent) ? undefined : tokens
    })
  }

  /** Handles 403 with `insufficient_scope` (AUT-38 to AUT-40). */
  #insufficient(
    sent: StoredTokens | undefined,
    challenge: Challenge,
    operation: string
  ): Effect.Effect<"Again", OAuthError.OAuthError | TransportError> {
    return Effect.gen({ self: this }, function*() {
      if (this.#failure !== undefined) return yield* this.#failure
      if (this.#signIns.pending !== undefined) return yield* this.#signIns.pending.required
      const current = yield* this.#credentials?.current ?? Effect.undefined
      if (current !== undefined && !sameToken(current, sent)) return "Again" as const
      if (!this.#stepUps.permits(operation, yield* Clock.currentTimeMillis)) {
        return yield* OAuthError.make({
          _tag: "StepUpLimit",
          server: this.#server,
          operation,
          limit: StepUps.limit
        })
      }
      const target = yield* this.#discover(challenge, false)
      const before = this.#scopes
      this.#scopes = ScopeSelection.union(this.#scopes, current?.scopes)
      const isProven = current?.tokenType === "DPoP" || this.#settings.isProven
      const reason: Reason = { target, scopes: this.#select(target, challenge), isProven }
      return yield* Effect.tapError(this.#authorize(reason, operation), () =>
        Effect.sync(() => {
          // The present tokens are good for other operations. A person may request the scopes by `login`.
          this.#failure = undefined
          if (this.#settings.grant !== undefined) this.#scopes = before
        }))
    })
  }

  /** Requests the grant of the program, or begins to sign a person in. */
  #authorize(
    reason: Reason,
    operation: string
  ): Effect.Effect<"Again", OAuthError.OAuthError | TransportError> {
    return Effect.gen({ self: this }, function*() {
      this.#scopes = reason.scopes
      this.#stepUps.add(operation, yield* Clock.currentTimeMillis)
      if (this.#settings.grant !== undefined) {
        yield* this.#request(reason)
        return "Again" as const
      }
      const pending = yield* this.#signIns.begin(reason, false)
      if (this.#signIns.pending === pending) return yield* pending.required
      // A person who answers at once is quicker than the caller.
      yield* pending.authorized
      return "Again" as const
    })
  }

  /** Requests tokens by the grant of the program. A rejection is final until `login` (AUX-06). */
  #request(reason: Reason): Effect.Effect<void, OAuthError.OAuthError> {
    const { grant } = this.#settings
    if (grant === undefined) return Effect.void
    return Effect.gen({ self: this }, function*() {
      const proof = yield* this.#proofFor(reason)
      const { scopes, target } = reason
      yield* this.#save(reason, yield* ProgramGrant.run(this.#settings, grant, target, scopes, proof))
      this.#granted = reason
    }).pipe(Effect.tapError((error) =>
      Effect.sync(() => {
        if (error.reason._tag !== "Unavailable") this.#failure = error
      })
    ))
  }

  /** Signs a person in, and stores the tokens. */
  #signIn(reason: Reason, pending: PendingSignIn): Effect.Effect<void, OAuthError.OAuthError> {
    return Effect.gen({ self: this }, function*() {
      const proof = yield* this.#proofFor(reason)
      const { scopes, target } = reason
      yield* this.#save(reason, yield* PersonFlow.run(this.#settings, { target, scopes, pending, proof }))
    })
  }

  /** Stores tokens, and uses them from now on. */
  #save({ scopes, target }: Reason, { client, granted }: PersonFlow.Authorized): Effect.Effect<void> {
    return Effect.gen({ self: this }, function*() {
      const credentials = yield* this.#use(this.#keyOf(target, client))
      this.#unproven = yield* credentials.save(granted.response, { sentAt: granted.sentAt, scopes })
      this.#isRestored = true
    })
  }

  #proofFor({ isProven }: Reason): Effect.Effect<TokenEndpoint.Proof | undefined> {
    return isProven
      ? Effect.map(ProofKey.generate, (key) => ({ key, nonces: this.#nonces }))
      : Effect.undefined
  }

  /**
   * Forgets the client of a sign-in that the person begins anew without an answer to the first. An issuer that does not
   * know the client shows that only to the person. A client with tokens is kept, because they need it.
   */
  #forgetUnknown(target: Target): Effect.Effect<void> {
    return Effect.gen({ self: this }, function*() {
      const clientId = this.#signIns.pending?.rememberedClient
      // Another program may have stored tokens of this client.
      yield* this.#search
      const tokens = yield* this.#credentials?.current ?? Effect.undefined
      if (clientId !== undefined && tokens === undefined) yield* this.#settings.registration.forget(target, clientId)
    }).pipe(Effect.ignore)
  }
}

const isSameKey = (one: TokensKey, other: TokensKey): boolean =>
  one.issuer === other.issuer && one.resource === other.resource && one.client === other.client &&
  one.account === other.account
