/** Public programs, such as `npm create @effect-mcp`, with everything that they import. */
import * as fs from "node:fs"
import * as path from "node:path"
import { rolldown } from "rolldown"
import { type Manifest, type Package, packages, root } from "./workspace.ts"

/** Returns the folder of the package that a module belongs to. */
const packageOf = (module: string): string | undefined => {
  const inPackage = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(module.replaceAll(path.sep, "/"))
  return inPackage?.[0]
}

/** Returns the text of the license of a package, or nothing if its archive has none. */
const licenseOf = (folder: string): string => {
  const file = fs.readdirSync(folder).find((name) => /^licen[cs]e(?:\.(?:md|txt))?$/i.test(name))
  return file === undefined ? "" : fs.readFileSync(path.join(folder, file), "utf8").trim()
}

/** Returns a page with the licenses of foreign packages. */
const licenses = (modules: ReadonlyArray<string>): string => {
  const ours = new Set(packages.map(({ manifest }) => manifest.name))
  const foreign = new Map(
    Array.from(new Set(modules.flatMap((module) => packageOf(module) ?? []))).flatMap((folder) => {
      const manifest: Manifest & { readonly license?: string } = JSON.parse(
        fs.readFileSync(path.join(folder, "package.json"), "utf8")
      )
      return ours.has(manifest.name) ? [] : [[manifest.name, { folder, ...manifest }] as const]
    })
  )
  const sections = Array.from(foreign.values()).toSorted((one, other) => one.name < other.name ? -1 : 1).map((
    { folder, license = "", name, version }
  ) => `## ${name} ${version}\n\n${license}\n\n${licenseOf(folder).replaceAll(/^/gm, "    ")}\n`)
  return `# Licenses of the packages in this program\n\n${sections.join("\n")}`
}

/** The files of a bundle, and their bytes. */
export interface Bundle {
  readonly files: number
  readonly bytes: number
}

/** Bundles the commands of a package into a folder, beside `licenses.md` with the licenses of foreign packages. */
export const write = async ({ folder, manifest }: Package, dir: string): Promise<Bundle> => {
  const bundle = await rolldown({
    platform: "node",
    // Modules are loaded later where that is possible, and at once in a bundle that has them anyway.
    checks: { ineffectiveDynamicImport: false },
    input: Object.fromEntries(
      Object.values(manifest.bin ?? {}).map((source) => [
        path.posix.basename(source, ".ts"),
        path.join(root, "packages", folder, source)
      ])
    )
  })
  try {
    const { output } = await bundle.write({
      dir,
      format: "esm",
      comments: { annotation: false, jsdoc: false, legal: true },
      charset: "ascii",
      entryFileNames: "[name].js",
      chunkFileNames: "chunks/[name].js"
    })
    const chunks = output.filter((file) => file.type === "chunk")
    fs.writeFileSync(path.join(dir, "licenses.md"), licenses(chunks.flatMap((chunk) => Object.keys(chunk.modules))))
    return { files: chunks.length, bytes: chunks.reduce((sum, { code }) => sum + code.length, 0) }
  } finally {
    await bundle.close()
  }
}
