import { OAuthError, type UserAgent } from "@effect-mcp/auth"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import type { Target } from "../src/internal/discovery/Target.ts"
import * as AddressPolicy from "../src/internal/fetch/AddressPolicy.ts"
import type { OAuthHttp, OAuthResponse } from "../src/internal/fetch/OAuthHttp.ts"
import * as OAuthLibrary from "../src/internal/fetch/OAuthLibrary.ts"
import * as DeviceFlow from "../src/internal/flow/DeviceFlow.ts"

const issuer = "https://issuer.example"
const metadata = {
  issuer,
  token_endpoint: `${issuer}/token`,
  device_authorization_endpoint: `${issuer}/device`
}
const server = new URL("https://notes.example/mcp")
const target: Target = {
  server,
  resource: server.href,
  sendsResource: true,
  issuer,
  metadata,
  scopes: undefined,
  isLegacy: false
}

const policy = AddressPolicy.make([])

const json = (status: number, body: object): OAuthResponse => ({
  status,
  headers: { "content-type": "application/json" },
  text: JSON.stringify(body)
})

const error = (name: string): OAuthResponse => json(400, { error: name })
const granted = json(200, { access_token: "token", token_type: "Bearer" })

/**
 * Runs the flow on a test clock, because intervals are minutes. Returns the exit, the times of the polls in seconds,
 * the bodies, and the code that was shown.
 */
const play = Effect.fnUntraced(function*(device: object, answers: ReadonlyArray<OAuthResponse>) {
  const began = yield* Clock.currentTimeMillis
  const polls: Array<number> = []
  const bodies: Array<URLSearchParams> = []
  const shown: Array<UserAgent.DeviceCode> = []
  const http: OAuthHttp = {
    check: (server, url) => {
      const verdict = policy.decide(server, url)
      return verdict._tag === "Refused"
        ? OAuthError.make({ _tag: "AddressForbidden", url: url.href, address: verdict.address })
        : undefined
    },
    isAllowed: () => false,
    send: (_server, { body, url }) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        bodies.push(new URLSearchParams(body))
        if (url.pathname === "/device") {
          return json(200, {
            device_code: "the device code",
            user_code: "ABCD-EFGH",
            verification_uri: `${issuer}/activate`,
            expires_in: 600,
            ...device
          })
        }
        polls.push((now - began) / 1000)
        return answers[polls.length - 1] ?? error("authorization_pending")
      })
  }
  // The library of OAuth resolves its promises in real time, and requests run outside of this fiber.
  const clock = yield* Clock.Clock
  yield* OAuthLibrary.load
  const onClock: OAuthHttp = {
    ...http,
    send: (...request) => Effect.provideService(http.send(...request), Clock.Clock, clock)
  }
  const running = yield* Effect.forkChild(DeviceFlow.run({
    target,
    endpoint: {
      http: onClock,
      server,
      metadata,
      client: { client_id: "device client" },
      clientAuth: (_server, client, body) => body.set("client_id", client.client_id),
      proof: undefined
    },
    scopes: ["notes:read"],
    request: { server: server.href, issuer, scopes: ["notes:read"] },
    onCode: (code) => Effect.sync(() => void shown.push(code))
  }))
  while (running.pollUnsafe() === undefined) {
    for (let turn = 0; turn < 20; turn++) yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    yield* TestClock.adjust(500)
  }
  return { exit: yield* Fiber.await(running), polls, bodies, shown }
})

const reasonOf = <A>(exit: Exit.Exit<A, OAuthError.OAuthError>): OAuthError.OAuthErrorReason | undefined => {
  const found = Exit.findErrorOption(exit)
  return found._tag === "Some" && found.value instanceof OAuthError.OAuthError ? found.value.reason : undefined
}

describe("the code of a device (RFC 8628)", () => {
  it.effect("[AUT-23] is shown, and polled every 5 seconds until the person has entered it", () =>
    Effect.gen(function*() {
      const { bodies, exit, polls, shown } = yield* play({}, [error("authorization_pending"), granted])
      assert.isTrue(Exit.isSuccess(exit))
      assert.deepStrictEqual(polls, [5, 10])
      assert.deepInclude(shown[0], { code: "ABCD-EFGH", url: `${issuer}/activate`, lifetimeMillis: 600_000 })
      assert.deepStrictEqual(Object.fromEntries(bodies[0] ?? []), {
        client_id: "device client",
        resource: server.href,
        scope: "notes:read"
      })
      assert.deepStrictEqual(Object.fromEntries(bodies[1] ?? []), {
        client_id: "device client",
        device_code: "the device code",
        grant_type: "urn:ietf:params:oauth:grant-type:device_code",
        resource: server.href
      })
    }))

  it.effect("slow_down adds 5 seconds for all later polls", () =>
    Effect.gen(function*() {
      const pending = error("authorization_pending")
      const { polls } = yield* play({ interval: 2 }, [
        pending,
        error("slow_down"),
        pending,
        error("slow_down"),
        granted
      ])
      assert.deepStrictEqual(polls, [2, 4, 11, 18, 30])
    }))

  it.effect("a server that does not answer is polled less often, and the person can still finish", () =>
    Effect.gen(function*() {
      const down = json(503, {})
      const { exit, polls } = yield* play({ interval: 5 }, [down, down, down, error("authorization_pending"), granted])
      assert.isTrue(Exit.isSuccess(exit))
      assert.deepStrictEqual(polls, [5, 15, 30, 55, 60])
    }))

  it.effect("expires: by the server's answer, or by its lifetime without one", () =>
    Effect.gen(function*() {
      const answered = yield* play({}, [error("expired_token")])
      assert.strictEqual(reasonOf(answered.exit)?._tag, "UserAgentFailed")
      assert.deepStrictEqual(answered.polls, [5])
      const silent = yield* play({ expires_in: 12 }, [])
      assert.strictEqual(reasonOf(silent.exit)?._tag, "UserAgentFailed")
      assert.deepStrictEqual(silent.polls, [5, 10])
      for (const interval of [1e7, 1e308]) {
        const { exit, polls } = yield* play({ expires_in: 12, interval }, [])
        assert.strictEqual(reasonOf(exit)?._tag, "UserAgentFailed")
        assert.deepStrictEqual(polls, [])
      }
    }))

  it.effect("a person who refuses, and any other error, ends the polls", () =>
    Effect.gen(function*() {
      const denied = yield* play({}, [error("access_denied")])
      assert.deepInclude(reasonOf(denied.exit), { _tag: "Denied", error: "access_denied" })
      const other = yield* play({}, [error("invalid_client")])
      assert.deepInclude(reasonOf(other.exit), { _tag: "TokenRequestFailed", error: "invalid_client" })
      assert.deepStrictEqual(other.polls, [5])
    }))

  it.effect.each([
    "javascript:alert(1)",
    "http://issuer.example/activate",
    "https://person:secret@issuer.example/",
    "http://127.0.0.1:8080/admin?delete=all",
    "https://192.168.1.1/"
  ])(
    "[AUT-52] is not shown with the URL %s",
    (url) =>
      Effect.gen(function*() {
        const { exit, polls, shown } = yield* play({ verification_uri: url }, [])
        assert.strictEqual(reasonOf(exit)?._tag, "DiscoveryFailed")
        assert.deepStrictEqual([polls, shown], [[], []])
        const complete = yield* play({ verification_uri_complete: url }, [granted])
        assert.isUndefined(complete.shown[0]?.completeUrl)
      })
  )
})
