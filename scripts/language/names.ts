/**
 * Names of types that two public modules of one package export.
 */
import { parse } from "../syntax.ts"
import { type Package, publicModules, read } from "../workspace.ts"
import type { Finding } from "./findings.ts"

const layerOptions: ReadonlySet<string> = new Set([
  "Options",
  "NodeOptions",
  "MemoryOptions",
  "UnixOptions",
  "TcpOptions"
])

/**
 * Returns whether a name must be unique. A function such as `make` need not be. Any module may have `Options`, and
 * those of its Layers: `NodeOptions` for `layerNode`, `MemoryOptions` for `layerMemory` and so on.
 */
const isChecked = (name: string): boolean => /^[A-Z]/.test(name) && !layerOptions.has(name)

/** Returns each place after the first that exports a name; the module of that name comes first. */
export const repeatedNames = (one: Package): ReadonlyArray<Finding> => {
  const places = new Map<string, Map<string, number>>()
  for (const file of publicModules(one)) {
    for (const { line, name } of parse(file, read(file)).exports) {
      if (isChecked(name)) {
        const lines = places.get(name) ?? new Map<string, number>()
        places.set(name, lines)
        if (!lines.has(file)) lines.set(file, line)
      }
    }
  }
  return Array.from(places).flatMap(([name, lines]) => {
    const isHome = ([file]: readonly [string, number]) => file.endsWith(`/${name}.ts`)
    const [home, ...others] = Array.from(lines).toSorted((a, b) => Number(isHome(b)) - Number(isHome(a)))
    return others.map(([file, line]): Finding => ({
      file,
      line,
      rule: "name",
      message: `exports ${name}, as ${home?.[0]} does; a name exists once in a package`,
      subject: name
    }))
  })
}
