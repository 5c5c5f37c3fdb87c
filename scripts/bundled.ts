/**
 * Writes `dist` of each public package that is a program: the program with everything that it imports.
 *
 * `npx` then installs one package instead of its 20 dependencies, and Node finds a few files at each start instead of
 * several hundred. `licenses.md` has the licenses of the foreign packages in a bundle.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { rolldown } from "rolldown"
import { type Manifest, packages, programs, root } from "./workspace.ts"

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

for (const { folder, manifest } of programs) {
  const dir = path.join(root, "packages", folder, "dist")
  fs.rmSync(dir, { recursive: true, force: true })
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
    const bytes = chunks.reduce((sum, { code }) => sum + code.length, 0)
    console.log(`packages/${folder}/dist: ${chunks.length} files, ${(bytes / 1_000_000).toFixed(1)} MB`)
  } finally {
    await bundle.close()
  }
}
