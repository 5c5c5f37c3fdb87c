/** A project beside the packages, in which they resolve as they do for users, to their declarations. */
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { root } from "./workspace.ts"

/** A project in a folder of its own. */
export interface UserProject {
  /** The name of the folder. */
  readonly folder: string
  /** Writes a file, and returns its absolute path. */
  readonly write: (name: string, text: string) => string
  /** Type-checks files, and returns the lines that the compiler prints. `options` precede those of the project. */
  readonly compile: (
    files: ReadonlyArray<string>,
    options?: Readonly<Record<string, boolean>>
  ) => Promise<ReadonlyArray<string>>
  /** Type-checks files, and returns the number of type instantiations. Fails with the compiler's errors. */
  readonly instantiations: (files: ReadonlyArray<string>) => Promise<number>
  readonly remove: () => void
}

/** Writes the declarations of the public packages, unless they are those of the sources. Fails with the errors. */
const declare = (): Promise<void> =>
  new Promise((resolve, reject) => {
    const args = [path.join(root, "scripts", "compiler.ts"), "-b", "tsconfig.build.json", "--pretty", "false"]
    execFile(process.execPath, args, { cwd: root, encoding: "utf8" }, (error, stdout) => {
      if (error === null) resolve()
      else reject(new Error(stdout.trimEnd() || error.message))
    })
  })

let declared: Promise<void> | undefined

/**
 * Creates a project. Git and the other tools ignore its folder, which is not in `node_modules`, because Node runs no
 * TypeScript there.
 */
export const make = (): UserProject => {
  const folder = path.basename(fs.mkdtempSync(path.join(root, ".examples-")))
  const write = (name: string, text: string): string => {
    const file = path.join(root, folder, name)
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, text)
    return file
  }
  write("package.json", JSON.stringify({ type: "module" }))
  const check = async (
    files: ReadonlyArray<string>,
    compilerOptions: Readonly<Record<string, boolean>>
  ): Promise<{ readonly failed: boolean; readonly text: string }> => {
    write(
      "tsconfig.json",
      JSON.stringify({
        extends: "../tsconfig.base.json",
        files,
        // The compiler then reads the declarations of the packages, and does not check their sources again.
        references: [{ path: "../tsconfig.build.json" }],
        compilerOptions: {
          rootDir: "..",
          noEmit: true,
          composite: false,
          incremental: false,
          types: ["node"],
          ...compilerOptions
        }
      })
    )
    const compiler = path.join("node_modules", "typescript", "bin", "tsc")
    const options = { cwd: root, encoding: "utf8", maxBuffer: Infinity } as const
    await (declared ??= declare())
    return new Promise((resolve) => {
      execFile(process.execPath, [compiler, "-p", folder, "--pretty", "false"], options, (error, stdout, stderr) => {
        resolve({ failed: error !== null, text: (stdout + stderr).trimEnd() || (error?.message ?? "") })
      })
    })
  }
  return {
    folder,
    write,
    compile: async (files, options = {}) => {
      const { failed, text } = await check(files, options)
      return failed ? text.split("\n") : []
    },
    instantiations: async (files) => {
      const { failed, text } = await check(files, { extendedDiagnostics: true })
      const [, count] = /^Instantiations:\s+(\d+)$/m.exec(text) ?? []
      if (failed || count === undefined) throw new Error(text)
      return Number(count)
    },
    remove: () => fs.rmSync(path.join(root, folder), { recursive: true })
  }
}
