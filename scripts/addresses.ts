/** The addresses of the project. Manifests, READMEs of packages and pages take them from here. */

/** The repository, as a page. */
export const repository = "https://github.com/effect-mcp/effect-mcp"

/** The page of a file or folder of the repository, without the path. */
export const pageOfFile = `${repository}/tree/main/`

/** The documentation site, with a slash at the end. Its path is the prefix of all addresses in it. */
export const site = "https://effect-mcp.github.io/effect-mcp/"

/** The place where problems are reported. */
export const issues = `${repository}/issues`

/** The author of all packages. */
export const author = "Effect MCP contributors"
