/**
 * Checks that imports between packages, and between modules, lead only downwards.
 *
 * `node scripts/arrows.ts` prints each import that breaks the tables below as `file:line message`, and fails if there
 * is any.
 */
import * as fs from "node:fs"
import { isBuiltin } from "node:module"
import * as path from "node:path"
import { type Import, parse } from "./syntax.ts"
import { internalEntries, type Package, packages, publicModules, publicPackages, read, root } from "./workspace.ts"

/** The packages of this workspace that a package may import. */
const arrows: Readonly<Record<string, ReadonlyArray<string>>> = {
  protocol: [],
  session: ["protocol"],
  "json-schema": ["session", "protocol"],
  tasks: ["session", "protocol"],
  transport: ["session", "protocol"],
  auth: ["transport", "session", "protocol"],
  server: ["transport", "tasks", "session", "protocol"],
  client: ["server", "auth", "transport", "tasks", "session", "protocol"],
  cluster: ["tasks", "session", "protocol"],
  gateway: ["client", "server", "auth", "transport", "tasks", "session", "protocol"],
  cli: ["client", "server", "auth", "transport", "session", "protocol"],
  testing: ["auth", "transport", "tasks", "session", "protocol"],
  create: [],
  examples: ["protocol", "session", "tasks", "cluster", "transport", "auth", "server", "client", "testing"],
  interop: [
    "protocol",
    "session",
    "json-schema",
    "cluster",
    "transport",
    "auth",
    "server",
    "client",
    "testing",
    "examples"
  ],
  benchmarks: ["protocol", "session", "tasks", "cluster", "transport", "auth", "server", "testing"],
  comparisons: ["protocol", "session", "transport", "auth", "server", "client", "testing"],
  conformance: ["protocol", "session", "json-schema", "cluster", "transport", "auth", "server"],
  simulation: ["protocol", "session", "tasks", "cluster", "transport", "auth", "testing"],
  soak: [
    "protocol",
    "session",
    "tasks",
    "json-schema",
    "cluster",
    "transport",
    "auth",
    "server",
    "client",
    "gateway",
    "testing"
  ],
  site: []
}

/** Packages of programs as users write them: they import no internal entry. */
const written: ReadonlySet<string> = new Set(["examples", "benchmarks", "comparisons", "conformance"])

/** Packages that import only stable modules of Effect, so that they run on any platform and need few updates. */
const stableOnly: ReadonlySet<string> = new Set(["protocol", "session", "json-schema", "gateway"])

/**
 * The packages whose modules run in a browser and in a worker. What needs Node is in `src/node`, and is an entry whose
 * name says so.
 */
const everywhere: ReadonlySet<string> = new Set([
  "protocol",
  "session",
  "json-schema",
  "tasks",
  "cluster",
  "transport",
  "auth",
  "server",
  "client",
  "gateway"
])

/**
 * The modules of these packages that need Node, and whose entries have another name.
 */
const onNode: ReadonlyArray<string> = [
  "packages/auth/src/NodeTokenStore.ts",
  "packages/auth/src/NodeUserAgent.ts",
  "packages/tasks/src/NodeSqlite.ts",
  "packages/cluster/src/NodeEffectCluster.ts",
  "packages/server/src/McpDirectory.ts"
]

/**
 * The files of the other public packages that may import an unstable module of Effect: one file for a module if
 * possible, so that only this file changes with the module. `/*` matches everything below, for modules and files.
 */
