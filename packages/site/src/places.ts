/**
 * The files of the site, and the pages that are made of them. A page of `docs` keeps its path, so that links between
 * pages stay as they are. Public packages and modules have pages in `reference`.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { libraries, type Package, read, root } from "../../../scripts/workspace.ts"
import { entries, navigation } from "./navigation.ts"

/** The folder of everything that is built. */
export const built = path.join(root, "packages/site/dist")

/** The folder of the Markdown that VitePress reads. */
export const stage = path.join(built, "pages")

/** The folder of the site. */
export const output = path.join(built, "site")

/** A module that users import, with its page in the reference. */
export interface PublicModule {
  readonly specifier: string
  readonly file: string
  readonly page: string
  /** The modules that it exports as namespaces, if it has nothing else. */
  readonly inside: ReadonlyArray<PublicModule>
}

/** The entries of a package that name no module of their own. */
const withoutPage: ReadonlySet<string> = new Set([".", "./node", "./internal", "./internalEngine", "./package.json"])

/** Returns the modules that an `index.ts` exports as namespaces. */
const namespacesOf = (file: string): ReadonlyArray<readonly [name: string, file: string]> =>
  Array.from(
    read(file).matchAll(/^export \* as (\w+) from "(\.\/[^"]+)"/gm),
    ([, name = "", specifier = ""]) => [name, path.posix.join(path.posix.dirname(file), specifier)] as const
  )

/** Returns the public modules of a package, in the order of its manifest. */
export const modulesOf = ({ folder, manifest }: Package): ReadonlyArray<PublicModule> =>
  Object.entries(manifest.exports ?? {}).flatMap(([entry, target]) => {
    if (withoutPage.has(entry)) return []
    const name = entry.slice("./".length)
    const file = path.posix.join(`packages/${folder}`, String(target))
    const specifier = `${manifest.name}/${name}`
    if (path.posix.basename(file) !== "index.ts") {
      return [{ specifier, file, page: `reference/${folder}/${name}.md`, inside: [] }]
    }
    const inside = namespacesOf(file).map(([namespace, source]) => ({
      specifier: `${specifier}: ${namespace}`,
      file: source,
      page: `reference/${folder}/${name}/${namespace}.md`,
      inside: []
    }))
    return [{ specifier, file, page: `reference/${folder}/${name}/index.md`, inside }, ...inside]
  })

/** All public modules. */
export const modules: ReadonlyArray<PublicModule> = libraries.flatMap(modulesOf)

/** Returns the page of the index of a package. */
export const pageOfPackage = (folder: string): string => `reference/${folder}/index.md`

/** Returns the path of a page that the navigation names, in the site. */
const pageOfEntry = (file: string): string =>
  file.startsWith("docs/")
    ? file.slice("docs/".length).replace(/README\.md$/, "index.md")
    : file.toLowerCase().replace(/^readme\.md$/, "index.md")

/** The pages of files, by their paths in the repository. A folder has the page of its README. */
export const pages: ReadonlyMap<string, string> = new Map([
  ...entries.map(({ file }) => [file, pageOfEntry(file)] as const),
  ...entries.filter(({ file }) => file.endsWith("/README.md")).map(({ file }) =>
    [path.posix.dirname(file), pageOfEntry(file)] as const
  ),
  ...libraries.flatMap(({ folder }) => [
    [`packages/${folder}`, pageOfPackage(folder)] as const,
    [`packages/${folder}/README.md`, pageOfPackage(folder)] as const
  ]),
  ...modules.map(({ file, page }) => [file, page] as const)
])

/** Returns the address of a page below the root of the site: without extension, and a folder for an index. */
export const addressOf = (page: string): string => page.replace(/\.md$/, "").replace(/(^|\/)index$/, "$1")

/** Returns whether the repository has a file or folder. */
export const exists = (file: string): boolean => fs.existsSync(path.join(root, file))

/** Returns the first heading of a page, without its marks of code. */
export const headingOf = (text: string): string => /^# (.*)$/m.exec(text)?.[1]?.replaceAll("`", "") ?? ""

/** A page of the navigation, with its title. */
export interface Titled {
  readonly file: string
  readonly page: string
  readonly title: string
}

/** The groups of the navigation, with the titles and paths of their pages. */
export const groups = navigation.map((group) => ({
  ...group,
  pages: group.pages.map(({ file, title }): Titled => ({
    file,
    page: pageOfEntry(file),
    title: title ?? headingOf(read(file))
  }))
}))
