import { Capabilities, type MethodDefinition, MethodTable, Revision } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { inheritedNames } from "./wire.ts"

const fromTheWire = <A>(codec: Schema.Codec<A>, json: string): A => Schema.decodeUnknownSync(codec)(JSON.parse(json))

/** Every path, and the side that declares it. */
const paths: { readonly [P in Capabilities.Path]: MethodDefinition.Sender } = {
  "completions": "server",
  "elicitation": "client",
  "elicitation.form": "client",
  "elicitation.url": "client",
  "logging": "server",
  "prompts": "server",
  "prompts.listChanged": "server",
  "resources": "server",
  "resources.listChanged": "server",
  "resources.subscribe": "server",
  "roots": "client",
  "roots.listChanged": "client",
  "sampling": "client",
  "sampling.context": "client",
  "sampling.tools": "client",
  "tasks": "either",
  "tasks.cancel": "either",
  "tasks.list": "either",
  "tools": "server",
  "tools.listChanged": "server"
}

const isPath = (name: string): name is Capabilities.Path => Object.hasOwn(paths, name)
const allPaths = Object.keys(paths).filter(isPath)
const isFlag = (path: string) => path.endsWith("listChanged") || path.endsWith("subscribe")

const declaring = (path: string, end: unknown): unknown =>
  path.split(".").reduceRight<unknown>((inner, name) => ({ [name]: inner }), end)

/** The capabilities of a side that declares only this path, as the peer receives them. */
const declared = (
  path: Capabilities.Path,
  end: unknown
): Capabilities.ClientCapabilities | Capabilities.ServerCapabilities => {
  const json = JSON.stringify(declaring(path, end))
  return paths[path] === "server"
    ? fromTheWire(Capabilities.ServerCapabilities, json)
    : fromTheWire(Capabilities.ClientCapabilities, json)
}

describe.each(allPaths)("%s", (path) => {
  it("is declared if it is present, and so is the capability that contains it", () => {
    const capabilities = declared(path, isFlag(path) ? true : {})
    assert.isTrue(Capabilities.declares(capabilities, path))
    const [parent] = path.split(".")
    assert.isTrue(parent !== undefined && isPath(parent) && Capabilities.declares(capabilities, parent))
  })

  it("is not declared by empty capabilities", () => assert.isFalse(Capabilities.declares({}, path)))

  it("[INIT-15] is not declared by any other capability", () => {
    for (const other of allPaths) {
      const covered = other === path || other.startsWith(`${path}.`) ||
        // An elicitation without a mode means form.
        (path === "elicitation.form" && other === "elicitation")
      assert.strictEqual(Capabilities.declares(declared(other, isFlag(other) ? true : {}), path), covered, other)
    }
  })

  it("is not declared by a flag that is false", () => {
    // A capability that is an object has no flag: it is declared if it is present.
    assert.strictEqual(Capabilities.declares(declared(path, isFlag(path) ? false : {}), path), !isFlag(path))
  })
})

const ofClients: ReadonlyArray<readonly [string, Capabilities.ClientCapabilities, form: boolean, url: boolean]> = [
  ["nothing", {}, false, false],
  ["no mode", { elicitation: {} }, true, false],
  ["form", { elicitation: { form: {} } }, true, false],
  ["url", { elicitation: { url: {} } }, false, true],
  ["both", { elicitation: { form: {}, url: {} } }, true, true]
]

it.each(ofClients)("[ELI-02] [ELI-03] a client that declares %s", (_, capabilities, form, url) => {
  assert.strictEqual(Capabilities.declares(capabilities, "elicitation"), form || url)
  assert.strictEqual(Capabilities.declares(capabilities, "elicitation.form"), form)
  assert.strictEqual(Capabilities.declares(capabilities, "elicitation.url"), url)
})

it("[INIT-15] inherited member names declare nothing", () => {
  for (const name of inheritedNames) {
    const capabilities = fromTheWire(Capabilities.ClientCapabilities, `{${JSON.stringify(name)}:{"tools":{},"url":{}}}`)
    for (const path of allPaths) assert.isFalse(Capabilities.declares(capabilities, path), `${name}: ${path}`)
  }
})

it("[CMP-01] completions are a capability from 2025-03-26 on; the older revision has them without a capability", () => {
  for (const revision of Revision.legacy) {
    assert.strictEqual(Capabilities.isKnownTo("completions", revision), revision !== "2024-11-05")
  }
})

