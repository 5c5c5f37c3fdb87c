/**
 * The reference: a page for each public module, made of its doc comments by TypeDoc.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import * as TypeDoc from "typedoc"
import { pageOfFile } from "../../../scripts/addresses.ts"
import { anchorOf } from "../../../scripts/anchors.ts"
import { libraries, read, root } from "../../../scripts/workspace.ts"
import { built, modules, modulesOf, pageOfPackage, type PublicModule, stage } from "./places.ts"

/** Returns the doc comment at the head of a module. */
const headOf = (file: string): string =>
  /^\/\*\*([\s\S]*?)\*\//.exec(read(file))?.[1]?.replaceAll(/^ *\* ?/gm, "").trim() ?? ""

/** Returns the text at the head of a module, without its tags. */
const textOf = (file: string): string => headOf(file).replaceAll(/^@\w+ .*$/gm, "").trim()

/** Returns the line that states how stable a module is, with a link to what that means. */
const stabilityOf = ({ file, page }: PublicModule): string => {
  const [, stability = ""] = /^@stability (\w+)$/m.exec(headOf(file)) ?? []
  const versions = path.posix.relative(path.posix.dirname(page), "start/versions.md")
  return `Stability: [${stability}](${versions}#stability-of-modules)`
}

/** Returns the first sentence of a text, in one line. */
const firstSentence = (text: string): string => /^[\s\S]*?[.:](?=\s|$)/.exec(text)?.[0]?.replaceAll(/\s+/g, " ") ?? text

const frontmatter = "---\neditLink: false\n---\n\n"

/** A member that a module exports from another one. */
const reexport = /^### .*\n\nRe-exports (\[.*\]\(.*\))\n(?:\n\*\*\*\n)?/gm

