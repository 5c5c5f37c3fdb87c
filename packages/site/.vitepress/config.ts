/** The configuration of VitePress. `src/build.ts` writes the pages that it reads. */
import * as fs from "node:fs"
import * as path from "node:path"
import { type DefaultTheme, defineConfig } from "vitepress"
import { pageOfFile, repository, site } from "../../../scripts/addresses.ts"
import { anchorOf } from "../../../scripts/anchors.ts"
import { libraries } from "../../../scripts/workspace.ts"
import { draw } from "../src/diagrams.ts"
import { reference } from "../src/navigation.ts"
import { addressOf, built, groups, modulesOf, output, pageOfPackage, stage } from "../src/places.ts"

const root = path.dirname(import.meta.dirname)
const base = new URL(site).pathname

const link = (page: string): string => `/${addressOf(page)}`

const guides: Array<DefaultTheme.SidebarItem> = groups.map(({ pages, title }) => ({
  text: title,
  // A closed group is open on its own pages.
  collapsed: title !== "Start",
  items: [
    ...title === reference ? [{ text: "Packages and modules", link: "/reference/" }] : [],
    ...pages.map((page) => ({ text: page.title, link: link(page.page) }))
  ]
}))

const modules: Array<DefaultTheme.SidebarItem> = [
  { text: "Guides", link: link(groups[1]?.pages[0]?.page ?? "") },
  ...libraries.map((one) => ({
    text: one.manifest.name,
    link: link(pageOfPackage(one.folder)),
    collapsed: true,
    items: modulesOf(one).map(({ page, specifier }) => ({
      text: specifier.slice(one.manifest.name.length + 1),
      link: link(page)
    }))
  }))
]

/** The jobs that the bar at the top names. */
const inBar: ReadonlySet<string> = new Set(["Start", "Servers", "Serving", "Clients and agents", "Testing"])

export default defineConfig({
  title: "Effect MCP",
  description: "Servers and clients of the Model Context Protocol for programs written with Effect",
  lang: "en",
  base,
  srcDir: path.relative(root, stage),
  outDir: path.relative(root, output),
  cacheDir: path.relative(root, path.join(built, "cache")),
  cleanUrls: true,
  head: [
    // A browser refuses everything that comes from another host.
    ["meta", {
      "http-equiv": "Content-Security-Policy",
      content: "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; " +
        "img-src 'self' data:"
    }],
    ["style", {}, fs.readFileSync(path.join(root, "src/site.css"), "utf8")]
  ],
  transformHead: ({ page }) =>
    page.startsWith("reference/") || page === "404.md"
      ? []
      : [["link", { rel: "alternate", type: "text/markdown", href: `${base}${page}` }]],
  // Otherwise a page loads all pages that it links to.
  router: { prefetchLinks: false },
  // The index of the search is larger than other files. Only a reader who searches loads it.
  vite: { build: { chunkSizeWarningLimit: 1000 } },
  markdown: {
    // The pages link to headings as GitHub derives their anchors.
    anchor: { slugify: anchorOf },
    toc: { slugify: anchorOf },
    headers: { slugify: anchorOf },
    // Shiki has no grammar of these.
    languageAlias: { caddyfile: "nginx", haproxy: "apache" },
    config: (md) => {
      const fence = md.renderer.rules.fence
      md.renderer.rules.fence = (tokens, index, options, env, self) => {
        const token = tokens[index]
        if (token?.info.trim() === "mermaid") {
          // Vue leaves out styles that are elements of a page.
          return `<figure class="diagram" v-html="${
            md.utils.escapeHtml(JSON.stringify(draw(token.content)))
          }"></figure>\n`
        }
        const code = fence?.(tokens, index, options, env, self) ?? ""
        const file = /^\s*\w+\s+(\S+\.\w+)/.exec(token?.info ?? "")?.[1]
        return file === undefined
          ? code
          : `<div class="quotation"><a href="${pageOfFile}${file}" target="_blank" rel="noreferrer">${file}</a>${code}</div>`
      }
    }
  },
  themeConfig: {
    outline: { level: [2, 3] },
    nav: [
      ...groups.filter(({ title }) => inBar.has(title)).map(({ pages, title }) => ({
        text: title,
        items: pages.map((page) => ({ text: page.title, link: link(page.page) }))
      })),
      { text: "Reference", link: "/reference/", activeMatch: "/reference/" }
    ],
    sidebar: { "/": guides, "/reference/": modules },
    socialLinks: [{ icon: "github", link: repository }],
    editLink: { pattern: `${repository}/edit/main/docs/:path`, text: "Edit this page" },
    search: {
      provider: "local",
      options: {
        // The modules of the reference would make the index too large to load, and hide the guides. The READMEs of
        // its packages are in the index.
        _render: (source, env, md) =>
          /^reference\/.+\/(?!index\.md)/.test(env.relativePath)
            ? ""
            : md.render(source.replace(/^## All modules\n[\s\S]*/m, ""), env)
      }
    },
    footer: { message: "MIT licence" }
  }
})
