/** Parts of this package that other packages of this project use. They change without notice. */
export { Forwarder, ForwardError } from "./internal/http/server/forwarding/Forwarder.ts"
