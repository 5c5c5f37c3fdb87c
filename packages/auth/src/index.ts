/**
 * OAuth for clients and servers of MCP.
 *
 * @stability unstable
 */
export * as ClientIdentity from "./ClientIdentity.ts"
export * as EncryptedTokenStore from "./EncryptedTokenStore.ts"
export * as Grant from "./Grant.ts"
export * as OAuth from "./OAuth.ts"
export * as OAuthError from "./OAuthError.ts"
export * as ResourceServer from "./ResourceServer.ts"
export * as TokenExchange from "./TokenExchange.ts"
export * as TokenStore from "./TokenStore.ts"
export * as TokenVerifier from "./TokenVerifier.ts"
export * as UserAgent from "./UserAgent.ts"
export * as VerifiedToken from "./VerifiedToken.ts"
export * as WebUserAgent from "./WebUserAgent.ts"
