/** The time that one URI takes if a server has many templates. */
import { UriTemplate } from "@effect-mcp/server"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as MountedRegistration from "../../../src/internal/mount/MountedRegistration.ts"
import * as PrefixedUris from "../../../src/internal/mount/PrefixedUris.ts"
import type { TemplateEntry } from "../../../src/internal/registry/Entry.ts"
import { Registry } from "../../../src/internal/registry/Registry.ts"
import * as Matching from "../../../src/internal/uri/Matching.ts"
import * as PercentEncoding from "../../../src/internal/uri/PercentEncoding.ts"

const entryOf = (uriTemplate: string, maxUriLength?: number): TemplateEntry => ({
  kind: "template",
  group: "many",
  name: uriTemplate,
  definition: { name: uriTemplate, uriTemplate },
  template: Result.getOrThrow(UriTemplate.make<string>(uriTemplate, { maxUriLength })),
  read: () => Effect.undefined,
  complete: () => Effect.succeed({ values: [] }),
  isCompletable: false
})

const registrationOf = (entries: ReadonlyArray<TemplateEntry>) => ({ group: "many", entries, visible: undefined })

const entries = Array.from({ length: 200 }, (_, index) => entryOf(`s://group${index}/{a}/{b}{?q}`))

const mount = (entries: ReadonlyArray<TemplateEntry>) =>
  MountedRegistration.make(registrationOf(entries), {
    namePrefix: "",
    uris: PrefixedUris.unchanged,
    groups: new Set()
  })

/** Returns the least time of several runs, which no other work of the machine has delayed. */
const timeOf = (run: () => unknown): number =>
  Math.min(...Array.from({ length: 20 }, () => {
    const start = performance.now()
    run()
    return performance.now() - start
  }))

describe("a URI that 200 templates are tried for", () => {
  const longest = "%41".repeat(2_730)
  const normalizing = () => timeOf(() => PercentEncoding.normalized(longest))

  it.effect("is normalized once", () =>
    Effect.gen(function*() {
      const registry = new Registry()
      yield* registry.register(registrationOf(entries), () => Effect.void)
      assert.lengthOf(registry.matching("s://group7/%61/b"), 1)
      assert.isBelow(timeOf(() => registry.matching(longest)), 20 * normalizing())
    }).pipe(Effect.scoped))

  it("is normalized once in a link of a mounted group", () => {
    const { group } = mount(entries)
    assert.isTrue(group.owns("s://group7/%61/b", Matching.normalize("s://group7/%61/b")))
    assert.isBelow(timeOf(() => group.owns(longest, Matching.normalize(longest))), 20 * normalizing())
  })

  it("is not encoded if its encoded form is too long", () => {
    const long = "é".repeat(8_192)
    assert.isUndefined(Matching.normalize(long))
    assert.isBelow(timeOf(() => Matching.normalize(long)), timeOf(() => PercentEncoding.normalized(long)) / 4)
  })
})

it("the length that a URI has at least is not greater than that of its normal form", () => {
  for (const text of ["a", "%41", "%2f", "é", "€", "😀", "%41é%C3%A9/b"]) {
    const { length } = PercentEncoding.normalized(text) ?? assert.fail(text)
    assert.isAtMost(PercentEncoding.leastLength(text), length, text)
  }
  for (const text of ["a", "é", "€", "😀"]) {
    assert.strictEqual(PercentEncoding.leastLength(text), PercentEncoding.normalized(text)?.length, text)
  }
})

it("a mounted template keeps its greatest length of a URI", () => {
  const [outer] = mount([entryOf("s://{a}", 10)]).registration.entries
  const template = outer?.kind === "template" ? outer.template : undefined
  assert.isDefined(template?.match("s://123456"))
  assert.isUndefined(template?.match("s://1234567"))
})
