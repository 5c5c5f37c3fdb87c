/** Supervised clients that sign in with OAuth at a real authorization server, and groups of them. */
import { OAuth, OAuthError } from "@effect-mcp/auth"
import { McpClient, McpClients, McpServersConfig, McpTarget, ServerStatus } from "@effect-mcp/client/node"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as net from "node:net"
import * as identityServer from "../../auth/test/support/identityServer.ts"
import * as scriptedPerson from "../../auth/test/support/scriptedPerson.ts"
import { response, serve, withHandshake } from "../../transport/test/support/scriptedHttpServer.ts"
import * as ProtectedMcp from "./support/protectedMcp.ts"
import { until } from "./support/until.ts"

const options = {
  info: { name: "host", version: "1.0.0" },
  revisions: ["2025-11-25"],
  reconnect: Schedule.spaced("20 millis"),
  healthCheck: false
} as const

const at = (url: string) => McpTarget.url(url, { standalone: false })

const statusOf = <Tag extends ServerStatus.ServerStatus["_tag"]>(client: McpClient.McpClientShape, tag: Tag) =>
  Effect.map(
    Stream.runHead(Stream.filter(client.statuses, ({ _tag }) => _tag === tag)),
    (found) => found._tag === "Some" ? found.value : undefined
  )

/** A person who signs in when the test lets them. */
const patient = () => {
  const person = scriptedPerson.make()
  const visits: Array<() => void> = []
  const act = person.act
  person.act = (url) => new Promise<void>((resolve) => visits.push(resolve)).then(() => act(url))
  return { person, visits, signIn: () => visits.shift()?.() }
}