const adapters: Readonly<Record<string, string | ReadonlyArray<string>>> = {
  "effect/Stdio": "packages/transport/src/node/StdioServer.ts",
  "effect/process/*": ["packages/transport/src/node/StdioClient.ts", "packages/transport/src/internal/stdio/*"],
  "effect/ai/Tool": [
    "packages/server/src/McpGroup.ts",
    "packages/server/src/McpRpcGroup.ts",
    "packages/server/src/McpTool.ts",
    "packages/server/src/McpToolkit.ts",
    "packages/server/src/McpWorkflow.ts",
    "packages/server/src/internal/*",
    "packages/client/src/McpRemoteToolkit.ts",
    "packages/client/src/internal/toolkit/SamplingTools.ts",
    "packages/client/src/McpTypedClient.ts",
    "packages/client/src/internal/typed/*"
  ],
  "effect/ai/AiError": [
    "packages/server/src/McpToolkit.ts",
    "packages/client/src/McpRemoteToolkit.ts",
    "packages/client/src/McpSampling.ts"
  ],
  "effect/ai/LanguageModel": "packages/client/src/McpSampling.ts",
  "effect/ai/Prompt": [
    "packages/client/src/McpSampling.ts",
    "packages/client/src/internal/toolkit/ModelFile.ts",
    "packages/client/src/internal/toolkit/ModelParts.ts"
  ],
  "effect/ai/Response": "packages/client/src/McpSampling.ts",
  "effect/ai/Toolkit": [
    "packages/server/src/McpGroup.ts",
    "packages/server/src/McpToolkit.ts",
    "packages/client/src/McpRemoteToolkit.ts",
    "packages/client/src/internal/toolkit/SamplingTools.ts"
  ],
  "effect/persistence/KeyValueStore": [
    "packages/auth/src/TokenStoreKeyValue.ts",
    "packages/client/src/TaskIdsKeyValue.ts"
  ],
  "effect/persistence/RateLimiter": [
    "packages/server/src/McpRateLimit.ts",
    "packages/cluster/src/McpStores.ts",
    "packages/cluster/src/internal/*"
  ],
  "effect/persistence/Redis": ["packages/cluster/src/McpStores.ts", "packages/cluster/src/internal/*"],
  "effect/sql/*": [
    "packages/auth/src/TokenStoreSql.ts",
    "packages/cluster/src/McpStores.ts",
    "packages/cluster/src/NodeEffectCluster.ts",
    "packages/cluster/src/internal/bus/*",
    "packages/cluster/src/internal/sql/*",
    "packages/tasks/src/NodeSqlite.ts",
    "packages/tasks/src/TaskStoreSql.ts"
  ],
  "effect/reactivity/*": "packages/tasks/src/NodeSqlite.ts",
  "effect/cluster/*": ["packages/cluster/src/EffectCluster.ts", "packages/cluster/src/NodeEffectCluster.ts"],
  "effect/http/*": [
    "packages/transport/src/*",
    "packages/auth/src/OAuth.ts",
    "packages/auth/src/ResourceServer.ts",
    "packages/auth/src/internal/fetch/*",
    "packages/auth/src/internal/resource/*",
    "packages/client/src/node/McpServersConfig.ts",
    "packages/server/src/McpHttpApi.ts",
    "packages/server/src/McpRpcGroup.ts",
    "packages/server/src/internal/httpApi/*"
  ],
  "effect/rpc/*": "packages/server/src/McpRpcGroup.ts",
  "effect/workflow/*": ["packages/server/src/McpWorkflow.ts", "packages/server/src/internal/workflow/*"],
  "effect/http-api/*": ["packages/server/src/McpHttpApi.ts", "packages/server/src/internal/httpApi/*"],
  "effect/FileSystem": [
    "packages/server/src/McpDirectory.ts",
    "packages/server/src/internal/directory/*",
    "packages/cli/src/console/*"
  ],
  "effect/Path": [
    "packages/server/src/McpDirectory.ts",
    "packages/server/src/internal/directory/*",
    "packages/cli/src/console/*"
  ],
  "effect/PlatformError": ["packages/server/src/McpDirectory.ts", "packages/server/src/internal/directory/*"],
  "effect/ByteSize": "packages/transport/src/internal/http/server/IncomingBodies.ts",
  "effect/cli/*": [
    "packages/cli/src/commandLine.ts",
    "packages/cli/src/console/*",
    "packages/cli/src/hosts/addition.ts",
    "packages/create/src/Questions.ts"
  ],
  "effect/Terminal": "packages/cli/src/console/*",
  "effect/net/*": ["packages/transport/src/internal/*", "packages/auth/src/internal/fetch/AddressPolicy.ts"],
  "effect/socket/*": "packages/transport/src/*",
  "effect/Arbitrary": "packages/testing/src/*",
  "effect/testing/*": "packages/testing/src/*"
}

