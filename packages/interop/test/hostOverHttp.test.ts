/** The host against feature servers of the official SDKs, over Streamable HTTP. */
import { Revision } from "@effect-mcp/protocol"
import { describe, layer } from "@effect/vitest"
import { joinedProgram } from "../../../scripts/joinedProgram.ts"
import * as Child from "./fixtures/child.ts"
import { featuresAt } from "./fixtures/coverage.ts"
import type { Mode } from "./fixtures/featureServerHttp.ts"
import * as HttpListener from "./fixtures/httpListener.ts"
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
import { resumption } from "./host/resumption.ts"
import { roots } from "./host/roots.ts"
import { sampling } from "./host/sampling.ts"
import { shutdownOverHttp } from "./host/shutdownOverHttp.ts"
import { tools } from "./host/tools.ts"

type Feature = (conditions: Conditions.Conditions) => void

const features: Readonly<Record<Mode, ReadonlyArray<Feature>>> = {
  stateful: [
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
  ],
  resumable: [handshake, tools, prompts, sampling, load],
  // A JSON response has no room for other messages than the reply.
  json: [handshake, tools, prompts, resources, completions],
  // Without a session the server sends no requests and no notifications.
  stateless: [handshake, tools, completions]
}

/** The features at older revisions. The schema of the revision has to accept the messages of each. */
const few: ReadonlyArray<Feature> = [handshake, cancellation, tools, elicitation, messages]

const revisions: Readonly<Record<Mode, ReadonlyArray<Revision.LegacyRevision>>> = {
  stateful: ["2025-03-26", "2025-06-18", "2025-11-25"],
  resumable: [Revision.latestLegacy],
  json: [Revision.latestLegacy],
  stateless: [Revision.latestLegacy]
}

for (const peer of peers) {
  const listener = HttpListener.make(await joinedProgram(Child.file(peer.file)), "--http")
  // The layer has a name, so that it is built once: the layers inside one without a name build it again for themselves.
  layer(listener.layer, { excludeTestServices: true })(`the host with a server of ${peer.name} over HTTP`, (it) => {
    for (const mode of ["stateful", "resumable", "json", "stateless"] as const) {
      for (const revision of revisions[mode]) {
        const host = Conditions.make(revision, HttpListener.server(listener, () => `${listener.address()}/${mode}`))
        it.layer(host.layer)(`${mode}, at ${revision}`, (it) => {
          for (const feature of featuresAt(revision, features[mode], few)) {
            feature({ it, host, over: "http", peer, revision })
          }
        })
      }
    }

    describe("that loses connections", () => {
      resumption(it, listener)
    })

    describe("that shuts down", () => {
      shutdownOverHttp(it, listener)
    })
  })
}
