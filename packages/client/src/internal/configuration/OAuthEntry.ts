/**
 * The client of OAuth in an entry of a configuration: `oauth` of Claude Code, VS Code and Codex, and `auth` of Cursor.
 */

import type { ConfiguredClient } from "@effect-mcp/transport/ClientAuthorization"
import * as Redacted from "effect/Redacted"
import type { EntryReader } from "./EntryReader.ts"

/**
 * The members that name places of an authorization server. Ignored, they would lead the secret of a client to another
 * one.
 */
const places = ["authServerMetadataUrl", "authorizationUrl", "tokenUrl"]

/** The names of the members that hosts write in their own ways. */
const idNames = ["clientId", "CLIENT_ID", "client_id"]
const secretNames = ["clientSecret", "CLIENT_SECRET"]

/** Reads a text of one of several names. An empty one is a problem. */
const textOf = (reader: EntryReader, names: ReadonlyArray<string>): string | undefined => {
  const [field, other] = names.filter((one) => reader.has(one))
  if (field === undefined) return undefined
  if (other !== undefined) {
    reader.report(other, `there is ${field}, too`, "keep one of them")
    return undefined
  }
  const text = reader.text(field)
  if (text?.value !== "") return text?.value
  reader.report(field, "it is empty", "write the value from the registration of the client, or remove it")
  return undefined
}

/** Reads scopes: a list, or a text in which blanks divide them. */
const scopesOf = (reader: EntryReader): ReadonlyArray<string> | undefined => {
  if (!reader.has("scopes")) return undefined
  const given = reader.isText("scopes") ? reader.text("scopes")?.value.split(" ") : reader.plainTexts("scopes")
  const scopes = given?.filter((scope) => scope !== "")
  // The characters of scopes (RFC 6749, section 3.3).
  if (scopes?.every((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)) !== false) return scopes
  reader.report("scopes", "one of them is no scope", "use letters, digits and other ASCII characters without blanks")
  return undefined
}

/** Reads the port of the redirect, at which Claude Code has the path `/callback`. */
const redirectUriOf = (reader: EntryReader): string | undefined => {
  if (!reader.has("callbackPort")) return undefined
  const port = reader.count("callbackPort")
  if (port === undefined) return undefined
  if (port > 0 && port < 65_536) return `http://localhost:${port}/callback`
  reader.report("callbackPort", "it is no port", "write a number from 1 to 65535")
  return undefined
}

/** Reads the issuer of the client, which is compared byte for byte. */
const issuerOf = (reader: EntryReader, clientId: string | undefined): string | undefined => {
  if (!reader.has("issuer")) return undefined
  const issuer = reader.text("issuer")?.value
  if (issuer === undefined) return undefined
  if (!URL.canParse(issuer) || !/^https?:$/.test(new URL(issuer).protocol)) {
    reader.report("issuer", "it is no URL", "write that of the authorization server, such as https://auth.example")
  }
  if (clientId === undefined && !idNames.some((name) => reader.has(name))) {
    reader.report("clientId", "it is missing", "an issuer is that of a client; write its id, or remove the issuer")
  }
  return issuer
}

/** Returns the client that an entry describes. FastMCP writes `"auth": "oauth"` for one that is registered. */
export const read = (entry: EntryReader): ConfiguredClient | undefined => {
  const [field, ...more] = ["oauth", "auth"].filter((name) => entry.has(name))
  if (field === undefined) return undefined
  if (more.length > 0) {
    entry.report("auth", "there is oauth, too", "keep one of them")
    return undefined
  }
  if (entry.isText(field)) {
    if (entry.raw(field) === "oauth") return {}
    entry.report(field, "it is not an object", "write {\"clientId\": \"…\"}, and a token as Authorization in headers")
    return undefined
  }
  const reader = entry.within(field)
  if (reader === undefined) return undefined
  for (const place of places) {
    if (reader.has(place)) {
      reader.report(
        place,
        "it is not supported",
        "remove it, and write the issuer of the client as issuer; its metadata has the rest"
      )
    }
  }
  const clientId = textOf(reader, idNames)
  const clientSecret = textOf(reader, secretNames)
  if (clientSecret !== undefined && clientId === undefined) {
    reader.report("clientId", "it is missing", "a secret is that of a client; write its id")
  }
  return {
    clientId,
    clientSecret: clientSecret === undefined ? undefined : Redacted.make(clientSecret),
    issuer: issuerOf(reader, clientId),
    scopes: scopesOf(reader),
    redirectUri: redirectUriOf(reader)
  }
}