/** The file of those packages that may import a foreign package. */
const foreign: Readonly<Record<string, string>> = {
  ajv: "packages/json-schema/src/internal/CountedAjv.ts"
}

/** A rule between folders: no file that `from` covers may import a file or module that `to` covers. */
interface Separation {
  readonly rule: string
  readonly from: ReadonlyArray<string>
  readonly to: ReadonlyArray<string>
}

const transport = "packages/transport/src"

const httpClients = [
  `${transport}/internal/http/client/*`,
  ...["HttpClientOptions", "HttpFallbackClient", "HttpSseClient", "StreamableHttpClient"].map((name) =>
    `${transport}/${name}.ts`
  ),
  ...["HttpFallbackClient", "HttpSseClient", "StreamableHttpClient"].map((name) => `${transport}/node/${name}.ts`)
]

const httpServers = [
  `${transport}/internal/http/server/*`,
  `${transport}/Authentication.ts`,
  ...["HttpServerOptions", "HttpSseServer", "StatelessHttpServer", "StreamableHttpServer"].map((name) =>
    `${transport}/${name}.ts`
  ),
  ...["HttpSseServer", "StatelessHttpServer", "StreamableHttpServer"].map((name) => `${transport}/node/${name}.ts`)
]

const byteStreams = [
  ...["shared", "socket", "stdio"].map((folder) => `${transport}/internal/${folder}/*`),
  ...["JsonLines", "Sse", "node/StdioClient", "node/StdioServer", "node/SocketClient", "node/SocketServer"].map((
    name
  ) => `${transport}/${name}.ts`)
]

const transportSeparations: ReadonlyArray<Separation> = [
  { rule: "HTTP clients do not know HTTP servers", from: httpClients, to: httpServers },
  { rule: "HTTP servers do not know HTTP clients", from: httpServers, to: httpClients },
  {
    rule: "stdio and sockets know no HTTP",
    from: byteStreams,
    to: [...httpClients, ...httpServers, "effect/http/*"]
  }
]

const session = "packages/session/src"

/** The folders of a package that each of its folders may import. */
const folders: Readonly<Record<string, Readonly<Record<string, ReadonlyArray<string>>>>> = {
  session: {
    collections: [],
    telemetry: [],
    stores: ["collections"],
    engine: ["collections", "telemetry"],
    client: ["collections", "engine"],
    server: ["collections", "engine"],
    host: ["collections", "engine", "server", "stores", "telemetry"]
  },
  tasks: {
    store: [],
    runs: [],
    server: ["runs"],
    client: ["runs"],
    remote: []
  }
}

const folderSeparations = Object.entries(folders).flatMap(([name, foldersOf]) =>
  Object.entries(foldersOf).map(([folder, known]): Separation => ({
    rule: `the folder ${folder} of ${name} may import only ${known.length === 0 ? "public modules" : known.join(", ")}`,
    from: [`packages/${name}/src/internal/${folder}/*`],
    to: Object.keys(foldersOf).filter((other) => other !== folder && !known.includes(other)).map((other) =>
      `packages/${name}/src/internal/${other}/*`
    )
  }))
)

/**
 * The public modules that internal modules of session may import: ports, events, errors, options and plain functions.
 * The others are built on internal modules.
 */
const sharedModules: ReadonlySet<string> = new Set([
  "ClientRequestContext",
  "Extension",
  "Handlers",
  "HandshakeError",
  "HostLimits",
  "InvalidOptionError",
  "JsonSchemaValidator",
  "Limits",
  "Listener",
  "MemoryBudget",
  "Metrics",
  "Middleware",
  "NotificationContext",
  "Principal",
  "RequestContext",
  "RequestError",
  "RequestOptions",
  "RequestStateSeal",
  "Session",
  "SessionClosedError",
  "SessionEvent",
  "SessionStore",
  "SupersededError",
  "Tracing",
  "Transport",
  "TransportError",
  "UsedStates",
  "UnsupportedSchemaError"
])

const entryModules = publicPackages.filter(({ folder }) => folder === "session").flatMap(publicModules)
  .filter((file) => !sharedModules.has(path.posix.basename(file, ".ts")))

