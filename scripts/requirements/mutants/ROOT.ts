import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "ROOT-01",
    at: "Handlers.withImplied",
    original: "if (path === undefined) continue",
    broken: "if (path === undefined || path.split(\".\")[0] === \"roots\") continue",
    test: "packages/session/test/allFeatures.test.ts",
    name: "[SMP-01] [ELI-01] [ROOT-01] are sent by a handler"
  },
  {
    id: "ROOT-02",
    at: "LegacyClient.constructor",
    original: "sender.notify(notifications[\"notifications/roots/list_changed\"], {})",
    broken: "Effect.void",
    test: "packages/session/test/roots.test.ts",
    name: "a server that lists the roots again after list_changed uses only the remaining ones"
  },
  {
    id: "ROOT-03",
    at: "Roots.Root",
    original: ".check(Schema.isStartingWith(\"file://\"))",
    broken: "",
    test: "packages/session/test/roots.test.ts",
    name: "a server rejects the root"
  },
  {
    id: "ROOT-04",
    at: "RequestRejections.methodNotFound",
    original: "code: ErrorCode.MethodNotFound",
    broken: "code: ErrorCode.InvalidRequest",
    test: "packages/session/test/sessionsWithoutHandlers.test.ts",
    name: "a client rejects methods without a handler with -32601, roots included"
  },
  {
    id: "ROOT-02",
    at: "Answering.make",
    original: "followed.changes",
    broken: "Stream.take(followed.changes, 0)",
    test: "packages/client/test/roots.test.ts",
    name: "each change of the roots is sent to every session",
    hangs: true
  }
]
