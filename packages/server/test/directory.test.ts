/** Directories as resources (`McpDirectory`), on the file system of the machine. */
import * as McpDirectory from "@effect-mcp/server/McpDirectory"
import type { ClientSession } from "@effect-mcp/session"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Queue from "effect/Queue"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { describeForBothEras } from "./support/eras.ts"

/** A folder with the root `docs`, and files outside of it. It is removed when the scope closes. */
const folder = Effect.acquireRelease(
  Effect.sync(() => {
    const folder = fs.realpathSync(fs.mkdtempSync(path.join(tmpdir(), "directory-")))
    const write = (name: string, data: string | Uint8Array) => {
      fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
      fs.writeFileSync(path.join(folder, name), data)
    }
    write("secret.txt", "secret")
    write("docs-private/secret.txt", "secret")
    write("docs/a.md", "# A")
    write("docs/b c%2e#é.txt", "special")
    write("docs/logo.png", new TextEncoder().encode("valid UTF-8"))
    write("docs/bytes.txt", new Uint8Array([0xff, 0xfe, 0x41]))
    write("docs/nul", new Uint8Array([0x41, 0x00]))
    write("docs/large.txt", "x".repeat(101))
    write("docs/sub/deep/d.json", "{}")
    write("docs/.env", "secret")
    write("docs/.git/config", "secret")
    const link = (target: string, name: string) => fs.symlinkSync(target, path.join(folder, "docs", name))
    link("../secret.txt", "out.txt")
    link("..", "up")
    link("../docs-private", "sibling")
    link(".env", "visible.txt")
    link("a.md", "inside.md")
    link("loop", "loop")
    execFileSync("mkfifo", [path.join(folder, "docs", "fifo")])
    return folder
  }),
  (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true }))
)

const serve = (folder: string, options: Partial<McpDirectory.Options> = {}) =>
  Layer.provide(
    McpDirectory.layer("files", { roots: { docs: path.join(folder, "docs") }, maxBytes: 100, ...options }),
    NodeServices.layer
  )

const read = (session: ClientSession.ClientSessionShape, path: string) =>
  Effect.map(session.readResource(`files://docs/${path}`), ({ contents }) => contents[0])

/** Returns the code, the message and the data of the error of a read. */
const failure = Effect.fnUntraced(function*(session: ClientSession.ClientSessionShape, uri: string) {
  const { reason } = yield* Effect.flip(session.readResource(uri))
  assert.strictEqual(reason._tag, "ErrorResponse", uri)
  if (reason._tag !== "ErrorResponse") return undefined
  const { code, data, message } = reason.error
  return { code, message, data }
})

const complete = (session: ClientSession.ClientSessionShape, value: string) =>
  Effect.map(
    session.complete({
      ref: { type: "ref/resource", uri: "files://docs/{+path}" },
      argument: { name: "path", value }
    }),
    ({ completion }) => completion
  )

const attacks = [
  "../secret.txt",
  "sub/../../secret.txt",
  "sub/../a.md",
  "./a.md",
  "%2e%2e/secret.txt",
  "%2E%2E%2Fsecret.txt",
  "..%2fsecret.txt",
  "%252e%252e/secret.txt",
  "%252e%252e%252fsecret.txt",
  "..\\secret.txt",
  "..%5Csecret.txt",
  "sub%2Fdeep%2Fd.json",
  "a.md%00.png",
  "%00",
  "a.md%0a",
  "a.md/",
  "a.md/.",
  "/a.md",
  "/etc/passwd",
  "%2Fetc%2Fpasswd",
  "",
  "sub",
  "sub/deep/",
  "a.md?x=1",
  "a.md#x",
  "%ff",
  "%c0%ae%c0%ae/secret.txt",
  "%ZZ",
  "C:%5Csecret.txt",
  "%5C%5Cserver%5Cshare",
  "docs-private/secret.txt",
  ".env",
  "%2eenv",
  ".git/config",
  "out.txt",
  "up/secret.txt",
  "up/docs/a.md",
  "sibling/secret.txt",
  "visible.txt",
  "loop",
  "fifo",
  "a.md/x",
  "absent.txt",
  "x".repeat(5_000)
]

