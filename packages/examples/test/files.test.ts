/** The file server as a child process (`files.ts`), with clients that try to leave its directories. */
import { ClientSession } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { joinedProgram } from "../../../scripts/joinedProgram.ts"
import * as Child from "./fixtures/child.ts"

const program = await joinedProgram(Child.file("../../src/files.ts"))

/** Two roots, and a file beside them that no client may read. The folder is removed when the scope closes. */
const folder = Effect.acquireRelease(
  Effect.sync(() => {
    const folder = fs.realpathSync(fs.mkdtempSync(path.join(tmpdir(), "files-")))
    for (const root of ["docs", "notes"]) fs.mkdirSync(path.join(folder, root))
    fs.writeFileSync(path.join(folder, "secret.txt"), "top secret")
    fs.writeFileSync(path.join(folder, "docs", "a.md"), "# A")
    fs.writeFileSync(path.join(folder, "notes", "b.bin"), new Uint8Array([0xff]))
    fs.writeFileSync(path.join(folder, "docs", ".env"), "top secret")
    fs.symlinkSync("../secret.txt", path.join(folder, "docs", "link.txt"))
    fs.symlinkSync("..", path.join(folder, "docs", "up"))
    execFileSync("mkfifo", [path.join(folder, "docs", "fifo")])
    return folder
  }),
  (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true }))
)

const connected = Effect.gen(function*() {
  const at = yield* folder
  const server = Child.server(program, `docs=${path.join(at, "docs")}`, `notes=${path.join(at, "notes")}`)
  const client = ClientSession.layer({ info: { name: "reader", version: "1.0.0" } })
  const context = yield* Layer.build(Layer.provide(client, server.transport))
  return { folder: at, server, session: Context.get(context, ClientSession.ClientSession) }
})

describe("files.ts", () => {
  it.live("lists, completes and reads the files of its directories", () =>
    Effect.gen(function*() {
      const { session } = yield* connected
      const { resources } = yield* session.listResources()
      assert.deepStrictEqual(resources.map(({ uri }) => uri), ["files://docs/a.md", "files://notes/b.bin"])
      const [text] = (yield* session.readResource("files://docs/a.md")).contents
      assert.deepStrictEqual(text, { uri: "files://docs/a.md", mimeType: "text/markdown", text: "# A" })
      const [bytes] = (yield* session.readResource("files://notes/b.bin")).contents
      assert.deepInclude(bytes, { mimeType: "application/octet-stream", blob: "/w==" })
      const { completion } = yield* session.complete({
        ref: { type: "ref/resource", uri: "files://docs/{+path}" },
        argument: { name: "path", value: "" }
      })
      assert.deepStrictEqual(completion.values, ["a.md"])
    }).pipe(Effect.scoped))

  it.live("sends clients no byte and no path of what is outside of its directories", () =>
    Effect.gen(function*() {
      const { folder, session } = yield* connected
      for (
        const uri of [
          "files://docs/../secret.txt",
          "files://docs/%2e%2e/secret.txt",
          "files://docs/%2e%2e%2fsecret.txt",
          "files://docs/%252e%252e%252fsecret.txt",
          "files://docs/..%5csecret.txt",
          "files://docs/a.md%00",
          "files://docs/link.txt",
          "files://docs/up/secret.txt",
          "files://docs/up/notes/b.bin",
          "files://docs/.env",
          "files://docs/fifo",
          `files://docs/${folder}/secret.txt`,
          `files://docs/${encodeURIComponent(path.join(folder, "secret.txt"))}`,
          "files://docs/absent.txt",
          "files://elsewhere/secret.txt",
          `file://${folder}/secret.txt`
        ]
      ) {
        const { reason } = yield* Effect.flip(session.readResource(uri))
        assert.strictEqual(reason._tag, "ErrorResponse", uri)
        if (reason._tag !== "ErrorResponse") continue
        assert.deepStrictEqual([reason.error.code, reason.error.data], [-32602, { uri }])
      }
      // The server still responds: no thread waits for the FIFO.
      yield* session.readResource("files://docs/a.md")
    }).pipe(Effect.scoped))

  for (
    const [args, problem] of [
      [[], "usage: files.ts NAME=DIRECTORY ...\n"],
      [["docs"], "\"docs\" is not a new name with a directory\n"],
      [["docs=/", "docs=/"], "\"docs=/\" is not a new name with a directory\n"],
      [["docs=/absent/directory"], "/absent/directory"],
      [["Docs=/"], "the root \"Docs\" has an invalid name"]
    ] satisfies ReadonlyArray<[Array<string>, string]>
  ) {
    it.live(`prints the problem of its arguments, and exits with 2: ${JSON.stringify(args)}`, () =>
      Effect.gen(function*() {
        const child = yield* Child.program(process.execPath, [program, ...args])
        const run = yield* child.exited
        assert.strictEqual(run.exitCode, 2)
        assert.include(run.stderr, problem)
        assert.strictEqual(run.stdout, "")
      }))
  }
})
