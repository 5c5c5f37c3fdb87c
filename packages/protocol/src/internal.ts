/**
 * Parts of this package that other packages of this project use. They change without notice. None of them loads
 * schemas, so that a transport costs little to import.
 */
export * as HeaderValue from "./internal/headers/HeaderValue.ts"
export * as ParameterHeader from "./internal/headers/ParameterHeader.ts"
export * as RequestHeaders from "./internal/headers/RequestHeaders.ts"
export * as LoadedPackages from "./internal/packages/LoadedPackages.ts"
export * as Caching from "./internal/results/Caching.ts"
export * as ResultType from "./internal/results/ResultType.ts"
export * as CanonicalJson from "./internal/text/CanonicalJson.ts"
export * as Excerpt from "./internal/text/Excerpt.ts"
export * as Scope from "./internal/text/Scope.ts"
