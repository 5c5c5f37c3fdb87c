export { ofPeers as default } from "./vitest.workspace.ts"
