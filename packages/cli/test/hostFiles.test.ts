/** The texts of the files of hosts, with an entry more. */
import { JsonWithComments, Toml } from "@effect-mcp/client/internal"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Change from "../src/hosts/change.ts"
import * as JsonFile from "../src/hosts/jsonFile.ts"
import * as TomlFile from "../src/hosts/tomlFile.ts"

const change: Change.Change = {
  field: "mcpServers",
  name: "b",
  entry: { command: "npx", args: ["-y", "b"] },
  replaces: false
}

const json = (text: string, options: Partial<Change.Change> = {}) =>
  Result.getOrThrow(JsonFile.withEntry(text, { ...change, ...options }))

const jsonProblem = (text: string, options: Partial<Change.Change> = {}) =>
  Result.match(JsonFile.withEntry(text, { ...change, ...options }), {
    onSuccess: (written) => `written: ${written}`,
    onFailure: ({ problem }) => problem
  })

describe("a JSON file of a host", () => {
  const entry = `"b": {
      "command": "npx",
      "args": ["-y", "b"]
    }`

  const cases: ReadonlyArray<readonly [title: string, before: string, after: string]> = [
    ["that is new", "", `{\n  "mcpServers": {\n    ${entry}\n  }\n}\n`],
    ["that is empty", " \n", `{\n  "mcpServers": {\n    ${entry}\n  }\n}\n`],
    ["with an empty object", "{}\n", `{\n  "mcpServers": {\n    ${entry}\n  }\n}\n`],
    [
      "with another server",
      `{\n  "mcpServers": {\n    "a": { "command": "a" }\n  }\n}\n`,
      `{\n  "mcpServers": {\n    "a": { "command": "a" },\n    ${entry}\n  }\n}\n`
    ],
    [
      "with comments and trailing commas",
      `// mine\n{\n  "theme": "x", // dark\n  "mcpServers": {\n    // first\n    "a": {}, /* a */ // last, {` +
      `\n    // end\n  },\n}\n`,
      `// mine\n{\n  "theme": "x", // dark\n  "mcpServers": {\n    // first\n    "a": {}, /* a */ // last, {` +
      `\n    ${entry},` +
      `\n    // end\n  },\n}\n`
    ],
    [
      "with a comment after the last server, and no comma",
      `{\n  "mcpServers": {\n    "a": {} // last\n  }\n}`,
      `{\n  "mcpServers": {\n    "a": {}, // last\n    ${entry}\n  }\n}`
    ],
    [
      "without the field",
      `{\n  "theme": "x"\n}\n`,
      `{\n  "theme": "x",\n  "mcpServers": {\n    ${entry}\n  }\n}\n`
    ],
    [
      "in one line",
      `{ "mcpServers": { "a": {} } }`,
      `{ "mcpServers": { "a": {},\n  "b": {\n    "command": "npx",\n    "args": ["-y", "b"]\n  }\n} }`
    ],
    [
      "with only a comment among its servers",
      `{\n  "mcpServers": { // none\n  }\n}\n`,
      `{\n  "mcpServers": { // none\n    ${entry}\n  }\n}\n`
    ]
  ]

  for (const [title, before, after] of cases) {
    it(`${title} keeps everything else`, () => {
      assert.strictEqual(json(before), after)
      // A second time changes nothing.
      assert.strictEqual(json(after), after)
    })
  }

  it("keeps its indentation, its ends of lines and its byte order mark", () => {
    const tabs = `{\n\t"mcpServers": {\n\t\t"a": {}\n\t}\n}\n`
    assert.strictEqual(
      json(tabs),
      `{\n\t"mcpServers": {\n\t\t"a": {},\n\t\t"b": {\n\t\t\t"command": "npx",\n\t\t\t"args": ["-y", "b"]\n` +
        `\t\t}\n\t}\n}\n`
    )
    const windows = `\ufeff${cases[3]?.[1] ?? ""}`.replaceAll("\n", "\r\n")
    assert.strictEqual(json(windows), `\ufeff${cases[3]?.[2] ?? ""}`.replaceAll("\n", "\r\n"))
  })

  it("replaces another server of the name only if it is told to", () => {
    const before = `{\n  "mcpServers": {\n    "a": {}, // one\n    "b": { "command": "old", "env": {} }, // two\n` +
      `    "c": {}\n  }\n}\n`
    assert.strictEqual(jsonProblem(before), "it has another server \"b\"; use --replace, or --name for another name")
    assert.strictEqual(
      json(before, { replaces: true }),
      before.replace(`"b": { "command": "old", "env": {} }`, entry)
    )
  })

  it("is not changed if its entries have no certain place", () => {
    const problems: ReadonlyArray<readonly [text: string, problem: string]> = [
      ["{ \"mcpServers\": ", "it is not JSON: the text ends too early (line 1 column 17)"],
      ["[]", "it is not an object"],
      ["{ \"mcpServers\": [] }", "its mcpServers is not an object"],
      ["{ \"mcpServers\": null }", "its mcpServers is not an object"],
      [
        "{ \"mcpServers\": { \"b\": {}, \"b\": {} } }",
        "its entries are written in a form that is changed by hand only"
      ]
    ]
    for (const [text, problem] of problems) assert.strictEqual(jsonProblem(text, { replaces: true }), problem)
  })

  it("has the places of objects and members", () => {
    const text = `{ /* { */ "a": [1, { "b" : "}" , } ] }`
    const { places, value } = Result.getOrThrow(JsonWithComments.locate(text))
    assert.deepStrictEqual(value, { a: [1, { b: "}" }] })
    assert.deepStrictEqual(
      Array.from(places.values(), ({ close, lastComma, members, open }) => [
        text[open],
        text[close],
        lastComma === undefined ? undefined : text[lastComma],
        members.map(({ at, end, valueAt }) => [text.slice(at, at + 3), text.slice(valueAt, end)])
      ]),
      [
        ["{", "}", ",", [["\"b\"", "\"}\""]]],
        ["{", "}", undefined, [["\"a\"", "[1, { \"b\" : \"}\" , } ]"]]]
      ]
    )
  })
})

