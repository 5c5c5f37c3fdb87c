/** The rules of the check of language, each on a text that breaks it. */
import { assert, describe, it } from "@effect/vitest"
import { covers } from "../../../scripts/language/exceptions.ts"
import { columns, findingsIn } from "../../../scripts/language/findings.ts"

const source = "packages/session/src/Example.ts"
const internal = "packages/session/src/internal/engine/Example.ts"

/** Returns the line and the rule of each finding. */
const found = (file: string, text: string) => findingsIn(file, text).map(({ line, rule }) => [line, rule])

// Assembled here, because the check reads this file as well.
const somebody = ["some", "body"].join("")
const behind = ["be", "hind"].join("")

describe("the check of language", () => {
  it("reports lines of more than 120 columns, without addresses and tables", () => {
    const long = "x".repeat(columns + 1)
    assert.deepStrictEqual(found("README.md", `ok\n${long}`), [[2, "long-line"]])
    assert.deepStrictEqual(found(source, `// ${long}\nexport {}`), [[1, "long-line"]])
    assert.isEmpty(found("README.md", `| ${long} |\nhttps://example.com/${long}`))
    assert.deepStrictEqual(found("README.md", "```ts\n" + long + "\n```"), [[2, "long-line"]])
  })

  it("reports doc comments that begin with a pronoun, and no other comments", () => {
    for (const word of ["What", "Who", "Whoever", "How"]) {
      assert.include(found(source, `/** ${word} is done. */\nexport {}`).map(String), "1,doc-opening")
      assert.include(found(source, `/**\n * ${word} is done.\n */\nexport {}`).map(String), "2,doc-opening")
    }
    assert.isEmpty(found(source, "/** However it ends. */\n// What is done.\nexport {}"))
  })

  it("reports words that hide the actor, in comments, texts and pages", () => {
    assert.deepStrictEqual(found(source, `// ${somebody} sends\nexport {}`), [[1, "word"]])
    assert.deepStrictEqual(found(source, `export const a = "sent\\\n by ${somebody}"`), [[2, "word"]])
    assert.deepStrictEqual(found(source, `export const a = \`\${1} sent ${behind} it\``), [[1, "word"]])
    assert.deepStrictEqual(found("README.md", `It is sent ${behind} the reply.`), [[1, "word"]])
  })

  it("ignores these words as names and values", () => {
    assert.isEmpty(found(source, `export const ${somebody} = "${somebody}" // is \`${somebody}\``))
    assert.isEmpty(found(source, `export const pattern = /who ${somebody}/`))
  })

  it("reports internal files without a summary of one line", () => {
    assert.deepStrictEqual(found(internal, "export {}"), [[1, "file-header"]])
    assert.deepStrictEqual(found(internal, "/**\n * One\n * two.\n */\nexport {}"), [[1, "file-header"]])
    assert.isEmpty(found(internal, "/**\n * One.\n *\n * Two\n * three.\n */\nexport {}"))
    assert.isEmpty(found(internal, "/** One. */\nexport {}"))
  })

  it("covers only the quoted part of a line by an exception", () => {
    const [finding, other] = findingsIn("README.md", `It is ${behind} a proxy and ${behind} the reply.`)
    const exception = { row: "", line: 2, rule: "word", file: "*", text: `${behind} a proxy` }
    assert.isTrue(finding !== undefined && covers(exception, finding))
    assert.isFalse(other === undefined || covers(exception, other))
    assert.isFalse(finding === undefined || covers({ ...exception, file: "docs/*" }, finding))
  })
})
