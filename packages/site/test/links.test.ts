import { assert, describe, it } from "@effect/vitest"
import { pageOfFile } from "../../../scripts/addresses.ts"
import { DeadLinkError, withSiteLinks } from "../src/links.ts"

const places = {
  pageOf: (file: string) =>
    new Map([["docs/serve.md", "serve.md"], ["packages/server", "reference/server/index.md"]]).get(file),
  exists: (file: string) => file === "REQUIREMENTS.md",
  linkTo: (page: string) => `./${page}`
}

const linksOf = (text: string): string => withSiteLinks("docs/connect.md", text, places)

describe("links of pages in the site", () => {
  it("a link to a page leads to the page, with its anchor", () => {
    assert.strictEqual(linksOf("see [stdio](serve.md#stdio)"), "see [stdio](./serve.md#stdio)")
  })

  it("an absolute address of the repository leads to the page as well", () => {
    assert.strictEqual(linksOf(`[server](${pageOfFile}packages/server)`), "[server](./reference/server/index.md)")
  })

  it("a file without a page leads to the repository", () => {
    assert.strictEqual(linksOf("[rules](../REQUIREMENTS.md)"), `[rules](${pageOfFile}REQUIREMENTS.md)`)
    assert.strictEqual(linksOf("\n[INIT-10]: ../REQUIREMENTS.md\n"), `\n[INIT-10]: ${pageOfFile}REQUIREMENTS.md\n`)
  })

  it("other addresses and anchors of the page stay", () => {
    const text = "[Effect](https://effect.website) [above](#above)"
    assert.strictEqual(linksOf(text), text)
  })

  it("a link to a file that does not exist fails and names both", () => {
    assert.throws(() => linksOf("[gone](gone.md)"), DeadLinkError, "docs/connect.md links to gone.md")
  })

  it("code stays as it is, and links after code change", () => {
    const block = "```ts\nconst link = \"[gone](gone.md)\"\n```\n"
    assert.strictEqual(
      linksOf(`${block}\`a\` [x](serve.md) \`b\`, \`[gone](gone.md)\``),
      `${block}\`a\` [x](./serve.md) \`b\`, \`[gone](gone.md)\``
    )
  })
})