describe("a supervised client with OAuth", () => {
  it.live("waits for the person instead of reconnecting, and calls wait as well", () =>
    Effect.gen(function*() {
      const identity = yield* identityServer.start()
      const server = yield* ProtectedMcp.start(identity)
      const { person, signIn, visits } = patient()
      yield* Effect.gen(function*() {
        const client = yield* McpClient.make(at(server.url), { ...options, limits: { handshakeTimeout: 1_000 } })
        const status = yield* statusOf(client, "Authorizing")
        assert.deepInclude(status, { _tag: "Authorizing", url: person.windows[0]?.href })
        assert.deepInclude(yield* client.account?.status ?? Effect.undefined, { _tag: "Authorizing" })
        const calling = yield* Effect.forkChild(client.callTool("read"), { startImmediately: true })
        yield* Effect.sleep(1_300)
        assert.lengthOf(server.received.filter(({ kind }) => kind === "initialize"), 1)
        yield* until(() => visits.length === 1)
        signIn()
        yield* until(() => calling.pollUnsafe() !== undefined)
        assert.strictEqual((yield* client.status)._tag, "Ready")
        assert.lengthOf(person.windows, 1)
        assert.deepInclude(yield* client.account?.status ?? Effect.undefined, {
          _tag: "SignedIn",
          issuer: identity.issuer
        })
      }).pipe(Effect.provide(OAuth.layer({ userAgent: person.userAgent })))
    }))

  it.live("at a server that rejects every token, opens one window, and another one after login", () =>
    Effect.gen(function*() {
      const identity = yield* identityServer.start()
      const server = yield* ProtectedMcp.start(identity)
      server.rejects = () => true
      const ada = scriptedPerson.make()
      yield* Effect.gen(function*() {
        const client = yield* McpClient.make(at(server.url), options)
        yield* Stream.runHead(
          Stream.filter(client.statuses, (status) => status._tag === "Down" && status.attempts >= 6)
        )
        assert.lengthOf(ada.windows, 1)
        assert.isAtMost(server.received.filter(({ kind }) => kind === "initialize").length, 3)
        const error = yield* Effect.flip(client.callTool("read"))
        assert.include(error.message, "rejects a token that was just issued for it")

        server.rejects = () => false
        yield* client.account?.login() ?? Effect.void
        yield* client.callTool("read")
        assert.lengthOf(ada.windows, 2)
      }).pipe(Effect.provide(OAuth.layer({ userAgent: ada.userAgent })))
    }))

  it.live("connects at once after login, and calls that follow wait", () =>
    Effect.gen(function*() {
      const identity = yield* identityServer.start()
      const server = yield* ProtectedMcp.start(identity)
      const ada = scriptedPerson.make({ decisions: { cancels: true } })
      const { act } = scriptedPerson.make()
      yield* Effect.gen(function*() {
        const client = yield* McpClient.make(at(server.url), { ...options, reconnect: Schedule.spaced("1 hour") })
        const down = yield* statusOf(client, "Down")
        assert.include(down && ServerStatus.describe(down), "denied the authorization")
        ada.act = act
        yield* client.account?.login() ?? Effect.void
        yield* client.callTool("read")
        assert.strictEqual((yield* client.status)._tag, "Ready")
      }).pipe(Effect.provide(OAuth.layer({ userAgent: ada.userAgent })))
    }))

  it.live("logout revokes the tokens at the issuer, and no window opens until login", () =>
    Effect.gen(function*() {
      const identity = yield* identityServer.start()
      const server = yield* ProtectedMcp.start(identity)
      const ada = scriptedPerson.make()
      yield* Effect.gen(function*() {
        const clients = yield* McpClients.make({ notes: at(server.url) }, options)
        yield* clients.callTool("notes__read")
        const { account } = clients.client("notes")
        assert.isDefined(account)
        if (account === undefined) return
        yield* account.logout
        assert.lengthOf(identity.to("/token/revocation"), 2)
        assert.deepStrictEqual(yield* account.status, { _tag: "SignedOut" })
        const error = yield* Effect.flip(clients.callTool("notes__read", {}, { waitTimeout: "1 second" }))
        assert.include(error.message, "needs a person to sign in")
        const reason = error._tag === "RequestError" && error.reason._tag === "SendFailed"
          ? error.reason.error.reason
          : undefined
        const cause = reason?._tag === "AuthorizationFailed" ? reason.cause : undefined
        assert.strictEqual(cause instanceof OAuthError.OAuthError && cause.reason._tag, "SignInRequired")
        assert.lengthOf(ada.windows, 1)
        yield* account.login({ scopes: ["notes:write"] })
        assert.lengthOf(ada.windows, 2)
        assert.include(ada.windows[1]?.searchParams.get("scope"), "notes:write")
        yield* clients.callTool("notes__read")
      }).pipe(Effect.provide(OAuth.layer({ userAgent: ada.userAgent })))
    }))

  it.live("has no account at a child process, or without an authorization in which people sign in", () =>
    Effect.gen(function*() {
      const child = yield* McpClient.make(McpTarget.command("node", ["--version"]), options)
      const remote = yield* McpClient.make(at("http://127.0.0.1:9/mcp"), options)
      assert.deepStrictEqual([child.account, remote.account], [undefined, undefined])
    }))
})

