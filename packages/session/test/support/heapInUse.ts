/** The heap of this process. */
import * as v8 from "node:v8"
import * as vm from "node:vm"

/** Collects garbage, and returns the used heap in bytes. */
export const heapInUse = (): number => {
  v8.setFlagsFromString("--expose-gc")
  vm.runInNewContext("gc")()
  return process.memoryUsage().heapUsed
}
