/** This package, as the process has loaded it. `node scripts/manifests.ts --update` writes the version. */
import { LoadedPackages } from "@effect-mcp/protocol/internal"

export const thisPackage: LoadedPackages.LoadedPackages = LoadedPackages.register(
  "@effect-mcp/cluster",
  "0.0.0",
  new Error()
)
