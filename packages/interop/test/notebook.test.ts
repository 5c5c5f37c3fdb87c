/** The notebook, a server with every feature, with the official clients over stdio. */
import { Revision } from "@effect-mcp/protocol"
import { describe, layer } from "@effect/vitest"
import { featuresAt } from "./fixtures/coverage.ts"
import { peers } from "./fixtures/officialClients.ts"
import { cancellation } from "./notebook/cancellation.ts"
import { completions } from "./notebook/completions.ts"
import { elicitation } from "./notebook/elicitation.ts"
import { errors } from "./notebook/errors.ts"
import { handshake } from "./notebook/handshake.ts"
import { load } from "./notebook/load.ts"
import { logging } from "./notebook/logging.ts"
import { messages } from "./notebook/messages.ts"
import { progress } from "./notebook/progress.ts"
import { prompts } from "./notebook/prompts.ts"
import { resources } from "./notebook/resources.ts"
import { roots } from "./notebook/roots.ts"
import { sampling } from "./notebook/sampling.ts"
import { shutdown } from "./notebook/shutdown.ts"
import { tools } from "./notebook/tools.ts"

const features = [
  handshake,
  tools,
  prompts,
  resources,
  completions,
  logging,
  progress,
  cancellation,
  sampling,
  elicitation,
  roots,
  errors,
  load,
  messages
]

/** The features at older revisions. The schema of the revision has to accept the messages of each. */
const few = [handshake, tools, progress, cancellation, elicitation, messages]

for (const peer of peers) {
  for (const revision of Revision.legacy) {
    describe(`the notebook with ${peer.name} at ${revision}`, () => {
      layer(peer.connect(peer.program("notebook", revision), revision), { excludeTestServices: true })((it) => {
        for (const feature of featuresAt(revision, features, few)) feature({ it, over: "stdio", peer, revision })
      })
    })
  }

  describe(`a new process of the notebook with ${peer.name}`, () => {
    shutdown(peer, Revision.latestLegacy)
  })
}
