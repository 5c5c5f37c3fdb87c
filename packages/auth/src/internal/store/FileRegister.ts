/**
 * A text in a folder, which several processes read, and replace if it is the one that they have read.
 */
import { webCrypto } from "@effect-mcp/session/internal"
import * as fs from "node:fs/promises"
import * as path from "node:path"

/**
 * Each text is a file `<name>.<number>`. A process writes another file, and then links it to the next number, which
 * fails if another process has done so: this is the comparison, and it needs no lock that a killed process could leave.
 * A text is complete as soon as its name exists.
 *
 * A text that was replaced is emptied, because it had secrets. Its name stays for a time, so that a process which has
 * been suspended since it read the text cannot take the number again.
 */
export interface Numbered {
  readonly number: number
  readonly text: string
}

/** The time for which the name of a replaced text stays, in milliseconds. */
const reservedMillis = 60_000

/** The number of times that a text is read while others replace it. */
const maxReads = 100

const codeOf = (error: unknown): unknown =>
  typeof error === "object" && error !== null && "code" in error ? error.code : undefined

/** Runs an operation. Returns `undefined` if its file does not exist. */
const ifExists = async <A>(operation: Promise<A>): Promise<A | undefined> => {
  try {
    return await operation
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined
    throw error
  }
}

const namesIn = async (folder: string): Promise<ReadonlyArray<string>> => await ifExists(fs.readdir(folder)) ?? []

/** The time since a process has read a text, also if the computer was suspended. */
const elapsed = (): () => number => {
  const [wall, monotonic] = [Date.now(), performance.now()]
  return () => Math.max(Date.now() - wall, performance.now() - monotonic)
}

export class FileRegister {
  readonly #folder: string
  readonly #name: string
  /** Whether a text survives a loss of power. */
  readonly #isDurable: boolean

  constructor(folder: string, name: string, { isDurable }: { readonly isDurable: boolean }) {
    this.#folder = folder
    this.#name = name
    this.#isDurable = isDurable
  }

  /** Returns the newest text. */
  async read(): Promise<Numbered | undefined> {
    for (let reads = 0; reads < maxReads; reads++) {
      const number = await this.#newest()
      if (number === 0) return undefined
      const text = await ifExists(fs.readFile(this.#fileOf(number), "utf8"))
      // A text that is replaced meanwhile is emptied.
      if (text !== undefined && text !== "") return { number, text }
      if (text === "" && await this.#newest() === number) return { number, text }
    }
    throw new Error(`other processes replace ${this.#fileOf(0)} all the time`)
  }

  /**
   * Replaces the text if `decide` returns another one for the newest text. Returns false if another process was
   * faster, and nothing was written.
   */
  async replace(decide: (newest: Numbered | undefined) => Promise<string | undefined>): Promise<boolean> {
    const elapsedMillis = elapsed()
    const newest = await this.read()
    const text = await decide(newest)
    if (text === undefined) return true
    const next = (newest?.number ?? 0) + 1
    const written = path.join(this.#folder, `.${webCrypto.randomUUID()}`)
    try {
      await this.#write(written, text)
      await fs.link(written, this.#fileOf(next))
    } catch (error) {
      if (codeOf(error) === "EEXIST") return false
      throw error
    } finally {
      await ifExists(fs.unlink(written))
    }
    if (await this.#newest() !== next && elapsedMillis() >= reservedMillis / 2) {
      throw new Error(`the process was suspended while it wrote ${this.#fileOf(next)}`)
    }
    if (this.#isDurable) await this.#sync()
    await this.#clean()
    return true
  }

  #fileOf(number: number): string {
    return path.join(this.#folder, `${this.#name}.${number}`)
  }

  /** Returns the number in a name, or 0. */
  #numberOf(name: string): number {
    const [text = "", digits = "", ...rest] = name.split(".")
    return text === this.#name && rest.length === 0 && /^[1-9]\d{0,14}$/.test(digits) ? Number(digits) : 0
  }

  async #newest(): Promise<number> {
    return Math.max(0, ...(await namesIn(this.#folder)).map((name) => this.#numberOf(name)))
  }

  async #write(file: string, text: string): Promise<void> {
    const handle = await fs.open(file, "wx", 0o600)
    try {
      await handle.writeFile(text)
      if (this.#isDurable) await handle.sync()
    } finally {
      await handle.close()
    }
  }

  /** Makes the names in the folder durable. Windows has no such operation, and does not need it. */
  async #sync(): Promise<void> {
    if (process.platform === "win32") return
    const handle = await fs.open(this.#folder, "r")
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
  }

  /** Empties replaced texts, and deletes what is no longer reserved. The next write does what fails here. */
  async #clean(): Promise<void> {
    try {
      const newest = await this.#newest()
      for (const name of await namesIn(this.#folder)) {
        const number = this.#numberOf(name)
        const isReplaced = number !== 0 && number < newest
        if (!isReplaced && !name.startsWith(".")) continue
        const file = path.join(this.#folder, name)
        const { mtimeMs, size } = await fs.stat(file)
        if (isReplaced && size > 0) await fs.truncate(file)
        else if (Date.now() - mtimeMs > reservedMillis) await fs.unlink(file)
      }
    } catch {
      // Another process may have deleted it.
    }
  }
}
