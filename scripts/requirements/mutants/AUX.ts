import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "AUX-01",
    at: "ClientAuthentication.make",
    original: "if (method === \"none\")",
    broken: "if (method === \"none\" || method === \"client_secret_basic\")",
    test: "packages/auth/test/Grant.test.ts",
    name: "[AUX-01] a secret gets tokens at the first challenge"
  },
  {
    id: "AUX-01",
    at: "ClientAuthentication.make",
    original: "if (method === \"private_key_jwt\" && privateKey !== undefined)",
    broken: "if (method === \"private_key_jwt\" && privateKey === undefined)",
    test: "packages/auth/test/Grant.test.ts",
    name: "[AUX-01] a private key signs an assertion"
  },
  {
    id: "AUX-01",
    at: "ProgramGrant.grantOf",
    original: "resource: resourceOf(target)",
    broken: "resource: undefined",
    test: "packages/auth/test/Grant.test.ts",
    name: "[AUX-01] a secret gets tokens at the first challenge"
  },
  {
    id: "AUX-01",
    at: "ProgramGrant.grantOf",
    original: "scope: scopeOf(scopes)",
    broken: "scope: undefined",
    test: "packages/auth/test/Grant.test.ts",
    name: "[AUX-01] a secret gets tokens at the first challenge"
  },
  {
    id: "AUX-02",
    at: "Grant.extensions",
    original: "grants.map(",
    broken: "grants.slice(1).map(",
    test: "packages/auth/test/authorizedSession.test.ts",
    name: "[AUX-02] has the ids of the extensions in the capabilities of both sides"
  },
  {
    id: "AUX-02",
    at: "RevisionProjection.clientCapabilities",
    original: "since({ extensions: \"2025-11-25\" })",
    broken: "removedFor({ extensions: \"2026-07-28\" })",
    test: "packages/auth/test/authorizedSession.test.ts",
    name: "[AUX-02] has the ids of the extensions in the capabilities of both sides"
  },
  {
    id: "AUX-02",
    at: "Handlers.serverCapabilities",
    original: "const { logging: declaredLogging = {}, ...declaredRest } = declared",
    broken: "const { logging: declaredLogging = {}, extensions: _extensions, ...declaredRest } = declared",
    test: "packages/auth/test/authorizedSession.test.ts",
    name: "[AUX-02] has the ids of the extensions in the capabilities of both sides"
  },
  {
    id: "AUX-02",
    at: "Grant.extensionIds",
    original: "\"io.modelcontextprotocol/workload-identity-federation\"",
    broken: "\"io.modelcontextprotocol/workload-identity\"",
    test: "packages/auth/test/authorizedSession.test.ts",
    name: "[AUX-02] each grant has the id of its extension"
  },
  {
    id: "AUX-03",
    at: "ProgramGrant.exchanged",
    original: "audience: target.issuer",
    broken: "audience: target.resource",
    test: "packages/auth/test/Grant.test.ts",
    name: "[AUX-03] [AUX-04] the ID token is exchanged"
  },
  {
    id: "AUX-03",
    at: "ProgramGrant.exchanged",
    original: "resource: target.resource",
    broken: "resource: undefined",
    test: "packages/auth/test/Grant.test.ts",
    name: "[AUX-03] [AUX-04] the ID token is exchanged"
  },
  {
    id: "AUX-03",
    at: "ProgramGrant.exchanged",
    original: "if (body.issued_token_type !== `${tokenTypes}id-jag`)",
    broken: "if (body.issued_token_type === undefined)",
    test: "packages/auth/test/Grant.test.ts",
    name: "[AUX-03] a token of another type is not used as the assertion"
  },
  {
    id: "AUX-04",
    at: "ProgramGrant.grantOf",
    original: "{ type: jwtBearer, parameters: { ...common, assertion } }",
    broken: "{ type: tokenExchange, parameters: { ...common, assertion } }",
    test: "packages/auth/test/Grant.test.ts",
    name: "[AUX-03] [AUX-04] the ID token is exchanged"
  },
  {
    id: "AUX-04",
    at: "ProgramGrant.run",
    original: "clientAuth: client.clientAuth",
    broken: "clientAuth: grant._tag === \"EnterpriseManaged\" ? () => {} : client.clientAuth",
    test: "packages/auth/test/Grant.test.ts",
    name: "[AUX-03] [AUX-04] the ID token is exchanged"
  },
  {
    id: "AUX-05",
    at: "ProofKey.sign",
    original: "jti: crypto.randomUUID()",
    broken: "jti: kty",
    test: "packages/auth/test/proof.test.ts",
    name: "[AUX-05] names the request and the token"
  },
  {
    id: "AUX-05",
    at: "ProofKey.sign",
    original: "accessToken === undefined ? {} : { ath: await digest(Redacted.value(accessToken)) }",
    broken: "{}",
    test: "packages/auth/test/proof.test.ts",
    name: "[AUX-05] names the request and the token"
  },
  {
    id: "AUX-05",
    at: "AccessHeaders.#proven",
    original: "nonce: this.#nonces.get(url.origin)",
    broken: "nonce: undefined",
    test: "packages/auth/test/proof.test.ts",
    name: "[AUX-05] nonces of both servers are used"
  },
  {
    id: "AUX-05",
    at: "TokenEndpoint.body",
    original: "hasNewNonce && wantsNonce(error)",
    broken: "hasNewNonce && !wantsNonce(error)",
    test: "packages/auth/test/proof.test.ts",
    name: "[AUX-05] nonces of both servers are used"
  },
  {
    id: "AUX-05",
    at: "ServerAccess.#unauthorized",
    original: "this.#settings.isProven || challenge?.scheme.toLowerCase() === \"dpop\"",
    broken: "this.#settings.isProven",
    test: "packages/auth/test/proof.test.ts",
    name: "[AUX-05] a challenge of the scheme DPoP is enough"
  },
  {
    id: "AUX-06",
    at: "ProgramGrant.grantOf",
    original: "{ type: jwtBearer, parameters: { ...common, assertion: Redacted.value(assertion).trim() } }",
    broken: "{ type: \"client_credentials\", parameters: { ...common, assertion: Redacted.value(assertion).trim() } }",
    test: "packages/auth/test/Grant.test.ts",
    name: "[AUX-06] the assertion is the grant"
  },
  {
    id: "AUX-06",
    at: "ServerAccess.#request",
    original: "if (error.reason._tag !== \"Unavailable\")",
    broken: "if (error.reason._tag === \"Unavailable\")",
    test: "packages/auth/test/Grant.test.ts",
    name: "[AUX-06] after a rejection there is no retry and no other grant"
  },
  {
    id: "AUX-07",
    at: "DpopProof.problemOf",
    original: "claims[\"htm\"] !== method",
    broken: "claims[\"htm\"] === undefined",
    test: "packages/auth/test/resource/dpop.test.ts",
    name: "[AUX-07] is rejected with a proof that breaks a rule"
  },
  {
    id: "AUX-07",
    at: "DpopProof.problemOf",
    original: "!urls.some((url) => targetOf(url) === target)",
    broken: "urls.length === 0",
    test: "packages/auth/test/resource/dpop.test.ts",
    name: "[AUX-07] is rejected with a proof that breaks a rule"
  },
  {
    id: "AUX-07",
    at: "DpopProof.problemOf",
    original: "claims[\"ath\"] !== Digest.of(token)",
    broken: "claims[\"ath\"] === undefined",
    test: "packages/auth/test/resource/dpop.test.ts",
    name: "[AUX-07] is rejected with a proof that breaks a rule"
  },
  {
    id: "AUX-07",
    at: "DpopProof.problemOf",
    original: "issuedAt < now - maxAgeMillis - skewMillis",
    broken: "issuedAt < 0",
    test: "packages/auth/test/resource/dpop.test.ts",
    name: "[AUX-07] is rejected with a proof that breaks a rule"
  },
  {
    id: "AUX-07",
    at: "DpopProof.problemOf",
    original: "id === undefined || id.length > maxIdBytes",
    broken: "id === \"\"",
    test: "packages/auth/test/resource/dpop.test.ts",
    name: "[AUX-07] is rejected with a proof that breaks a rule"
  },
  {
    id: "AUX-07",
    at: "DpopProof.check",
    original: "own._tag === \"None\" || own.value !== thumbprint",
    broken: "own._tag === \"None\"",
    test: "packages/auth/test/resource/dpop.test.ts",
    name: "[AUX-07] is rejected with a proof that breaks a rule"
  },
  {
    id: "AUX-07",
    at: "DpopProof.check",
    original: "if (!isNew)",
    broken: "if (id === \"\")",
    test: "packages/auth/test/resource/dpop.test.ts",
    name: "[AUX-07] is accepted with a proof, once for each proof"
  },
  {
    id: "AUX-07",
    at: "DpopProof.check",
    original: "clock.currentTimeMillisUnsafe() >= expiresAt",
    broken: "expiresAt < 0",
    test: "packages/auth/test/resource/dpopFleet.test.ts",
    name: "[AUX-07] is too old if it is used after the time for which used ones are remembered"
  },
  {
    id: "AUX-07",
    at: "HttpGuard.servePlaced",
    original: "single.hasUse() ? Effect.andThen(",
    broken: "single === undefined ? Effect.andThen(",
    test: "packages/auth/test/resource/dpopFleet.test.ts",
    name: "[AUX-07] is accepted at each process, and once in the fleet"
  },
  {
    id: "AUX-07",
    at: "HttpGuard.servePlaced",
    original: "? Effect.as(Effect.ignore(single.use), response)",
    broken: "? Effect.succeed(response)",
    test: "packages/auth/test/resource/dpopFleet.test.ts",
    name: "[AUX-07] is used by a request that a process rejects itself"
  },
  {
    id: "AUX-07",
    at: "DpopProof.check",
    original: "typeof nonce !== \"string\" || !nonces.accepts(nonce, now)",
    broken: "typeof nonce !== \"string\"",
    test: "packages/auth/test/resource/dpop.test.ts",
    name: "[AUX-07] needs the nonce of the server"
  },
  {
    id: "AUX-07",
    at: "RequestIdentity.accept",
    original: "token.keyThumbprint === undefined && presented.scheme === \"Bearer\" && acceptsBearer",
    broken: "presented.scheme === \"Bearer\" && acceptsBearer",
    test: "packages/auth/test/resource/dpop.test.ts",
    name: "[AUX-07] is rejected as a bearer token, and without a proof"
  }
]
