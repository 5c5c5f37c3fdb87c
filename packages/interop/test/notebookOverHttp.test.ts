/** The notebook, a server with every feature, with the official clients over Streamable HTTP. */
import { Revision } from "@effect-mcp/protocol"
import { describe, layer } from "@effect/vitest"
import { featuresAt } from "./fixtures/coverage.ts"
import { pathOf, type ResponseMode } from "./fixtures/httpServerPaths.ts"
import * as HttpServers from "./fixtures/httpServers.ts"
import { type Conditions, peers } from "./fixtures/officialClients.ts"
import { cancellation } from "./notebook/cancellation.ts"
import { completions } from "./notebook/completions.ts"
import { elicitation } from "./notebook/elicitation.ts"
import { errors } from "./notebook/errors.ts"
import { handshake } from "./notebook/handshake.ts"
import { http } from "./notebook/http.ts"
import { load } from "./notebook/load.ts"
import { logging } from "./notebook/logging.ts"
import { messages } from "./notebook/messages.ts"
import { progress } from "./notebook/progress.ts"
import { prompts } from "./notebook/prompts.ts"
import { resources } from "./notebook/resources.ts"
import { resumption } from "./notebook/resumption.ts"
import { roots } from "./notebook/roots.ts"
import { sampling } from "./notebook/sampling.ts"
import { shutdownOverHttp } from "./notebook/shutdownOverHttp.ts"
import { tools } from "./notebook/tools.ts"

type Feature = (conditions: Conditions) => void

/** The features that require no message besides the reply. */
const withReplyOnly: ReadonlyArray<Feature> = [http, tools, prompts, resources, completions, errors, load]

const withOtherMessages: ReadonlyArray<Feature> = [
  handshake,
  logging,
  progress,
  cancellation,
  sampling,
  elicitation,
  roots
]

const features: Readonly<Record<ResponseMode, ReadonlyArray<Feature>>> = {
  adaptive: [...withReplyOnly, ...withOtherMessages, messages],
  json: [...withReplyOnly, messages],
  stream: [http, tools, progress, cancellation, sampling, messages],
  resumable: [http, tools, progress, cancellation, sampling, resources, load, messages]
}

/** The features at older revisions. The schema of the revision has to accept the messages of each. */
const few: ReadonlyArray<Feature> = [http, tools, progress, cancellation, elicitation, messages]

const fewOf = (over: ResponseMode): ReadonlyArray<Feature> => few.filter((feature) => features[over].includes(feature))

const revisions: Readonly<Record<ResponseMode, ReadonlyArray<Revision.LegacyRevision>>> = {
  adaptive: ["2025-03-26", "2025-06-18", "2025-11-25"],
  json: [Revision.latestLegacy],
  stream: [Revision.latestLegacy],
  // Older revisions have no priming event.
  resumable: ["2025-06-18", "2025-11-25"]
}

const runs = peers.flatMap((peer) =>
  (["adaptive", "json", "stream", "resumable"] as const).flatMap((over) =>
    revisions[over].map((revision) => ({ over, path: pathOf("notebook", over, revision, peer.name), peer, revision }))
  )
)

const others = peers.map((peer) => ({
  path: pathOf("notebook", "adaptive", Revision.latestLegacy, `another ${peer.name}`),
  peer
}))

const servers = HttpServers.layer(...[...runs, ...others].map(({ path }) => path))

// The layer has a name, so that it is built once: the layers inside one without a name build it again for themselves.
layer(servers, { excludeTestServices: true })("the notebook over HTTP", (it) => {
  for (const { over, path, peer, revision } of runs) {
    it.layer(HttpServers.at(path, (target) => peer.connect(target, revision)))(
      `${over}, with ${peer.name} at ${revision}`,
      (it) => {
        for (const feature of featuresAt(revision, features[over], fewOf(over))) feature({ it, over, peer, revision })
      }
    )
  }

  for (const { over, path, peer, revision } of runs) {
    if (over !== "resumable") continue
    describe(`that loses connections, ${over}, with ${peer.name} at ${revision}`, () => {
      resumption(it, peer, revision, path)
    })
  }

  for (const { path, peer } of others) shutdownOverHttp(it, peer, path)
})
