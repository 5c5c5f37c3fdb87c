/** A copy of this workspace, which commands may change. */
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { root } from "./workspace.ts"

/** Copies the files of the workspace to an empty folder, as they are now. What git ignores is not copied. */
export const copyTo = (folder: string): void => {
  const args = ["ls-files", "--cached", "--others", "--exclude-standard"]
  const listed = execFileSync("git", args, { cwd: root, encoding: "utf8", maxBuffer: 64 * 1024 ** 2 })
  for (const file of listed.trim().split("\n")) {
    // Git lists a file that is deleted and not committed.
    if (!fs.existsSync(path.join(root, file))) continue
    fs.mkdirSync(path.join(folder, path.dirname(file)), { recursive: true })
    fs.copyFileSync(path.join(root, file), path.join(folder, file))
  }
}
