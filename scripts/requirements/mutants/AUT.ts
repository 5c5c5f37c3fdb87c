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
    at: "Registration.make.givenClient",
    original: "clientOf(target, given.clientId, given, \"PreRegistered\", binding)",
    broken: "clientOf(target, given.clientId, {}, \"PreRegistered\", binding)",
    test: "packages/auth/test/internal/registration/oidcProvider.test.ts",
    name: "a client that was registered before, with a secret of any characters"
  },
  {
    id: "AUT-16",
    at: "OAuth.configured",
    original: "[{ clientId, issuer, secret }]",
    broken: "[{ clientId, issuer }]",
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
    at: "Registration.make.isBound",
    original: "if (bound !== undefined && bound !== issuer)",
    broken: "if (bound === \"\")",
    test: "packages/auth/test/internal/registration/clients.test.ts",
    name: "a client without an issuer belongs to the first one that has an answer, also in the next process"
  },
  {
    id: "AUT-19",
    at: "Registration.make.needsPerson",
    original: "hasGrant || isConfidential(givenFor(identity, target.issuer) ?? {})",
    broken: "hasGrant",
    test: "packages/auth/test/hostileIssuer.test.ts",
    name: "is not sent for the code of a device, which precedes the page"
  },
  {
    id: "AUT-19",
    at: "Registration.make.needsPerson",
    original: "hasGrant || isConfidential(givenFor(identity, target.issuer) ?? {})",
    broken: "isConfidential(givenFor(identity, target.issuer) ?? {})",
    test: "packages/auth/test/internal/registration/clients.test.ts",
    name: "without a person, a client without an issuer is not used, even if it has no secret"
  },
  {
    id: "AUT-19",
    at: "ClientIdentity.problemOf",
    original: "hasGrant || isConfidential(client)",
    broken: "hasGrant",
    test: "packages/auth/test/ClientIdentity.test.ts",
    name: "is named for a client with a secret or a private key: the Layer fails, and says what to write"
  },
  {
    id: "AUT-19",
    at: "OAuth.layer",
    original: "hasGrant: grant !== undefined",
    broken: "hasGrant: false",
    test: "packages/auth/test/ClientIdentity.test.ts",
    name: "is named for each client of a grant, also if the grant is that of one server"
  },
  {
    id: "AUT-19",
    at: "PersonFlow.run",
    original: "onCode: client.bind ?? Effect.void",
    broken: "onCode: Effect.void",
    test: "packages/auth/test/hostileIssuer.test.ts",
    name: "belongs to the issuer at which a person has signed in, also in the next process"
  },
  {
    id: "AUT-19",
    at: "TokenRequests.#endpointOf",
    original: "target.issuer === key.issuer",
    broken: "target.issuer !== \"\"",
    test: "packages/auth/test/tokens.test.ts",
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
    test: "packages/auth/test/redirect.test.ts",
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
    test: "packages/auth/test/redirect.test.ts",
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
    test: "packages/auth/test/tokens.test.ts",
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
    test: "packages/auth/test/redirect.test.ts",
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
    test: "packages/auth/test/redirect.test.ts",
    name: "ends the sign-in, and no code is sent"
  },
  {
    id: "AUT-28",
    at: "AuthorizationResponse.record",
    original: "hasIssuer: metadata.authorization_response_iss_parameter_supported === true",
    broken: "hasIssuer: false",
    test: "packages/auth/test/redirect.test.ts",
    name: "ends the sign-in, and no code is sent"
  },
  {
    id: "AUT-29",
    at: "AuthorizationResponse.issuerProblem",
    original: "given === issuer",
    broken: "given.replace(/\\/$/, \"\") === issuer",
    test: "packages/auth/test/redirect.test.ts",
    name: "the right state with an issuer with a slash ends the sign-in"
  },
  {
    id: "AUT-29",
    at: "AuthorizationResponse.issuerProblem",
    original: "hasIssuer ? \"it has no iss, which the metadata promises\" : undefined",
    broken: "undefined",
    test: "packages/auth/test/redirect.test.ts",
    name: "the right state with no issuer, which the metadata promises ends the sign-in"
  },
  {
    id: "AUT-29",
    at: "AuthorizationResponse.issuerProblem",
    original: "hasIssuer ? \"it has no iss, which the metadata promises\" : undefined",
    broken: "\"it has no iss, which the metadata promises\"",
    test: "packages/auth/test/redirect.test.ts",
    name: "[AUT-29] an issuer that its metadata does not promise"
  },
  {
    id: "AUT-30",
    at: "AuthorizationResponse.codeOf",
    original: "if (problem !== undefined)",
    broken: "if (problem !== undefined && !parameters.has(\"error\"))",
    test: "packages/auth/test/redirect.test.ts",
    name: "the right state with an error of a wrong issuer ends the sign-in"
  },
  {
    id: "AUT-31",
    at: "IssuerMetadata.endpointFault",
    original: "isPlain ? `its ${name} is not an https: URL` : undefined",
    broken: "undefined",
    test: "packages/auth/test/internal/discovery/badMetadata.test.ts",
    name: "[AUT-31] an endpoint without TLS at the origin of a server without TLS"
  },
  {
    id: "AUT-31",
    at: "PersonFlow.run",
    original: "if (fault !== undefined)",
    broken: "if (fault !== undefined && !redirection.uri.startsWith(\"http:\"))",
    test: "packages/auth/test/redirect.test.ts",
    name: "[AUT-31] URI that has neither https nor a loopback address"
  },
  {
    id: "AUT-32",
    at: "Registration.registered",
    original: "read.registration.redirectUri !== redirection?.uri",
    broken: "Object.is(read.registration.redirectUri, \"\")",
    test: "packages/auth/test/internal/registration/clients.test.ts",
    name: "[AUT-32] another redirect URI is registered before it is used"
  },
  {
    id: "AUT-32",
    at: "PersonFlow.run",
    original: "registration.given(target)?.redirectUri",
    broken: "undefined",
    test: "packages/auth/test/redirect.test.ts",
    name: "[AUT-32] URI of a client that is registered by hand"
  },
  {
    id: "AUT-33",
    at: "McpEndpoint.authorized",
    original: "{ method, url, headers: { ...programs, ...authorizing, ...protocols }, body }",
    broken:
      "{\n method,\n url: new URL(`${url.href}?access_token=${authorizing[\"authorization\"]?.slice(7) ?? \"\"}`),\n headers: { ...programs, ...protocols },\n body\n}",
    test: "packages/auth/test/authorizedSession.test.ts",
    name: "[HTTP-16] [AUT-33] is authorized as the specification describes"
  },
  {
    id: "AUT-33",
    at: "AccessHeaders.of",
    original: "this.#bearer.set(tokens, headers)",
    broken: "this.#bearer.set(tokens, none)",
    test: "packages/auth/test/OAuth.test.ts",
    name: "[AUT-21] [AUT-23] [AUT-25] [AUT-33] the first challenge leads to tokens"
  },
  {
    id: "AUT-33",
    at: "RequestCredentials.hasTokenInQuery",
    original: "has(\"access_token\")",
    broken: "has(\"token\")",
    test: "packages/auth/test/resource/principals.test.ts",
    name: "[AUT-33] is in no span of the server"
  },
  {
    id: "AUT-34",
    at: "ServerAccess.headers",
    original: "if (request.url.origin !== this.#settings.server.origin)",
    broken: "if (request.url.port !== this.#settings.server.port)",
    test: "packages/auth/test/OAuth.test.ts",
    name: "[AUT-34] a token is not given to another origin"
  },
  {
    id: "AUT-34",
    at: "TokenVerification.verifiersOf",
    original: "issuer === undefined ? verifier.acceptsOpaque : verifier.issuer === issuer",
    broken: "verifier.acceptsOpaque || verifier.issuer === issuer",
    test: "packages/auth/test/resource/introspection.test.ts",
    name: "[AUT-34] is shown to no other issuer"
  },
  {
    id: "AUT-34",
    at: "TokenExchange.layer",
    original: "if (subject.issuer !== issuer)",
    broken: "if (subject.issuer === \"\")",
    test: "packages/auth/test/resource/tokenExchange.test.ts",
    name: "[AUT-34] sends the token of another issuer to no other"
  },
  {
    id: "AUT-35",
    at: "FileRegister.#write",
    original: "0o600",
    broken: "0o644",
    test: "packages/auth/test/nodeTokenStore.test.ts",
    name: "[AUT-35] files have mode 600 and folders mode 700"
  },
  {
    id: "AUT-35",
    at: "TokenFiles.makeDirectory",
    original: "{ mode: 0o700 }",
    broken: "{ mode: 0o755 }",
    test: "packages/auth/test/nodeTokenStore.test.ts",
    name: "[AUT-35] files have mode 600 and folders mode 700"
  },
  {
    id: "AUT-35",
    at: "FileRegister.#clean",
    original: "if (isReplaced && size > 0)",
    broken: "if (isReplaced && size < 0)",
    test: "packages/auth/test/nodeTokenStore.test.ts",
    name: "[AUT-35] a text is on the disk only if the program asks for no encryption"
  },
  {
    id: "AUT-35",
    at: "TokenCipher.seal",
    original: "Base64Url.encode(new Uint8Array(bytes))",
    broken: "text",
    test: "packages/auth/test/nodeTokenStore.test.ts",
    name: "[AUT-35] a text is on the disk only if the program asks for no encryption"
  },
  {
    id: "AUT-36",
    at: "DynamicRegistration.grants",
    original: "[\"authorization_code\", \"refresh_token\"]",
    broken: "[\"authorization_code\"]",
    test: "packages/auth/test/internal/registration/clients.test.ts",
    name: "[AUT-17] [AUT-36] sends the redirect URI, the type of the application and the grants"
  },
  {
    id: "AUT-36",
    at: "ScopeSelection.select",
    original: "one !== offlineAccess || supportsOffline",
    broken: "one !== offlineAccess || !supportsOffline",
    test: "packages/auth/test/internal/discovery/scopes.test.ts",
    name: "[AUT-36] [AUT-49] have offline_access exactly if the authorization server lists it"
  },
  {
    id: "AUT-37",
    at: "SharedCredentials.#find",
    original: "tokens: isRejected || isExpired(tokens, now) ? undefined : tokens",
    broken: "tokens: undefined",
    test: "packages/auth/test/internal/tokens/SharedCredentials.test.ts",
    name: "[AUT-37] tokens without a refresh token are used until they expire"
  },
  {
    id: "AUT-38",
    at: "ServerAccess.rejected",
    original: "challenge === undefined || wanted.length === 0",
    broken: "challenge === undefined || wanted.length >= 0",
    test: "packages/auth/test/windows.test.ts",
    name: "[AUT-38] [AUT-39] a missing scope is requested"
  },
  {
    id: "AUT-38",
    at: "RequestAuthorization.isRejection",
    original: "if (challenge !== undefined && AuthenticationChallenge.parse(challenge).length > 0)",
    broken: "if (challenge === \"\")",
    test: "packages/transport/test/http/client/authorization.test.ts",
    name: "[AUT-38] receives the challenge of a 403 with the operation"
  },
  {
    id: "AUT-39",
    at: "ScopeSelection.select",
    original: "union(requested, wanted, named)",
    broken: "union(wanted, named)",
    test: "packages/auth/test/internal/discovery/scopes.test.ts",
    name: "[AUT-39] of a step-up are the union"
  },
  {
    id: "AUT-39",
    at: "ServerAccess.#insufficient",
    original: "this.#scopes = ScopeSelection.union(this.#scopes, current?.scopes)",
    broken: "this.#scopes = undefined",
    test: "packages/auth/test/windows.test.ts",
    name: "[AUT-38] [AUT-39] a missing scope is requested"
  },
  {
    id: "AUT-40",
    at: "StepUps.permits",
    original: "< limit",
    broken: "< limit + 1",
    test: "packages/auth/test/windows.test.ts",
    name: "[AUT-40] an operation that is never content"
  },
  {
    id: "AUT-40",
    at: "RequestAuthorization.rejected",
    original: "repetitions >= maxRepetitions",
    broken: "repetitions >= 2 * maxRepetitions",
    test: "packages/transport/test/http/client/authorization.test.ts",
    name: "[AUT-40] is asked at most five times for one request"
  },
  {
    id: "AUT-41",
    at: "SignedTokens.claimsOf",
    original: "(await library.jwtVerify(token, key, options)).payload",
    broken: "key === undefined ? (await library.jwtVerify(token, key, options)).payload : library.decodeJwt(token)",
    test: "packages/auth/test/resource/signedTokens.test.ts",
    name: "[AUT-03] [AUT-41] [AUT-42] rejects a token that breaks a rule"
  },
  {
    id: "AUT-41",
    at: "TokenVerification.identified",
    original: "+ verifier.rememberMillis",
    broken: "+ 10 * verifier.rememberMillis",
    test: "packages/auth/test/resource/introspection.test.ts",
    name: "[AUT-41] is accepted if it is active"
  },
  {
    id: "AUT-42",
    at: "ClaimedToken.isFor",
    original: "ResourceUrl.isSame(audience, resource)",
    broken: "resource !== \"\"",
    test: "packages/auth/test/resource/signedTokens.test.ts",
    name: "[AUT-03] [AUT-41] [AUT-42] rejects a token that breaks a rule"
  },
  {
    id: "AUT-42",
    at: "Introspection.problemOf",
    original: "ClaimedToken.audiencesOf(claims).length === 0 && !rules.requiresAudience",
    broken: "ClaimedToken.audiencesOf(claims).length === 0",
    test: "packages/auth/test/resource/introspection.test.ts",
    name: "[AUT-42] is rejected if it is meant for another resource, or for none"
  },
  {
    id: "AUT-42",
    at: "Introspection.problemOf",
    original: "ClaimedToken.isFor(rules, claims, resource)",
    broken: "ClaimedToken.audiencesOf(claims).length > 0",
    test: "packages/auth/test/resource/introspection.test.ts",
    name: "[AUT-42] is rejected if it is meant for another resource, or for none"
  },
  {
    id: "AUT-42",
    at: "TokenVerification.verifiersOf",
    original: "issuers.includes(verifier.issuer)",
    broken: "issuers.length > 0",
    test: "packages/auth/test/resource/metadata.test.ts",
    name: "[AUT-42] belongs to the tenant of a place"
  },
  {
    id: "AUT-43",
    at: "TokenVerification.identified",
    original: "Principals.make(principals, verified, resource)",
    broken: "Principals.make(principals, { ...verified, claims: { ...verified.claims, username: token } }, resource)",
    test: "packages/auth/test/resource/principals.test.ts",
    name: "[AUT-43] gives a handler no way to the token of its client"
  },
  {
    id: "AUT-43",
    at: "ExchangeRequest.make",
    original: "token: Redacted.make(access_token)",
    broken: "token: subject",
    test: "packages/auth/test/resource/tokenExchange.test.ts",
    name: "[AUT-43] gives a handler a token for another API"
  },
  {
    id: "AUT-44",
    at: "Authenticator.rejected",
    original: "HttpResponses.error(400, \"The credentials are malformed\"",
    broken: "HttpResponses.error(401, \"The credentials are malformed\"",
    test: "packages/transport/test/http/server/authentication.test.ts",
    name: "[AUT-44] rejects malformed credentials with 400"
  },
  {
    id: "AUT-44",
    at: "RequestCredentials.read",
    original: "if (timesOf(request, \"authorization\") > 1)",
    broken: "if (timesOf(request, \"authorization\") > 2)",
    test: "packages/auth/test/resource/signedTokens.test.ts",
    name: "[AUT-44] rejects malformed credentials with 400 and invalid_request"
  },
  {
    id: "AUT-44",
    at: "ScopeRefusal.make",
    original: "HttpResponses.json(403, body, challenges({ error: \"insufficient_scope\", scopes }, request))",
    broken: "HttpResponses.json(401, body, challenges({ error: \"insufficient_scope\", scopes }, request))",
    test: "packages/transport/test/http/server/scopes.test.ts",
    name: "[AUT-44] has no scopes if its principal has none"
  },
  {
    id: "AUT-45",
    at: "RequestIdentity.unauthenticated",
    original: "scopes: requested",
    broken: "scopes: []",
    test: "packages/auth/test/resource/signedTokens.test.ts",
    name: "[AUT-03] [AUT-45] [AUT-49] rejects a request without a token"
  },
  {
    id: "AUT-46",
    at: "RequestIdentity.lacksScope",
    original: "scopes: requiredScopes",
    broken: "scopes: []",
    test: "packages/auth/test/resource/metadata.test.ts",
    name: "[AUT-46] a token without a required scope is rejected"
  },
  {
    id: "AUT-46",
    at: "RequestIdentity.lacksScope",
    original: "error: \"insufficient_scope\"",
    broken: "error: \"invalid_token\"",
    test: "packages/auth/test/resource/metadata.test.ts",
    name: "[AUT-46] a token without a required scope is rejected"
  },
  {
    id: "AUT-46",
    at: "Challenges.print",
    original: "resource_metadata: settings.metadataUrl",
    broken: "resource_metadata: undefined",
    test: "packages/auth/test/resource/metadata.test.ts",
    name: "[AUT-46] a token without a required scope is rejected"
  },
  {
    id: "AUT-46",
    at: "ScopeRefusal.check",
    original: "scopes === undefined ? HttpResponses.json(500, body, {}) : response(body, scopes, sender)",
    broken: "HttpResponses.json(scopes === undefined ? 500 : 200, body, {})",
    test: "packages/transport/test/http/server/scopes.test.ts",
    name: "[AUT-46] over HTTP+SSE gets 403 in response to its POST"
  },
  {
    id: "AUT-47",
    at: "Permission.ofBatch",
    original: "requestsIn(message).flatMap(",
    broken: "requestsIn(message).slice(0, 1).flatMap(",
    test: "packages/transport/test/http/server/scopes.test.ts",
    name: "[AUT-47] in a batch rejects the batch"
  },
  {
    id: "AUT-47",
    at: "Demands.joined",
    original: "[...new Set([...one.scopes, ...other.scopes])]",
    broken: "other.scopes",
    test: "packages/server/test/scopes.test.ts",
    name: "[AUT-46][AUT-47] are those of the member and its group"
  },
  {
    id: "AUT-48",
    at: "Principals.make",
    original: "Scopes.expand(token.scopes, includes)",
    broken: "token.scopes",
    test: "packages/auth/test/resource/metadata.test.ts",
    name: "[AUT-48] a scope counts for all that it includes"
  },
  {
    id: "AUT-48",
    at: "Scopes.expand",
    original: "of expanded",
    broken: "of scopes",
    test: "packages/auth/test/resource/metadata.test.ts",
    name: "[AUT-48] a scope counts for all that it includes"
  },
  {
    id: "AUT-49",
    at: "Scopes.requestable",
    original: "scope !== \"offline_access\"",
    broken: "scope !== \"\"",
    test: "packages/auth/test/resource/signedTokens.test.ts",
    name: "[AUT-03] [AUT-45] [AUT-49] rejects a request without a token"
  },
  {
    id: "AUT-49",
    at: "ResourceServer.membersOf",
    original: "Scopes.requestable([...options.requiredScopes ?? [], ...options.scopes ?? []])",
    broken: "[...options.requiredScopes ?? [], ...options.scopes ?? []]",
    test: "packages/auth/test/resource/metadata.test.ts",
    name: "[AUT-01] [AUT-02] [AUT-49] is at the well-known URLs"
  },
  {
    id: "AUT-51",
    at: "WebSocketHandler.accept",
    original: "authenticates: true",
    broken: "authenticates: false",
    test: "packages/server/test/scopes.test.ts",
    name: "are checked over a WebSocket with an error in its place, revision"
  },
  {
    id: "AUT-51",
    at: "HttpGuard.route",
    original: "Effect.flatMapEager(authenticator.identify(request), (principal) => serve({ request, principal }))",
    broken:
      "request.url.startsWith(\"/socket\")\n ? serve({ request, principal: undefined })\n : Effect.flatMapEager(authenticator.identify(request), (principal) => serve({ request, principal }))",
    test: "packages/auth/test/resource/signedTokens.test.ts",
    name: "[AUT-51] checks the upgrade to a WebSocket"
  },
  {
    id: "AUT-51",
    at: "NodeWebSocketClientConnection.make",
    original: "if (authorization === undefined)",
    broken: "if (authorization?.begin !== undefined || true)",
    test: "packages/transport/test/websocket/client/connecting.test.ts",
    name: "[AUT-51] is authorized after a 401"
  },
  {
    id: "AUT-52",
    at: "VisitableUrl.isVisitable",
    original: "(url.protocol === \"http:\" && AddressPolicy.isLoopback(url))",
    broken: "url.protocol === \"http:\"",
    test: "packages/auth/test/NodeUserAgent.test.ts",
    name: "[AUT-52] no command starts with a URL"
  },
  {
    id: "AUT-52",
    at: "VisitableUrl.isVisitable",
    original: "url.protocol === \"https:\"",
    broken: "url.protocol !== \"http:\"",
    test: "packages/auth/test/WebUserAgent.test.ts",
    name: "[AUT-52] a page is not sent to a URL that is not https"
  },
  {
    id: "AUT-52",
    at: "DeviceFlow.visitable",
    original: "isVisitable(url) && http.check(server, url) === undefined",
    broken: "http.check(server, url) === undefined",
    test: "packages/auth/test/DeviceFlow.test.ts",
    name: "[AUT-52] is not shown with the URL"
  },
  {
    id: "AUT-53",
    at: "Opener.open",
    original: "shell: false",
    broken: "shell: true",
    test: "packages/auth/test/NodeUserAgent.test.ts",
    name: "[AUT-53] the URL is one argument"
  },
  {
    id: "AUT-53",
    at: "Opener.commandOf",
    original: "\"rundll32.exe\"",
    broken: "\"cmd.exe\"",
    test: "packages/auth/test/NodeUserAgent.test.ts",
    name: "[AUT-53] the command of no platform is a shell"
  },
  {
    id: "AUT-54",
    at: "AddressPolicy.decide",
    original: "if (addressOf(host) !== undefined && !isPublic(host))",
    broken: "if (addressOf(host) !== undefined && host === \"\")",
    test: "packages/auth/test/internal/fetch/addresses.test.ts",
    name: "https://169.254.169.254/latest/meta-data is forbidden"
  },
  {
    id: "AUT-54",
    at: "NodeExchange.publicLookup",
    original: "!AddressPolicy.isPublic(address)",
    broken: "address === \"\"",
    test: "packages/auth/test/internal/fetch/addresses.test.ts",
    name: "a name that leads to this machine is refused"
  },
  {
    id: "AUT-54",
    at: "OAuthHttp.untraced",
    original: "redirect: \"manual\"",
    broken: "redirect: \"follow\"",
    test: "packages/auth/test/internal/fetch/addresses.test.ts",
    name: "[AUT-54] redirects are not followed, by any client"
  },
  {
    id: "AUT-55",
    at: "SessionLookup",
    original: "Principal.isSame(found.principal, sender.principal)",
    broken: "(sender.principal !== undefined || found.principal === undefined)",
    test: "packages/auth/test/resource/principals.test.ts",
    name: "[AUT-55] uses no session of another principal"
  },
  {
    id: "AUT-55",
    at: "Authenticator.accepted",
    original: "if (!Principal.isExpired(identity, clock.currentTimeMillisUnsafe()))",
    broken: "if (identity.id !== \"\")",
    test: "packages/transport/test/http/server/expiry.test.ts",
    name: "[AUT-55] ends the standalone stream"
  },
  {
    id: "AUT-55",
    at: "Principal.idOf",
    original: "JSON.stringify([issuer, subject])",
    broken: "`${issuer} ${subject}`",
    test: "packages/session/test/Principal.test.ts",
    name: "[AUT-55] has an id that no other pair of issuer and subject has"
  }
]
