import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "SUB-01",
    at: "ListenStream.#changed",
    original: "this.#isEnded || this.#filter[listMembers[name]] !== true",
    broken: "this.#isEnded",
    test: "packages/session/test/listen.test.ts",
    name: "has the notifications of its filter, and no others"
  },
  {
    id: "SUB-02",
    at: "ListenStream.serve",
    original: "this.#send(acknowledged)",
    broken: "Effect.void",
    test: "packages/session/test/listen.test.ts",
    name: "sends nothing before the acknowledgement"
  },
  {
    id: "SUB-04",
    at: "Listening.#acknowledge",
    original: "ListenFilter.intersection(ListenFilter.decode(params.success.notifications), opening.requested)",
    broken: "opening.requested",
    test: "packages/session/test/modernListening.test.ts",
    name: "fails its subscription, and no other"
  },
  {
    id: "SUB-06",
    at: "Listening.intercept",
    original: "this.#runtime.exchanges.find(id) === undefined",
    broken: "id !== this.#current?.id",
    test: "packages/session/test/modernListening.test.ts",
    name: "a program may open streams by itself"
  },
  {
    id: "SUB-03",
    at: "ListenStream.servedNames",
    original: "if (requested.has(uri)) uris.add(uri)",
    broken: "uris.add(uri)",
    test: "packages/session/test/listen.test.ts",
    name: "begins with the part of the filter that the server serves"
  },
  {
    id: "SUB-05",
    at: "ListenStream.#notification",
    original: "{ ...params, _meta: Subscription.meta(this.#id) }",
    broken: "{ ...params }",
    test: "packages/session/test/listen.test.ts",
    name: "has the notifications of its filter, and no others"
  },
  {
    id: "SUB-07",
    at: "ListenStream.endAll",
    original: "for (const listener of listeners) listener.end()",
    broken: "",
    test: "packages/session/test/listen.test.ts",
    name: "ends with a result when the server ends",
    hangs: true
  },
  {
    id: "SUB-08",
    at: "ModernRequestGate.#notify",
    original: "if (this.#isListening) return Effect.void",
    broken: "",
    test: "packages/session/test/listen.test.ts",
    name: "has no log messages and no progress"
  },
  {
    id: "SUB-09",
    at: "ListenStream.resourceUpdated",
    original: "this.#isEnded || !this.#uris.has(uri)",
    broken: "this.#isEnded",
    test: "packages/session/test/listen.test.ts",
    name: "has the notifications of its filter, and no others"
  },
  {
    id: "SUB-09",
    at: "ListenStream.servedNames",
    original: "if (requested.has(uri)) uris.add(uri)",
    broken: "uris.add(uri)",
    test: "packages/session/test/listen.test.ts",
    name: "has the notifications of its filter, and no others"
  },
  {
    id: "SUB-08",
    at: "ModernRequestGate.#notify",
    original: "if (this.#isListening) return Effect.void",
    broken: "if (this.#isListening && row.name !== \"notifications/message\") return Effect.void",
    test: "packages/session/test/listen.test.ts",
    name: "has no log messages and no progress"
  }
]
