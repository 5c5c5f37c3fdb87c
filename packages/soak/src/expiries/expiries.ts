/**
 * The soak of expiries: programs in three processes share the tokens of an account, which expire every second. No
 * call may fail, each expiry has exactly one refresh, no window opens, and nothing may be left of the programs.
 */
import { OAuth, type UserAgent } from "@effect-mcp/auth"
import type * as TokenStore from "@effect-mcp/auth/TokenStore"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { check } from "../openSessions.ts"
import * as Rounds from "../rounds.ts"
import type { Counts } from "../Subject.ts"
import type * as Tally from "../Tally.ts"
import * as Child from "./Child.ts"
import * as Issuer from "./Issuer.ts"
import * as Program from "./Program.ts"
import * as ProtectedServer from "./protectedServer.ts"

/** The number of expiries of one account. */
const expiriesOfOne = 10

/**
 * The number of accounts. A store in files keeps the folder of an account whose tokens were removed, and the names of
 * replaced texts for a minute.
 */
const numberOfAccounts = 102

/** The number of child processes. */
const numberOfChildren = 2

/** The number of programs for one account in this process. */
const programsHere = 2

/** The time between two looks at the number of refreshes, in milliseconds. */
const pollMillis = 50

const newFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(path.join(tmpdir(), "soak-expiries-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

/** Returns a port that is free now. */
const freePort = Effect.callback<number>((resume) => {
  const server = createServer()
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    server.close(() => resume(Effect.succeed(port)))
  })
})

/** Returns the user agent of a person who signs in to an account at once. */
const personOf = (account: string): UserAgent.UserAgent => ({
  _tag: "Redirect",
  open: () =>
    Effect.succeed({
      uri: "http://127.0.0.1/callback",
      applicationType: "native" as const,
      visit: (url) =>
        Effect.promise(async () => {
          url.searchParams.set("login_hint", account)
          const { headers } = await fetch(url, { redirect: "manual" })
          return new URL(headers.get("location") ?? "http://127.0.0.1/").searchParams
        })
    })
})

/** The members of the entry of tokens that decide when they are renewed. */
const Entry = Schema.Struct({ refreshToken: Schema.String, issuedAt: Schema.Number, expiresAt: Schema.Number })

const decodeEntry = Schema.decodeUnknownSync(Schema.fromJsonString(Entry))

/**
 * Returns the problem with a refresh: its token is not the one of the store, or is not due. Tokens are due when three
 * quarters of their lifetime have passed since their request.
 */
const judge =
  (keyOf: (account: string) => readonly [Program.Kind, TokenStore.Key], stores: Program.Stores) =>
  (account: string, refreshToken: string): Promise<string | undefined> => {
    const [kind, key] = keyOf(account)
    return Effect.runPromise(
      Effect.match(stores[kind].read(key), {
        onFailure: ({ message }) => message,
        onSuccess: (entry) => {
          if (entry === undefined) return "the store has no tokens"
          const stored = decodeEntry(Redacted.value(entry.text))
          if (stored.refreshToken !== refreshToken) return "the refresh token is not the one of the store"
          const early = stored.expiresAt - (stored.expiresAt - stored.issuedAt) / 4 - Date.now()
          return early > 0 ? `the tokens were renewed ${Math.round(early)} ms before they were due` : undefined
        }
      })
    )
  }

/** Everything that the lives of a soak share. */
interface Soak {
  readonly places: Program.Places
  readonly stores: Program.Stores
  readonly issuer: Issuer.Issuer
  readonly children: ReadonlyArray<Child.Child>
  /** The numbers of all accounts. */
  readonly sums: { calls: number; refreshes: number; windows: number }
}

const keyIn = (issuer: string, resource: string, account: string): TokenStore.Key => ({
  _tag: "Tokens",
  issuer,
  resource,
  client: Issuer.clientId,
  account
})

/** Returns the kind of store of an account. */
const kindOf = (account: string): Program.Kind => account.startsWith("files") ? "files" : "sqlite"

/** Checks that the lease of an account has been released. */
const leaseIsFree = Effect.fnUntraced(function*(
  { places: { issuer, server }, stores }: Soak,
  kind: Program.Kind,
  account: string
) {
  const key = keyIn(issuer, server, account)
  const isFree = yield* stores[kind].acquire(key, "the soak", 1000)
  yield* stores[kind].release(key, "the soak")
  yield* check(isFree, () => "a program has left its lease")
})

