/**
 * The headers of Streamable HTTP that repeat the version, the method and the name of a request, in revision 2026-07-28.
 *
 * Proxies route by them, so a server rejects a request whose headers differ from its body (SHE-17).
 */
import * as Option from "effect/Option"
import * as Excerpt from "../text/Excerpt.ts"
import { trust } from "../trust.ts"
import * as HeaderValue from "./HeaderValue.ts"

/** The names of the headers, in lower case. */
export const names = { version: "mcp-protocol-version", method: "mcp-method", name: "mcp-name" } as const

/** The member of the params that `Mcp-Name` repeats, by method. An extension adds its own methods. */
export interface NameSources {
  readonly [method: string]: string
}

/**
 * The methods whose requests have `Mcp-Name`: those of the specification (SHE-16), and those of the tasks extension
 * (TKX-15).
 */
export const nameSources: NameSources = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId"
}

/** Returns the text that `Mcp-Name` repeats, or `undefined` if the request has none. */
const nameOf = (method: string, params: object, sources: NameSources): string | undefined => {
  const member = Object.hasOwn(sources, method) ? sources[method] : undefined
  if (member === undefined || !Object.hasOwn(params, member)) return undefined
  const value: unknown = trust<{ readonly [name: string]: unknown }>(params)[member]
  // A header is UTF-8, which has no lone surrogates.
  return typeof value === "string" ? value.toWellFormed() : undefined
}

/** A request whose headers are written or checked. */
export interface Described {
  readonly method: string
  readonly params: object
  /** The revision that the metadata of the request names. */
  readonly version: string
}

/** Returns the headers of a request, by their names (SHE-11, SHE-16). */
export const encode = (
  { method, params, version }: Described,
  sources: NameSources = nameSources
): { readonly [name: string]: string } => {
  const name = nameOf(method, params, sources)
  return {
    [names.version]: version,
    [names.method]: method,
    ...(name === undefined ? undefined : { [names.name]: HeaderValue.encode(name) })
  }
}

/**
 * Returns the first difference between the headers of a request and its body, or `undefined` (SHE-12, SHE-17, SHE-18).
 * The names of the given headers are in lower case.
 */
export const difference = (
  received: { readonly [name: string]: string | undefined },
  { method, params, version }: Described,
  sources: NameSources = nameSources
): string | undefined => {
  const problem = mismatch(names.version, received[names.version], version, "the version in the metadata") ??
    mismatch(names.method, received[names.method], method, "the method of the body")
  if (problem !== undefined) return problem
  const name = nameOf(method, params, sources)
  if (name === undefined) return undefined
  const header = received[names.name]
  const decoded = header === undefined ? Option.some(undefined) : HeaderValue.decode(header)
  return Option.isNone(decoded)
    ? `the header ${names.name} has a value that is no text`
    : mismatch(names.name, decoded.value, name, `"${sources[method]}" of the params`)
}

const mismatch = (
  name: string,
  header: string | undefined,
  value: string,
  source: string
): string | undefined => {
  if (header === undefined) return `the header ${name} is missing`
  const shown = Excerpt.name
  return header === value ? undefined : `the header ${name} is ${shown(header)}, and ${source} is ${shown(value)}`
}
