import { assert, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Changesets from "../release/changesets.ts"

const packages = [{ name: "@effect-mcp/server", folder: "server" }, { name: "@effect-mcp/client", folder: "client" }]

/** A repository in a folder of its own, with one commit on main. */
class Repository {
  readonly root = fs.mkdtempSync(path.join(os.tmpdir(), "changesets-"))

  constructor() {
    this.git("init", "--quiet", "--initial-branch", "main")
    for (const { folder } of packages) {
      this.write(`packages/${folder}/src/index.ts`, "export {}\n")
      this.write(`packages/${folder}/CHANGELOG.md`, "# Changes\n")
    }
    this.write("README.md", "# Repository\n")
    this.commit()
  }

  [Symbol.dispose](): void {
    fs.rmSync(this.root, { recursive: true })
  }

  git(...args: ReadonlyArray<string>): void {
    const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"]
    execFileSync("git", [...identity, ...args], { cwd: this.root, stdio: "ignore" })
  }

  commit(): void {
    this.git("add", "--all")
    this.git("commit", "--quiet", "--no-verify", "--message", "a change")
  }

  write(file: string, text: string): void {
    fs.mkdirSync(path.join(this.root, path.dirname(file)), { recursive: true })
    fs.writeFileSync(path.join(this.root, file), text)
  }

  changeset(head: string, text = "A change."): void {
    this.write(".changeset/a-change.md", `---\n${head}\n---\n\n${text}\n`)
  }

  get problems(): ReadonlyArray<string> {
    return Changesets.check(this.root, packages).problems
  }
}

describe("the changesets of a repository", () => {
  it("are required on a branch that changes a public package, committed or not", () => {
    using repository = new Repository()
    repository.git("switch", "--quiet", "--create", "branch")
    repository.write("README.md", "# Another\n")
    repository.write("packages/server/test/some.test.ts", "export {}\n")
    repository.commit()
    assert.deepStrictEqual(repository.problems, [])

    repository.write("packages/server/src/index.ts", "export const changed = true\n")
    const problem = repository.problems
    assert.lengthOf(problem, 1)
    assert.include(problem[0], "@effect-mcp/server changed since this branch has left main, without a changeset")
    repository.commit()
    assert.deepStrictEqual(repository.problems, problem)

    repository.changeset("\"@effect-mcp/server\": patch")
    assert.deepStrictEqual(repository.problems, [])
    repository.commit()
    assert.deepStrictEqual(repository.problems, [])
  })

  it("of main do not count for a branch, and an empty one is enough", () => {
    using repository = new Repository()
    repository.changeset("'@effect-mcp/server': minor")
    repository.commit()
    repository.git("switch", "--quiet", "--create", "branch")
    repository.write("packages/client/src/added.ts", "export {}\n")
    assert.lengthOf(repository.problems, 1)
    repository.write(".changeset/empty.md", "---\n---\n")
    assert.deepStrictEqual(repository.problems, [])
  })

  it("have to wait on main if a public package has changed after the last release", () => {
    using repository = new Repository()
    assert.deepStrictEqual(repository.problems, [])
    repository.write("packages/server/src/index.ts", "export const changed = true\n")
    repository.commit()
    assert.include(repository.problems[0], "@effect-mcp/server changed since the last release, without a changeset")
    repository.changeset("\"@effect-mcp/server\": patch")
    repository.commit()
    assert.deepStrictEqual(repository.problems, [])

    fs.rmSync(path.join(repository.root, ".changeset"), { recursive: true })
    repository.write("packages/server/CHANGELOG.md", "# Changes\n\n## 0.1.0\n")
    repository.commit()
    assert.deepStrictEqual(repository.problems, [])
  })

  it("are used up by the branch of a release", () => {
    using repository = new Repository()
    repository.changeset("\"@effect-mcp/server\": minor")
    repository.commit()
    repository.git("switch", "--quiet", "--create", "release")
    fs.rmSync(path.join(repository.root, ".changeset"), { recursive: true })
    repository.write("packages/server/package.json", "{ \"version\": \"0.2.0\" }\n")
    repository.write("packages/server/CHANGELOG.md", "# Changes\n\n## 0.2.0\n")
    repository.commit()
    assert.deepStrictEqual(repository.problems, [])
  })

  it("name public packages, minor versions and patches, and have a text", () => {
    using repository = new Repository()
    repository.changeset("\"@effect-mcp/server\": major\n\"@effect-mcp/examples\": patch", "")
    assert.deepStrictEqual(repository.problems, [
      ".changeset/a-change.md names @effect-mcp/examples, which is no public package",
      ".changeset/a-change.md has \"major\" for @effect-mcp/server; in 0.x a change that breaks is \"minor\", others " +
      "\"patch\"",
      ".changeset/a-change.md has no text for the changelog"
    ])
  })

  it("are not compared with changes in a folder without a history", () => {
    const root = fs.mkdtempSync(path.join(os.tmpdir(), "changesets-"))
    try {
      const { problems, summary } = Changesets.check(root, packages)
      assert.deepStrictEqual(problems, [])
      assert.include(summary, "without a history")
    } finally {
      fs.rmSync(root, { recursive: true })
    }
  })
})
