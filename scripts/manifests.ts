/**
 * Checks what a registry shows of each public package: the fields of its manifest, and the links of its README and
 * of the `AGENTS.md`, which coding agents read.
 *
 * The fields are made of `addresses.ts`, the links lead somewhere from a registry as well, and the keywords
 * contain those of the project. An archive has what runs and what describes it: no sources, no source maps.
 * Effect may break a module in a folder, such as `effect/http/HttpServer`, in each minor version, so a package that
 * imports one has a peer of one minor version. The peers of a package are peers of those that depend on it, because
 * some package managers give a package only what it names itself. For the same reason, the README of a library
 * installs the packages of its programs, and its peers. The sources of a package have its version, by which a program
 * notices that it has loaded packages that do not fit.
 *
 * `node scripts/manifests.ts` prints each difference as `file message`, and fails if there is any. `--update` first
 * writes the fields and the versions, and makes relative links absolute.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { parseArgs } from "node:util"
import * as addresses from "./addresses.ts"
import { orExit } from "./commandLine.ts"
import { parse } from "./syntax.ts"
import { libraries, type Package, publicPackages, read, root } from "./workspace.ts"

const { values: { update } } = orExit(() => parseArgs({ options: { update: { type: "boolean" } } }))

/** The keywords of every package. */
const keywords = ["effect", "mcp", "model-context-protocol"]

/** Returns the fields that all packages have, apart from their folder. */
const fieldsOf = ({ folder }: Package): Readonly<Record<string, unknown>> => ({
  author: addresses.author,
  homepage: `${addresses.pageOfFile}packages/${folder}#readme`,
  bugs: addresses.issues,
  repository: { type: "git", url: `git+${addresses.repository}.git`, directory: `packages/${folder}` }
})

/** The files of an archive, beside `package.json` and `LICENSE`, which package managers always add. */
const shipped: ReadonlyArray<string> = ["dist", "AGENTS.md", "CHANGELOG.md", "README.md", "!dist/**/*.tsbuildinfo"]

/** Returns the pages of a package that its archive contains. A package without one of them fails the check. */
const pagesOf = ({ folder }: Package): ReadonlyArray<string> =>
  ["README.md", "AGENTS.md"].map((name) => `packages/${folder}/${name}`)

