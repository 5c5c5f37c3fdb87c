/** An error of the platform says which call failed; the error below it says why, which is what a person needs to know. */
export const unwrapCause = (error: unknown): unknown => error instanceof Error ? error.cause ?? error : error
