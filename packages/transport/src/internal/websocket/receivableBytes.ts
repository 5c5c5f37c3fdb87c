import { constants } from "node:buffer"

/** How much `ws` may receive in one message: no more than fits into a string, since it would end the process with what does not. */
export const receivableBytes = (wantedBytes: number): number => Math.min(wantedBytes, constants.MAX_STRING_LENGTH)
