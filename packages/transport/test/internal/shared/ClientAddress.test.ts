import { assert, it } from "@effect/vitest"
import * as ClientAddress from "../../../src/internal/shared/ClientAddress.ts"

it("an IPv4 address is one client, also if it is written as IPv6", () => {
  for (const address of ["192.0.2.1", "::ffff:192.0.2.1", "::FFFF:192.0.2.1"]) {
    assert.strictEqual(ClientAddress.normalize(address), "192.0.2.1")
  }
})

it("all addresses of an IPv6 network of 64 bits are one client", () => {
  const one = [
    "2001:db8:1:2::",
    "2001:db8:1:2::1",
    "2001:db8:1:2:3:4:5:6",
    "2001:db8:1:2:ffff::1",
    "2001:db8:1:2::1%eth0"
  ]
  for (const address of one) assert.strictEqual(ClientAddress.normalize(address), "2001:db8:1:2")
  assert.strictEqual(ClientAddress.normalize("::1"), "0:0:0:0")
  assert.strictEqual(ClientAddress.normalize("2001:db8::5:6"), "2001:db8:0:0")
  assert.strictEqual(ClientAddress.normalize("fe80::1"), "fe80:0:0:0")
})