describe("the TOML file of Codex", () => {
  /** Other tables, and a text that looks like a table. */
  const tables = `# mine\nmodel = "o9"\n\n[mcp_servers.a] # a\ncommand = "a"\n\n` +
    `[profiles.x]\nmodel = '''\n[mcp_servers.b]\n'''\n`

  const table: Change.Change = { ...change, field: "mcp_servers" }

  const written = "[mcp_servers.b]\ncommand = \"npx\"\nargs = [\"-y\", \"b\"]\n"

  const toml = (text: string, options: Partial<Change.Change> = {}) =>
    Effect.map(TomlFile.withEntry(text, { ...table, ...options }), Result.getOrThrow)

  const cases: ReadonlyArray<readonly [title: string, before: string, after: string]> = [
    ["that is new", "", written],
    ["without an end of its last line", "model = \"o9\"", `model = "o9"\n\n${written}`],
    [
      "with other tables",
      tables,
      `${tables}\n${written}`
    ]
  ]

  for (const [title, before, after] of cases) {
    it.effect(`${title} keeps everything else`, () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* toml(before), after)
        assert.strictEqual(yield* toml(after), after)
      }))
  }

  it.effect("replaces the tables of a server, and keeps the comments of the next one", () =>
    Effect.gen(function*() {
      const before = `[mcp_servers.a]\ncommand = "a"\n\n[mcp_servers."b"] # old\ncommand = "old"\n# inside\n` +
        `[mcp_servers.b.env]\nA = "1"\n\n# the next one\n[mcp_servers.bc]\ncommand = "c"\n`
      const refused = yield* TomlFile.withEntry(before, table)
      assert.deepStrictEqual(
        Result.isFailure(refused) && refused.failure.problem,
        "it has another server \"b\"; use --replace, or --name for another name"
      )
      assert.strictEqual(
        yield* toml(before, { replaces: true }),
        `[mcp_servers.a]\ncommand = "a"\n\n\n# the next one\n[mcp_servers.bc]\ncommand = "c"\n\n${written}`
      )
    }))

  it.effect("is not changed if its entries have no certain place", () =>
    Effect.gen(function*() {
      const unexpected = "its entries are written in a form that is changed by hand only"
      const problems: ReadonlyArray<readonly [text: string, problem: string]> = [
        ["mcp_servers = { a = { command = \"a\" } }\n", unexpected],
        ["mcp_servers.b = { command = \"old\" }\n", unexpected],
        // A header in a text is no header.
        ["[mcp_servers.b]\na = '''\n[mcp_servers.c]\n'''\n", unexpected],
        ["mcp_servers = 1\n", "its mcp_servers is not an object"],
        [`a${".a".repeat(100_000)} = 1\n`, unexpected],
        ["a = ", "it is not TOML: invalid value (line 1 column 5)"]
      ]
      for (const [text, problem] of problems) {
        const result = yield* TomlFile.withEntry(text, { ...table, replaces: true })
        assert.deepStrictEqual(Result.isFailure(result) && result.failure.problem, problem)
      }
    }))

  it.effect(
    "is replaced in one with the most lines that begin with a bracket within seconds",
    () =>
      Effect.gen(function*() {
        const other = `[mcp_servers.a]\na = [\n${"[],\n".repeat(260_000)}]\n`
        const started = performance.now()
        const text = yield* toml(`${other}[mcp_servers.b]\ncommand = "old"\n`, { replaces: true })
        assert.strictEqual(text, `${other}\n${written}`)
        // It took 17 seconds, because each line was parsed as a header.
        assert.isBelow(performance.now() - started, 8_000)
      }),
    60_000
  )

  it.effect("has texts of any kind", () =>
    Effect.gen(function*() {
      const args = ["\"", "\\", "C:\\new", "\n\t\u{1b}\u{7f}", "ü 😀", "'''", "#", ""]
      const read = yield* Toml.parse(TomlFile.write({ ...table, entry: { command: "x", args } }))
      assert.strictEqual(
        JSON.stringify(Result.getOrThrow(read)),
        JSON.stringify({ mcp_servers: { b: { command: "x", args } } })
      )
    }))
})
