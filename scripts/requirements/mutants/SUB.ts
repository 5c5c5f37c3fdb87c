import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "SUB-01",
    file: "packages/session/src/internal/server/ListenStream.ts",
    original: "if (this.#isEnded || this.#filter[listMembers[name]] !== true) return",
    broken: "if (this.#isEnded) return",
    test: "packages/session/test/listen.test.ts",
    name: "has the notifications of its filter, and no others"
  },
  {
    id: "SUB-02",
    file: "packages/session/src/internal/server/ListenStream.ts",
    original: "this.#send(acknowledged),",
    broken: "Effect.void,",
    test: "packages/session/test/listen.test.ts",
    name: "sends nothing before the acknowledgement"
  },
  {
    id: "SUB-04",
    file: "packages/session/src/internal/client/Listening.ts",
    original: "ListenFilter.intersection(ListenFilter.decode(params.success.notifications), opening.requested)",
    broken: "opening.requested",
    test: "packages/session/test/modernListening.test.ts",
    name: "fails its subscription, and no other"
  },
  {
    id: "SUB-06",
    file: "packages/session/src/internal/client/Listening.ts",
    original: "    const problem = this.#runtime.exchanges.find(id) === undefined\n",
    broken: "    const problem = id !== this.#current?.id\n",
    test: "packages/session/test/modernListening.test.ts",
    name: "a program may open streams by itself"
  },
  {
    id: "SUB-03",
    file: "packages/session/src/internal/server/ListenStream.ts",
    original: "for (const uri of offered) if (requested.has(uri)) uris.add(uri)",
    broken: "for (const uri of offered) uris.add(uri)",
    test: "packages/session/test/listen.test.ts",
    name: "begins with the part of the filter that the server serves"
  },
  {
    id: "SUB-05",
    file: "packages/session/src/internal/server/ListenStream.ts",
    original: "{ ...params, _meta: Subscription.meta(this.#id) }",
    broken: "{ ...params }",
    test: "packages/session/test/listen.test.ts",
    name: "has the notifications of its filter, and no others"
  },
  {
    id: "SUB-07",
    file: "packages/session/src/internal/server/ListenStream.ts",
    original: "  for (const listener of listeners) listener.end()\n",
    broken: "",
    test: "packages/session/test/listen.test.ts",
    name: "ends with a result when the server ends",
    hangs: true
  },
  {
    id: "SUB-08",
    file: "packages/session/src/internal/server/ModernExchange.ts",
    original: "      if (this.#isListening) return Effect.void\n",
    broken: "",
    test: "packages/session/test/listen.test.ts",
    name: "has no log messages and no progress"
  },
  {
    id: "SUB-09",
    file: "packages/session/src/internal/server/ListenStream.ts",
    original: "if (this.#isEnded || !this.#uris.has(uri)) return",
    broken: "if (this.#isEnded) return",
    test: "packages/session/test/listen.test.ts",
    name: "has the notifications of its filter, and no others"
  },
  {
    id: "SUB-09",
    file: "packages/session/src/internal/server/ListenStream.ts",
    original: "for (const uri of offered) if (requested.has(uri)) uris.add(uri)",
    broken: "for (const uri of offered) uris.add(uri)",
    test: "packages/session/test/listen.test.ts",
    name: "has the notifications of its filter, and no others"
  },
  {
    id: "SUB-08",
    file: "packages/session/src/internal/server/ModernExchange.ts",
    original: "      if (this.#isListening) return Effect.void\n",
    broken: "      if (this.#isListening && row.name !== \"notifications/message\") return Effect.void\n",
    test: "packages/session/test/listen.test.ts",
    name: "has no log messages and no progress"
  }
]
