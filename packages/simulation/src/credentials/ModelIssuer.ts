/**
 * A model of an authorization server: registration, codes with PKCE, refresh tokens with rotation and the detection of
 * their reuse, and revocation.
 */
import { createHash } from "node:crypto"
import type { Script } from "./Script.ts"

/** The lifetime of access tokens, in milliseconds. */
export const lifetime = 60_000

/** The time for which a rotated refresh token is still accepted, if the issuer is graceful. */
const graceMillis = 30_000

/** A person's grant to a client: all tokens that descend from one code. */
interface Grant {
  readonly client: string
  readonly scopes: string
  readonly resource: string
  current: string
  isRevoked: boolean
}

interface AccessToken {
  readonly grant: Grant
  readonly expiresAt: number
  isRevoked: boolean
}

interface RefreshToken {
  readonly grant: Grant
  rotatedAt: number | undefined
}

interface Code {
  readonly client: string
  readonly redirectUri: string
  readonly challenge: string
  readonly scopes: string
  readonly resource: string
  isUsed: boolean
}

/** A response of the issuer. */
export interface Answer {
  readonly status: number
  readonly json: Readonly<Record<string, unknown>>
}

/** The record of refresh tokens. */
export interface Journal {
  readonly rotated: (refreshToken: string) => void
  readonly rejected: (refreshToken: string) => void
}

const refused = (error: string, status = 400): Answer => ({ status, json: { error } })

export class ModelIssuer {
  readonly url: string
  readonly #rotation: Script["rotation"]
  readonly #secrets: Set<string>
  readonly #clients = new Map<string, string>()
  readonly #codes = new Map<string, Code>()
  readonly #access = new Map<string, AccessToken>()
  readonly #refresh = new Map<string, RefreshToken>()
  /** The issuer of each secret, so that one that arrives elsewhere is noticed. */
  readonly #owners: Map<string, string>

  constructor(url: string, rotation: Script["rotation"], secrets: Set<string>, owners: Map<string, string>) {
    this.url = url
    this.#rotation = rotation
    this.#secrets = secrets
    this.#owners = owners
  }

  get metadata(): Readonly<Record<string, unknown>> {
    return {
      issuer: this.url,
      authorization_endpoint: `${this.url}/authorize`,
      token_endpoint: `${this.url}/token`,
      registration_endpoint: `${this.url}/register`,
      revocation_endpoint: `${this.url}/revoke`,
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: ["client_secret_basic"],
      authorization_response_iss_parameter_supported: true
    }
  }

  /** Registers a client. All issuers name their clients alike, so that one client could be taken for the other. */
  register(): Answer {
    const id = `client-${this.#clients.size + 1}`
    const secret = this.#secret("secret", this.#clients.size + 1)
    this.#clients.set(id, secret)
    return {
      status: 201,
      json: { client_id: id, client_secret: secret, token_endpoint_auth_method: "client_secret_basic" }
    }
  }