/** A link to a file of the repository. */
const relativeLink = /\]\((?![a-z]+:|#)([^)\s]+)\)/g

/** Returns a page whose links to files are absolute. */
const withAbsoluteLinks = (page: string): string =>
  read(page).replaceAll(relativeLink, (_, link: string) => {
    const [target = "", ...anchor] = link.split("#")
    const file = path.posix.join(path.posix.dirname(page), target)
    return `](${[`${addresses.pageOfFile}${file}`, ...anchor].join("#")})`
  })

/** Returns the manifest with the fields, after the license. */
const withFields = (one: Package): string => {
  const manifest: Readonly<Record<string, unknown>> = JSON.parse(read(one.manifestFile))
  const fields = fieldsOf(one)
  const rest = Object.entries(manifest).filter(([name]) => !(name in fields))
  const before = rest.findIndex(([name]) => name === "license") + 1
  return `${
    JSON.stringify(
      Object.fromEntries([...rest.slice(0, before), ...Object.entries(fields), ...rest.slice(before)]),
      null,
      2
    )
  }\n`
}

/** Returns the module with the version of a package, with the version of its manifest. A program has none. */
const withVersion = ({ folder, manifest: { bin, name, version } }: Package): Array<{ file: string; text: string }> => {
  if (bin !== undefined) return []
  const module = name === "@effect-mcp/protocol" ? "packages/LoadedPackages" : "thisPackage"
  const file = `packages/${folder}/src/internal/${module}.ts`
  return [{ file, text: read(file).replace(new RegExp(`("${name}",\\s+(?:version: )?")[^"]*`), `$1${version}`) }]
}

/** Returns whether a source imports a module of Effect that may break in a minor version. */
const isUnstable = (file: string): boolean =>
  parse(file, read(file)).imports.some(({ specifier }) => /^effect\/[a-z-]+(?:\/|$)/.test(specifier))

const dependenciesOf = ({ manifest }: Package): ReadonlyArray<Package> =>
  publicPackages.filter(({ manifest: { name } }) => manifest.dependencies?.[name] !== undefined)

/** Returns the packages that run with a package, itself included. */
const closureOf = (one: Package): ReadonlySet<Package> =>
  new Set([one, ...dependenciesOf(one).flatMap((dependency) => [...closureOf(dependency)])])

const problemsOfPeers = (one: Package): ReadonlyArray<string> => {
  const { peerDependencies = {}, peerDependenciesMeta = {} } = one.manifest
  const effect = [...closureOf(one)].some(({ sources }) => sources.some(isUnstable)) ? "~" : "^"
  return [
    ...Object.entries(peerDependencies)
      .filter(([name, range]) => (name === "effect" || name === "@effect/platform-node") && !range.startsWith(effect))
      .map(([name, range]) => `${one.manifestFile} has the peer ${name} ${range}; write ${effect}${range.slice(1)}`),
    ...dependenciesOf(one).flatMap((dependency) =>
      Object.entries(dependency.manifest.peerDependencies ?? {})
        .filter(([name, range]) => {
          const isOptional = dependency.manifest.peerDependenciesMeta?.[name]?.optional === true
          return peerDependencies[name]?.slice(1) !== range.slice(1) ||
            (!isOptional && peerDependenciesMeta[name]?.optional === true)
        })
        .map(([name, range]) => `${one.manifestFile} lacks the peer ${name} ${range} of ${dependency.manifest.name}`)
    )
  ]
}

/** Returns the README of a library, if its commands do not install the packages of its programs and its peers. */
const problemsOfInstallation = ({ folder, manifest: { name, peerDependencies = {} } }: Package) => {
  const readme = `packages/${folder}/README.md`
  const text = read(readme)
  const imported = Array.from(text.matchAll(/ from "(@effect-mcp\/[\w-]+)/g), ([, other = ""]) => other)
  // The minor version is that of the range.
  const peers = Object.entries(peerDependencies).map(([peer, range]) =>
    range.startsWith("~") ? `${peer}@${range.slice(1).replace(/\.\d+$/, "")}` : peer
  )
  const words = Array.from(new Set([name, ...imported, ...peers]))
  const installed = new Set(
    Array.from(text.matchAll(/^npm install (.+)$/gm), ([, list = ""]) => list.split(" ")).flat()
  )
  return words.every((word) => installed.has(word))
    ? []
    : [`${readme} has no command such as npm install ${words.join(" ")}`]
}

const problemsOf = (one: Package): ReadonlyArray<string> => {
  const manifest: Readonly<Record<string, unknown>> = JSON.parse(read(one.manifestFile))
  const given = manifest["keywords"]
  const missing = keywords.filter((keyword) => !Array.isArray(given) || !given.includes(keyword))
  const fix = "run node scripts/manifests.ts --update"
  return [
    ...Object.entries(fieldsOf(one))
      .filter(([name, value]) => JSON.stringify(manifest[name]) !== JSON.stringify(value))
      .map(([name, value]) => `${one.manifestFile} "${name}" is not ${JSON.stringify(value)}; ${fix}`),
    ...(JSON.stringify(manifest["files"]) === JSON.stringify(shipped)
      ? []
      : [`${one.manifestFile} "files" is not ${JSON.stringify(shipped)}`]),
    ...withVersion(one)
      .filter(({ file, text }) => text !== read(file))
      .map(({ file }) => `${file} lacks the version of ${one.manifestFile}; ${fix}`),
    ...problemsOfPeers(one),
    ...libraries.includes(one) ? problemsOfInstallation(one) : [],
    ...missing.map((keyword) => `${one.manifestFile} lacks the keyword "${keyword}"`),
    ...pagesOf(one).flatMap((page) =>
      Array.from(
        read(page).matchAll(relativeLink),
        ([, link = ""]) => `${page} has the link ${link}, which leads nowhere from a registry; ${fix}`
      )
    )
  ]
}

if (update === true) {
  for (const one of publicPackages) {
    fs.writeFileSync(path.join(root, one.manifestFile), withFields(one))
    for (const { file, text } of withVersion(one)) fs.writeFileSync(path.join(root, file), text)
    for (const page of pagesOf(one)) fs.writeFileSync(path.join(root, page), withAbsoluteLinks(page))
  }
}
const problems = publicPackages.flatMap(problemsOf)
for (const problem of problems) console.log(problem)
if (problems.length > 0) process.exitCode = 1
else console.log(`the manifests and pages of ${publicPackages.length} packages are ready for a registry`)