describeForBothEras("McpDirectory", ({ connect, isModern }) => {
  const notFound = isModern ? -32602 : -32002
  const unknown = (uri: string) => ({ code: notFound, message: `Resource not found: ${uri}`, data: { uri } })

  const serving = Effect.fnUntraced(function*(options: Partial<McpDirectory.Options> = {}) {
    const at = yield* folder
    return { folder: at, session: yield* connect(serve(at, options)) }
  })

  it.live("lists the regular files with sizes, media types and times, and neither links nor hidden files", () =>
    Effect.gen(function*() {
      const { session } = yield* serving()
      const { resources } = yield* session.listResources()
      assert.deepStrictEqual(resources.map(({ mimeType, name, size, uri }) => [name, uri, size, mimeType]), [
        ["docs/a.md", "files://docs/a.md", 3, "text/markdown"],
        ["docs/b c%2e#é.txt", "files://docs/b%20c%252e%23%C3%A9.txt", 7, "text/plain"],
        ["docs/bytes.txt", "files://docs/bytes.txt", 3, "text/plain"],
        ["docs/large.txt", "files://docs/large.txt", 101, "text/plain"],
        ["docs/logo.png", "files://docs/logo.png", 11, "image/png"],
        ["docs/nul", "files://docs/nul", 2, undefined],
        ["docs/sub/deep/d.json", "files://docs/sub/deep/d.json", 2, "application/json"]
      ])
      for (const { annotations } of resources) assert.isFalse(Number.isNaN(Date.parse(annotations?.lastModified ?? "")))
    }).pipe(Effect.scoped))

  it.live("reads UTF-8 as text, and other contents and images as blobs", () =>
    Effect.gen(function*() {
      const { session } = yield* serving()
      assert.deepStrictEqual(yield* read(session, "a.md"), {
        uri: "files://docs/a.md",
        mimeType: "text/markdown",
        text: "# A"
      })
      assert.deepInclude(yield* read(session, "b%20c%252e%23%C3%A9.txt"), { text: "special" })
      assert.deepInclude(yield* read(session, "bytes.txt"), { mimeType: "text/plain", blob: "//5B" })
      assert.deepInclude(yield* read(session, "nul"), { mimeType: "application/octet-stream", blob: "QQA=" })
      assert.deepInclude(yield* read(session, "logo.png"), { mimeType: "image/png", blob: "dmFsaWQgVVRGLTg=" })
    }).pipe(Effect.scoped))

  it.live("[RES-09] rejects every URI of a file that is not served with the same error", () =>
    Effect.gen(function*() {
      const { folder, session } = yield* serving()
      for (const attack of attacks) {
        const uri = `files://docs/${attack}`
        const { code, data, message } = (yield* failure(session, uri)) ?? assert.fail(uri)
        assert.deepStrictEqual([code, data], [notFound, { uri }])
        assert.notInclude(message, folder)
      }
      for (const uri of ["files://secret.txt", "files://docs", "files://../secret.txt", "file:///etc/passwd"]) {
        assert.deepStrictEqual(yield* failure(session, uri), unknown(uri))
      }
    }).pipe(Effect.scoped))

  it.live("subscribes a client to no file that it cannot read", () =>
    Effect.gen(function*() {
      const { session } = yield* serving()
      yield* session.subscribeResource("files://docs/a.md")
      for (const attack of ["%2e%2e/secret.txt", "out.txt", ".env", "fifo", "absent.txt"]) {
        assert.isTrue(Exit.isFailure(yield* Effect.exit(session.subscribeResource(`files://docs/${attack}`))), attack)
      }
    }).pipe(Effect.scoped))

  it.live("completes paths of files and directories within the root", () =>
    Effect.gen(function*() {
      const { session } = yield* serving()
      assert.deepStrictEqual((yield* complete(session, "")).values, [
        "a.md",
        "b%20c%252e%23%C3%A9.txt",
        "bytes.txt",
        "large.txt",
        "logo.png",
        "nul",
        "sub/"
      ])
      assert.deepStrictEqual((yield* complete(session, "sub/deep/d")).values, ["sub/deep/d.json"])
      for (
        const value of ["../", "..", "%2e%2e/", "/", "up/", "sibling/", ".", ".git/", "out", "%ZZ", "sub/../", "\\"]
      ) {
        assert.deepStrictEqual((yield* complete(session, value)).values, [], value)
      }
    }).pipe(Effect.scoped))

  it.live("completes at most 100 paths, and reports that there are more", () =>
    Effect.gen(function*() {
      const at = yield* folder
      fs.mkdirSync(path.join(at, "docs", "many"))
      for (let index = 0; index < 101; index++) fs.writeFileSync(path.join(at, "docs", "many", `${index}`), "")
      const session = yield* connect(serve(at))
      const { hasMore, values } = yield* complete(session, "many/")
      assert.deepStrictEqual([values.length, hasMore], [100, true])
    }).pipe(Effect.scoped))

  it.live("rejects a file above the size limit with the limit, also if it has no known size", () =>
    Effect.gen(function*() {
      const { session } = yield* serving()
      const problem = (uri: string) => ({
        code: -32602,
        message: `resources/read ${uri}: the file has more than 100 bytes, the limit of this server`,
        data: undefined
      })
      assert.deepStrictEqual(yield* failure(session, "files://docs/large.txt"), problem("files://docs/large.txt"))
      if (!fs.existsSync("/proc/self/status")) return
      const proc = Layer.provide(
        McpDirectory.layer("proc", {
          roots: { proc: `/proc/${process.pid}` },
          maxBytes: 100,
          maxDepth: 1,
          maxFiles: 1
        }),
        NodeServices.layer
      )
      const uri = "files://proc/status"
      assert.deepStrictEqual(yield* failure(yield* connect(proc), uri), problem(uri))
    }).pipe(Effect.scoped))

  it.live("[RES-09] follows links within the root if it may, and still none out of it or to a hidden file", () =>
    Effect.gen(function*() {
      const { session } = yield* serving({ followLinks: true })
      assert.deepInclude(yield* read(session, "inside.md"), { text: "# A" })
      for (const attack of ["out.txt", "up/secret.txt", "sibling/secret.txt", "visible.txt", "loop", "up/docs/.env"]) {
        const uri = `files://docs/${attack}`
        assert.deepStrictEqual(yield* failure(session, uri), unknown(uri))
      }
    }).pipe(Effect.scoped))

  it.live("serves hidden files if it may", () =>
    Effect.gen(function*() {
      const { session } = yield* serving({ hidden: true })
      assert.deepInclude(yield* read(session, ".git/config"), { text: "secret" })
      const { resources } = yield* session.listResources()
      assert.include(resources.map(({ name }) => name), "docs/.env")
      const uri = "files://docs/.."
      assert.deepStrictEqual(yield* failure(session, uri), unknown(uri))
    }).pipe(Effect.scoped))

  it.live("lists no more files, names and levels than its options allow", () =>
    Effect.gen(function*() {
      const at = yield* folder
      const listed = Effect.fnUntraced(function*(options: Partial<McpDirectory.Options>) {
        const { resources } = yield* Effect.flatMap(connect(serve(at, options)), (session) => session.listResources())
        return resources.map(({ name }) => name)
      })
      assert.deepStrictEqual(yield* listed({ maxFiles: 2 }), ["docs/a.md", "docs/b c%2e#é.txt"])
      assert.deepStrictEqual(yield* listed({ maxVisited: 1 }), ["docs/a.md"])
      assert.notInclude(yield* listed({ maxDepth: 2 }), "docs/sub/deep/d.json")
      assert.include(yield* listed({ maxDepth: 3 }), "docs/sub/deep/d.json")
    }).pipe(Effect.scoped))

  it.live("returns nothing of a file that replaces the one that was checked", () =>
    Effect.gen(function*() {
      const at = yield* folder
      const checked = path.join(at, "docs", "sub", "deep", "d.json")
      fs.mkdirSync(path.join(at, "elsewhere"))
      fs.writeFileSync(path.join(at, "elsewhere", "d.json"), "secret")
      // The directory is replaced by a link just before the file is opened.
      const swapping = Layer.effect(
        FileSystem.FileSystem,
        Effect.map(FileSystem.FileSystem, (files): FileSystem.FileSystem => ({
          ...files,
          open: (name, options) => {
            if (name === checked) {
              fs.renameSync(path.dirname(checked), path.join(at, "docs", "sub", "moved"))
              fs.symlinkSync(path.join(at, "elsewhere"), path.dirname(checked))
            }
            return files.open(name, options)
          }
        }))
      )
      const session = yield* connect(Layer.provide(
        McpDirectory.layer("files", { roots: { docs: path.join(at, "docs") } }),
        Layer.provideMerge(swapping, NodeServices.layer)
      ))
      const uri = "files://docs/sub/deep/d.json"
      assert.deepStrictEqual(yield* failure(session, uri), unknown(uri))
      assert.isTrue(fs.lstatSync(path.dirname(checked)).isSymbolicLink())
    }).pipe(Effect.scoped))

  it.live("with the paths of Windows, serves no drive, stream, device or short name", () =>
    Effect.gen(function*() {
      const touched: Array<string> = []
      const info: FileSystem.File.Info = {
        type: "Directory",
        mtime: Option.none(),
        atime: Option.none(),
        birthtime: Option.none(),
        dev: 1n,
        ino: Option.none(),
        mode: 0,
        nlink: Option.none(),
        uid: Option.none(),
        gid: Option.none(),
        rdev: Option.none(),
        size: (yield* Effect.provide(
          Effect.flatMap(FileSystem.FileSystem, (files) => files.stat("/")),
          NodeServices.layer
        ))
          .size,
        blksize: Option.none(),
        blocks: Option.none()
      }
      const files = FileSystem.layerNoop({
        realPath: (name) => Effect.sync(() => (touched.push(name), name)),
        stat: () => Effect.succeed(info),
        readDirectory: () => Effect.succeed([])
      })
      const windows = Layer.effect(
        Path.Path,
        Effect.map(Path.Path, (posix): Path.Path => ({
          ...posix,
          sep: "\\",
          join: path.win32.join,
          relative: path.win32.relative,
          isAbsolute: path.win32.isAbsolute
        }))
      ).pipe(Layer.provide(Path.layer))
      const session = yield* connect(
        Layer.provide(McpDirectory.layer("files", { roots: { docs: "C:\\docs" } }), Layer.merge(files, windows))
      )
      touched.length = 0
      for (
        const attack of [
          "C:",
          "C:/secret.txt",
          "C:%5Csecret.txt",
          "%5C%5Cserver%5Cshare",
          "a.txt::$DATA",
          "a.txt:stream",
          "con",
          "NUL.txt",
          "com1",
          "LPT9.log",
          "a.txt.",
          "a.txt%20",
          "SECRET~1.TXT",
          "..%5Csecret.txt"
        ]
      ) {
        const uri = `files://docs/${attack}`
        assert.deepStrictEqual(yield* failure(session, uri), unknown(uri))
      }
      assert.deepStrictEqual(touched, [])
      yield* failure(session, "files://docs/sub/a.txt")
      assert.deepStrictEqual(touched, ["C:\\docs\\sub\\a.txt"])
    }).pipe(Effect.scoped))

  it.live("notifies clients of changed files and lists if it refreshes them", () =>
    Effect.gen(function*() {
      const at = yield* folder
      const received = yield* Queue.unbounded<string>()
      const session = yield* connect(serve(at, { refresh: "20 millis" }), {
        client: {
          handlers: {
            "notifications/resources/updated": ({ uri }) => Effect.asVoid(Queue.offer(received, uri)),
            "notifications/resources/list_changed": () => Effect.asVoid(Queue.offer(received, "list"))
          }
        }
      })
      yield* session.subscribeResource("files://docs/a.md")
      fs.writeFileSync(path.join(at, "docs", "a.md"), "# A, longer")
      const both = new Set([yield* Queue.take(received), yield* Queue.take(received)])
      assert.deepStrictEqual(both, new Set(["files://docs/a.md", "list"]))
      fs.writeFileSync(path.join(at, "docs", "new.md"), "new")
      assert.strictEqual(yield* Queue.take(received), "list")
      assert.include((yield* session.listResources()).resources.map(({ name }) => name), "docs/new.md")
    }).pipe(Effect.scoped))

  it.live("answers after its timeout if the file system does not respond", () =>
    Effect.gen(function*() {
      const at = yield* folder
      const stuck = Layer.effect(
        FileSystem.FileSystem,
        Effect.map(FileSystem.FileSystem, (files): FileSystem.FileSystem => ({
          ...files,
          open: () => Effect.uninterruptible(Effect.never)
        }))
      )
      const session = yield* connect(Layer.provide(
        McpDirectory.layer("files", { roots: { docs: path.join(at, "docs") }, timeout: "50 millis" }),
        Layer.provideMerge(stuck, NodeServices.layer)
      ))
      assert.deepInclude(yield* failure(session, "files://docs/a.md"), { code: -32603, message: "Internal error" })
    }).pipe(Effect.scoped))

  it.live("does not start with a root that is no directory, or with an invalid name or number", () =>
    Effect.gen(function*() {
      const at = yield* folder
      const roots: ReadonlyArray<McpDirectory.Options["roots"]> = [
        { docs: path.join(at, "absent") },
        { docs: path.join(at, "secret.txt") },
        { "Docs": at },
        { "a/b": at },
        { "..": at }
      ]
      for (const root of roots) assert.isTrue(Exit.isFailure(yield* Effect.exit(connect(serve(at, { roots: root })))))
      const invalid: ReadonlyArray<Partial<McpDirectory.Options>> = [
        { scheme: "1x" },
        { concurrency: 0 },
        { maxBytes: Number.NaN },
        { timeout: "0 millis" },
        { refresh: "0 millis" }
      ]
      for (const options of invalid) assert.isTrue(Exit.isFailure(yield* Effect.exit(connect(serve(at, options)))))
    }).pipe(Effect.scoped))
})
