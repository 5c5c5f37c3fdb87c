/** The notebook over Streamable HTTP: the official clients go to where it listens. */
import { Revision } from "@effect-mcp/protocol"
import { describe, layer } from "@effect/vitest"
import { type Answer, pathOf } from "./fixtures/httpPath.ts"
import * as HttpServers from "./fixtures/httpServers.ts"
import { type Conditions, peers } from "./fixtures/officialClients.ts"
import { cancellation } from "./notebook/cancellation.ts"
import { completions } from "./notebook/completions.ts"
import { elicitation } from "./notebook/elicitation.ts"
import { endingOverHttp } from "./notebook/endingOverHttp.ts"
import { errors } from "./notebook/errors.ts"
import { handshake } from "./notebook/handshake.ts"
import { http } from "./notebook/http.ts"
import { load } from "./notebook/load.ts"
import { logging } from "./notebook/logging.ts"
import { progress } from "./notebook/progress.ts"
import { prompts } from "./notebook/prompts.ts"
import { resources } from "./notebook/resources.ts"
import { resuming } from "./notebook/resuming.ts"
import { roots } from "./notebook/roots.ts"
import { sampling } from "./notebook/sampling.ts"
import { tools } from "./notebook/tools.ts"
import { wire } from "./notebook/wire.ts"

type Feature = (conditions: Conditions) => void

/** What needs no more of an answer than the reply. */
const asking: ReadonlyArray<Feature> = [http, tools, prompts, resources, completions, errors, load]

const telling: ReadonlyArray<Feature> = [handshake, logging, progress, cancellation, sampling, elicitation, roots]

const features: Readonly<Record<Answer, ReadonlyArray<Feature>>> = {
  adaptive: [...asking, ...telling, wire],
  json: [...asking, wire],
  stream: [http, tools, progress, cancellation, sampling, wire],
  resumable: [http, tools, progress, cancellation, sampling, resources, load, wire]
}

const revisions: Readonly<Record<Answer, ReadonlyArray<Revision.Revision>>> = {
  adaptive: ["2025-03-26", "2025-06-18", "2025-11-25"],
  json: [Revision.latest],
  stream: [Revision.latest],
  // Only the newest knows of events that are there to come back behind.
  resumable: ["2025-06-18", "2025-11-25"]
}

const runs = peers.flatMap((peer) =>
  (["adaptive", "json", "stream", "resumable"] as const).flatMap((over) =>
    revisions[over].map((revision) => ({ over, path: pathOf("notebook", over, revision, peer.name), peer, revision }))
  )
)

const others = peers.map((peer) => ({
  path: pathOf("notebook", "adaptive", Revision.latest, `another ${peer.name}`),
  peer
}))

const servers = HttpServers.layer(...[...runs, ...others].map(({ path }) => path))

layer(servers, { excludeTestServices: true })((it) => {
  for (const { over, path, peer, revision } of runs) {
    it.layer(HttpServers.at(path, (place) => peer.connect(place, revision)))(
      `the notebook over HTTP, ${over}, under ${peer.name} at ${revision}`,
      (it) => {
        for (const feature of features[over]) feature({ it, over, peer, revision })
      }
    )
  }

  for (const { over, path, peer, revision } of runs) {
    if (over !== "resumable") continue
    describe(`the notebook over HTTP, ${over}, under ${peer.name} at ${revision}, whose connections are cut`, () => {
      resuming(it, peer, revision, path)
    })
  }

  for (const { path, peer } of others) endingOverHttp(it, peer, path)
})
