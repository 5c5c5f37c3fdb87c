import { assert, describe, it } from "@effect/vitest"
import { deadLinks, foreignLoads } from "../src/built.ts"

const page = (text: string, file = "serve.html") => ({ file, text })

describe("the check of hosts", () => {
  it.for([
    "<script src=\"https://cdn.example/app.js\"></script>",
    "<script async src=//cdn.example/app.js></script>",
    "<img alt=\"\" src=\"https://cdn.example/a.svg\">",
    "<link rel=\"stylesheet\" href=\"https://cdn.example/a.css\">",
    "<style>@font-face { src: url('https://cdn.example/a.woff2') }</style>",
    "<style>@import \"https://cdn.example/a.css\";</style>",
    "<script>fetch(\"https://cdn.example/count\")</script>"
  ])("finds %s", (text) => {
    assert.lengthOf(foreignLoads([page(text)]), 1)
  })

  it("accepts own files and links that a reader follows", () => {
    const text = "<script src=\"/effect-mcp/a.js\"></script><a href=\"https://effect.website\">Effect</a>"
    assert.deepStrictEqual(foreignLoads([page(text)]), [])
  })
})

describe("the check of links", () => {
  const other = page("<h2 id=\"stdio\">", "design/http.html")
  const deadIn = (href: string) => deadLinks([page(`<a href="${href}">`), other], "/effect-mcp/", () => false)

  it("accepts pages and headings that exist", () => {
    for (
      const href of ["./design/http#stdio", "/effect-mcp/design/http", "/effect-mcp/serve", "https://effect.website"]
    ) {
      assert.deepStrictEqual(deadIn(href), [])
    }
  })

  it.for(["./design/htp", "./design/http#stdoi", "#here", "/serve"])("finds %s", (href) => {
    assert.lengthOf(deadIn(href), 1)
  })
})
