/**
 * An authorization server over HTTP, whose access tokens live for one second. It rotates refresh tokens, and records
 * what its clients do with them.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { createHash, randomUUID } from "node:crypto"
import * as http from "node:http"

/** The lifetime of an access token, in milliseconds. */
export const lifetime = 1000

/** The client of all programs. It is public. */
export const clientId = "soak"

interface Token {
  readonly text: string
  readonly issuedAt: number
}

/** The tokens of an account. An access token stays good until it expires, also if there is a newer one. */
interface Account {
  readonly resource: string
  access: ReadonlyArray<Token>
  refreshToken: string
  /** The number of refreshes. */
  refreshes: number
  isRevoked: boolean
}

interface Code {
  readonly account: string
  readonly challenge: string
  readonly resource: string
}

/** Returns the problem with a refresh of an account, which presents this refresh token. */
export type Judge = (account: string, refreshToken: string) => Promise<string | undefined>

/** The server. */
export interface Issuer {
  readonly url: string
  /** Returns the number of refreshes of an account. */
  readonly refreshesOf: (account: string) => number
  /** Returns the number of times that a person has signed in to an account. */
  readonly windowsOf: (account: string) => number
  /** Returns what clients of the account have done that they must not, and forgets it. */
  readonly problemsOf: (account: string) => ReadonlyArray<string>
  /** Returns the number of accounts with tokens. */
  readonly accounts: () => number
  /** Forgets an account. */
  readonly forget: (account: string) => void
}

class Records {
  readonly accounts = new Map<string, Account>()
  readonly windows = new Map<string, number>()
  readonly problems = new Map<string, Array<string>>()
  readonly codes = new Map<string, Code>()

  /** Returns the account in the text of a token. */
  of(token: string): readonly [name: string, account: Account | undefined] {
    const [name = ""] = token.split(" ")[0]?.split("/") ?? []
    return [name, this.accounts.get(name)]
  }

  problem(account: string, text: string): void {
    const problems = this.problems.get(account) ?? []
    this.problems.set(account, problems)
    problems.push(text)
  }
}

type Answer = readonly [status: number, json: object]

const invalidGrant: Answer = [400, { error: "invalid_grant" }]

const issued = (name: string, account: Account): Answer => {
  const now = performance.now()
  const text = `${name}/${randomUUID()}`
  account.access = [...account.access.filter(({ issuedAt }) => now - issuedAt < lifetime), { text, issuedAt: now }]
  account.refreshToken = `${name}/${randomUUID()}`
  const { refreshToken: refresh_token } = account
  return [200, { access_token: text, token_type: "Bearer", expires_in: lifetime / 1000, refresh_token }]
}

const exchanged = (records: Records, form: URLSearchParams): Answer => {
  const code = records.codes.get(form.get("code") ?? "")
  const challenge = createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url")
  if (code?.challenge !== challenge) return invalidGrant
  records.codes.delete(form.get("code") ?? "")
  const account: Account = { resource: code.resource, access: [], refreshToken: "", refreshes: 0, isRevoked: false }
  records.accounts.set(code.account, account)
  return issued(code.account, account)
}

const refreshed = (records: Records, form: URLSearchParams): Answer => {
  const token = form.get("refresh_token") ?? ""
  const [name, account] = records.of(token)
  if (account === undefined || account.isRevoked) return invalidGrant
  if (token !== account.refreshToken) {
    account.isRevoked = true
    records.problem(name, "a refresh token was presented again")
    return invalidGrant
  }
  account.refreshes++
  return issued(name, account)
}

const introspected = (issuer: string, records: Records, form: URLSearchParams): Answer => {
  const text = form.get("token") ?? ""
  const [name, account] = records.of(text)
  const token = account?.access.find((one) => one.text === text)
  const left = token === undefined ? 0 : token.issuedAt + lifetime - performance.now()
  if (account === undefined || account.isRevoked || left <= 0) return [200, { active: false }]
  const exp = (Date.now() + left) / 1000
  return [200, { active: true, iss: issuer, aud: account.resource, sub: name, scope: "read", exp }]
}

const metadataOf = (url: string): object => ({
  issuer: url,
  authorization_endpoint: `${url}/authorize`,
  token_endpoint: `${url}/token`,
  introspection_endpoint: `${url}/introspect`,
  revocation_endpoint: `${url}/revoke`,
  code_challenge_methods_supported: ["S256"],
  authorization_response_iss_parameter_supported: true
})

const answerTo = (issuer: string, records: Records, pathname: string, form: URLSearchParams): Answer => {
  switch (pathname) {
    case "/.well-known/oauth-authorization-server":
      return [200, metadataOf(issuer)]
    case "/token":
      return form.get("grant_type") === "refresh_token" ? refreshed(records, form) : exchanged(records, form)
    case "/introspect":
      return introspected(issuer, records, form)
    case "/revoke": {
      const [name] = records.of(form.get("token") ?? "")
      records.accounts.delete(name)
      return [200, {}]
    }
    default:
      return [404, {}]
  }
}

/** Returns the redirect of a person who signs in to the account that the URL names. */
const redirectOf = (issuer: string, records: Records, { searchParams }: URL): string => {
  const account = searchParams.get("login_hint") ?? ""
  records.windows.set(account, (records.windows.get(account) ?? 0) + 1)
  const code = randomUUID()
  records.codes.set(code, {
    account,
    challenge: searchParams.get("code_challenge") ?? "",
    resource: searchParams.get("resource") ?? ""
  })
  const redirect = new URL(searchParams.get("redirect_uri") ?? issuer)
  redirect.search = String(new URLSearchParams({ code, state: searchParams.get("state") ?? "", iss: issuer }))
  return redirect.href
}

const bodyOf = async (request: http.IncomingMessage): Promise<string> => {
  let body = ""
  for await (const chunk of request) body += String(chunk)
  return body
}

/** Starts the server. */
export const start = Effect.fnUntraced(function*(judge: Judge): Effect.fn.Return<Issuer, never, Scope.Scope> {
  const records = new Records()
  const server = http.createServer()
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.void))
    }),
    () =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
  const respond = async (request: http.IncomingMessage, response: http.ServerResponse): Promise<void> => {
    const target = new URL(request.url ?? "/", url)
    const form = new URLSearchParams(await bodyOf(request))
    if (target.pathname === "/authorize") {
      response.writeHead(302, { location: redirectOf(url, records, target) }).end()
      return
    }
    const refreshToken = form.get("refresh_token")
    if (refreshToken !== null) {
      const [name] = records.of(refreshToken)
      const problem = await judge(name, refreshToken)
      if (problem !== undefined) records.problem(name, problem)
    }
    const [status, json] = answerTo(url, records, target.pathname, form)
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(json))
  }
  server.on("request", (request, response) => void respond(request, response))
  return {
    url,
    refreshesOf: (account) => records.accounts.get(account)?.refreshes ?? 0,
    windowsOf: (account) => records.windows.get(account) ?? 0,
    problemsOf: (account) => records.problems.get(account) ?? [],
    accounts: () => records.accounts.size,
    forget: (account) => {
      records.accounts.delete(account)
      records.windows.delete(account)
      records.problems.delete(account)
    }
  }
})
