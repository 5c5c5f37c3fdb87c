/** The authentication of this server as a client of an issuer. */
import { InvalidOptionError } from "@effect-mcp/session/InvalidOptionError"
import * as Redacted from "effect/Redacted"
import type * as oauth from "oauth4webapi"
import type { Client } from "../../ClientIdentity.ts"
import * as ClientAuthentication from "../registration/ClientAuthentication.ts"
import * as SigningKey from "../registration/SigningKey.ts"

/** Throws an error for a client that cannot authenticate, or that another issuer knows (AUT-19). */
export const check = (issuer: string, client: Client): void => {
  const { method, privateKey, secret } = client
  if (client.issuer !== undefined && client.issuer !== issuer) {
    throw new InvalidOptionError({ option: "client.issuer", given: client.issuer, allowed: issuer })
  }
  const isUsable = method === undefined
    ? secret !== undefined || privateKey !== undefined
    : method === "private_key_jwt"
    ? privateKey !== undefined
    : method !== "none" && secret !== undefined
  if (isUsable) return
  const given = method ?? "neither"
  throw new InvalidOptionError({ option: "client", given, allowed: "a client with a secret or a private key" })
}

/** Returns the authentication of a client that is checked, as the library takes it. */
export const make = async (library: typeof oauth, client: Client): Promise<oauth.ClientAuth> => {
  const { privateKey, secret } = client
  const method = client.method ?? (privateKey === undefined ? "client_secret_basic" : "private_key_jwt")
  if (method === "private_key_jwt" && privateKey !== undefined) {
    const key = await SigningKey.read(privateKey)
    const { keyId } = privateKey
    return library.PrivateKeyJwt(keyId === undefined ? key : { key, kid: keyId })
  }
  const text = secret === undefined ? "" : Redacted.value(secret)
  return method === "client_secret_post" ? library.ClientSecretPost(text) : ClientAuthentication.basic(text)
}
