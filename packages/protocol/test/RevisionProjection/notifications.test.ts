import { meta, testExamples } from "./example.ts"

testExamples([
  {
    name: "progress",
    method: "notifications/progress",
    part: "params",
    revisions: {
      "2025-11-25": { progressToken: 0, progress: 1, total: 2, message: "half", _meta: meta },
      "2024-11-05": { progressToken: 0, progress: 1, total: 2, _meta: meta }
    }
  },
  {
    name: "a cancellation, which is the same in all revisions",
    method: "notifications/cancelled",
    part: "params",
    revisions: { "2025-11-25": { requestId: 0, reason: "r", _meta: meta } }
  }
])