const separations: ReadonlyArray<Separation> = [
  ...transportSeparations,
  ...folderSeparations,
  {
    rule: "internal modules of session do not know the public modules that are built on them",
    from: [`${session}/internal/*`],
    to: entryModules
  }
]

/** The files of `scripts` that private packages may import: code that programs and tests of several packages share. */
const sharedScripts: ReadonlySet<string> = new Set([
  "scripts/addresses.ts",
  "scripts/anchors.ts",
  "scripts/bundledProgram.ts",
  "scripts/commandLine.ts",
  "scripts/freePort.ts",
  "scripts/generated.ts",
  "scripts/joinedProgram.ts",
  "scripts/sample.ts",
  "scripts/sourceChange.ts",
  "scripts/templates.ts",
  "scripts/workspace.ts"
])

interface Violation {
  readonly file: string
  readonly line: number
  readonly message: string
}

/** An import, with its module and package. */
interface Arrow extends Import {
  readonly from: Package
  readonly file: string
}

const covers = (pattern: string, name: string): boolean =>
  pattern.endsWith("/*") ? `${name}/`.startsWith(pattern.slice(0, -1)) : pattern === name

/** Returns the package of a bare specifier: `@scope/name` for `@scope/name/module`. */
const packageOf = (specifier: string): string =>
  specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1).join("/")

const isRelative = (specifier: string): boolean => specifier.startsWith(".")

const byName = new Map(packages.map((one) => [one.manifest.name, one]))

const isKnownTo = (from: Package, to: Package): boolean => arrows[from.folder]?.includes(to.folder) === true

const isOptional = (one: Package, name: string): boolean => one.manifest.peerDependenciesMeta?.[name]?.optional === true

/** Returns the `@stability` that the first doc comment of a module of Effect declares. */
const stabilityOf = (specifier: string): string | undefined => {
  const source = path.join(root, "node_modules", "effect", "src", specifier.slice("effect/".length))
  const file = [`${source}.ts`, path.join(source, "index.ts")].find((candidate) => fs.existsSync(candidate))
  const header = file === undefined ? undefined : /\/\*\*[\s\S]*?\*\//.exec(fs.readFileSync(file, "utf8"))?.[0]
  return /@stability (\w+)/.exec(header ?? "")?.[1]
}

/** Returns the fault of a relative import. */
const relativeFault = ({ file, from, specifier }: Arrow): string | undefined => {
  const imported = path.posix.join(path.posix.dirname(file), specifier)
  const isSharedScript = from.manifest.private === true && sharedScripts.has(imported)
  if (!isSharedScript && !imported.startsWith(`packages/${from.folder}/`)) {
    return `"${specifier}" is outside of the package: import the other package by its name`
  }
  return /\.(?:ts|json)$/.test(specifier) ? undefined : `"${specifier}" lacks the extension .ts`
}

/** Returns the fault of an import of a package of this workspace. */
const workspaceFault = ({ from, specifier }: Arrow, to: Package): string | undefined => {
  if (from === to) {
    return `"${specifier}" is the package itself: import its module by a relative path`
  }
  const entry = specifier.slice(to.manifest.name.length + 1)
  if (entry.startsWith("internal/")) {
    return `"${specifier}" is internal to ${to.folder}`
  }
  if (internalEntries.has(entry) && written.has(from.folder)) {
    return `"${specifier}" is internal, and ${from.folder} has programs as users write them`
  }
  return isKnownTo(from, to) ? undefined : `${from.folder} may not import ${to.folder}`
}

/** Returns the fault of an import of Effect. Private packages may use all of Effect. */
const effectFault = ({ file, from, specifier }: Arrow): string | undefined => {
  if (from.manifest.private === true) {
    return undefined
  }
  if (specifier === "effect") {
    return "the barrel \"effect\" loads all of Effect: import \"effect/<Module>\""
  }
  const stability = stabilityOf(specifier)
  if (stability === "stable") {
    return undefined
  }
  if (stability === undefined) {
    return `"${specifier}" does not exist in Effect, or declares no stability`
  }
  if (stableOnly.has(from.folder)) {
    return `"${specifier}" is ${stability}: ${from.folder} uses only stable modules of Effect`
  }
  const row = Object.keys(adapters).find((pattern) => covers(pattern, specifier))
  const places = row === undefined ? [] : [adapters[row] ?? []].flat()
  if (places.length === 0) {
    return `"${specifier}" is ${stability}, and the table of adapters allows it in no file`
  }
  return places.some((place) => covers(place, file))
    ? undefined
    : `"${specifier}" is ${stability}: only ${places.join(" and ")} may import it`
}

