export { ofLibrary as default } from "./vitest.workspace.ts"
