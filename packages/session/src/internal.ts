/**
 * Parts of this package that other packages of this project use. They change without notice. None of them loads schemas
 * or a session, so that a transport costs little to import.
 */
export * as LeastRecentlyUsed from "./internal/collections/LeastRecentlyUsed.ts"
export * as ForeignCall from "./internal/engine/ForeignCall.ts"
export { HandlerCutoff } from "./internal/engine/HandlerCutoff.ts"
export * as PreparedResult from "./internal/engine/PreparedResult.ts"
export { RateLimit } from "./internal/engine/RateLimit.ts"
export * as SessionId from "./internal/engine/SessionId.ts"
export * as StoreCall from "./internal/engine/StoreCall.ts"
export { Timer } from "./internal/engine/Timer.ts"
export * as Weight from "./internal/engine/Weight.ts"
export { monotonicMillis } from "./internal/monotonicMillis.ts"
export * as NumericOption from "./internal/NumericOption.ts"
export { defaultLeaseTime } from "./internal/owners/SessionOwnersShape.ts"
export { FairCapacity } from "./internal/server/FairCapacity.ts"
export * as HandlerScopes from "./internal/server/HandlerScopes.ts"
export * as SealInMemory from "./internal/server/SealInMemory.ts"
export { endedStream } from "./internal/stores/endedStream.ts"
export * as StreamName from "./internal/stores/StreamName.ts"
export * as webCrypto from "./internal/webCrypto.ts"
