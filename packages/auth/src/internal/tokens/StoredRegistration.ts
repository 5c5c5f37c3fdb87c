/**
 * The client that this program is at an issuer, and its JSON.
 */
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as EntryFormat from "./EntryFormat.ts"

/** A registration of a client. Times are milliseconds since 1970. */
export interface StoredRegistration {
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted<string> | undefined
  /** The time at which the secret expires, if it does. */
  readonly secretExpiresAt: number | undefined
  /** The value of `token_endpoint_auth_method`. */
  readonly authMethod: string
  /** The redirect URI, with the port that the listener has to have again. */
  readonly redirectUri: string | undefined
  /** Whether the program or the host has given the client id, and no registration: the entry binds it to the issuer. */
  readonly isGiven?: boolean | undefined
  /** Other client ids of the program that belong to the issuer. */
  readonly boundClients?: ReadonlyArray<string> | undefined
}

const Json = Schema.Struct({
  format: Schema.Literal(EntryFormat.format),
  kind: Schema.Literal("registration"),
  clientId: Schema.NonEmptyString,
  clientSecret: Schema.optionalKey(Schema.NonEmptyString),
  secretExpiresAt: Schema.optionalKey(Schema.Finite),
  authMethod: Schema.String,
  redirectUri: Schema.optionalKey(Schema.String),
  isGiven: Schema.optionalKey(Schema.Boolean),
  boundClients: Schema.optionalKey(Schema.Array(Schema.NonEmptyString))
})

/** Returns the text of an entry. */
export const encode = (registration: StoredRegistration): Redacted.Redacted<string> => {
  const { authMethod, boundClients, clientId, clientSecret, isGiven, redirectUri, secretExpiresAt } = registration
  const json: typeof Json.Type = {
    format: EntryFormat.format,
    kind: "registration",
    clientId,
    ...(clientSecret === undefined ? {} : { clientSecret: Redacted.value(clientSecret) }),
    ...(secretExpiresAt === undefined ? {} : { secretExpiresAt }),
    authMethod,
    ...(redirectUri === undefined ? {} : { redirectUri }),
    ...(isGiven === undefined ? {} : { isGiven }),
    ...(boundClients === undefined ? {} : { boundClients })
  }
  return Redacted.make(JSON.stringify(json))
}

/** Returns the registration of an entry. Fails with `Corrupt` or `Newer`, without a part of the text. */
export const decode = EntryFormat.decoder(Json, "a registration", (json): StoredRegistration => ({
  clientId: json.clientId,
  clientSecret: json.clientSecret === undefined ? undefined : Redacted.make(json.clientSecret),
  secretExpiresAt: json.secretExpiresAt,
  authMethod: json.authMethod,
  redirectUri: json.redirectUri,
  isGiven: json.isGiven,
  boundClients: json.boundClients
}))
