import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "AUT-01",
    at: "MetadataRoutes.textOf",
    original: "authorization_servers: issuers",
    broken: "authorization_servers: []",
    test: "packages/auth/test/resource/metadata.test.ts",
    name: "is at the well-known URLs of the path and of the root, for everyone"
  },
  {
    id: "AUT-01",
    at: "MetadataRoutes.respond",
    original: "found === undefined",
    broken: "found?.resource !== \"\"",
    test: "packages/auth/test/resource/metadata.test.ts",
    name: "is at the well-known URLs of the path and of the root, for everyone"
  },
  {
    id: "AUT-02",
    at: "MetadataRoutes.pathsOf",
    original: "[wellKnown, path]",
    broken: "[wellKnown]",
    test: "packages/auth/test/resource/metadata.test.ts",
    name: "is at the well-known URLs of the path and of the root, for everyone"
  },
  {
    id: "AUT-02",
    at: "MetadataRoutes.pathsOf",
    original: "[wellKnown, path]",
    broken: "[path]",
    test: "packages/auth/test/resource/metadata.test.ts",
    name: "is at the well-known URLs of the path and of the root, for everyone"
  },
  {
    id: "AUT-02",
    at: "Challenges.print",
    original: "resource_metadata: settings.metadataUrl",
    broken: "resource_metadata: undefined",
    test: "packages/auth/test/resource/signedTokens.test.ts",
    name: "rejects a request without a token with a challenge that has no error"
  },
  {
    id: "AUT-03",
    at: "RequestIdentity.make.identify",
    original: "return Effect.fail(unauthenticated(resource, \"Bearer\"))",
    broken: "return Effect.succeed(\"anonymous\")",
    test: "packages/auth/test/resource/signedTokens.test.ts",
    name: "rejects a request without a token with a challenge that has no error"
  },
  {
    id: "AUT-03",
    at: "RequestIdentity.make.identify",
    original: "Effect.fail(invalidToken(resource, credentials.scheme, problem))",
    broken: "Effect.fail(lacksScope(resource, credentials.scheme))",
    test: "packages/auth/test/resource/signedTokens.test.ts",
    name: "rejects a token that breaks a rule with 401 and invalid_token"
  },
  {
    id: "AUT-03",
    at: "Principal.isExpired",
    original: "!(principal.expiresAt > now)",
    broken: "principal.expiresAt < 0",
    test: "packages/session/test/Principal.test.ts",
    name: "has expired from its time on"
  },
  {
    id: "AUT-03",
    at: "Authenticator.make.accepted",
    original: "HttpResponses.error(401, \"The identity has expired\", { headers })",
    broken: "HttpResponses.error(403, \"The identity has expired\", { headers })",
    test: "packages/transport/test/http/server/authentication.test.ts",
    name: "rejects an identity that has expired with 401, with the challenge of the authentication"
  },
  {
    id: "AUT-04",
    at: "Discovery.ofResource",
    original: "issuers.find(prefers) ?? issuers[0] ?? \"\"",
    broken: "server.origin",
    test: "packages/auth/test/internal/discovery/places.test.ts",
    name: "the URL of the challenge is requested first, and no other"
  },
  {
    id: "AUT-05",
    at: "AuthenticationChallenge.challenge",
    original: "parameters[name] = value",
    broken: "parameters[\"realm\"] = value",
    test: "packages/transport/test/AuthenticationChallenge.test.ts",
    name: "are read: parameters, quoted and not"
  },
  {
    id: "AUT-05",
    at: "AuthenticationChallenge.find",
    original: "challenge.scheme.toLowerCase() === scheme.toLowerCase()",
    broken: "challenge.scheme === scheme",
    test: "packages/transport/test/AuthenticationChallenge.test.ts",
    name: "are found by their schemes, without case"
  },
  {
    id: "AUT-05",
    at: "RequestAuthorization.isRejection",
    original: "if (status === 401) return true",
    broken: "if (status === 401) return false",
    test: "packages/transport/test/http/client/streamable/authentication.test.ts",
    name: "the authorization handles a 401; its headers are sent with the retry and all later messages"
  },
  {
    id: "AUT-06",
    at: "ResourceMetadata.find",
    original: "fromChallenge === undefined",
    broken: "fromChallenge !== \"\"",
    test: "packages/auth/test/internal/discovery/places.test.ts",
    name: "the URL of the challenge is requested first, and no other"
  },
  {
    id: "AUT-06",
    at: "ResourceMetadata.places",
    original: "[exact, at(\"\")]",
    broken: "[at(\"\"), exact]",
    test: "packages/auth/test/internal/discovery/places.test.ts",
    name: "the root is requested last, and its resource without a path is kept byte for byte"
  },
  {
    id: "AUT-06",
    at: "ResourceMetadata.places",
    original: "[exact, at(\"\")]",
    broken: "[at(\"\")]",
    test: "packages/auth/test/internal/discovery/places.test.ts",
    name: "without a URL in the challenge, the place of the path is requested, and not the root"
  },
  {
    id: "AUT-06",
    at: "ResourceMetadata.named",
    original: "if (outcome._tag === \"Absent\")",
    broken:
      "if (outcome._tag === \"Absent\") return yield* guessed(http, server, headers)\n  if (outcome._tag === \"\")",
    test: "packages/auth/test/internal/discovery/places.test.ts",
    name: "a challenge with metadata that is absent fails, and no other place is requested"
  },
  {
    id: "AUT-07",
    at: "ResourceMetadata.fits",
    original: "origin !== server.origin ||",
    broken: "origin === \"\" ||",
    test: "packages/auth/test/internal/discovery/badMetadata.test.ts",
    name: "resources that are not the server"
  },
  {
    id: "AUT-07",
    at: "ResourceMetadata.fits",
    original: "whole.startsWith(`${part}/`)",
    broken: "whole.startsWith(part)",
    test: "packages/auth/test/internal/discovery/badMetadata.test.ts",
    name: "resources that are not the server"
  },
  {
    id: "AUT-07",
    at: "ResourceMetadata.fits",
    original: "whole.startsWith(`${part}/`)",
    broken: "false",
    test: "packages/auth/test/internal/discovery/places.test.ts",
    name: "the root is requested last, and its resource without a path is kept byte for byte"
  },
  {
    id: "AUT-08",
    at: "IssuerMetadata.places",
    original: "[\"oauth-authorization-server\", \"openid-configuration\"]",
    broken: "[\"openid-configuration\", \"oauth-authorization-server\"]",
    test: "packages/auth/test/internal/discovery/places.test.ts",
    name: "an issuer with a path has three places, in the order of the specification"
  },
  {
    id: "AUT-08",
    at: "IssuerMetadata.places",
    original: "[...inserted, new URL(`${path}/.well-known/openid-configuration`, origin)]",
    broken: "inserted",
    test: "packages/auth/test/internal/discovery/places.test.ts",
    name: "an issuer with a path has three places, in the order of the specification"
  },
  {
    id: "AUT-08",
    at: "IssuerMetadata.places",
    original: "[\"oauth-authorization-server\", \"openid-configuration\"]",
    broken: "[\"oauth-authorization-server\"]",
    test: "packages/auth/test/internal/discovery/places.test.ts",
    name: "an issuer without a path has two places"
  },
  {
    id: "AUT-09",
    at: "IssuerMetadata.check",
    original: "!issuers.includes(metadata.issuer)",
    broken: "!issuers.some((one) => new URL(one).href === new URL(metadata.issuer).href)",
    test: "packages/auth/test/internal/discovery/places.test.ts",
    name: "an issuer with a slash is the same issuer only if its metadata has the slash, too"
  },
  {
    id: "AUT-09",
    at: "IssuerMetadata.check",
    original: "!issuers.includes(metadata.issuer)",
    broken: "issuers.length === 0",
    test: "packages/auth/test/internal/discovery/badMetadata.test.ts",
    name: "another issuer"
  },
  {
    id: "AUT-10",
    at: "LegacyMetadata.defaults",
    original: "token_endpoint: `${origin}/token`",
    broken: "token_endpoint: `${origin}/oauth/token`",
    test: "packages/auth/test/internal/discovery/places.test.ts",
    name: "without any metadata, the default endpoints of the origin are used"
  },
  {
    id: "AUT-10",
    at: "LegacyMetadata.find",
    original: "if (found !== undefined) return found.metadata",
    broken: "",
    test: "packages/auth/test/internal/discovery/places.test.ts",
    name: "the metadata of the origin is used, and the request has the revision"
  },
  {
    id: "AUT-11",
    at: "StoredRegistrations.make.keyOf",
    original: "{ _tag: \"Registration\", issuer, account }",
    broken: "{ _tag: \"Registration\", issuer: \"any\", account }",
    test: "packages/auth/test/internal/registration/clients.test.ts",
    name: "each issuer registers a client of its own"
  },
  {
    id: "AUT-11",
    at: "Registration.make.stateOf",
    original: "issuer: string",
    broken: "_: string, issuer = \"any\"",
    test: "packages/auth/test/internal/registration/clients.test.ts",
    name: "is for its issuer only"
  },
  {
    id: "AUT-12",
    at: "Registration.make.clientFor",
    original: "data !== false && endpoint !== undefined",
    broken: "data === false",
    test: "packages/auth/test/internal/registration/oidcProvider.test.ts",
    name: "a client that registers itself"
  },
  {
    id: "AUT-12",
    at: "DynamicRegistration.bodyOf",
    original: "redirection === undefined ? [] : [redirection.uri]",
    broken: "[]",
    test: "packages/auth/test/internal/registration/oidcProvider.test.ts",
    name: "a client that registers itself"
  },
  {
    id: "AUT-13",
    at: "Registration.make.documentFor",
    original: "target.metadata[\"client_id_metadata_document_supported\"] === true",
    broken: "identity === undefined",
    test: "packages/auth/test/internal/registration/oidcProvider.test.ts",
    name: "a client with a metadata document"
  },
  {
    id: "AUT-13",
    at: "Registration.make.documentFor",
    original: "target.metadata[\"client_id_metadata_document_supported\"] === true",
    broken: "target.metadata[\"client_id_metadata_document_supported\"] !== false",
    test: "packages/auth/test/internal/registration/clients.test.ts",
    name: "pre-registered, document if the server supports it, registration"
  },
  {
    id: "AUT-14",
    at: "ClientIdentity.isDocumentUrl",
    original: "protocol === \"https:\"",
    broken: "protocol !== \"\"",
    test: "packages/auth/test/ClientIdentity.test.ts",
    name: "is an https: URL with a path"
  },
  {
    id: "AUT-14",
    at: "ClientIdentity.isDocumentUrl",
    original: "pathname !== \"/\"",
    broken: "pathname !== \"\"",
    test: "packages/auth/test/ClientIdentity.test.ts",
    name: "is an https: URL with a path"
  },
  {
    id: "AUT-14",
    at: "OAuth.layer",
    original: "problem !== undefined",
    broken: "problem?.option === \"\"",
    test: "packages/auth/test/ClientIdentity.test.ts",
    name: "is checked when the Layer is built"
  },
  {
    id: "AUT-14",
    at: "ClientIdentity.document",
    original: "client_id: options.url",
    broken: "client_id: new URL(options.url).origin",
    test: "packages/auth/test/internal/registration/oidcProvider.test.ts",
    name: "a client with a metadata document"
  },
  {
    id: "AUT-15",
    at: "Registration.make.withoutRegistration",
    original: "if (given !== undefined)",
    broken: "if (given !== undefined && documentFor(target) === undefined)",
    test: "packages/auth/test/internal/registration/clients.test.ts",
    name: "pre-registered, document if the server supports it, registration"
  },
  {
    id: "AUT-15",
    at: "Registration.make.clientFor",
    original: "endpoint !== undefined",
    broken: "endpoint !== undefined && identity.ask === undefined",
    test: "packages/auth/test/internal/registration/clients.test.ts",
    name: "a registration, and no question"
  },
  {
    id: "AUT-15",
    at: "Registration.make.clientFor",
    original: "(yield* asked(target, onAsk)) ?? (yield* noClient(target.issuer, remedyFor(target.issuer)))",
    broken: "yield* noClient(target.issuer, remedyFor(target.issuer))",
    test: "packages/auth/test/internal/registration/clients.test.ts",
    name: "a question, whose answer is stored, so that it is asked once"
  },
  {
    id: "AUT-15",
    at: "Registration.isGivenFor",
    original: "given.issuer === issuer",
    broken: "given.issuer !== issuer",
    test: "packages/auth/test/severalIssuers.test.ts",
    name: "is used with the one for which the program has a client"
  },
  {
    id: "AUT-16",
    at: "Registration.make.withoutRegistration",
    original: "clientOf(target, given.clientId, given, \"PreRegistered\")",
    broken: "clientOf(target, given.clientId, {}, \"PreRegistered\")",
    test: "packages/auth/test/internal/registration/oidcProvider.test.ts",
    name: "a client that was registered before, with a secret of any characters"
  },
  {
    id: "AUT-16",
    at: "OAuth.configured",
    original: "[{ clientId, secret }]",
    broken: "[{ clientId }]",
    test: "packages/client/test/signIn.test.ts",
    name: "are the clients at their servers"
  },
  {
    id: "AUT-17",
    at: "DynamicRegistration.bodyOf",
    original: "application_type: redirection?.applicationType ?? \"native\"",
    broken: "application_type: \"native\"",
    test: "packages/auth/test/internal/registration/clients.test.ts",
    name: "sends the redirect URI, the type of the application and the grants"
  },
  {
    id: "AUT-17",
    at: "DynamicRegistration.bodyOf",
    original: "application_type: redirection?.applicationType ?? \"native\"",
    broken: "application_type: undefined",
    test: "packages/auth/test/internal/registration/clients.test.ts",
    name: "sends the redirect URI, the type of the application and the grants"
  },
  {
    id: "AUT-17",
    at: "NodeUserAgent.loopback.open",
    original: "applicationType: \"native\"",
    broken: "applicationType: \"web\"",
    test: "packages/auth/test/OAuth.test.ts",
    name: "registers an application of the type that fits its redirect URI"
  },
  {
    id: "AUT-17",
    at: "WebUserAgent.applicationTypeOf",
    original: "url.protocol === \"http:\" && isLoopback(url)",
    broken: "url.protocol === \"\"",
    test: "packages/auth/test/OAuth.test.ts",
    name: "registers an application of the type that fits its redirect URI"
  },
  {
    id: "AUT-18",
    at: "DynamicRegistration.explanationOf",
    original: "description === undefined ? code : `${code}: ${description}`",
    broken: "\"the server does not want it\"",
    test: "packages/auth/test/internal/registration/clients.test.ts",
    name: "a rejection has the words of the server, and is no NoClient"
  },
  {
    id: "AUT-18",
    at: "TokenRequests.refresh",
    original: "reason.error === \"invalid_client\"",
    broken: "reason.error === \"unknown_client\"",
    test: "packages/auth/test/signIns.test.ts",
    name: "a client that the issuer has forgotten is registered anew, once the person acts"
  },
  {
    id: "AUT-19",
    at: "Registration.make.bind",
    original: "if (bound !== undefined)",
    broken: "if (bound === \"\")",
    test: "packages/auth/test/internal/registration/clients.test.ts",
    name: "a client without an issuer belongs to the first one that uses it, also in the next process"
  },
  {
    id: "AUT-19",
    at: "TokenRequests.#endpointOf",
    original: "target.issuer === key.issuer",
    broken: "target.issuer !== \"\"",
    test: "packages/auth/test/OAuth.test.ts",
    name: "a refresh token is not sent to the other issuer to which a server moves, for the same client"
  },
  {
    id: "AUT-19",
    at: "KeyText.of",
    original: "[key._tag, key.issuer, key.resource, key.client, key.account]",
    broken: "[key._tag, \"any\", key.resource, key.client, key.account]",
    test: "packages/auth/test/tokenStoreLaws.test.ts",
    name: "entries with similar keys are separate, and so are their leases"
  },
  {
    id: "AUT-20",
    at: "Registration.make.registrationData",
    original: "identity.preRegistered === undefined || identity.preRegistered.length === 0 ? {} : false",
    broken: "{}",
    test: "packages/auth/test/internal/registration/clients.test.ts",
    name: "a client that is given for another issuer is an error, and no reason for a registration"
  },
  {
    id: "AUT-20",
    at: "Registration.givenFor",
    original: "given.issuer === undefined",
    broken: "given.issuer !== \"\"",
    test: "packages/auth/test/internal/registration/clients.test.ts",
    name: "a client that is given for another issuer is an error, and no reason for a registration"
  },
  {
    id: "AUT-21",
    at: "CodeFlow.authorizationUrl",
    original: "code_challenge_method: \"S256\"",
    broken: "code_challenge_method: \"plain\"",
    test: "packages/auth/test/OAuth.test.ts",
    name: "is used, with S256, if assumesPkce"
  },
  {
    id: "AUT-21",
    at: "CodeFlow.run",
    original: "code_verifier: verifier",
    broken: "code_verifier: undefined",
    test: "packages/auth/test/OAuth.test.ts",
    name: "the first challenge leads to tokens, and nothing happens before"
  },
  {
    id: "AUT-22",
    at: "Discovery.useFault",
    original: "methods?.includes(\"S256\") === true",
    broken: "methods !== undefined",
    test: "packages/auth/test/internal/discovery/badMetadata.test.ts",
    name: "no S256"
  },
  {
    id: "AUT-22",
    at: "Discovery.useFault",
    original: "(isLegacy || assumesPkce)",
    broken: "(isLegacy || !assumesPkce)",
    test: "packages/auth/test/OAuth.test.ts",
    name: "[AUT-21] [AUT-22] is not used"
  },
  {
    id: "AUT-23",
    at: "CodeFlow.authorizationUrl",
    original: "resource: resourceOf(target)",
    broken: "resource: undefined",
    test: "packages/auth/test/OAuth.test.ts",
    name: "the first challenge leads to tokens, and nothing happens before"
  },
  {
    id: "AUT-23",
    at: "CodeFlow.run",
    original: "resource: resourceOf(target)",
    broken: "resource: undefined",
    test: "packages/auth/test/OAuth.test.ts",
    name: "the first challenge leads to tokens, and nothing happens before"
  },
  {
    id: "AUT-23",
    at: "TokenRequests.refresh",
    original: "resource: resourceOf(target)",
    broken: "resource: undefined",
    test: "packages/auth/test/OAuth.test.ts",
    name: "five calls whose token is rejected cause one refresh, and no window"
  },
  {
    id: "AUT-23",
    at: "DeviceFlow.begin",
    original: "resource: resourceOf(target)",
    broken: "resource: undefined",
    test: "packages/auth/test/DeviceFlow.test.ts",
    name: "is shown, and polled every 5 seconds until the person has entered it"
  },
  {
    id: "AUT-23",
    at: "DeviceFlow.run",
    original: "resource: resourceOf(target)",
    broken: "resource: undefined",
    test: "packages/auth/test/DeviceFlow.test.ts",
    name: "is shown, and polled every 5 seconds until the person has entered it"
  },
  {
    id: "AUT-23",
    at: "ProgramGrant.grantOf",
    original: "resource: resourceOf(target)",
    broken: "resource: undefined",
    test: "packages/auth/test/Grant.test.ts",
    name: "a secret gets tokens at the first challenge, for the resource, without registration"
  },
  {
    id: "AUT-24",
    at: "Discovery.canonicalUri",
    original: "`${origin}${pathname === \"/\" ? \"\" : pathname}${search}`",
    broken: "`${origin}${pathname}${search}`",
    test: "packages/auth/test/internal/discovery/places.test.ts",
    name: "is the most specific URI of a server without metadata, and ends with no slash of the root"
  },
  {
    id: "AUT-24",
    at: "Discovery.canonicalUri",
    original: "`${origin}${pathname === \"/\" ? \"\" : pathname}${search}`",
    broken: "origin",
    test: "packages/auth/test/internal/discovery/places.test.ts",
    name: "is the most specific URI of a server without metadata, and ends with no slash of the root"
  },
  {
    id: "AUT-24",
    at: "ResourceMetadata.fits",
    original: "origin !== server.origin",
    broken: "!resource.startsWith(server.origin)",
    test: "packages/auth/test/internal/discovery/places.test.ts",
    name: "has its scheme and its host in upper case, if the metadata has them so"
  },
  {
    id: "AUT-24",
    at: "ResourceUrl.isSame",
    original: "lowerCase(one) === lowerCase(other)",
    broken: "one === other",
    test: "packages/auth/test/resource/signedTokens.test.ts",
    name: "accepts its scheme and its host in upper case, in the audience and in its own URL"
  },
  {
    id: "AUT-24",
    at: "ResourceUrl.lowerCase",
    original: "resource.slice(origin.length)",
    broken: "resource.slice(origin.length).toLowerCase()",
    test: "packages/auth/test/resource/signedTokens.test.ts",
    name: "accepts its scheme and its host in upper case, in the audience and in its own URL"
  },
  {
    id: "AUT-25",
    at: "AuthorizationResponse.isExpected",
    original: "single(parameters, \"state\") === state",
    broken: "state !== \"\"",
    test: "packages/auth/test/OAuth.test.ts",
    name: "a redirect with another state changes nothing"
  },
  {
    id: "AUT-25",
    at: "CodeFlow.run",
    original: "library.generateRandomState()",
    broken: "\"state\"",
    test: "packages/auth/test/OAuth.test.ts",
    name: "the first challenge leads to tokens, and nothing happens before"
  },
  {
    id: "AUT-26",
    at: "ScopeSelection.select",
    original: "wanted ?? target.scopes",
    broken: "wanted",
    test: "packages/auth/test/internal/discovery/scopes.test.ts",
    name: "are those of the challenge, else those of the metadata, else none"
  },
  {
    id: "AUT-26",
    at: "ScopeSelection.select",
    original: "scopes.length === 0 ? undefined : scopes",
    broken: "scopes.length === 0 ? [\"openid\"] : scopes",
    test: "packages/auth/test/internal/discovery/scopes.test.ts",
    name: "are those of the challenge, else those of the metadata, else none"
  },
  {
    id: "AUT-26",
    at: "ScopeSelection.select",
    original: "parse(challenged)",
    broken: "target.scopes",
    test: "packages/auth/test/internal/discovery/scopes.test.ts",
    name: "are those of the challenge, else those of the metadata, else none"
  },
  {
    id: "AUT-27",
    at: "ScopeSelection.select",
    original: "parse(challenged)",
    broken: "parse(challenged).filter((one) => target.scopes?.includes(one) !== false)",
    test: "packages/auth/test/internal/discovery/scopes.test.ts",
    name: "of a challenge count, whatever the metadata lists"
  },
  {
    id: "AUT-28",
    at: "AuthorizationResponse.record",
    original: "issuer: metadata.issuer",
    broken: "issuer: \"https://evil.example\"",
    test: "packages/auth/test/OAuth.test.ts",
    name: "ends the sign-in, and no code is sent"
  },
  {
    id: "AUT-28",
    at: "AuthorizationResponse.record",
    original: "hasIssuer: metadata.authorization_response_iss_parameter_supported === true",
    broken: "hasIssuer: false",
    test: "packages/auth/test/OAuth.test.ts",
    name: "ends the sign-in, and no code is sent"
  }
]
