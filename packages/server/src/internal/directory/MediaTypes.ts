/** The media types of files, by their extensions. A short table: other files are text or bytes by their contents. */

const textual: { readonly [extension: string]: string } = {
  css: "text/css",
  csv: "text/csv",
  htm: "text/html",
  html: "text/html",
  js: "text/javascript",
  json: "application/json",
  jsonl: "application/jsonl",
  md: "text/markdown",
  mjs: "text/javascript",
  svg: "image/svg+xml",
  toml: "application/toml",
  tsv: "text/tab-separated-values",
  txt: "text/plain",
  xml: "application/xml",
  yaml: "application/yaml",
  yml: "application/yaml"
}

const binary: { readonly [extension: string]: string } = {
  avif: "image/avif",
  bmp: "image/bmp",
  gif: "image/gif",
  gz: "application/gzip",
  ico: "image/vnd.microsoft.icon",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  mp3: "audio/mpeg",
  mp4: "video/mp4",
  ogg: "audio/ogg",
  pdf: "application/pdf",
  png: "image/png",
  wasm: "application/wasm",
  wav: "audio/wav",
  webm: "video/webm",
  webp: "image/webp",
  zip: "application/zip"
}

const find = (table: { readonly [extension: string]: string }, name: string): string | undefined => {
  const extension = name.slice(name.lastIndexOf(".") + 1).toLowerCase()
  return name.includes(".") && Object.hasOwn(table, extension) ? table[extension] : undefined
}

/** Returns the media type of a file with this name. `undefined` if the extension is not in the table. */
export const ofName = (name: string): string | undefined => find(textual, name) ?? find(binary, name)

/** Returns whether the contents of a file with this name are never text, even if they happen to be valid UTF-8. */
export const isBinary = (name: string): boolean => find(binary, name) !== undefined
