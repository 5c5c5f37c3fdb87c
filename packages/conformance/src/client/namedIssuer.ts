/** The issuer of a client that the suite has registered. Only one of its scenarios names it. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const Metadata = Schema.Struct({ authorization_servers: Schema.Array(Schema.String) })

const decode = Schema.decodeUnknownOption(Metadata)

/** Returns the places of the metadata of a protected resource. */
const placesOf = (server: URL): ReadonlyArray<string> => {
  const wellKnown = "/.well-known/oauth-protected-resource"
  return [`${server.origin}${wellKnown}${server.pathname}`, `${server.origin}${wellKnown}`]
}

const issuerAt = async (place: string): Promise<string | undefined> => {
  const response = await fetch(place)
  if (!response.ok) return undefined
  const metadata = decode(await response.json())
  return metadata._tag === "Some" ? metadata.value.authorization_servers[0] : undefined
}

/**
 * Returns the issuer that the server of the suite names. This client trusts that server. A program must not do so: it
 * names the issuer that has given its client.
 */
export const of = (server: string): Effect.Effect<string> =>
  Effect.promise(async () => {
    for (const place of placesOf(new URL(server))) {
      const issuer = await issuerAt(place)
      if (issuer !== undefined) return issuer
    }
    throw new Error(`the server of the suite at ${server} names no issuer`)
  })
