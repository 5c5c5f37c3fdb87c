/** The changesets of a repository: what each announces, and whether a change of a public package has one. */
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"

/** A public package, as its changesets name it. */
export interface PublicPackage {
  readonly name: string
  /** The folder in `packages`. */
  readonly folder: string
}

/** The result of a check. */
export interface Report {
  readonly problems: ReadonlyArray<string>
  /** The sentence to print if there is no problem. */
  readonly summary: string
}

/** A file in `.changeset`. */
interface Changeset {
  readonly file: string
  readonly bumps: ReadonlyArray<readonly [name: string, bump: string]>
  readonly text: string
}

const isChangeset = (file: string): boolean => /^\.changeset\/(?!README\.md$)[^/]+\.md$/.test(file)

const parse = (file: string, content: string): Changeset => {
  const [, head = "", text = ""] = /^---\n(.*?)^---\n?(.*)$/ms.exec(content) ?? []
  const bumps = Array.from(
    head.matchAll(/^["']?([^"'\s:]+)["']?: *(\w+)$/gm),
    ([, name = "", bump = ""]) => [name, bump] as const
  )
  return { file, bumps, text: text.trim() }
}

/** Returns the changesets that no release has used yet. */
export const pending = (root: string): ReadonlyArray<Changeset> =>
  fs.globSync(".changeset/*.md", { cwd: root })
    .map((file) => file.replaceAll(path.sep, "/"))
    .filter(isChangeset)
    .toSorted()
    .map((file) => parse(file, fs.readFileSync(path.join(root, file), "utf8")))

const problemsOf = ({ bumps, file, text }: Changeset, names: ReadonlySet<string>): ReadonlyArray<string> => [
  ...bumps.filter(([name]) => !names.has(name)).map(([name]) => `${file} names ${name}, which is no public package`),
  ...bumps
    .filter(([, bump]) => bump !== "minor" && bump !== "patch")
    .map(([name, bump]) => `${file} has "${bump}" for ${name}; in 0.x a change that breaks is "minor", others "patch"`),
  ...(text === "" && bumps.length > 0 ? [`${file} has no text for the changelog`] : [])
]

/** Returns the output of git, or `undefined` if it fails. */
const git = (root: string, ...args: ReadonlyArray<string>): string | undefined => {
  try {
    return execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim()
  } catch {
    return undefined
  }
}

const lines = (text: string | undefined): ReadonlyArray<string> => text?.split("\n").filter((line) => line !== "") ?? []

/** Returns the files that differ from a commit, those included that git does not know yet. */
const changedSince = (root: string, commit: string): ReadonlyArray<string> => [
  ...lines(git(root, "diff", "--name-only", commit)),
  ...lines(git(root, "ls-files", "--others", "--exclude-standard"))
]

const changelogOf = ({ folder }: PublicPackage): string => `packages/${folder}/CHANGELOG.md`

/** Returns whether users of a package get a file. Tests, for example, are not in its archive. */
const isShipped = (file: string, { folder }: PublicPackage): boolean =>
  file.startsWith(`packages/${folder}/src/`) || file === `packages/${folder}/package.json`

/** Returns the commit from which this branch has left main, or `undefined` on main itself or without a main. */
const startOfBranch = (root: string): string | undefined => {
  const head = git(root, "rev-parse", "HEAD")
  const bases = ["origin/main", "main"].map((main) => git(root, "merge-base", "HEAD", main))
  const base = bases.find((base) => base !== undefined && base !== head)
  // A branch without a commit of its own may have changes that are not committed yet.
  const isOther = !["", "main", undefined].includes(git(root, "branch", "--show-current"))
  return base ?? (isOther ? bases.find((base) => base !== undefined) : undefined)
}

/**
 * Checks the changesets. A branch that changes a public package has to add one. On main itself, a changeset has to wait
 * if a public package has changed after the last release, which is the last commit that changed a changelog.
 */
export const check = (root: string, packages: ReadonlyArray<PublicPackage>): Report => {
  const waiting = pending(root)
  const names = new Set(packages.map(({ name }) => name))
  const problems = waiting.flatMap((changeset) => problemsOf(changeset, names))
  const branch = startOfBranch(root)
  const release = git(root, "log", "-1", "--format=%H", "--", ...packages.map(changelogOf))
  const base = branch ?? release
  if (base === undefined || base === "") {
    return { problems, summary: `${waiting.length} changesets; without a history, changes are not compared with them` }
  }
  const changed = changedSince(root, base)
  const changedPackages = packages.filter((one) => changed.some((file) => isShipped(file, one)))
  const isRelease = changed.some((file) => packages.some((one) => changelogOf(one) === file))
  const existing = new Set(waiting.map(({ file }) => file))
  const hasChangeset = branch === undefined ? waiting.length > 0 : changed.some((file) => existing.has(file))
  const since = branch === undefined ? "the last release" : "this branch has left main"
  return {
    problems: changedPackages.length === 0 || hasChangeset || isRelease
      ? problems
      : [
        ...problems,
        `${changedPackages.map(({ name }) => name).join(", ")} changed since ${since}, without a changeset; ` +
        "describe the change for users by pnpm changeset, or run pnpm changeset --empty if they notice nothing"
      ],
    summary: `${waiting.length} changesets wait, and ${changedPackages.length} packages changed since ${since}`
  }
}