describe("a group of servers that need a person", () => {
  it.live("shows one authorization at a time, and no server waits for the authorization at another", () =>
    Effect.gen(function*() {
      const identity = yield* identityServer.start()
      const one = yield* ProtectedMcp.start(identity)
      const two = yield* ProtectedMcp.start(identity)
      const other = yield* serve(
        withHandshake((received, reply) =>
          reply.json(response(received, { tools: [{ name: "open", inputSchema: { type: "object" } }] }))
        )
      )
      const { person, signIn, visits } = patient()
      yield* Effect.gen(function*() {
        const clients = yield* McpClients.make(
          { one: at(one.url), two: at(two.url), other: at(other.url) },
          { ...options, listWaitTimeout: "1 second" }
        )
        yield* statusOf(clients.client("one"), "Authorizing")
        yield* statusOf(clients.client("two"), "Authorizing")
        assert.deepStrictEqual((yield* clients.tools).map(({ name }) => name), ["other__open"])

        const statuses = yield* Effect.all([clients.client("one").status, clients.client("two").status])
        const shown = statuses.findIndex((status) => status._tag === "Authorizing" && status.isQueued !== true)
        const [first, second] = shown === 0
          ? [clients.client("one"), clients.client("two")] as const
          : [clients.client("two"), clients.client("one")] as const
        const waiting = yield* second.status
        assert.deepInclude(waiting, { _tag: "Authorizing", url: undefined, isQueued: true })
        assert.include(ServerStatus.describe(waiting), "; the authorization at another server is shown first")
        assert.deepInclude(yield* second.account?.status ?? Effect.undefined, { isQueued: true })
        assert.lengthOf(person.windows, 1)
        const error = yield* Effect.flip(second.callTool("read", {}, { waitTimeout: 50 }))
        assert.include(error.message, "the authorization at another server is shown first")

        yield* until(() => visits.length === 1)
        signIn()
        yield* statusOf(first, "Ready")
        const next = yield* Stream.runHead(
          Stream.filter(second.statuses, (status) => status._tag === "Authorizing" && status.url !== undefined)
        )
        assert.deepInclude(next, { _tag: "Some" })
        assert.lengthOf(person.windows, 2)
        yield* until(() => visits.length === 1)
        signIn()
        yield* statusOf(second, "Ready")
        assert.lengthOf(yield* clients.tools, 3)
        assert.lengthOf(person.windows, 2)
      }).pipe(Effect.provide(OAuth.layer({ userAgent: person.userAgent })))
    }))

  it.live("a person who logs in at a server does not wait for the window of another", () =>
    Effect.gen(function*() {
      const identity = yield* identityServer.start()
      const one = yield* ProtectedMcp.start(identity)
      const two = yield* ProtectedMcp.start(identity)
      const { person, signIn, visits } = patient()
      yield* Effect.gen(function*() {
        const clients = yield* McpClients.make({ one: at(one.url) }, options)
        yield* statusOf(clients.client("one"), "Authorizing")
        const second = yield* clients.add("two", at(two.url))
        yield* statusOf(second, "Authorizing")
        assert.lengthOf(person.windows, 1)
        const login = yield* Effect.forkChild(second.account?.login() ?? Effect.void)
        yield* until(() => visits.length === 2)
        const status = yield* second.status
        assert.deepInclude(status, { _tag: "Authorizing", url: person.windows[1]?.href })
        assert.notProperty(status, "isQueued")
        visits.pop()?.()
        yield* until(() => login.pollUnsafe() !== undefined)
        yield* statusOf(second, "Ready")
        assert.strictEqual((yield* clients.client("one").status)._tag, "Authorizing")
        signIn()
        yield* statusOf(clients.client("one"), "Ready")
      }).pipe(Effect.provide(OAuth.layer({ userAgent: person.userAgent })))
    }))
})

/** Returns a port that no program uses. */
const freePort = Effect.callback<number>((resume) => {
  const listener = net.createServer().listen(0, "127.0.0.1", () => {
    const address = listener.address()
    listener.close(() => resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0)))
  })
})