  /** Lets the person approve an authorization request. Returns the parameters of the redirect. */
  approve(parameters: URLSearchParams): URLSearchParams {
    const code = this.#secret("code", this.#codes.size + 1)
    this.#codes.set(code, {
      client: parameters.get("client_id") ?? "",
      redirectUri: parameters.get("redirect_uri") ?? "",
      challenge: parameters.get("code_challenge") ?? "",
      scopes: parameters.get("scope") ?? "",
      resource: parameters.get("resource") ?? "",
      isUsed: false
    })
    return new URLSearchParams({ code, state: parameters.get("state") ?? "", iss: this.url })
  }

  /** Lets the person deny it. */
  deny(parameters: URLSearchParams): URLSearchParams {
    return new URLSearchParams({ error: "access_denied", state: parameters.get("state") ?? "", iss: this.url })
  }

  /** Answers a token request. */
  token(form: URLSearchParams, authorization: string | undefined, now: number, journal: Journal): Answer {
    const client = this.#authenticated(authorization)
    if (client === undefined) return refused("invalid_client", 401)
    return form.get("grant_type") === "refresh_token"
      ? this.#refreshed(form.get("refresh_token") ?? "", client, now, journal)
      : this.#exchanged(form, client, now)
  }

  /** Answers a request to revoke a token (RFC 7009). */
  revoke(form: URLSearchParams): Answer {
    const token = form.get("token") ?? ""
    const grant = this.#refresh.get(token)?.grant ?? this.#access.get(token)?.grant
    if (grant !== undefined) grant.isRevoked = true
    return { status: 200, json: {} }
  }

  /** Revokes all grants. */
  revokeGrants(): void {
    for (const { grant } of this.#refresh.values()) grant.isRevoked = true
  }

  /** Revokes all access tokens. */
  revokeAccess(): void {
    for (const token of this.#access.values()) token.isRevoked = true
  }

  /** Returns the scopes of an access token for a resource, if it is good. */
  scopesOf(accessToken: string, resource: string, now: number): ReadonlyArray<string> | undefined {
    const token = this.#access.get(accessToken)
    const isGood = token !== undefined && !token.isRevoked && !token.grant.isRevoked && now < token.expiresAt &&
      token.grant.resource === resource
    return isGood ? token.grant.scopes.split(" ") : undefined
  }

  /** Returns whether the issuer would issue an access token with this scope for a refresh token. */
  accepts(refreshToken: string, scope: string, now: number): boolean {
    const token = this.#refresh.get(refreshToken)
    return token !== undefined && !token.grant.isRevoked && token.grant.scopes.split(" ").includes(scope) &&
      this.#isGood(token, now)
  }

  #isGood({ rotatedAt }: RefreshToken, now: number): boolean {
    return rotatedAt === undefined || (this.#rotation === "Graceful" && now - rotatedAt <= graceMillis)
  }

  #refreshed(text: string, client: string, now: number, journal: Journal): Answer {
    const token = this.#refresh.get(text)
    if (token === undefined || token.grant.isRevoked || token.grant.client !== client) {
      journal.rejected(text)
      return refused("invalid_grant")
    }
    if (!this.#isGood(token, now)) {
      // A thief or the client has used the token before: neither can go on (RFC 9700, section 4.14.2).
      token.grant.isRevoked = true
      journal.rejected(text)
      return refused("invalid_grant")
    }
    if (this.#rotation === "Fixed") return this.#issued(token.grant, text, now)
    if (token.rotatedAt !== undefined) return this.#issued(token.grant, token.grant.current, now)
    token.rotatedAt = now
    journal.rotated(text)
    return this.#issued(token.grant, this.#newRefreshToken(token.grant), now)
  }

  #exchanged(form: URLSearchParams, client: string, now: number): Answer {
    const code = this.#codes.get(form.get("code") ?? "")
    const challenge = createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url")
    const isGood = code !== undefined && !code.isUsed && code.client === client && code.challenge === challenge &&
      code.redirectUri === form.get("redirect_uri")
    if (!isGood) return refused("invalid_grant")
    code.isUsed = true
    const grant: Grant = { client, scopes: code.scopes, resource: code.resource, current: "", isRevoked: false }
    return this.#issued(grant, this.#newRefreshToken(grant), now)
  }

  #issued(grant: Grant, refreshToken: string, now: number): Answer {
    const accessToken = this.#secret("access", this.#access.size + 1)
    this.#access.set(accessToken, { grant, expiresAt: now + lifetime, isRevoked: false })
    return {
      status: 200,
      json: {
        access_token: accessToken,
        token_type: "Bearer",
        expires_in: lifetime / 1000,
        refresh_token: refreshToken,
        scope: grant.scopes
      }
    }
  }

  #newRefreshToken(grant: Grant): string {
    const text = this.#secret("refresh", this.#refresh.size + 1)
    this.#refresh.set(text, { grant, rotatedAt: undefined })
    grant.current = text
    return text
  }

  #secret(kind: string, number: number): string {
    const text = `${new URL(this.url).hostname}/${kind}/${number}.`
    this.#secrets.add(text)
    this.#owners.set(text, this.url)
    return text
  }

  /** Returns the client of an `Authorization` header. */
  #authenticated(authorization: string | undefined): string | undefined {
    const [id = "", secret = ""] = credentialsIn(authorization)
    return this.#clients.get(id) === secret ? id : undefined
  }
}

/** Returns the client id and the secret of an `Authorization` header (RFC 6749, section 2.3.1). */
export const credentialsIn = (authorization: string | undefined): ReadonlyArray<string> => {
  const encoded = /^Basic (.+)$/.exec(authorization ?? "")?.[1] ?? ""
  const parts = Buffer.from(encoded, "base64").toString().split(":")
  return parts.map((part) => decodeURIComponent(part.replaceAll("+", " ")))
}
