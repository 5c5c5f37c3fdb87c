/**
 * The keys of token stores, and their texts.
 */

/** The key of an entry. `TokenStore` documents it: a module that it imports cannot import it. */
export type Key =
  | {
    readonly _tag: "Tokens"
    readonly issuer: string
    readonly resource: string
    readonly client: string
    readonly account: string
  }
  | { readonly _tag: "Registration"; readonly issuer: string; readonly account: string }

/** Returns a text that no other key has. */
export const of = (key: Key): string =>
  JSON.stringify(
    key._tag === "Tokens"
      ? [key._tag, key.issuer, key.resource, key.client, key.account]
      : [key._tag, key.issuer, key.account]
  )

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns the key of a text, if it is one. */
export const keyOf = (text: string): Key | undefined => {
  const json = parse(text)
  if (!Array.isArray(json)) return undefined
  const [_tag, ...parts] = json.filter((part): part is string => typeof part === "string")
  const [issuer, second, client, account] = parts
  if (issuer === undefined || second === undefined || parts.length + 1 !== json.length) return undefined
  if (_tag === "Registration" && parts.length === 2) return { _tag, issuer, account: second }
  return _tag === "Tokens" && parts.length === 4 && client !== undefined && account !== undefined
    ? { _tag, issuer, resource: second, client, account }
    : undefined
}