/** The life of one account: a person signs in, the programs call the server until its tokens have expired often. */
const live = Effect.fnUntraced(function*(
  soak: Soak,
  kind: Program.Kind,
  account: string,
  expiries: number,
  tally: Tally.Tally
): Effect.fn.Return<void, unknown, Scope.Scope> {
  const { children, issuer, places, stores } = soak
  const settings: Program.Settings = { places, stores, kind, account }
  const signed = yield* Program.authorize({ ...settings, userAgent: personOf(account) })
  const oauth = Context.get(signed, OAuth.OAuth)
  yield* oauth.login(places.server)

  yield* Effect.forEach(children, (child) => child.begin(kind, account), { concurrency: "unbounded", discard: true })
  const scope = yield* Scope.fork(yield* Effect.scope)
  const here = yield* Scope.provide(
    Effect.forEach(
      Array.from({ length: programsHere }),
      () =>
        Effect.flatMap(
          Program.authorize(settings),
          (oauth) => Program.call(settings, oauth, (session) => tally.add(session))
        )
    ),
    scope
  )
  const counted = Effect.sync(() => issuer.refreshesOf(account))
  yield* Effect.repeat(Effect.delay(counted, pollMillis), { until: (refreshes) => refreshes >= expiries })

  const numbers = yield* Effect.all([
    ...here.map(({ end }) => end),
    ...children.map((child) => child.end(account))
  ], { concurrency: "unbounded" })
  yield* Scope.close(scope, Exit.void)
  yield* check(numbers.every((calls) => calls > 0), () => `the numbers of calls are ${numbers.join(", ")}`)
  yield* check(issuer.windowsOf(account) === 1, () => `${issuer.windowsOf(account)} windows were opened`)
  soak.sums.calls += numbers.reduce((sum, calls) => sum + calls, 0)
  soak.sums.refreshes += issuer.refreshesOf(account)
  soak.sums.windows += issuer.windowsOf(account)
  const problems = issuer.problemsOf(account)
  yield* check(problems.length === 0, () => problems.join("; "))
  yield* leaseIsFree(soak, kind, account)
  yield* oauth.logout(places.server)
  issuer.forget(account)
})

/** Returns the counts of the children, with their names. */
const measured = (children: ReadonlyArray<Child.Child>): Effect.Effect<Counts> =>
  Effect.map(
    Effect.forEach(children, ({ measure }) => Effect.orDie(measure), { concurrency: "unbounded" }),
    (all) =>
      Object.fromEntries(
        all.flatMap((counts, index) =>
          Object.entries(counts).map(([name, count]) => [`child ${index + 1}: ${name}`, count] as const)
        )
      )
  )

const make: Effect.Effect<Rounds.Lives, never, Scope.Scope> = Effect.orDie(Effect.gen(function*() {
  const folder = yield* newFolder
  const stores = yield* Program.openStores(folder)
  const port = yield* freePort
  const issuer: Issuer.Issuer = yield* Issuer.start((account, refreshToken) => judged(account, refreshToken))
  const server = yield* ProtectedServer.start(issuer.url, port)
  const places: Program.Places = { folder, issuer: issuer.url, server: server.url }
  const judged = judge((account) => [kindOf(account), keyIn(issuer.url, server.url, account)], stores)
  const children = yield* Effect.all(Array.from({ length: numberOfChildren }, () => Child.start(places)), {
    concurrency: "unbounded"
  })
  const soak: Soak = { places, stores, issuer, children, sums: { calls: 0, refreshes: 0, windows: 0 } }
  const entries = Effect.map(
    Effect.orDie(Effect.forEach(Program.kinds, (kind) => stores[kind].keys)),
    (all) => Object.fromEntries(Program.kinds.map((kind, index) => [`${kind}: entries`, all[index]?.length ?? 0]))
  )
  let lives = 0
  return {
    concurrency: 48,
    settled: Effect.void,
    tables: Effect.map(
      Effect.all([entries, server.tables, measured(children)]),
      ([stored, hosted, inChildren]) => ({
        ...stored,
        ...hosted,
        accounts: issuer.accounts(),
        ...inChildren
      })
    ),
    levels: Effect.map(
      Effect.orDie(Effect.forEach(children, ({ heap }) => heap, { concurrency: "unbounded" })),
      (heaps) => ({ "heap of children": heaps.reduce((sum, heap) => sum + heap, 0) })
    ),
    shown: () => ({ ...soak.sums }),
    next: (count, tally) =>
      Array.from({ length: Math.ceil(count / expiriesOfOne) }, (_, index) => {
        const kind = Program.kinds[index % Program.kinds.length] ?? Program.kinds[0]
        const expiries = Math.min(expiriesOfOne, count - index * expiriesOfOne)
        const run = live(soak, kind, `${kind}-${lives++ % numberOfAccounts}`, expiries, tally)
        return { subject: kind, ending: "expiry", count: expiries, run }
      })
  }
}))

/** Runs a soak of expiries. */
export const run = (options: Rounds.RoundsOptions) => Rounds.run(options, make)
