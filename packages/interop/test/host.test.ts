/** The host, with a handler for every request of a server, against feature servers of the official SDKs. */
import { Revision } from "@effect-mcp/protocol"
import { describe, layer } from "@effect/vitest"
import * as Child from "./fixtures/child.ts"
import { featuresAt } from "./fixtures/coverage.ts"
import { cancellation } from "./host/cancellation.ts"
import { completions } from "./host/completions.ts"
import * as Conditions from "./host/conditions.ts"
import { elicitation } from "./host/elicitation.ts"
import { errors } from "./host/errors.ts"
import { handshake } from "./host/handshake.ts"
import { load } from "./host/load.ts"
import { logging } from "./host/logging.ts"
import { messages } from "./host/messages.ts"
import { peers } from "./host/peers.ts"
import { ping } from "./host/ping.ts"
import { prompts } from "./host/prompts.ts"
import { resources } from "./host/resources.ts"
import { roots } from "./host/roots.ts"
import { sampling } from "./host/sampling.ts"
import { shutdown } from "./host/shutdown.ts"
import { tools } from "./host/tools.ts"

const features = [
  handshake,
  cancellation,
  ping,
  tools,
  prompts,
  resources,
  completions,
  logging,
  sampling,
  elicitation,
  roots,
  errors,
  load,
  messages
]

/** The features at older revisions. The schema of the revision has to accept the messages of each. */
const few = [handshake, cancellation, tools, elicitation, messages]

for (const peer of peers) {
  for (const revision of Revision.legacy) {
    describe(`the host with a server of ${peer.name} at ${revision}`, () => {
      const host = Conditions.make(revision, Child.server(Child.file(peer.file)))
      layer(host.layer, { excludeTestServices: true })((it) => {
        for (const feature of featuresAt(revision, features, few)) feature({ it, host, over: "stdio", peer, revision })
      })
    })
  }

  describe(`the shutdown of the host with a server of ${peer.name}`, () => {
    shutdown(peer)
  })
}
