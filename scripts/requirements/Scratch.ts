/**
 * Copies of the workspace in which mutants run: the tests of a copy, and the child processes that they start, load the
 * sources of the copy.
 */
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { setTimeout } from "node:timers/promises"
import { joinedFolder } from "../joinedProgram.ts"
import { root } from "../workspace.ts"
import { type Outcome, outcomeVariable, timeoutVariable } from "./Outcome.ts"

const excluded = new Set(["node_modules", ".git", "dist", "coverage"])

/** Returns whether a file is copied. The results of a package are not, but a folder of sources may have that name. */
const isCopied = (file: string): boolean =>
  !excluded.has(path.basename(file)) && !/^packages\/[^/]+\/results$/.test(path.relative(root, file))

/**
 * Copies the sources. Dependencies of the workspace are linked. The links between its packages are relative, so they
 * lead into the copy.
 */
const copy = (to: string): void => {
  fs.cpSync(root, to, { recursive: true, filter: isCopied })
  const links = fs.globSync("packages/*/node_modules", { cwd: root })
  for (const folder of links) {
    fs.cpSync(path.join(root, folder), path.join(to, folder), { recursive: true, verbatimSymlinks: true })
  }
  const ours = "@effect-mcp"
  fs.mkdirSync(path.join(to, "node_modules"))
  for (const name of fs.readdirSync(path.join(root, "node_modules"))) {
    const [from, link] = [path.join(root, "node_modules", name), path.join(to, "node_modules", name)]
    if (name === ours) fs.cpSync(from, link, { recursive: true, verbatimSymlinks: true })
    else if (!name.startsWith(".vite") && from !== joinedFolder) fs.symlinkSync(from, link)
  }
}

/**
 * Kills the processes that tests have left running, because a mutant may stop none of its processes. Works on Linux
 * only.
 */
const sweep = (folder: string): void => {
  for (const file of fs.globSync("/proc/[0-9]*/environ")) {
    try {
      if (fs.readFileSync(file, "utf8").includes(folder)) process.kill(Number(file.split("/")[2]), "SIGKILL")
    } catch {
      // The process has exited, or belongs to another user.
    }
  }
}

/** Settings of a run. */
export interface RunOptions {
  /** The test files to load. */
  readonly files: ReadonlyArray<string>
  /** A regular expression that matches the names of the tests to run. */
  readonly pattern: string
  /** The time limit of one test, in milliseconds. */
  readonly testTimeout: number
  /** The time limit of the run, in milliseconds. */
  readonly timeout: number
}

/** A copy of the workspace. */
export interface Scratch {
  readonly write: (file: string, text: string) => void
  /** Restores a file from the workspace. */
  readonly restore: (file: string) => void
  /** Runs tests in the copy. Returns `undefined` if they exceed the time limit. */
  readonly run: (options: RunOptions) => Promise<Outcome | undefined>
  readonly remove: () => void
}

/** Creates a copy. */
export const makeScratch = (): Scratch => {
  const folder = fs.mkdtempSync(path.join(fs.realpathSync(tmpdir()), "requirements-"))
  const outcomeFile = path.join(folder, "outcome.json")
  copy(path.join(folder, "workspace"))
  const within = (file: string): string => path.join(folder, "workspace", file)

  const run = async ({ files, pattern, testTimeout, timeout }: RunOptions): Promise<Outcome | undefined> => {
    fs.rmSync(outcomeFile, { force: true })
    const child = spawn(process.execPath, [
      within("node_modules/vitest/vitest.mjs"),
      "run",
      `--root=${within(".")}`,
      "--config=scripts/requirements/vitest.config.ts",
      `--reporter=${within("scripts/requirements/Outcome.ts")}`,
      "--maxWorkers=1",
      `--testNamePattern=${pattern}`,
      ...files.map(within)
    ], {
      cwd: within("."),
      detached: true,
      env: {
        ...process.env,
        [outcomeVariable]: outcomeFile,
        [timeoutVariable]: String(testTimeout),
        CI: "true",
        NO_COLOR: "1"
      },
      stdio: "ignore"
    })
    let running = true
    const exited = new Promise<void>((resolve) =>
      void child.once("close", () => {
        running = false
        resolve()
      })
    )
    const lapsed = new AbortController()
    // A mutant may leave a fiber running that keeps the process alive after its last test.
    const written = async () => {
      for await (const { filename } of fs.promises.watch(folder, { signal: lapsed.signal })) {
        if (filename === "outcome.json") return
      }
    }
    await Promise.race([exited, written().catch(() => {}), setTimeout(timeout, undefined, { signal: lapsed.signal })])
    lapsed.abort()
    const wasRunning = running
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL")
    } catch {
      // The whole process group has exited.
    }
    await exited
    sweep(folder)
    if (!fs.existsSync(outcomeFile)) {
      return wasRunning ? undefined : { tests: [], errors: ["vitest ended without a report"] }
    }
    const outcome: Outcome = JSON.parse(fs.readFileSync(outcomeFile, "utf8"))
    return outcome
  }

  return {
    write: (file, text) => fs.writeFileSync(within(file), text),
    restore: (file) => fs.copyFileSync(path.join(root, file), within(file)),
    run,
    remove: () => fs.rmSync(folder, { recursive: true, force: true })
  }
}
