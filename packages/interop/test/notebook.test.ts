/** The notebook, which offers everything a server can, under the official clients, each of which starts it as its child. */
import { Revision } from "@effect-mcp/protocol"
import { describe, layer } from "@effect/vitest"
import { peers } from "./fixtures/officialClients.ts"
import { cancellation } from "./notebook/cancellation.ts"
import { completions } from "./notebook/completions.ts"
import { elicitation } from "./notebook/elicitation.ts"
import { ending } from "./notebook/ending.ts"
import { errors } from "./notebook/errors.ts"
import { handshake } from "./notebook/handshake.ts"
import { load } from "./notebook/load.ts"
import { logging } from "./notebook/logging.ts"
import { progress } from "./notebook/progress.ts"
import { prompts } from "./notebook/prompts.ts"
import { resources } from "./notebook/resources.ts"
import { roots } from "./notebook/roots.ts"
import { sampling } from "./notebook/sampling.ts"
import { tools } from "./notebook/tools.ts"
import { wire } from "./notebook/wire.ts"

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
  wire
]

for (const peer of peers) {
  for (const revision of Revision.supported) {
    describe(`the notebook under ${peer.name} at ${revision}`, () => {
      layer(peer.connect(peer.program("notebook", revision), revision), { excludeTestServices: true })((it) => {
        for (const feature of features) feature({ it, over: "stdio", peer, revision })
      })
    })
  }

  describe(`the notebook under ${peer.name}, by itself`, () => {
    ending(peer, Revision.latest)
  })
}
