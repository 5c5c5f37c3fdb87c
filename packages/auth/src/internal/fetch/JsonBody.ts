/** The JSON object in a response. */
import * as Predicate from "effect/Predicate"
import type { OAuthResponse } from "./OAuthHttp.ts"

/** A JSON object, or the problem why the body is none. */
export type JsonBody =
  | { readonly _tag: "Read"; readonly json: { readonly [name: string]: unknown } }
  | { readonly _tag: "Problem"; readonly problem: string }

const problemOf = (problem: string): JsonBody => ({ _tag: "Problem", problem })

const isJsonType = (contentType: string): boolean => {
  const mediaType = contentType.split(";")[0]?.trim().toLowerCase() ?? ""
  return mediaType === "application/json" || /^application\/[^/]+\+json$/.test(mediaType)
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns the object without its members of the value `null`, which some servers send for absent ones. */
const withoutNulls = (json: object): { readonly [name: string]: unknown } =>
  Object.fromEntries(Object.entries(json).filter(([, value]) => value !== null))

/** Reads the body of a response. The problem shows nothing of the body. */
export const read = ({ headers, text }: OAuthResponse): JsonBody => {
  const contentType = headers["content-type"] ?? ""
  if (!isJsonType(contentType)) return problemOf("the response is not of the content type application/json")
  const json = parse(text)
  return Predicate.isObject(json)
    ? { _tag: "Read", json: withoutNulls(json) }
    : problemOf("the response is not a JSON object")
}