it("[INIT-15] each revision of a method knows its capability, except for completion in 2024-11-05", () => {
  const rows: ReadonlyArray<MethodTable.AnyRequest | MethodTable.AnyNotification> = [
    ...Object.values<MethodTable.AnyRequest>({ ...MethodTable.requests }),
    ...Object.values<MethodTable.AnyNotification>({ ...MethodTable.notifications })
  ]
  const unknown = rows.flatMap(({ capability, name, since }) =>
    Revision.legacy
      .filter((revision) => Revision.isAtLeast(revision, since))
      .filter((revision) => capability !== undefined && !Capabilities.isKnownTo(capability, revision))
      .map((revision) => `${name} in ${revision}`)
  )
  assert.deepStrictEqual(unknown, ["completion/complete in 2024-11-05"])
})

// =====================================================================================================================
// Declared and required capabilities
// =====================================================================================================================

const all: Capabilities.ClientCapabilities = {
  experimental: { "acme/search": { depth: 2, engines: ["a", "b"] }, "acme/empty": {} },
  extensions: { "acme/index": { words: true } },
  roots: { listChanged: true },
  sampling: { context: {}, tools: {} },
  elicitation: { form: {}, url: {} },
  tasks: { list: {}, cancel: {}, requests: { sampling: { createMessage: {} }, elicitation: { create: {} } } }
}

const covered: ReadonlyArray<
  readonly [string, Capabilities.ClientCapabilities, required: Capabilities.ClientCapabilities]
> = [
  ["nothing by nothing", {}, {}],
  ["nothing by everything", all, {}],
  ["everything by everything", all, all],
  ["roots by roots", { roots: {} }, { roots: {} }],
  ["roots by roots with listChanged", { roots: { listChanged: true } }, { roots: {} }],
  ["roots with listChanged: false by roots", { roots: {} }, { roots: { listChanged: false } }],
  ["sampling by sampling with tools", { sampling: { tools: {} } }, { sampling: {} }],
  ["tools by context and tools", all, { sampling: { tools: {} } }],
  ["elicitation by either mode", { elicitation: { url: {} } }, { elicitation: {} }],
  // The modes are not compared: `declares` tests a mode.
  ["a mode by the other mode", { elicitation: { form: {} } }, { elicitation: { url: {} } }],
  ["an experimental capability by an equal one", all, {
    experimental: { "acme/search": { engines: ["a", "b"], depth: 2 } }
  }],
  ["an empty experimental capability by an empty one", all, { experimental: { "acme/empty": {} } }],
  ["an extension by an equal one", all, { extensions: { "acme/index": { words: true } } }],
  ["tasks by tasks", { tasks: {} }, { tasks: {} }],
  ["tasks with list and cancel by tasks", { tasks: {} }, { tasks: { list: {}, cancel: {} } }],
  ["tasks with empty requests by tasks", { tasks: {} }, { tasks: { requests: {} } }],
  ["tasks with empty sampling and elicitation by tasks", { tasks: {} }, {
    tasks: { requests: { sampling: {}, elicitation: {} } }
  }]
]

const uncovered: ReadonlyArray<
  readonly [string, Capabilities.ClientCapabilities, required: Capabilities.ClientCapabilities]
