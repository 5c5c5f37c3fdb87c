/** The host with servers made with the official SDKs, over Streamable HTTP. */
import { Revision } from "@effect-mcp/protocol"
import { describe, layer } from "@effect/vitest"
import * as Child from "./fixtures/child.ts"
import * as HttpListener from "./fixtures/httpListener.ts"
import type { Mode } from "./fixtures/offeringOverHttp.ts"
import { cancellation } from "./host/cancellation.ts"
import { completions } from "./host/completions.ts"
import * as Conditions from "./host/conditions.ts"
import { elicitation } from "./host/elicitation.ts"
import { endingOverHttp } from "./host/endingOverHttp.ts"
import { errors } from "./host/errors.ts"
import { handshake } from "./host/handshake.ts"
import { load } from "./host/load.ts"
import { logging } from "./host/logging.ts"
import { peers } from "./host/peers.ts"
import { ping } from "./host/ping.ts"
import { prompts } from "./host/prompts.ts"
import { resources } from "./host/resources.ts"
import { resuming } from "./host/resuming.ts"
import { roots } from "./host/roots.ts"
import { sampling } from "./host/sampling.ts"
import { tools } from "./host/tools.ts"
import { wire } from "./host/wire.ts"

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
    wire
  ],
  resumable: [handshake, tools, prompts, sampling, load],
  // What belongs to a request but is not its reply has no place in JSON.
  json: [handshake, tools, prompts, resources, completions],
  // It knows nobody whom it could ask or tell something.
  stateless: [handshake, tools, completions]
}

const revisions: Readonly<Record<Mode, ReadonlyArray<Revision.Revision>>> = {
  stateful: ["2025-03-26", "2025-06-18", "2025-11-25"],
  resumable: [Revision.latest],
  json: [Revision.latest],
  stateless: [Revision.latest]
}

for (const peer of peers) {
  const listener = HttpListener.make(Child.file(peer.file), "--http")
  layer(listener.layer, { excludeTestServices: true })((it) => {
    for (const mode of ["stateful", "resumable", "json", "stateless"] as const) {
      for (const revision of revisions[mode]) {
        const host = Conditions.make(revision, HttpListener.server(listener, () => `${listener.address()}/${mode}`))
        it.layer(host.layer)(`the host with a server of ${peer.name} over HTTP, ${mode}, at ${revision}`, (it) => {
          for (const feature of features[mode]) feature({ it, host, over: "http", peer, revision })
        })
      }
    }

    describe(`the host with a server of ${peer.name} over HTTP, whose connections are cut`, () => {
      resuming(it, listener)
    })

    describe(`the host with a server of ${peer.name} over HTTP, at the end`, () => {
      endingOverHttp(it, listener)
    })
  })
}
