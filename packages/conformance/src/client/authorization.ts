/** The authorization of the client in the scenarios `auth/*`. */
import * as Grant from "@effect-mcp/auth/Grant"
import * as OAuth from "@effect-mcp/auth/OAuth"
import type { UserAgent } from "@effect-mcp/auth/UserAgent"
import type { ClientAuthorization } from "@effect-mcp/transport/ClientAuthorization"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as NamedIssuer from "./namedIssuer.ts"

/** The members of the suite's context that concern authorization. */
const Context = Schema.Struct({
  client_id: Schema.optional(Schema.String),
  client_secret: Schema.optional(Schema.String),
  issuer: Schema.optional(Schema.String),
  private_key_pem: Schema.optional(Schema.String),
  idp_client_id: Schema.optional(Schema.String),
  idp_id_token: Schema.optional(Schema.String),
  idp_issuer: Schema.optional(Schema.String),
  idp_token_endpoint: Schema.optional(Schema.String),
  valid_jwt: Schema.optional(Schema.String)
})

type Context = typeof Context.Type

const decode = Schema.decodeSync(Schema.fromJsonString(Context))

/** The URL that the suite expects as the client id. Nothing is served there. */
const metadataUrl = "https://conformance-test.local/client-metadata.json"

/** A person whose browser the suite redirects at once. */
const userAgent: UserAgent = {
  _tag: "Redirect",
  open: () =>
    Effect.succeed({
      uri: "http://127.0.0.1:8976/callback",
      applicationType: "native",
      visit: (url) =>
        Effect.map(
          Effect.promise(() => fetch(url, { redirect: "manual" })),
          (response) => new URL(response.headers.get("location") ?? "http://127.0.0.1/").searchParams
        )
    }),
  // The person of the suite agrees to everything.
  confirm: () => Effect.succeed(true)
}

/** Returns the grant of a scenario without a person. */
const grantOf = (scenario: string, context: Context): Grant.Grant | undefined => {
  switch (scenario) {
    case "auth/client-credentials-basic":
    case "auth/client-credentials-jwt":
      return Grant.clientCredentials
    case "auth/wif-jwt-bearer":
      return Grant.workloadIdentity(Effect.succeed(Redacted.make(context.valid_jwt ?? "")))
    case "auth/cross-app-access-complete-flow":
    case "auth/enterprise-managed-authorization":
      return Grant.enterpriseManaged({
        provider: {
          issuer: context.idp_issuer ?? "",
          tokenEndpoint: context.idp_token_endpoint ?? "",
          client: { clientId: context.idp_client_id ?? "" }
        },
        subject: Effect.succeed({ token: Redacted.make(context.idp_id_token ?? "") })
      })
    default:
      return undefined
  }
}

/** Returns the client of the context, which was registered before. */
const registered = ({ client_id, client_secret, private_key_pem }: Context, issuer: string) =>
  client_id === undefined ? [] : [{
    clientId: client_id,
    issuer,
    secret: client_secret === undefined ? undefined : Redacted.make(client_secret),
    privateKey: private_key_pem === undefined
      ? undefined
      : { key: Redacted.make(private_key_pem), algorithm: "ES256" as const }
  }]

/** The authorization of a scenario. */
export interface Authorization {
  readonly layer: Layer.Layer<ClientAuthorization>
  /** The extensions that the client declares (AUX-02). */
  readonly extensions: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

/** Returns the authorization of a scenario at a server, with the context that the suite passes as JSON. */
export const of = (scenario: string, json: string, server: string): Authorization => {
  const context = decode(json)
  const grant = grantOf(scenario, context)
  const layerAt = (issuer: string) =>
    OAuth.layer({
      identity: { metadataUrl, preRegistered: registered(context, issuer) },
      clientName: "Conformance",
      userAgent,
      grant,
      dpop: scenario.startsWith("auth/dpop")
    })
  const isNamed = context.client_id === undefined || context.issuer !== undefined
  return {
    layer: isNamed ? layerAt(context.issuer ?? "") : Layer.unwrap(Effect.map(NamedIssuer.of(server), layerAt)),
    extensions: grant === undefined ? {} : Grant.extensions(grant)
  }
}