> = [
  ["roots by nothing", {}, { roots: {} }],
  ["roots with listChanged by roots with listChanged: false", { roots: { listChanged: false } }, {
    roots: { listChanged: true }
  }],
  ["roots with listChanged by roots", { roots: {} }, { roots: { listChanged: true } }],
  ["sampling by nothing", {}, { sampling: {} }],
  ["sampling with tools by sampling", { sampling: {} }, { sampling: { tools: {} } }],
  ["sampling with tools by sampling with context", { sampling: { context: {} } }, { sampling: { tools: {} } }],
  ["sampling with both by sampling with tools", { sampling: { tools: {} } }, { sampling: { context: {}, tools: {} } }],
  ["elicitation by nothing", {}, { elicitation: {} }],
  ["an experimental capability by nothing", {}, { experimental: { "acme/search": {} } }],
  ["an experimental capability by another one", { experimental: { "acme/other": {} } }, {
    experimental: { "acme/search": {} }
  }],
  ["an experimental capability by one with more members", all, {
    experimental: { "acme/search": { depth: 2 } }
  }],
  ["an experimental capability by one in another order", all, {
    experimental: { "acme/search": { depth: 2, engines: ["b", "a"] } }
  }],
  ["an experimental capability by one of another value", all, {
    experimental: { "acme/search": { depth: 3, engines: ["a", "b"] } }
  }],
  ["empty experimental capabilities by none", {}, { experimental: {} }],
  ["an extension by nothing", {}, { extensions: { "acme/index": {} } }],
  ["an extension by one with other settings", all, { extensions: { "acme/index": { words: false } } }],
  ["tasks by nothing", {}, { tasks: {} }],
  ["sampling tasks by tasks", { tasks: {} }, { tasks: { requests: { sampling: { createMessage: {} } } } }],
  ["sampling tasks by elicitation tasks", { tasks: { requests: { elicitation: { create: {} } } } }, {
    tasks: { requests: { sampling: { createMessage: {} } } }
  }],
  ["elicitation tasks by sampling tasks", { tasks: { requests: { sampling: { createMessage: {} } } } }, {
    tasks: { requests: { elicitation: { create: {} } } }
  }],
  ["two capabilities by one of them", { roots: {} }, { roots: {}, sampling: {} }]
]

it.each(covered)("%s is covered", (_, declared, required) => {
  assert.isTrue(Capabilities.covers(declared, required))
})

it.each(uncovered)("[INIT-15] %s is not covered", (_, declared, required) => {
  assert.isFalse(Capabilities.covers(declared, required))
})

const client = Arbitrary.map(
  Arbitrary.schema(Capabilities.ClientCapabilities),
  (value) => fromTheWire(Capabilities.ClientCapabilities, JSON.stringify(value))
)

it.prop("empty requirements are always covered", [client], ([declared]) => {
  assert.isTrue(Capabilities.covers(declared, {}))
})

it("[INIT-15] a required capability that is not declared is not covered, even if it is empty", () => {
  for (
    const required of [{ experimental: {} }, { extensions: {} }, { roots: {} }, { sampling: {} }, { elicitation: {} }, {
      tasks: {}
    }]
  ) {
    assert.isFalse(Capabilities.covers({}, required), JSON.stringify(required))
    assert.isTrue(Capabilities.covers(required, required), JSON.stringify(required))
  }
})

it.prop("declared capabilities cover themselves", [client], ([declared]) => {
  assert.isTrue(Capabilities.covers(declared, fromTheWire(Capabilities.ClientCapabilities, JSON.stringify(declared))))
})

it.prop(
  "adding capabilities never makes a covered requirement uncovered",
  [client, client],
  ([declared, required]) => {
    if (Capabilities.covers(declared, required)) assert.isTrue(Capabilities.covers({ ...all, ...declared }, required))
  }
)

it.prop("only the requests that may become tasks are compared", [
  Capabilities.ClientTasks,
  Capabilities.ClientTasks
], ([declared, required]) => {
  const sampling = required.requests?.sampling?.createMessage === undefined ||
    declared.requests?.sampling?.createMessage !== undefined
  const elicitation = required.requests?.elicitation?.create === undefined ||
    declared.requests?.elicitation?.create !== undefined
  assert.strictEqual(Capabilities.coversTasks(declared, required), sampling && elicitation)
  assert.strictEqual(Capabilities.covers({ tasks: declared }, { tasks: required }), sampling && elicitation)
  assert.isFalse(Capabilities.coversTasks(undefined, required))
})

describe.each(inheritedNames)("the inherited name %j", (name) => {
  // Parsed and not decoded: a decoder would drop some of these names.
  const received = (member: string): Capabilities.ClientCapabilities =>
    JSON.parse(`{"${member}":{${JSON.stringify(name)}:{}}}`)
  const required = received("experimental")

  it("[INIT-15] is not covered by a client that does not declare it", () => {
    assert.isFalse(Capabilities.covers({}, required))
    assert.isFalse(Capabilities.covers({ experimental: {} }, required))
    assert.isFalse(Capabilities.covers(all, required))
  })

  it("is covered by a client that declares it", () => {
    assert.isTrue(Capabilities.covers(required, required))
  })

  it("is not covered by a sampling capability", () => {
    assert.isFalse(Capabilities.covers({ sampling: {} }, received("sampling")))
  })
})
