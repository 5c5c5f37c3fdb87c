/** The subjects of the soak. */
import type { Subject } from "./Subject.ts"
import { httpFallback, httpSse } from "./subjects/httpSse.ts"
import { memory, memoryStreams } from "./subjects/memory.ts"
import { stateless } from "./subjects/stateless.ts"
import { stdio } from "./subjects/stdio.ts"
import { streamableHttp, streamableHttpStored } from "./subjects/streamableHttp.ts"
import { unixSocket } from "./subjects/unixSocket.ts"
import { webSocket } from "./subjects/webSocket.ts"

export const subjects: ReadonlyArray<Subject> = [
  memory,
  memoryStreams,
  stdio,
  streamableHttp,
  streamableHttpStored,
  stateless,
  httpSse,
  httpFallback,
  webSocket,
  unixSocket
]