/** Returns the fault of an import of a module of Node, or of a foreign package. */
const foreignFault = ({ file, from, specifier }: Arrow): string | undefined => {
  if (!stableOnly.has(from.folder)) {
    return undefined
  }
  const place = foreign[packageOf(specifier)]
  if (place === undefined) {
    return `"${specifier}" is foreign: ${from.folder} may import only effect`
  }
  return place === file ? undefined : `"${specifier}" is foreign: only ${place} may import it`
}

const faultOf = (arrow: Arrow): string | undefined => {
  if (isRelative(arrow.specifier)) {
    return relativeFault(arrow)
  }
  const name = packageOf(arrow.specifier)
  const ours = byName.get(name)
  if (ours !== undefined) {
    return workspaceFault(arrow, ours)
  }
  return name === "effect" ? effectFault(arrow) : foreignFault(arrow)
}

const importFaults = (all: ReadonlyArray<Arrow>): ReadonlyArray<Violation> =>
  all.flatMap((arrow) => {
    const message = faultOf(arrow)
    return message === undefined ? [] : [{ file: arrow.file, line: arrow.line, message }]
  })

/** Compares the declared dependencies of a package with its imports. Tests use the dependencies of the root. */
const manifestFaults = (one: Package, all: ReadonlyArray<Arrow>): ReadonlyArray<Violation> => {
  const { dependencies, devDependencies, peerDependencies } = one.manifest
  const imported = new Map(
    all.filter(({ from, specifier }) => from === one && !isRelative(specifier) && !isBuiltin(specifier))
      .map((arrow) => [packageOf(arrow.specifier), arrow])
  )
  imported.delete(one.manifest.name)

  const runtime = Object.keys({ ...dependencies, ...peerDependencies })
  // Users install no private package, and a program is bundled with what it imports.
  const usable = one.manifest.private === true || one.manifest.bin !== undefined
    ? [...runtime, ...Object.keys(devDependencies ?? {})]
    : runtime
  const undeclared = Array.from(imported).filter(([name]) => !usable.includes(name)).map(([name, { file, line }]) => ({
    file,
    line,
    message: `${one.manifestFile} does not declare ${name}`
  }))

  const lines = read(one.manifestFile).split("\n")
  const lineOf = (name: string) => lines.findIndex((line) => line.includes(`"${name}"`)) + 1
  // A package passes the peers of its dependencies on, for package managers that give it only what it names.
  const passedOn = new Set(
    packages.filter(({ manifest: { name } }) => dependencies?.[name] !== undefined)
      .flatMap(({ manifest }) => Object.keys(manifest.peerDependencies ?? {}))
  )
  const unused = runtime.filter((name) => !imported.has(name) && !passedOn.has(name)).map((name) => ({
    file: one.manifestFile,
    line: lineOf(name),
    message: `${name} is declared and no module in src imports it`
  }))

  const upward = Object.keys({ ...dependencies, ...peerDependencies, ...devDependencies }).flatMap((name) => {
    const to = byName.get(name)
    return to === undefined || isKnownTo(one, to)
      ? []
      : [{ file: one.manifestFile, line: lineOf(name), message: `${one.folder} may not depend on ${to.folder}` }]
  })
  return [...undeclared, ...unused, ...upward]
}

/** Returns the file that a relative import names. */
const targetOf = ({ file, specifier }: Arrow): string => path.posix.join(path.posix.dirname(file), specifier)

