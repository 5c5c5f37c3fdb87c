import { Capabilities, type MethodDefinition, MethodTable, Revision } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { inheritedNames } from "./wire.ts"

const fromTheWire = <A>(codec: Schema.Codec<A>, json: string): A => Schema.decodeUnknownSync(codec)(JSON.parse(json))

/** Every path there is, and whose capability it is. */
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

/** The capabilities of a side that declares just this, as they come off the wire. */
const declared = (
  path: Capabilities.Path,
  end: unknown
): Capabilities.ClientCapabilities | Capabilities.ServerCapabilities => {
  const json = JSON.stringify(declaring(path, end))
  return paths[path] === "server"
    ? fromTheWire(Capabilities.ServerCapabilities, json)
    : fromTheWire(Capabilities.ClientCapabilities, json)
}

describe.each(allPaths)("[INIT-15] %s", (path) => {
  it("is declared where it is there, and what it stands in with it", () => {
    const capabilities = declared(path, isFlag(path) ? true : {})
    assert.isTrue(Capabilities.declares(capabilities, path))
    const [parent] = path.split(".")
    assert.isTrue(parent !== undefined && isPath(parent) && Capabilities.declares(capabilities, parent))
  })

  it("is not declared by nothing at all", () => assert.isFalse(Capabilities.declares({}, path)))

  it("is not declared by any other", () => {
    for (const other of allPaths) {
      const covered = other === path || other.startsWith(`${path}.`) ||
        // An elicitation without a mode is one by form.
        (path === "elicitation.form" && other === "elicitation")
      assert.strictEqual(Capabilities.declares(declared(other, isFlag(other) ? true : {}), path), covered, other)
    }
  })

  it("is not declared by a part that says no", () => {
    // An object says nothing but yes.
    assert.strictEqual(Capabilities.declares(declared(path, isFlag(path) ? false : {}), path), !isFlag(path))
  })
})

const ofClients: ReadonlyArray<readonly [string, Capabilities.ClientCapabilities, form: boolean, url: boolean]> = [
  ["nothing", {}, false, false],
  ["no mode", { elicitation: {} }, true, false],
  ["the form", { elicitation: { form: {} } }, true, false],
  ["the page", { elicitation: { url: {} } }, false, true],
  ["both", { elicitation: { form: {}, url: {} } }, true, true]
]

it.each(ofClients)("[ELI-02] [ELI-03] a client that declares %s", (_, capabilities, form, url) => {
  assert.strictEqual(Capabilities.declares(capabilities, "elicitation"), form || url)
  assert.strictEqual(Capabilities.declares(capabilities, "elicitation.form"), form)
  assert.strictEqual(Capabilities.declares(capabilities, "elicitation.url"), url)
})

it("[INIT-15] names that every object knows declare nothing", () => {
  for (const name of inheritedNames) {
    const capabilities = fromTheWire(Capabilities.ClientCapabilities, `{${JSON.stringify(name)}:{"tools":{},"url":{}}}`)
    for (const path of allPaths) assert.isFalse(Capabilities.declares(capabilities, path), `${name}: ${path}`)
  }
})

it("[CMP-01] completions are a capability since 2025-03-26; before, they could be asked for without one", () => {
  for (const revision of Revision.supported) {
    assert.strictEqual(Capabilities.isKnownTo("completions", revision), revision !== "2024-11-05")
  }
})

it("[INIT-15] a capability that a method needs is known to the revisions that have the method, but for one", () => {
  const rows: ReadonlyArray<MethodTable.AnyRequest | MethodTable.AnyNotification> = [
    ...Object.values<MethodTable.AnyRequest>({ ...MethodTable.requests }),
    ...Object.values<MethodTable.AnyNotification>({ ...MethodTable.notifications })
  ]
  const unknown = rows.flatMap(({ capability, name, since }) =>
    Revision.supported
      .filter((revision) => Revision.isAtLeast(revision, since))
      .filter((revision) => capability !== undefined && !Capabilities.isKnownTo(capability, revision))
      .map((revision) => `${name} in ${revision}`)
  )
  assert.deepStrictEqual(unknown, ["completion/complete in 2024-11-05"])
})

// =====================================================================================================================
// What is declared against what is required
// =====================================================================================================================

const all: Capabilities.ClientCapabilities = {
  experimental: { "acme/search": { depth: 2, engines: ["a", "b"] }, "acme/empty": {} },
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
  ["roots by roots that change", { roots: { listChanged: true } }, { roots: {} }],
  ["roots that may or may not change by roots", { roots: {} }, { roots: { listChanged: false } }],
  ["sampling by sampling with tools", { sampling: { tools: {} } }, { sampling: {} }],
  ["tools by context and tools", all, { sampling: { tools: {} } }],
  ["elicitation by either mode", { elicitation: { url: {} } }, { elicitation: {} }],
  // The modes are not compared: ask `declares` for one of them.
  ["a mode by the other", { elicitation: { form: {} } }, { elicitation: { url: {} } }],
  ["an experiment by an equal one", all, { experimental: { "acme/search": { engines: ["a", "b"], depth: 2 } } }],
  ["an empty experiment by an empty one", all, { experimental: { "acme/empty": {} } }],
  ["tasks by tasks", { tasks: {} }, { tasks: {} }],
  ["lists of tasks by tasks without", { tasks: {} }, { tasks: { list: {}, cancel: {} } }],
  ["no request in particular by tasks", { tasks: {} }, { tasks: { requests: {} } }],
  ["no kind of sampling by tasks", { tasks: {} }, { tasks: { requests: { sampling: {}, elicitation: {} } } }]
]

