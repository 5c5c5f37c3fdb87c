import { JsonRpc, McpError, Revision } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as ClientHandshake from "../../../src/internal/client/ClientHandshake.ts"

const info = { name: "client", version: "1.0.0" }
const serverInfo = { name: "server", version: "2.0.0" }
const description = ClientHandshake.describe({ info, capabilities: { roots: { listChanged: true } } })
const limit = 16_384

const responseWith = (members: object): JsonRpc.Response =>
  JsonRpc.success(0, { protocolVersion: Revision.latest, capabilities: { tools: {} }, serverInfo, ...members })

const judged = (members: object, limitBytes = limit, client = description) =>
  ClientHandshake.judge(client, limitBytes, responseWith(members))

describe("initialize", () => {
  it("[INIT-03] requests the newest of the client's revisions, in any order", () => {
    const { offer } = ClientHandshake.describe({ info, capabilities: {}, revisions: ["2024-11-05", "2025-03-26"] })
    assert.strictEqual(offer, "2025-03-26")
    assert.strictEqual(description.offer, Revision.latest)
  })

  it("[INIT-02] has the revision, the capabilities and the info of the client", () => {
    assert.deepStrictEqual(ClientHandshake.initializeParams(description, "2025-06-18"), {
      protocolVersion: "2025-06-18",
      capabilities: { roots: { listChanged: true } },
      clientInfo: info
    })
  })

  it("has no capability that its revision would misread", () => {
    const capabilities = { elicitation: { url: {} } }
    const client = ClientHandshake.describe({ info, capabilities, projection: "strict" })
    assert.deepStrictEqual(ClientHandshake.initializeParams(client, "2025-11-25").capabilities, capabilities)
    assert.deepStrictEqual(ClientHandshake.initializeParams(client, "2025-03-26").capabilities, {})
  })
})

describe("the response to initialize", () => {
  it("yields the profile of the server", () => {
    assert.deepStrictEqual(
      judged({ instructions: "Call add." }),
      Result.succeed({
        profile: {
          revision: Revision.latest,
          capabilities: { tools: {} },
          info: serverInfo,
          instructions: "Call add."
        },
        isTrimmed: false
      })
    )
  })

  it("[INIT-16] is an error: Refused, with the error", () => {
    const error = new McpError.McpError({ code: -32000, message: "no more clients", data: undefined })
    const reason = ClientHandshake.judge(description, limit, JsonRpc.failure(0, error))
    assert.isTrue(Result.isFailure(reason) && reason.failure._tag === "Refused")
    assert.strictEqual(
      Result.isFailure(reason) && reason.failure._tag === "Refused" && reason.failure.error.message,
      "no more clients"
    )
  })

  it("[INIT-16] does not match its schema: InvalidResult", () => {
    for (const members of [{ serverInfo: "server" }, { capabilities: undefined }, { protocolVersion: 1 }]) {
      const reason = judged(members)
      assert.isTrue(Result.isFailure(reason) && reason.failure._tag === "InvalidResult")
    }
  })

  it("[INIT-06] names a revision that the client does not support: UnsupportedRevision", () => {
    const client = ClientHandshake.describe({ info, capabilities: {}, revisions: ["2025-06-18", "2025-03-26"] })
    for (const protocolVersion of ["2024-11-05", "2099-01-01", ""]) {
      assert.deepStrictEqual(
        judged({ protocolVersion }, limit, client),
        Result.fail({
          _tag: "UnsupportedRevision",
          answered: protocolVersion,
          supported: ["2025-06-18", "2025-03-26"]
        })
      )
    }
  })

  it("does not declare capabilities that its revision does not have", () => {
    const client = ClientHandshake.describe({ info, capabilities: {}, projection: "strict" })
    const capabilities = { tools: {}, completions: {} }
    const capabilitiesIn = (protocolVersion: Revision.Revision) =>
      Result.map(judged({ protocolVersion, capabilities }, limit, client), ({ profile }) => profile.capabilities)
    assert.deepStrictEqual(capabilitiesIn("2025-03-26"), Result.succeed(capabilities))
    assert.deepStrictEqual(capabilitiesIn("2024-11-05"), Result.succeed({ tools: {} }))
  })

  it("law 12: is kept without icons if they exceed the limit, and is an InvalidResult if the rest does", () => {
    const icons = [{ src: `data:image/png;base64,${"A".repeat(limit)}` }]
    const trimmed = judged({ serverInfo: { ...serverInfo, icons } })
    assert.deepStrictEqual(
      Result.map(trimmed, ({ isTrimmed, profile }) => [isTrimmed, profile.info]),
      Result.succeed([true, serverInfo])
    )
    const reason = judged({ instructions: "x".repeat(limit) })
    assert.isTrue(Result.isFailure(reason) && reason.failure._tag === "InvalidResult")
    assert.include(
      Result.isFailure(reason) && reason.failure._tag === "InvalidResult" ? reason.failure.problem : "",
      `the limit is ${limit}`
    )
  })
})