/** Returns the imports of optional peers that `index.ts` leads to: its users may not have installed them. */
const optionalFaults = (one: Package, all: ReadonlyArray<Arrow>): ReadonlyArray<Violation> => {
  const reached = new Set([`packages/${one.folder}/src/index.ts`])
  // Iteration over a set includes the elements that are added meanwhile.
  for (const file of reached) {
    for (const arrow of all) {
      if (arrow.file === file && isRelative(arrow.specifier)) {
        reached.add(targetOf(arrow))
      }
    }
  }
  return all.filter(({ file, specifier }) => reached.has(file) && isOptional(one, packageOf(specifier))).map((
    arrow
  ) => ({
    file: arrow.file,
    line: arrow.line,
    message: `"${arrow.specifier}" is an optional peer, and index.ts leads to it`
  }))
}

/** The modules that a specifier of a package of this workspace names, by the specifier. */
const entryFiles: ReadonlyMap<string, string> = new Map(
  packages.flatMap(({ folder, manifest }) =>
    Object.entries(manifest.exports ?? {}).map(([entry, target]) =>
      [path.posix.join(manifest.name, entry), path.posix.join("packages", folder, String(target))] as const
    )
  )
)

/** Returns the imports of Node that the modules for every platform lead to, also at a later time. */
const platformFaults = (all: ReadonlyArray<Arrow>): ReadonlyArray<Violation> => {
  const values = all.filter(({ isType }) => !isType)
  const reached = new Set(
    packages.filter(({ folder }) => everywhere.has(folder)).flatMap((one) =>
      publicModules(one).filter((file) => !file.includes("/src/node/") && !onNode.includes(file))
    )
  )
  for (const file of reached) {
    for (const arrow of values) {
      if (arrow.file !== file) continue
      const target = isRelative(arrow.specifier) ? targetOf(arrow) : entryFiles.get(arrow.specifier)
      if (target !== undefined) reached.add(target)
    }
  }
  return values.filter(({ file, specifier }) =>
    reached.has(file) && (isBuiltin(specifier) || packageOf(specifier) === "@effect/platform-node")
  ).map(({ file, line, specifier }) => ({
    file,
    line,
    message: `"${specifier}" needs Node, and a module for every platform leads to it`
  }))
}

/** An import as a way from one place to another: from a file, or from a room. */
interface Way {
  readonly arrow: Arrow
  readonly from: string
  readonly to: string
}

/** Finds cycles depth-first: a way to a place on the current path closes a cycle. */
const cyclesOf = (ways: ReadonlyArray<Way>, kind: string): ReadonlyArray<Violation> => {
  const found: Array<Violation> = []
  const walked = new Set<string>()
  const walk = (place: string, trail: ReadonlyArray<string>): void => {
    walked.add(place)
    const path = [...trail, place]
    for (const { arrow: { file, line }, to } of ways.filter(({ from }) => from === place)) {
      const start = path.indexOf(to)
      if (start >= 0) {
        const names = path.slice(start).concat(to).map((name) => name.slice(name.lastIndexOf("/") + 1))
        found.push({ file, line, message: `closes a cycle of ${kind}: ${names.join(" -> ")}` })
      } else if (!walked.has(to)) {
        walk(to, path)
      }
    }
  }
  for (const { from } of ways) {
    if (!walked.has(from)) walk(from, [])
  }
  return found
}

/** Finds cycles of files. Type imports count as well. */
const fileCycles = (all: ReadonlyArray<Arrow>): ReadonlyArray<Violation> =>
  cyclesOf(
    all.filter(({ specifier }) => isRelative(specifier)).map((arrow) => ({
      arrow,
      from: arrow.file,
      to: targetOf(arrow)
    })),
    "files"
  )

/**
 * Returns the room of a file: its folder below `src/internal`, or the folder of a private package or of a program in
 * `src`. Any other file, such as a public module, is a room of its own.
 */
const roomOf = ({ folder, manifest }: Package, file: string): string => {
  const source = `packages/${folder}/src`
  const inSource = path.posix.relative(source, file).split("/")
  if (inSource[0] === "internal") return inSource.length > 2 ? path.posix.dirname(file) : file
  return (manifest.private === true || manifest.bin !== undefined) && inSource.length > 1
    ? `${source}/${inSource[0]}`
    : file
}