const uncovered: ReadonlyArray<
  readonly [string, Capabilities.ClientCapabilities, required: Capabilities.ClientCapabilities]
> = [
  ["roots by nothing", {}, { roots: {} }],
  ["roots that change by roots that do not", { roots: { listChanged: false } }, { roots: { listChanged: true } }],
  ["roots that change by roots", { roots: {} }, { roots: { listChanged: true } }],
  ["sampling by nothing", {}, { sampling: {} }],
  ["sampling with tools by sampling", { sampling: {} }, { sampling: { tools: {} } }],
  ["sampling with tools by sampling with context", { sampling: { context: {} } }, { sampling: { tools: {} } }],
  ["sampling with both by sampling with tools", { sampling: { tools: {} } }, { sampling: { context: {}, tools: {} } }],
  ["elicitation by nothing", {}, { elicitation: {} }],
  ["an experiment by nothing", {}, { experimental: { "acme/search": {} } }],
  ["an experiment by another", { experimental: { "acme/other": {} } }, { experimental: { "acme/search": {} } }],
  ["an experiment by less of it", all, { experimental: { "acme/search": { depth: 2 } } }],
  ["an experiment by one in another order", all, {
    experimental: { "acme/search": { depth: 2, engines: ["b", "a"] } }
  }],
  ["an experiment by one of another value", all, {
    experimental: { "acme/search": { depth: 3, engines: ["a", "b"] } }
  }],
  ["no experiment in particular by none", {}, { experimental: {} }],
  ["tasks by nothing", {}, { tasks: {} }],
  ["tasks for messages by tasks", { tasks: {} }, { tasks: { requests: { sampling: { createMessage: {} } } } }],
  ["tasks for messages by tasks for questions", { tasks: { requests: { elicitation: { create: {} } } } }, {
    tasks: { requests: { sampling: { createMessage: {} } } }
  }],
  ["tasks for questions by tasks for messages", { tasks: { requests: { sampling: { createMessage: {} } } } }, {
    tasks: { requests: { elicitation: { create: {} } } }
  }],
  ["one thing of two", { roots: {} }, { roots: {}, sampling: {} }]
]

it.each(covered)("[INIT-15] %s is covered", (_, declared, required) => {
  assert.isTrue(Capabilities.covers(declared, required))
})

it.each(uncovered)("[INIT-15] %s is not covered", (_, declared, required) => {
  assert.isFalse(Capabilities.covers(declared, required))
})

const client = Arbitrary.map(
  Arbitrary.schema(Capabilities.ClientCapabilities),
  (value) => fromTheWire(Capabilities.ClientCapabilities, JSON.stringify(value))
)

it.prop("[INIT-15] nothing is required of anyone by an empty request", [client], ([declared]) => {
  assert.isTrue(Capabilities.covers(declared, {}))
})

it("[INIT-15] a group of capabilities that is required and not declared is not covered, however empty", () => {
  for (const required of [{ experimental: {} }, { roots: {} }, { sampling: {} }, { elicitation: {} }, { tasks: {} }]) {
    assert.isFalse(Capabilities.covers({}, required), JSON.stringify(required))
    assert.isTrue(Capabilities.covers(required, required), JSON.stringify(required))
  }
})

it.prop("[INIT-15] whatever is declared covers itself", [client], ([declared]) => {
  assert.isTrue(Capabilities.covers(declared, fromTheWire(Capabilities.ClientCapabilities, JSON.stringify(declared))))
})

it.prop("[INIT-15] who declares more covers no less", [client, client], ([declared, required]) => {
  if (Capabilities.covers(declared, required)) assert.isTrue(Capabilities.covers({ ...all, ...declared }, required))
})

it.prop("of tasks, just the requests that may become one are compared", [
  Capabilities.ClientTasks,
  Capabilities.ClientTasks
], ([declared, required]) => {
  const messages = required.requests?.sampling?.createMessage === undefined ||
    declared.requests?.sampling?.createMessage !== undefined
  const questions = required.requests?.elicitation?.create === undefined ||
    declared.requests?.elicitation?.create !== undefined
  assert.strictEqual(Capabilities.coversTasks(declared, required), messages && questions)
  assert.strictEqual(Capabilities.covers({ tasks: declared }, { tasks: required }), messages && questions)
  assert.isFalse(Capabilities.coversTasks(undefined, required))
})

describe.each(inheritedNames)("[INIT-15] the name %j, which every object knows,", (name) => {
  // As it was received: a decoder would leave out some of these names.
  const received = (member: string): Capabilities.ClientCapabilities =>
    JSON.parse(`{"${member}":{${JSON.stringify(name)}:{}}}`)
  const required = received("experimental")

  it("is no experiment of a client that declares none by it", () => {
    assert.isFalse(Capabilities.covers({}, required))
    assert.isFalse(Capabilities.covers({ experimental: {} }, required))
    assert.isFalse(Capabilities.covers(all, required))
  })

  it("is one of a client that does", () => {
    assert.isTrue(Capabilities.covers(required, required))
  })

  it("is no part of sampling", () => {
    assert.isFalse(Capabilities.covers({ sampling: {} }, received("sampling")))
  })
})
