import { describe, expect, test } from 'vitest'
import { canonicalHost, isLoopbackHost } from '../../src/config/loopback.ts'

describe('isLoopbackHost', () => {
  test.each([
    'localhost',
    'LOCALHOST',
    '127.0.0.1',
    '127.0.0.1.',
    '127.255.255.254',
    '127.1',
    '2130706433',
    '0x7f.1',
    '0177.0.0.1',
    '::1',
    '[::1]',
    '0:0:0:0:0:0:0:1',
    '::ffff:127.0.0.1',
    '[::ffff:7f00:1]',
  ])('takes %j for this machine', (host) => {
    expect(isLoopbackHost(host)).toBe(true)
  })

  test.each([
    '',
    '0',
    '0x0',
    '0.0.0.0',
    '::',
    '[::]',
    '::ffff:0.0.0.0',
    '::ffff:192.168.1.5',
    '192.168.1.5',
    '128.0.0.1',
    'fe80::1%lo',
    'localhost.',
    'localhost.example',
    'foo.localhost',
    '127.0.0.1.example',
    'workstation',
    '127.0.0.1@example',
    '127.0.0.1/..',
    '127.0.0.1:80',
    '[127.0.0.1]',
    '[::1',
    '１２７.0.0.1',
    ' 127.0.0.1',
  ])('does not take %j for this machine', (host) => {
    expect(isLoopbackHost(host)).toBe(false)
  })
})

describe('canonicalHost', () => {
  test.each([
    ['', '0.0.0.0'],
    ['0', '0.0.0.0'],
    ['0x0', '0.0.0.0'],
    ['127.1', '127.0.0.1'],
    ['::ffff:0.0.0.0', '0.0.0.0'],
    ['::ffff:10.1.2.3', '10.1.2.3'],
    ['[2001:DB8:0::1]', '2001:db8::1'],
    ['FE80::1%Eth0', 'fe80::1%eth0'],
    ['My-Machine.local', 'my-machine.local'],
  ])('spells %j as %j', (host, canonical) => {
    expect(canonicalHost(host)).toBe(canonical)
  })

  test.each(['1.2.3.4.5', '256.0.0.1', 'a b', 'a/b', 'http://a', '[a]', 'a:80', 'ü.example'])('refuses %j', (host) => {
    expect(canonicalHost(host)).toBeUndefined()
  })
})
