/** The command without a terminal: what it creates, what it prints, and what it never touches. */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Program from "./program.ts"

const folder = Program.folders()

const built = folder()
let main = ""
beforeAll(async () => {
  main = await Program.build(built)
})

const create = (cwd: string, ...args: ReadonlyArray<string>) => Program.run(main, args, cwd)

/** Returns all files below a folder, with their contents. */
const contentsOf = (folder: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    fs.readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.join(entry.parentPath, entry.name))
      .map((file) => [path.relative(folder, file), fs.readFileSync(file, "utf8")])
  )

describe.concurrent("npm create @effect-mcp", () => {
  it("creates a project with the name of its folder, in folders that do not exist yet", async () => {
    const cwd = folder()
    const { status, stderr, stdout } = await create(cwd, "new/my-server", "--template", "stdio")
    assert.deepStrictEqual({ status, stderr }, { status: 0, stderr: "" })
    const contents = contentsOf(path.join(cwd, "new/my-server"))
    assert.includeMembers(Object.keys(contents), [".gitignore", "README.md", "package.json", "src/main.ts"])
    assert.deepStrictEqual(Object.keys(contents).filter((file) => path.basename(file).startsWith("_")), [])
    assert.deepInclude(JSON.parse(contents["package.json"] ?? ""), { name: "my-server", version: "1.0.0" })
    assert.deepStrictEqual(fs.readdirSync(path.join(cwd, "new")), ["my-server"])
    assert.include(stdout, "  cd new/my-server\n  npm install\n  npm run check\n  npm test\n  npm run build\n")
  })

  it.each(["tools", "@ada/tools"])("names the project %s in its README", async (name) => {
    const cwd = folder()
    const readmeOf = async (template: string): Promise<string> => {
      await create(cwd, template, "--template", template, "--name", name)
      return fs.readFileSync(path.join(cwd, template, "README.md"), "utf8")
    }
    for (const template of ["stdio", "http", "stateless", "agent", "tools"]) {
      const readme = await readmeOf(template)
      assert.isTrue(readme.startsWith(`# ${name}\n`), template)
      assert.notInclude(readme, "my-project", template)
    }
    assert.include(fs.readFileSync(path.join(cwd, "tools/README.md"), "utf8"), `from "${name}"`)
    // Hosts take no scope.
    assert.include(fs.readFileSync(path.join(cwd, "stdio/README.md"), "utf8"), "--name tools -- node dist/server.mjs")
  })

  it("prints an entry for a host, which names the absolute file", async () => {
    const cwd = folder()
    const { stdout } = await create(cwd, "my server", "--template", "stdio", "--name", "@ada/greeter")
    const [line = ""] = /^ {2}\{.*\}$/m.exec(stdout) ?? []
    assert.deepStrictEqual(JSON.parse(line), {
      mcpServers: { greeter: { command: "node", args: [path.join(cwd, "my server/dist/server.mjs")] } }
    })
    assert.include(stdout, "  cd 'my server'\n")
  })

  it("prints an entry with a URL, and the command that prints its token", async () => {
    const cwd = folder()
    const { stdout } = await create(cwd, "notes", "--template", "http")
    const [line = ""] = /^ {2}\{.*\}$/m.exec(stdout) ?? []
    const headers = { Authorization: "Bearer TOKEN" }
    assert.deepStrictEqual(JSON.parse(line), {
      mcpServers: { notes: { type: "http", url: "http://127.0.0.1:3000/mcp", headers } }
    })
    assert.include(stdout, "\"npm run token -- ada\" prints the TOKEN.")
  })

  it("prints the commands of the package manager that runs it, or of the one that is named", async () => {
    const cwd = folder()
    const agents = { npm_config_user_agent: "pnpm/12.21.0 npm/? node/v24.21.0 linux x64" }
    const pnpm = await Program.run(main, ["one", "--template", "agent"], cwd, agents)
    assert.include(
      pnpm.stdout,
      "  pnpm install\n  pnpm run check\n  pnpm test\n  pnpm start \"Remember to buy milk\"\n"
    )
    const bun = await Program.run(main, ["two", "--template", "tools", "--package-manager", "bun"], cwd, agents)
    assert.include(bun.stdout, "  bun install\n  bun run check\n  bun run test\n  bun run build\n")
  })

  it("writes the settings that Yarn needs, and those of no other package manager", async () => {
    const cwd = folder()
    await create(cwd, "one", "--template", "stdio", "--package-manager", "yarn")
    assert.include(fs.readFileSync(path.join(cwd, "one/.yarnrc.yml"), "utf8"), "\nnodeLinker: node-modules\n")
    await create(cwd, "two", "--template", "stdio", "--package-manager", "deno")
    assert.isFalse(fs.existsSync(path.join(cwd, "two/.yarnrc.yml")))
  })

  it("fills an empty folder, also the current one", async () => {
    const cwd = folder()
    fs.mkdirSync(path.join(cwd, "here"))
    const { status, stdout } = await create(path.join(cwd, "here"), ".", "--template", "http")
    assert.strictEqual(status, 0)
    assert.include(Object.keys(contentsOf(path.join(cwd, "here"))), "src/server.ts")
    assert.notInclude(stdout, "  cd ")
  })

  it("rejects a folder that is not empty, a file and a symbolic link, and changes nothing", async () => {
    const cwd = folder()
    fs.mkdirSync(path.join(cwd, "full"))
    fs.writeFileSync(path.join(cwd, "full", ".hidden"), "mine")
    fs.writeFileSync(path.join(cwd, "file"), "mine")
    fs.mkdirSync(path.join(cwd, "empty"))
    fs.symlinkSync("empty", path.join(cwd, "link"))
    fs.symlinkSync("nowhere", path.join(cwd, "dangling"))
    const before = contentsOf(cwd)
    const problems = {
      full: "is not empty",
      file: "is a file",
      link: "is a symbolic link",
      dangling: "is a symbolic link"
    }
    for (const [folder, problem] of Object.entries(problems)) {
      const { status, stderr } = await create(cwd, folder, "--template", "stdio")
      assert.strictEqual(status, 1)
      const advice = "name a folder that does not exist, or an empty one"
      assert.strictEqual(stderr, `error: ${path.join(cwd, folder)} ${problem}; ${advice}\n`)
    }
    assert.deepStrictEqual(contentsOf(cwd), before)
    assert.deepStrictEqual(fs.readdirSync(path.join(cwd, "empty")), [])
    assert.deepStrictEqual(fs.readdirSync(cwd).toSorted(), ["dangling", "empty", "file", "full", "link"])
  })

  it("names the reason if a place cannot be read", async () => {
    const cwd = folder()
    fs.writeFileSync(path.join(cwd, "file"), "mine")
    const { status, stderr } = await create(cwd, "file/inner", "--template", "stdio")
    assert.strictEqual(status, 1)
    assert.match(stderr, /^error: \S+file\/inner cannot be created: ENOTDIR: .+\n$/)
  })

  it("leaves nothing of a project that cannot be written", async () => {
    // Two files of the template have one name in the project, so that writing stops in the middle.
    const broken = folder()
    fs.cpSync(built, broken, { recursive: true })
    const cwd = folder()
    fs.mkdirSync(path.join(cwd, "empty"))
    fs.copyFileSync(path.join(broken, "templates/tools/_gitignore"), path.join(broken, "templates/tools/.gitignore"))
    const faulty = (folder: string) => Program.run(path.join(broken, "main.js"), [folder, "--template", "tools"], cwd)
    for (const folder of ["a/b/new", "empty"]) {
      const { status, stderr } = await faulty(folder)
      assert.strictEqual(status, 1)
      assert.match(stderr, /^error: \S+ cannot be created: EEXIST.+\n$/)
    }
    assert.deepStrictEqual(fs.readdirSync(cwd), ["empty"])
    assert.deepStrictEqual(fs.readdirSync(path.join(cwd, "empty")), [])
  })

  it.each([
    [[], /^error: name the folder and the template, .*--template stdio\|http\|stateless\|agent\|tools\n$/],
    [["my-server"], /^error: name the folder and the template/],
    [
      ["one", "two", "--template", "stdio"],
      /^error: expected one folder, but got also "two"; with npm, write "--" before the flags: .* one -- .*\n$/
    ],
    [["a", "--template", "../stdio"], /^error: --template takes one of stdio, http, .*, not "\.\.\/stdio"\n$/],
    [["a", "--package-manager", "cargo"], /^error: --package-manager takes one of npm, .*, not "cargo"\n$/],
    [["a", "--flag"], /^error: Unknown option '--flag'; --help has the flags\n$/],
    [["My Server", "--template", "stdio"], /^error: "My Server" is no name of a package: .*; set --name\n$/],
    [["a", "--template", "stdio", "--name", "@a"], /^error: "@a" is no name of a package: .*; set --name\n$/]
  ])("with %j fails with one line that says what to write", async (args, line) => {
    const cwd = folder()
    const { status, stderr, stdout } = await create(cwd, ...args)
    assert.strictEqual(status, 1)
    assert.strictEqual(stdout, "")
    assert.match(stderr, line)
    assert.deepStrictEqual(fs.readdirSync(cwd), [])
  })

  it("prints its version, and its help with each template and flag", async () => {
    const cwd = folder()
    const manifest = JSON.parse(fs.readFileSync(new URL("../package.json", import.meta.url), "utf8"))
    assert.strictEqual((await create(cwd, "--version")).stdout, `${manifest.version}\n`)
    const { stdout } = await create(cwd, "--help")
    for (const word of ["stdio", "http", "stateless", "agent", "tools", "--template", "--install"]) {
      assert.include(stdout, word)
    }
  })

  it("installs if it is asked to, and names the command if that fails", async () => {
    const cwd = folder()
    const tools = path.join(cwd, "bin")
    fs.mkdirSync(tools)
    // A package manager of this name that records how it was called.
    fs.writeFileSync(
      path.join(tools, "yarn"),
      "#!/bin/sh\npwd > called; echo \"$@\" >> called; exit \"$YARN_STATUS\"\n",
      {
        mode: 0o755
      }
    )
    const install = (folder: string, status: string) =>
      Program.run(main, [folder, "--template", "tools", "--package-manager", "yarn", "--install"], cwd, {
        PATH: `${tools}${path.delimiter}${process.env["PATH"]}`,
        YARN_STATUS: status
      })
    const done = await install("done", "0")
    assert.strictEqual(done.status, 0)
    assert.strictEqual(fs.readFileSync(path.join(cwd, "done/called"), "utf8"), `${path.join(cwd, "done")}\ninstall\n`)
    assert.notInclude(done.stdout, "yarn install")
    const failed = await install("failed", "3")
    assert.strictEqual(failed.status, 1)
    assert.match(failed.stderr, /the project is created, but "yarn install" failed in .*: exit status 3; run it again/)
    assert.isTrue(fs.existsSync(path.join(cwd, "failed/package.json")))
  })
})
