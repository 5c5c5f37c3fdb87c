/** Programs e and f: a server that accepts the tokens of an OAuth issuer, and a client that signs a person in. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { freePort } from "../../../scripts/freePort.ts"
import { joinedProgram } from "../../../scripts/joinedProgram.ts"
import * as Child from "./fixtures/child.ts"
import { fileOf, implementationsOf } from "./fixtures/comparison.ts"

const fileIn = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

const identityProvider = await joinedProgram(fileIn("../../examples/src/identityProvider.ts"))

/** A folder that is removed when the scope closes. */
const folder = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(tmpdir(), "comparison-"))),
  (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true }))
)

/** Starts the authorization server of the examples, whose tokens are valid for some seconds. */
const issuer = Effect.fnUntraced(function*(seconds: number) {
  const port = yield* freePort
  const child = yield* Child.start([identityProvider, "--port", String(port), "--seconds", String(seconds)])
  yield* Child.until(() => child.output().includes("issuer "))
  return { url: `http://localhost:${port}`, grants: () => child.output().trim().split("\n").slice(1) }
})

/** Starts the server of a file. Returns its URL. */
const serve = Effect.fnUntraced(function*(file: string, ISSUER: string) {
  const port = yield* freePort
  yield* Child.start([file], { PORT: String(port), ISSUER })
  const url = `http://127.0.0.1:${port}/mcp`
  const isServing = Effect.promise(() => fetch(url, { method: "POST" }).then(() => true, () => false))
  while (!(yield* isServing)) yield* Effect.sleep("10 millis")
  return url
})

/** Runs the client of a file to its end, for a person whose browser signs in as ada. Returns its output. */
const run = Effect.fnUntraced(function*(file: string, url: string, tokens: string) {
  const person = fileIn("../../examples/test/fixtures/person.ts")
  const command = path.join(tokens, "xdg-open")
  fs.writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' '${person}' ada "$1"\n`, { mode: 0o755 })
  const PATH = `${tokens}:${Child.environment.PATH}`
  const child = yield* Child.start([file, url], { PATH, TOKENS: path.join(tokens, "kept") })
  assert.strictEqual(yield* child.exit, 0, child.output())
  return child.output().trim()
})

/** The time of a test, in milliseconds. It starts several processes, and a busy machine starts them slowly. */
const timeout = 120_000

describe.each(implementationsOf("e"))("program e, written with $name", (implementation) => {
  const file = fileOf(implementation, "e")

  it.live(
    "names its issuer and its scopes, and rejects a token of another issuer with 401",
    () =>
      Effect.gen(function*() {
        const { url: own } = yield* issuer(600)
        const url = yield* serve(file, own)
        const token = "eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9.eyJzdWIiOiJhZGEifQ.AAAA"
        const post = (authorization?: string) =>
          Effect.promise(() =>
            fetch(url, { method: "POST", headers: authorization === undefined ? {} : { authorization }, body: "{}" })
          )
        const [without, rejected] = [yield* post(), yield* post(`Bearer ${token}`)]
        assert.deepStrictEqual([without.status, rejected.status], [401, 401])
        const { 1: metadataUrl = "" } =
          /resource_metadata="([^"]+)"/.exec(without.headers.get("www-authenticate") ?? "") ??
            []
        const metadata = yield* Effect.promise(async (): Promise<unknown> => await (await fetch(metadataUrl)).json())
        assert.deepInclude(metadata, {
          resource: url,
          authorization_servers: [own],
          scopes_supported: ["notes:read", "notes:write"]
        })
        assert.include(rejected.headers.get("www-authenticate") ?? "", "error=\"invalid_token\"")
      }),
    timeout
  )
})

describe.skipIf(process.platform !== "linux").each(implementationsOf("f"))(
  "program f, written with $name",
  (implementation) => {
    for (const server of implementationsOf("e")) {
      it.live(
        `signs a person in at the server of ${server.name}, and needs no browser later`,
        () =>
          Effect.gen(function*() {
            const { grants, url: own } = yield* issuer(8)
            const url = yield* serve(fileOf(server, "e"), own)
            const tokens = yield* folder
            const file = fileOf(implementation, "f")
            assert.deepStrictEqual(JSON.parse(yield* run(file, url, tokens)), { notes: [] })
            assert.deepStrictEqual(grants(), ["authorization_code 200"])
            yield* Effect.sleep("8 seconds")
            assert.deepStrictEqual(JSON.parse(yield* run(file, url, tokens)), { notes: [] })
            assert.strictEqual(grants().filter((grant) => grant === "authorization_code 200").length, 1)
          }),
        timeout
      )
    }
  }
)
