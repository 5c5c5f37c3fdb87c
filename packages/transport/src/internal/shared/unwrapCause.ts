/** Returns the error below an error of the platform. The outer one names the failed call, the inner one the reason. */
export const unwrapCause = (error: unknown): unknown => error instanceof Error ? error.cause ?? error : error
