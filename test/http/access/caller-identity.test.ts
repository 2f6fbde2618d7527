import { expect, test } from 'vitest'
import { addressIdentity } from '../../../src/http/access/caller-identity.ts'

test.each([
  ['127.0.0.1', 'address 127.0.0.1'],
  ['::ffff:192.0.2.7', 'address 192.0.2.7'],
  ['::1', 'address 0:0:0:0'],
  ['2001:db8:1:2:3:4:5:6', 'address 2001:db8:1:2'],
  ['2001:db8:1:2::9', 'address 2001:db8:1:2'],
  ['2001:db8::9', 'address 2001:db8:0:0'],
  ['fe80::1%eth0', 'address fe80:0:0:0'],
  [undefined, 'address 0.0.0.0'],
])('an address identifies its machine: %s', (address, identity) => {
  expect(addressIdentity(address)).toBe(identity)
})
