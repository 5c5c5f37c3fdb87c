/** People who enter the code of a device at a real authorization server. */
import { UserAgent } from "@effect-mcp/auth"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as caller from "./support/caller.ts"
import { build, causeOf, started } from "./support/clients.ts"
import * as identityServer from "./support/identityServer.ts"
import * as person from "./support/person.ts"
import * as protectedServer from "./support/protectedServer.ts"

/** A person who is shown a code, and what they were shown. */
const shownTo = (act: (code: UserAgent.DeviceCode) => Promise<unknown>) => {
  const codes: Array<UserAgent.DeviceCode> = []
  const userAgent = UserAgent.device((code) =>
    Effect.sync(() => {
      codes.push(code)
      void act(code)
    })
  )
  return { codes, userAgent }
}

// The provider states no interval, so that each poll takes 5 seconds. The sign-ins run at the same time.
const signsIn = Effect.gen(function*() {
  const { identity, server } = yield* started()
  const ada = shownTo(({ code, url }) => person.visit(url, { userCode: code }))
  const oauth = yield* build({ userAgent: ada.userAgent })
  const outcome = yield* caller.callAndWait(oauth.authorization, server.url)
  assert.deepStrictEqual(outcome, { status: 200, account: "ada", scope: "notes:read" })
  const [code] = ada.codes
  assert.deepInclude(code, { issuer: identity.issuer, server: server.url.href, url: `${identity.issuer}/device` })
  assert.strictEqual(code?.completeUrl, `${identity.issuer}/device?user_code=${code?.code}`)
  const [registration] = identity.to("/reg")
  assert.isDefined(registration)
  assert.strictEqual(identity.to("/device/auth")[0]?.body.get("resource"), server.resource)

  const first = server.calls.at(-1)?.authorization
  server.judge = ({ authorization }) => authorization === first ? { status: 401, challenge: "" } : undefined
  assert.strictEqual((yield* caller.call(oauth.authorization, server.url)).status, 200)
  assert.strictEqual(identity.to("/token").at(-1)?.body.get("grant_type"), "refresh_token")
  assert.lengthOf(ada.codes, 1)
})

const cancels = Effect.gen(function*() {
  const { identity, server } = yield* started()
  const bob = shownTo(({ code, url }) => person.visit(url, { userCode: code, cancels: true }))
  const oauth = yield* build({ userAgent: bob.userAgent })
  const exit = yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url))
  assert.deepInclude(causeOf(exit), { _tag: "Denied", issuer: identity.issuer, error: "access_denied" })
})

const isLate = Effect.gen(function*() {
  const identity = yield* identityServer.start({ deviceCodeSeconds: 1 })
  const server = yield* protectedServer.start(identity)
  const eve = shownTo(() => Promise.resolve())
  const oauth = yield* build({ userAgent: eve.userAgent })
  const exit = yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url))
  assert.deepInclude(causeOf(exit), {
    _tag: "UserAgentFailed",
    problem: "the code has expired before it was entered; sign in again"
  })
  assert.strictEqual(eve.codes[0]?.lifetimeMillis, 1_000)
  const again = yield* Effect.exit(caller.call(oauth.authorization, server.url))
  assert.isTrue(Exit.isFailure(again))
  assert.lengthOf(eve.codes, 1, "another code needs an act of the person")
})

it.live("a person enters the code and is signed in; one cancels, and one lets the code expire", () =>
  Effect.all([signsIn, cancels, isLate], { concurrency: "unbounded", discard: true }))
