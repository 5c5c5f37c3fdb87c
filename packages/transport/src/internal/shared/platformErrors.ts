/** The causes and codes of errors of the platform. */

/** Returns the cause of an error, or the error without one. The error names the failed call, its cause the reason. */
export const unwrapCause = (error: unknown): unknown => error instanceof Error ? error.cause ?? error : error

/** Returns the code of a system error, such as `ENOENT`. */
export const codeOf = (error: unknown): unknown => error instanceof Error && "code" in error ? error.code : undefined
