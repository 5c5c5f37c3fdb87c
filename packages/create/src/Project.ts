/** The files of a project, which are written all or not at all. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { randomUUID } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import * as ArchivedName from "./ArchivedName.ts"
import * as PackageManager from "./PackageManager.ts"
import * as PackageName from "./PackageName.ts"
import type * as Template from "./Template.ts"

/** The error of a place where no project can be created. Nothing in it was changed. */
export class OccupiedError extends Data.TaggedError("OccupiedError")<{
  readonly folder: string
  readonly problem: string
}> {
  override get message() {
    return `${this.folder} ${this.problem}; name a folder that does not exist, or an empty one`
  }
}

/** The error of a project that could not be written. Nothing of it is left. */
export class NotWrittenError extends Data.TaggedError("NotWrittenError")<{
  readonly folder: string
  readonly cause: unknown
}> {
  override get message() {
    return `${this.folder} cannot be created: ${this.cause instanceof Error ? this.cause.message : String(this.cause)}`
  }
}

export interface Options {
  /** The folder of the project, relative to `from`. */
  readonly folder: string
  readonly from: string
  /** The name in `package.json`. */
  readonly name: string
  readonly template: Template.Template
  readonly packageManager: PackageManager.Name
  /** The folder of all templates. */
  readonly templates: string
}

/** A project that was created. */
export interface Project {
  /** The absolute path. */
  readonly folder: string
}

/** A file of a project. The path is relative to its folder. */
interface File {
  readonly path: string
  readonly text: string
}

/**
 * Returns a page of a template with the name of the project. Hosts and other services know the project by its name
 * without the scope.
 */
const named = (page: string, name: string): string =>
  page.replaceAll(/(@scope\/)?my-project/g, (_, scope) => scope === undefined ? PackageName.withoutScope(name) : name)

/** Returns a file of a template as a project has it: with its own name, and with the name of the project. */
const inProject = ({ path: archived, text }: File, name: string): File => {
  const file = path.join(path.dirname(archived), ArchivedName.originalOf(path.basename(archived)))
  return {
    path: file,
    text: file === "package.json"
      ? `${JSON.stringify({ ...JSON.parse(text), name }, null, 2)}\n`
      : file === "README.md"
      ? named(text, name)
      : text
  }
}

/** Returns the files below a folder. Yarn runs this program inside of its archive, where `recursive` is ignored. */
const filesIn = (folder: string): ReadonlyArray<string> =>
  fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const place = path.join(folder, entry.name)
    return entry.isDirectory() ? filesIn(place) : entry.isFile() ? [place] : []
  })

/** Returns the files of a project: those of its template, and the settings of its package manager. */
const filesOf = ({ name, packageManager, template, templates }: Options): ReadonlyArray<File> => {
  const folder = path.join(templates, template.name)
  const settings = PackageManager.settings[packageManager]
  return [
    ...filesIn(folder).map((file) =>
      inProject({ path: path.relative(folder, file), text: fs.readFileSync(file, "utf8") }, name)
    ),
    ...settings === undefined ? [] : [settings]
  ]
}

/** Runs a step that may throw. */
const attempt = <A>(folder: string, run: () => A): Effect.Effect<A, NotWrittenError> =>
  Effect.try({ try: run, catch: (cause) => new NotWrittenError({ folder, cause }) })

/** Returns the reason why a folder cannot become a project. Throws if it cannot be read. */
const problemOf = (folder: string): string | undefined => {
  const found = fs.lstatSync(folder, { throwIfNoEntry: false })
  if (found === undefined) return undefined
  if (found.isSymbolicLink()) return "is a symbolic link"
  if (!found.isDirectory()) return "is a file"
  return fs.readdirSync(folder).length === 0 ? undefined : "is not empty"
}

/** Fails if there is something at a place, other than an empty folder. */
export const isFree = Effect.fnUntraced(function*(
  folder: string
): Effect.fn.Return<void, OccupiedError | NotWrittenError> {
  const problem = yield* attempt(folder, () => problemOf(folder))
  if (problem !== undefined) return yield* new OccupiedError({ folder, problem })
})

/** Removes what was written, the last first. What another program has written meanwhile stays, with its folders. */
const removeAll = (steps: ReadonlyArray<() => void>): void => {
  for (const step of steps.toReversed()) {
    try {
      step()
    } catch {
      // Another program has written into a folder, or has removed a file: nothing of this one is left to remove.
    }
  }
}

/** Writes files into a folder, which is created with the folders above it. Returns how to remove all of it. */
const write = (folder: string, files: ReadonlyArray<File>): ReadonlyArray<() => void> => {
  const steps: Array<() => void> = []
  const create = (place: string): void => {
    if (fs.existsSync(place)) return
    create(path.dirname(place))
    fs.mkdirSync(place)
    steps.push(() => fs.rmdirSync(place))
  }
  try {
    for (const { path: file, text } of files) {
      const place = path.join(folder, file)
      create(path.dirname(place))
      // Fails on a file that another program has written meanwhile.
      fs.writeFileSync(place, text, { flag: "wx" })
      steps.push(() => fs.rmSync(place))
    }
    return steps
  } catch (error) {
    removeAll(steps)
    throw error
  }
}

/** Writes files into a folder that does not exist. The folder appears when it is complete. */
const appear = (folder: string, files: ReadonlyArray<File>): void => {
  const beside = path.join(path.dirname(folder), `.${path.basename(folder)}-${randomUUID()}`)
  const steps = write(beside, files)
  try {
    fs.renameSync(beside, folder)
  } catch (error) {
    removeAll(steps)
    throw error
  }
}

/** Creates a project. A folder that is not empty is left as it is. */
export const create = Effect.fnUntraced(function*(
  options: Options
): Effect.fn.Return<Project, OccupiedError | NotWrittenError> {
  const folder = path.resolve(options.from, options.folder)
  yield* isFree(folder)
  yield* attempt(folder, () => {
    const files = filesOf(options)
    if (fs.existsSync(folder)) write(folder, files)
    else appear(folder, files)
  })
  return { folder }
})
