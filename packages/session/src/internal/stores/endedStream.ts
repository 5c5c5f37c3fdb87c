/** The error of an `append` to a stream that has ended. */

/** Returns the error for a stream of this name. */
export const endedStream = (stream: string): Error =>
  new Error(`append to stream ${JSON.stringify(stream)}: the stream has ended, and takes no more events`)
