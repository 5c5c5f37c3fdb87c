/** Places in the sources: what moving and formatting leave as it is, and what is found again. */
import { assert, describe, it } from "@effect/vitest"
import { Places } from "../../../scripts/places.ts"
import { tokensOf } from "../../../scripts/tokens.ts"

const sender = `
export class Sender {
  #abandon(exchange: Exchange) {
    // A cancelled exchange stays cancelled.
    if (exchange.outcome === "Answered" || this.#isCancelled(exchange)) return
    this.#outbox.withdraw(exchange)
  }

  send(exchange: Exchange) {
    return this.#isCancelled(exchange) ? undefined : make(exchange)
  }
}

const make = (exchange: Exchange) => {
  const end = () => exchange.end()
  return { end, close: () => { exchange.end() } }
}
`

const withSender = (text: string, file = "packages/session/src/internal/Sender.ts") => new Places([{ file, text }])

/** Returns the text of a place, or the reason why it has none. */
const textAt = (places: Places, text: string, at: string, original: string) => {
  const found = places.find({ at, original })
  return "fault" in found ? found.fault : text.slice(found.start, found.end)
}

const find = (at: string, original: string, text = sender) => textAt(withSender(text), text, at, original)

describe("a place", () => {
  it("is a piece of code in a member of a class, a function, or a function in it", () => {
    for (const at of ["Sender.#abandon", "Sender.Sender.#abandon"]) {
      assert.strictEqual(find(at, "this.#isCancelled(exchange)"), "this.#isCancelled(exchange)")
    }
    assert.strictEqual(find("Sender.make", "const end"), "const end")
    assert.strictEqual(find("Sender.make.close", "exchange.end()"), "exchange.end()")
    assert.strictEqual(find("Sender.close", "exchange.end()"), "exchange.end()")
    assert.strictEqual(find("Sender", "make(exchange)"), "make(exchange)")
  })

  it("does not depend on the layout, on comments and on the folder", () => {
    const text = sender.replace("if (exchange.outcome === \"Answered\" ||", (line) => `${line} // or\n      /* then */`)
    const file = "packages/client/src/Sender.ts"
    const original = "exchange.outcome === \"Answered\"  ||\n this.#isCancelled( exchange )"
    assert.include(textAt(withSender(text, file), text, "Sender.#abandon", original), "/* then */ this.#isCancelled")
  })

  it("consists of whole tokens", () => {
    assert.match(find("Sender.#abandon", "exchange.outcome ="), /^its original text occurs 0 times/)
    assert.match(find("Sender.#abandon", "isCancelled"), /^its original text occurs 0 times/)
    assert.match(find("Sender.#abandon", "stays cancelled"), /^its original text occurs 0 times/)
  })

  it("is in no other declaration, and occurs once", () => {
    assert.match(find("Sender.send", "this.#outbox"), /occurs 0 times in Sender\.send/)
    assert.match(find("Sender.Sender", "this.#isCancelled(exchange)"), /occurs 2 times in Sender\.Sender/)
    assert.match(find("Sender.make", "exchange.end()"), /occurs 2 times/)
    assert.strictEqual(find("Sender.give", "x"), "Sender.ts declares no give")
    assert.strictEqual(find("Receiver.send", "x"), "no source file is named Receiver.ts")
    assert.strictEqual(find("Sender.send", " // nothing"), "its original text is empty")
  })

  it("is replaced without the space around it", () => {
    const places = withSender(sender)
    const found = places.find({ at: "Sender.#abandon", original: "this.#outbox.withdraw(exchange)" })
    assert.isFalse("fault" in found)
    if (!("fault" in found)) assert.strictEqual(places.replace(found, "x"), sender.replace(/this.#outbox.*/, "x"))
  })
})

describe("a place that is not found", () => {
  const receiver = { file: "packages/client/src/Receiver.ts", text: "export const take = () => this.#outbox.take()" }
  const anchor = (at: string, original: string, text = sender) =>
    new Places([{ file: "packages/session/src/Sender.ts", text }, receiver]).anchor({ at, original })?.at

  it("is where the piece occurs: in another module, or in a declaration with another name", () => {
    assert.strictEqual(anchor("Outbox.send", "this.#outbox.withdraw"), "Sender.#abandon")
    assert.strictEqual(anchor("Sender.take", "this.#outbox.take"), "Receiver.take")
    assert.strictEqual(anchor("Sender.create", "const end"), "Sender.make")
  })

  it("is in the declaration with the same name, or in the same module, if the piece occurs several times", () => {
    assert.strictEqual(anchor("Exchange.send", "this.#isCancelled(exchange)"), "Sender.send")
    assert.strictEqual(anchor("Receiver.get", "this.#outbox"), "Receiver.take")
    assert.isUndefined(anchor("Exchange.end", "this.#isCancelled(exchange)"))
    assert.isUndefined(anchor("Sender.send", "this.#inbox"))
  })
})

describe("tokens", () => {
  const texts = (text: string) => tokensOf(text).map((token) => token.text)

  it("are whole strings, templates, expressions, numbers and names", () => {
    assert.deepStrictEqual(texts("a.#b ??= 'x // y' + \"\\\"\""), ["a", ".", "#b", "??=", "'x // y'", "+", "\"\\\"\""])
    assert.deepStrictEqual(texts("`a ${{ b: `c` }} d`/1.5e3"), [
      "`a ${",
      "{",
      "b",
      ":",
      "`c`",
      "}",
      "} d`",
      "/",
      "1.5e3"
    ])
    assert.deepStrictEqual(texts("index / 2 / x"), ["index", "/", "2", "/", "x"])
    assert.deepStrictEqual(texts("return /[/\"]/g.test(a) /* b */"), ["return", "/[/\"]/g", ".", "test", "(", "a", ")"])
    assert.deepStrictEqual(texts("Map<A, Set<B>> => a >= b"), [
      "Map",
      "<",
      "A",
      ",",
      "Set",
      "<",
      "B",
      ">",
      ">",
      "=>",
      "a",
      ">",
      "=",
      "b"
    ])
  })

  it("are those of a part of a module, too", () => {
    assert.deepStrictEqual(texts("} else `${"), ["}", "else", "`${"])
    assert.deepStrictEqual(texts("\"a"), ["\"", "a"])
  })
})
