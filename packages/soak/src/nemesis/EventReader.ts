/** A reader of event streams, after the text of the HTML standard, without the library. */
import { StringDecoder } from "node:string_decoder"

export interface Read {
  /** The id that the event itself has. */
  readonly id: string | undefined
  readonly data: string
}

/** Reads the events of one response. An event that is cut off at its end does not count. */
export class EventReader {
  readonly #decoder = new StringDecoder("utf8")
  #rest = ""
  #data: Array<string> = []
  #id: string | undefined
  #hasFields = false

  /** Returns the events that end within these bytes. An event without data has the empty text. */
  read(bytes: Buffer): Array<Read> {
    const lines = (this.#rest + this.#decoder.write(bytes)).split("\n")
    this.#rest = lines.pop() ?? ""
    return lines.flatMap((line) => this.#line(line.replace(/\r$/, "")))
  }

  #line(line: string): Array<Read> {
    if (line === "") {
      const events = this.#hasFields ? [{ id: this.#id, data: this.#data.join("\n") }] : []
      this.#data = []
      this.#id = undefined
      this.#hasFields = false
      return events
    }
    const [, name = "", value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    if (name === "data") {
      this.#data.push(value)
      this.#hasFields = true
    } else if (name === "id") {
      this.#id = value
      this.#hasFields = true
    }
    return []
  }
}
