/**
 * The packages of this project that a process has loaded.
 *
 * Two copies of a package, or packages of versions that do not fit, exchange values of different forms. Without a check
 * they fail somewhere later, for example by a member that is undefined. Each package registers itself when it is
 * loaded. What makes sessions and transports checks that everything that is registered fits.
 *
 * A bundle or a plugin with an Effect of its own exchanges nothing with the rest of its process, so only packages that
 * share an Effect are compared. All versions of this module read the same list, so its form stays as it is.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import { trust } from "../trust.ts"

/** A package, as it was loaded. */
interface Loaded {
  readonly name: string
  readonly version: string
  /** Made by a module of the package: its stack is read only when the place of the package matters. */
  readonly trace: Error
}

/** The packages that share one Effect. */
export interface LoadedPackages {
  readonly loaded: Array<Loaded>
  /** The first two of them that do not fit, in words. */
  conflict: string | undefined
}

/** The error of a program that has loaded two copies of a package, or packages of versions that do not fit. */
export class PackageConflictError extends Data.TaggedError("PackageConflictError")<{ readonly message: string }> {}

const key = Symbol.for("@effect-mcp/packages")

/** Returns the list of this process. A module that is evaluated again, and another copy of it, find the same one. */
const ofProcess = (): LoadedPackages => {
  // Only copies of this module write the member.
  const existing = trust<WeakMap<object, LoadedPackages> | undefined>(Reflect.get(globalThis, key))
  const all = existing ?? new WeakMap<object, LoadedPackages>()
  if (existing === undefined) Reflect.defineProperty(globalThis, key, { value: all })
  // A function of Effect stands for the copy of Effect that it belongs to.
  const found = all.get(Context.Service)
  if (found !== undefined) return found
  const created: LoadedPackages = { loaded: [], conflict: undefined }
  all.set(Context.Service, created)
  return created
}

/** The first address in a stack trace of any engine: a path or a URL, its query, and the position. */
const address = /((?:[a-z][\w+.-]*:\/\/|\/|[A-Z]:\\)[^\n?#]*?)([?#][^\n]*?)?(:\d+:\d+)/

/** The place of a package. */
interface Place {
  /** The folder of the package, or the place of its module in a bundle. */
  readonly shown: string
  readonly file: string
  readonly query: string
}

/** Returns the place of a package; `undefined` if the platform shows none. */
const placeOf = ({ name, trace: { stack } }: Loaded): Place | undefined => {
  // A program may set `Error.prepareStackTrace`, whose result has any type.
  const [, file, query = "", position] = typeof stack === "string" ? address.exec(stack) ?? [] : []
  if (file === undefined) return undefined
  const folder = /^(.*)[\\/](?:dist|src)[\\/]/.exec(file)?.[1] ?? ""
  // A bundle has one file for all copies, so only the position tells them apart.
  const shown = /[^\\/]*$/.exec(folder)?.[0] === name.slice(name.indexOf("/") + 1)
    ? folder.replace(/^file:\/\//, "")
    : `${file}${position}`
  return { shown, file, query }
}

/** Returns the beginning that all versions have which `^` permits with a version. In `0.x` that is the minor one. */
const rangeOf = (version: string): string =>
  version.includes("-") ? version : /^0\.\d+|^\d+/.exec(version)?.[0] ?? version

const described = (one: Loaded): string => {
  const place = placeOf(one)
  return `${one.name} ${one.version}${place === undefined ? "" : ` (${place.shown})`}`
}

const conflictOf = (one: Loaded, other: Loaded): string | undefined => {
  const fix = "install the same version of each @effect-mcp package"
  if (one.name === other.name) {
    return `two copies of a package are loaded: ${described(one)} and ${described(other)}; ${fix}, and each only ` +
      `once (npm ls ${one.name} shows which packages need it)`
  }
  return rangeOf(one.version) === rangeOf(other.version)
    ? undefined
    : `${described(one)} does not run with ${described(other)}; ${fix}`
}

const isSame = (one: Loaded, other: Loaded): boolean => {
  if (one.name !== other.name || one.version !== other.version) return false
  const [place, otherPlace] = [placeOf(one), placeOf(other)]
  // Without a place, a copy looks like a module that is evaluated again.
  if (place === undefined || otherPlace === undefined || place.shown === otherPlace.shown) return true
  // Servers for development import a bundle that was built again by another query. Its positions may differ.
  return place.file === otherPlace.file && place.query !== otherPlace.query
}

const add = (packages: LoadedPackages, one: Loaded): LoadedPackages => {
  if (!packages.loaded.some((other) => isSame(one, other))) {
    for (const other of packages.loaded) packages.conflict ??= conflictOf(other, one)
    packages.loaded.push(one)
  }
  return packages
}

/** The list, with the package of this module. `node scripts/manifests.ts --update` writes the version. */
const packages = add(ofProcess(), { name: "@effect-mcp/protocol", version: "0.0.0", trace: new Error() })

/**
 * Registers a package by an error that one of its modules has made. A module that is evaluated again, as test runners
 * do, changes nothing.
 */
export const register = (name: string, version: string, trace: Error): LoadedPackages =>
  add(packages, { name, version, trace })

/** Throws a {@link PackageConflictError} if packages are loaded that do not fit. */
export const check = ({ conflict }: LoadedPackages): void => {
  if (conflict !== undefined) throw new PackageConflictError({ message: conflict })
}
