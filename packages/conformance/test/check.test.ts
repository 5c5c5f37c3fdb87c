import { afterEach, assert, beforeEach, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { isConclusive, readChecks, readClientOutput } from "../src/suite/check.ts"
import { newest } from "../src/suite/release.ts"
import type { Scenario, Side } from "../src/suite/scenario.ts"

describe("the output of the suite", () => {
  let folder = ""
  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), "checks-"))
  })
  afterEach(() => {
    fs.rmSync(folder, { recursive: true, force: true })
  })

  const scenario = (side: Side, name: string): Scenario => ({
    side,
    name,
    release: newest,
    revision: "2025-11-25",
    isExtension: false
  })

  const write = (name: string, checks: unknown) => {
    fs.mkdirSync(path.join(folder, name), { recursive: true })
    fs.writeFileSync(path.join(folder, name, "checks.json"), JSON.stringify(checks))
  }

  it("is read for one scenario", () => {
    write("server-ping-2026-11-21T17-24-24-001Z", [
      { id: "ping", name: "Ping", status: "FAILURE", errorMessage: "no answer", details: { tries: 1 } }
    ])
    write("server-ping-pong-2026-11-21T17-24-24-002Z", [{ id: "pong", status: "SUCCESS" }])
    write("ping-2026-11-21T17-24-24-003Z", [{ id: "client", status: "SUCCESS" }])
    assert.deepStrictEqual(readChecks(folder, scenario("server", "ping")), [
      { id: "ping", status: "FAILURE", errorMessage: "no answer" }
    ])
    assert.deepStrictEqual(readChecks(folder, scenario("client", "ping")), [{ id: "client", status: "SUCCESS" }])
  })

  it("is read for a scenario whose name has a slash", () => {
    write("auth/dpop-nonce-2026-11-21T17-24-24-001Z", [{ id: "nonce", status: "SUCCESS" }])
    write("auth/dpop-2026-11-21T17-24-24-002Z", [{ id: "dpop", status: "SUCCESS" }])
    assert.deepStrictEqual(readChecks(folder, scenario("client", "auth/dpop")), [{ id: "dpop", status: "SUCCESS" }])
  })

  it("is undefined for a scenario that did not run", () => {
    assert.isUndefined(readChecks(folder, scenario("server", "ping")))
    assert.isUndefined(readChecks(path.join(folder, "nowhere"), scenario("server", "ping")))
  })

  it("contains the output of a client", () => {
    write("ping-2026-11-21T17-24-24-003Z", [])
    assert.strictEqual(readClientOutput(folder, scenario("client", "ping")), "")
    fs.writeFileSync(path.join(folder, "ping-2026-11-21T17-24-24-003Z", "stderr.txt"), "no server\n")
    assert.strictEqual(readClientOutput(folder, scenario("client", "ping")), "no server\n")
  })

  it("is conclusive if there are checks, and its client has printed nothing", () => {
    const checks = [{ id: "ping", status: "SUCCESS" }] as const
    assert.isTrue(isConclusive(checks, ""))
    assert.isFalse(isConclusive(checks, "no server\n"))
    assert.isFalse(isConclusive([], ""))
    assert.isFalse(isConclusive(undefined, ""))
  })

  it("is rejected if a scenario ran twice", () => {
    write("server-ping-2026-11-21T17-24-24-001Z", [])
    write("server-ping-2026-11-21T17-24-25-001Z", [])
    assert.throws(() => readChecks(folder, scenario("server", "ping")), "more than once")
  })

  it("is rejected for an unknown status", () => {
    write("server-ping-2026-11-21T17-24-24-001Z", [{ id: "ping", status: "DONE" }])
    assert.throws(() => readChecks(folder, scenario("server", "ping")))
  })
})