describe("entries of a configuration with OAuth", () => {
  for (
    const { entry, style } of [
      {
        style: "Claude Code",
        entry: (callbackPort: number) => ({
          oauth: { clientId: "${ID}", clientSecret: "${SECRET}", callbackPort, scopes: "notes:read notes:write" }
        })
      },
      {
        style: "Cursor",
        entry: (callbackPort: number) => ({
          auth: {
            CLIENT_ID: "${env:ID}",
            CLIENT_SECRET: "${env:SECRET}",
            callbackPort: String(callbackPort),
            scopes: ["notes:read", "notes:write"]
          }
        })
      }
    ]
  ) {
    it.live(`[AUT-16] are the clients at their servers (as ${style} writes them)`, () =>
      Effect.gen(function*() {
        const port = yield* freePort
        const redirectUri = `http://localhost:${port}/callback`
        const identity = yield* identityServer.start({
          clients: [{
            client_id: "known",
            client_secret: "a secret of the tests",
            token_endpoint_auth_method: "client_secret_basic",
            grant_types: ["authorization_code", "refresh_token"],
            redirect_uris: [redirectUri],
            application_type: "native"
          }]
        })
        const [server, other] = [yield* ProtectedMcp.start(identity), yield* ProtectedMcp.start(identity)]
        const targets = yield* McpServersConfig.decode({
          mcpServers: {
            notes: { type: "http", url: server.url, ...entry(port) },
            other: { url: other.url }
          }
        }, { env: { ID: "known", SECRET: "a secret of the tests" }, url: { standalone: false } })
        const ada = scriptedPerson.make()
        yield* Effect.gen(function*() {
          const clients = yield* McpClients.make(targets, options)
          yield* Effect.flatMap(clients.find("notes"), (client) => client.callTool("read"))
          yield* Effect.flatMap(clients.find("other"), (client) => client.callTool("read"))
          const notes = ada.windows.find(({ searchParams }) => searchParams.get("client_id") === "known")
          assert.strictEqual(notes?.searchParams.get("redirect_uri"), redirectUri)
          assert.includeMembers(notes?.searchParams.get("scope")?.split(" ") ?? [], ["notes:read", "notes:write"])
          const basic = `Basic ${btoa("known:a+secret+of+the+tests")}`
          assert.lengthOf(identity.to("/token").filter(({ headers }) => headers.authorization === basic), 1)
          assert.lengthOf(identity.to("/reg"), 1)
          const account = (yield* clients.find("notes")).account
          assert.deepInclude(yield* account?.status ?? Effect.undefined, { _tag: "SignedIn" })
        }).pipe(Effect.provide(OAuth.layer({ userAgent: ada.userAgent })))
      }))
  }

  it.live("of one client share its sign-in, and those of another client have their own", () =>
    Effect.gen(function*() {
      const client = {
        token_endpoint_auth_method: "client_secret_post",
        client_secret: "a secret of the tests",
        redirect_uris: ["http://127.0.0.1/callback"],
        application_type: "native"
      }
      const identity = yield* identityServer.start({
        clients: [{ ...client, client_id: "one" }, { ...client, client_id: "two" }]
      })
      const { url } = yield* ProtectedMcp.start(identity)
      const entry = (clientId: string) => ({
        url,
        oauth: { clientId, clientSecret: "${SECRET}", scopes: ["notes:read"] }
      })
      const servers = { first: entry("one"), again: entry("one"), other: entry("two"), plain: { url } }
      const targets = yield* McpServersConfig.decode({ mcpServers: servers }, {
        env: { SECRET: "a secret of the tests" },
        url: { standalone: false }
      })
      const ada = scriptedPerson.make()
      yield* Effect.gen(function*() {
        const clients = yield* McpClients.make(targets, options)
        yield* Effect.forEach(
          Object.keys(servers),
          (server) => Effect.flatMap(clients.find(server), (client) => client.callTool("read"))
        )
        const ids = ada.windows.map(({ searchParams }) => searchParams.get("client_id"))
        assert.deepStrictEqual(ids.toSorted(), ["one", "two"])
      }).pipe(Effect.provide(OAuth.layer({ userAgent: ada.userAgent })))
    }))

  it.live("fail with the way to authorize them if the program has no authorization", () =>
    Effect.gen(function*() {
      const identity = yield* identityServer.start()
      const server = yield* ProtectedMcp.start(identity)
      const targets = yield* McpServersConfig.decode({
        mcpServers: { notes: { url: server.url, auth: "oauth" } }
      }, { url: { standalone: false } })
      const clients = yield* McpClients.make(targets, options)
      const error = yield* Effect.flip(Effect.flatMap(clients.find("notes"), (client) => client.callTool("read")))
      assert.include(error.message, "provide OAuth.layer of @effect-mcp/auth")
    }))
})