/** Returns a page of TypeDoc with the name by which users import the module, and with the comment at its head. */
const modulePage = (module: PublicModule, text: string): string => {
  const reexports = Array.from(text.matchAll(reexport), ([, link = ""]) => link)
  const body = text
    .replace(/^# .*\n/, "")
    .replaceAll(reexport, "")
    // A category of which nothing is left.
    .replaceAll(/^## .*\n+(?=## |$(?![\s\S]))/gm, "")
    .replaceAll(/^## ([a-z])/gm, (_, letter: string) => `## ${letter.toUpperCase()}`)
  const also = reexports.length === 0 ? "" : `\n## Exported from another module\n\n${reexports.join(", ")}\n`
  return `${frontmatter}# ${module.specifier}\n\n${textOf(module.file)}\n\n${stabilityOf(module)}\n${body}${also}`
}

/** Returns a list of modules, for a page in a folder. */
const listOf = (folder: string, listed: ReadonlyArray<PublicModule>): string =>
  listed.map(({ file, page, specifier }) =>
    `- [\`${specifier}\`](${path.posix.relative(folder, page)}): ${firstSentence(textOf(file))}\n`
  ).join("")

/** Returns the README of a package and the list of its modules. */
const packagePage = (folder: string, own: ReadonlyArray<PublicModule>, readme: string): string =>
  `${frontmatter}${readme.trimEnd()}\n\n## All modules\n\n${listOf(`reference/${folder}`, own)}`

/** Returns the page of a module that consists of other ones. */
const folderPage = (module: PublicModule): string =>
  `${frontmatter}# ${module.specifier}\n\n${textOf(module.file)}\n\n${stabilityOf(module)}\n\n${
    listOf(path.posix.dirname(module.page), module.inside)
  }`

/** Returns the anchors of a page. Headings with the same text are numbered. */
const anchorsOf = (text: string): ReadonlySet<string> => {
  const anchors = new Set<string>()
  for (const [, heading = ""] of text.replaceAll(/^```[\s\S]*?^```$/gm, "").matchAll(/^#{1,6} (.*)$/gm)) {
    const anchor = anchorOf(heading.replaceAll("\\", ""))
    let unique = anchor
    for (let count = 1; anchors.has(unique); count++) unique = `${anchor}-${count}`
    anchors.add(unique)
  }
  return anchors
}

/**
 * Returns a page whose links have no number that the heading lacks. TypeDoc counts a type and a schema of the same name
 * as two headings, also if only one of them is shown.
 */
const withExistingAnchors = (
  page: string,
  text: string,
  anchors: ReadonlyMap<string, ReadonlySet<string>>
): string =>
  text.replaceAll(/\]\(([^)#\s]*)#([^)\s]+)-\d+\)/g, (link, file: string, anchor: string) => {
    const target = file === "" ? page : path.posix.join(path.posix.dirname(page), file)
    const existing = anchors.get(target)
    return existing === undefined || existing.has(link.slice(link.indexOf("#") + 1, -1)) || !existing.has(anchor)
      ? link
      : `](${file}#${anchor})`
  })

const write = (page: string, text: string): void => {
  const file = path.join(stage, page)
  fs.mkdirSync(path.dirname(file), { recursive: true })
  fs.writeFileSync(file, text)
}

/** Writes the pages of packages. `withLinks` converts the links of a README. */
export const stagePackages = (withLinks: (file: string, text: string) => string): void => {
  const rows = libraries.map((one) => {
    const { folder, manifest } = one
    const readme = `packages/${folder}/README.md`
    write(pageOfPackage(folder), packagePage(folder, modulesOf(one), withLinks(readme, read(readme))))
    for (const module of modulesOf(one)) if (module.inside.length > 0) write(module.page, folderPage(module))
    return `| [\`${manifest.name}\`](${folder}/index.md) | ${manifest.description} |`
  })
  write(
    "reference/index.md",
    `${frontmatter}# Reference\n\nThe packages, with their modules.\n\n| Package | Contents |\n| --- | --- |\n${
      rows.join("\n")
    }\n`
  )
}

/** Writes the pages of all public modules. Fails if TypeDoc reports an error. */
export const stageModules = async (): Promise<void> => {
  const raw = path.join(built, "reference")
  const documented = modules.filter(({ inside }) => inside.length === 0)
  fs.rmSync(raw, { recursive: true, force: true })
  const options = {
    plugin: ["typedoc-plugin-markdown"],
    outputs: [{ name: "markdown", path: raw }],
    entryPoints: documented.map(({ file }) => path.join(root, file)),
    tsconfig: path.join(root, "packages/site/tsconfig.reference.json"),
    // `pnpm check` reports the errors of the sources.
    skipErrorChecking: true,
    blockTags: [...TypeDoc.OptionDefaults.blockTags, "@stability" as const],
    excludeInternal: true,
    // Without this, each error has the members of Effect's, of Error and of its constructor.
    excludeExternals: true,
    excludePrivate: true,
    readme: "none",
    router: "module",
    hidePageHeader: true,
    hideBreadcrumbs: true,
    useCodeBlocks: true,
    expandParameters: true,
    parametersFormat: "table",
    disableGit: true,
    basePath: root,
    sourceLinkTemplate: `${pageOfFile}packages/{path}#L{line}`,
    logLevel: "Warn" as const
  }
  const app = await TypeDoc.Application.bootstrapWithPlugins(options)
  const project = await app.convert()
  if (project === undefined) throw new Error("TypeDoc found no modules")
  for (const child of project.children ?? []) {
    const own = modules.find(({ file }) => path.join(root, file) === child.sources?.[0]?.fullFileName)
    if (own !== undefined) child.name = own.page.slice("reference/".length, -".md".length)
  }
  await app.generateOutputs(project)
  if (app.logger.hasErrors()) throw new Error("TypeDoc reported errors")
  const written = new Map(documented.map((module) => {
    const file = path.join(raw, path.posix.relative("reference", module.page))
    return [module.page, modulePage(module, fs.readFileSync(file, "utf8"))] as const
  }))
  const anchors = new Map(Array.from(written, ([page, text]) => [page, anchorsOf(text)] as const))
  for (const [page, text] of written) write(page, withExistingAnchors(page, text, anchors))
}
