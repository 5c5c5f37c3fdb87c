/**
 * Parts of this package that other packages of this project use. They change without notice.
 */
export * as LeastRecentlyUsed from "./internal/collections/LeastRecentlyUsed.ts"
export * as ResendPolicy from "./internal/engine/ResendPolicy.ts"
