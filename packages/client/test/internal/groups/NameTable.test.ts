import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { NameTable } from "../../../src/internal/groups/NameTable.ts"
import * as PublicNames from "../../../src/internal/groups/PublicNames.ts"

/** Texts that are likely to collide. */
const Fragment = Schema.Literals(["a", "_", "__", ".", "-", " ", "ä", "b", "x".repeat(40), "1234abcd"])
const Name = Schema.Array(Fragment).check(Schema.isMaxLength(5))
const Origins = Schema.Array(Schema.Tuple([Name, Name])).check(Schema.isMaxLength(12))

const originsOf = (
  pairs: ReadonlyArray<readonly [ReadonlyArray<string>, ReadonlyArray<string>]>
): ReadonlyArray<PublicNames.Origin> => {
  const origins = pairs.map(([server, name]) => ({ server: server.join(""), name: name.join("") }))
  return [...new Map(origins.map((origin) => [JSON.stringify([origin.server, origin.name]), origin])).values()]
}

const byServer = (origins: ReadonlyArray<PublicNames.Origin>): ReadonlyMap<string, ReadonlyArray<PublicNames.Origin>> =>
  new Map(origins.map(({ server }) => [server, origins.filter((origin) => origin.server === server)]))

describe("the names of a group", () => {
  for (const kind of ["protocol", "model"] as const) {
    const rules = PublicNames.rules[kind]

    it.prop(`differ for all tools, and keep the rules of "${kind}"`, [Origins], ([pairs]) => {
      const origins = originsOf(pairs)
      const names = origins.map((origin) => PublicNames.nameOf(origin, rules))
      assert.lengthOf(new Set(names), origins.length)
      for (const name of names) {
        assert.match(name, rules.allowed)
        assert.isAtMost(name.length, rules.maxLength)
      }
    })

    it.prop(`a table with the rules of "${kind}" loses no tool, whatever names are wished`, [Origins], ([pairs]) => {
      const origins = originsOf(pairs)
      const table = new NameTable(rules)
      for (const [server, ofServer] of byServer(origins)) {
        table.assign(server, ofServer.map(({ name }) => name), (name) => name.slice(0, 1))
      }
      const found = new Set<string>()
      for (const [server, ofServer] of byServer(origins)) {
        const names = ofServer.map(({ name }) => name)
        for (const [name, given] of table.assign(server, names, (wished) => wished.slice(0, 1))) {
          assert.deepStrictEqual(table.find(given), { server, name })
          assert.match(given, rules.allowed)
          assert.isAtMost(given.length, rules.maxLength)
          found.add(given)
        }
      }
      assert.lengthOf(found, origins.length)
    })
  }

  it("a name with a hash is no name without one", () => {
    const rules = PublicNames.rules.protocol
    const hashed = PublicNames.nameOf({ server: "my files", name: "read" }, rules)
    assert.isUndefined(PublicNames.originOf(hashed))
    // The servers `my` and `my_files` cannot have a tool with this name.
    for (const server of ["my", "my_files"]) {
      assert.notStrictEqual(PublicNames.nameOf({ server, name: hashed.slice(server.length + 1) }, rules), hashed)
    }
  })

  it("a name stays with its tool, and is free after the tool was removed", () => {
    const table = new NameTable(PublicNames.rules.protocol)
    const wish = () => "search"
    assert.deepStrictEqual([...table.assign("a", ["find"], wish)], [["find", "search"]])
    const [[, other] = assert.fail()] = table.assign("b", ["seek"], wish)
    assert.match(other, /^b_seek_[0-9a-f]{16}$/)
    assert.deepStrictEqual([...table.assign("a", ["find", "more"], wish)].slice(0, 1), [["find", "search"]])
    assert.deepStrictEqual(table.find("search"), { server: "a", name: "find" })
    table.remove("a")
    assert.isUndefined(table.find("search"))
    // The other tool keeps the name that it has.
    assert.deepStrictEqual([...table.assign("b", ["seek"], wish)], [["seek", other]])
    assert.deepStrictEqual([...table.assign("c", ["look"], wish)], [["look", "search"]])
  })
})