/**
 * Finds cycles of rooms. If a package has none, its rooms have an order in which all imports lead downwards. A public
 * module may show the type of an internal module that is built on it.
 */
const roomCycles = (all: ReadonlyArray<Arrow>): ReadonlyArray<Violation> => {
  const ways = all.filter(({ specifier }) => isRelative(specifier)).map((arrow): Way => ({
    arrow,
    from: roomOf(arrow.from, arrow.file),
    to: roomOf(arrow.from, targetOf(arrow))
  }))
  const isShown = ({ arrow, to }: Way): boolean =>
    arrow.isType && !arrow.file.includes("/internal/") && to.includes("/internal/")
  return cyclesOf(ways.filter((way) => way.from !== way.to && !isShown(way)), "rooms")
}

const separationFaults = (all: ReadonlyArray<Arrow>): ReadonlyArray<Violation> =>
  all.flatMap((arrow) => {
    const target = isRelative(arrow.specifier) ? targetOf(arrow) : arrow.specifier
    return separations.filter(({ from, to }) =>
      from.some((pattern) => covers(pattern, arrow.file)) && to.some((pattern) => covers(pattern, target))
    ).map(({ rule }) => ({ file: arrow.file, line: arrow.line, message: `"${arrow.specifier}": ${rule}` }))
  })

/** Returns the folder of a file below `src/internal`, or `src` for a public module. */
const sourceFolderOf = (file: string): string => /\/src\/internal\/(.*)\/[^/]*$/.exec(file)?.[1] ?? "src"

/** Describes the imports between the folders of a package; `undefined` if it has only one folder. */
const folderImports = (one: Package, all: ReadonlyArray<Arrow>): string | undefined => {
  const folders = new Set(one.sources.map(sourceFolderOf))
  if (folders.size < 3) return undefined
  const crossing = all.filter((arrow) =>
    arrow.from === one && isRelative(arrow.specifier) && sourceFolderOf(arrow.file) !== sourceFolderOf(targetOf(arrow))
  )
  const between = new Set(
    crossing.map((arrow) => `${sourceFolderOf(arrow.file)} -> ${sourceFolderOf(targetOf(arrow))}`)
  )
  return `${one.folder}: ${crossing.length} imports along ${between.size} arrows between ${folders.size} folders`
}

const unplaced = packages.filter(({ folder }) => arrows[folder] === undefined).map(({ folder, manifestFile }) => ({
  file: manifestFile,
  line: 1,
  message: `${folder} has no row in the table of arrows`
}))

/** Finds the places in the tables that no source file has, so that a moved folder does not leave its rule. */
const absentPlaces = (): ReadonlyArray<Violation> => {
  const places = new Set([
    ...separations.flatMap(({ from, to }) => [...from, ...to]),
    ...Object.values(adapters).flat(),
    ...onNode,
    ...Object.values(foreign)
  ])
  const sources = packages.flatMap((one) => one.sources)
  return Array.from(places)
    .filter((place) => place.startsWith("packages/") && !sources.some((file) => covers(place, file)))
    .map((place) => ({ file: "scripts/arrows.ts", line: 1, message: `a table names ${place}, which covers no file` }))
}

const all: ReadonlyArray<Arrow> = packages.flatMap((from) =>
  from.sources.flatMap((file) => parse(file, read(file)).imports.map((one) => ({ ...one, from, file })))
)
const violations = [
  ...unplaced,
  ...absentPlaces(),
  ...importFaults(all),
  ...packages.flatMap((one) => [...manifestFaults(one, all), ...optionalFaults(one, all)]),
  ...separationFaults(all),
  ...platformFaults(all),
  ...fileCycles(all),
  ...roomCycles(all)
]

for (const { file, line, message } of violations) {
  console.log(`${file}:${line} ${message}`)
}
if (violations.length > 0) {
  process.exitCode = 1
} else {
  const modules = packages.flatMap(({ sources }) => sources).length
  console.log(`${all.length} imports in ${modules} modules of ${packages.length} packages lead downwards`)
  for (const one of packages) {
    const description = folderImports(one, all)
    if (description !== undefined) console.log(description)
  }
}
