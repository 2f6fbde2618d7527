import { networkInterfaces } from 'node:os'
import { describe, expect, test } from 'vitest'
import {
  describeHosts,
  intersectHosts,
  isListed,
  parseHostPattern,
} from '../../../src/workspace/network/host-pattern.ts'
import { isPublicAddress } from '../../../src/workspace/network/public-address.ts'

const parse = (...entries: readonly string[]) => entries.flatMap(parseHostPattern)

describe('an entry of shell.network', () => {
  test.each([
    ['packages.example.org', 'packages.example.org', 443, true],
    ['packages.example.org', 'packages.example.org', 80, true],
    ['packages.example.org', 'packages.example.org', 22, false],
    ['Packages.Example.org.', 'packages.example.org', 443, true],
    ['packages.example.org', 'evil-packages.example.org', 443, false],
    ['packages.example.org', 'packages.example.org.evil.com', 443, false],
    ['*.example.com', 'a.b.example.com', 443, true],
    ['*.example.com', 'example.com', 443, false],
    ['*.example.com', 'notexample.com', 443, false],
    ['example.com:8443', 'example.com', 8443, true],
    ['example.com:8443', 'example.com', 443, false],
    ['1.1.1.1', '1.1.1.1', 443, true],
    ['[2606:4700::1111]:8443', '2606:4700::1111', 8443, true],
  ] as const)('%s: %s, port %i: %s', (entry, host, port, isAllowed) => {
    expect(isListed(parse(entry), host, port)).toBe(isAllowed)
  })

  test.each([
    '*',
    '*.com',
    '*.1.1.1.1',
    'a*.example.com',
    'https://example.com',
    'example.com/x',
    'a b',
    '',
    'x:0',
    'x:70000',
  ])('is not %j', (entry) => {
    expect(() => parse(entry)).toThrow(/[Ww]rite a name/)
  })

  test.each([
    'localhost',
    '127.0.0.1',
    '0x7f.1',
    '[::1]',
    '[::ffff:10.0.0.1]',
    '10.0.0.1',
    '169.254.169.254',
    'x.localhost',
    '[fe80::1%eth0]',
  ])('is not %s, which commands never reach', (entry) => {
    expect(() => parse(entry)).toThrow('of this machine or of a private network')
  })
})

test('two lists allow together what each allows', () => {
  const first = parse('*.example.com', 'packages.example.org', 'a.org:8443')
  const second = parse('x.example.com', '*.example.org', 'a.org', '*.example.com:8443', 'b.org')
  expect(describeHosts(intersectHosts(first, second))).toBe('packages.example.org, x.example.com')
  expect(describeHosts(intersectHosts(second, first))).toBe('x.example.com, packages.example.org')
  expect(intersectHosts(first, [])).toEqual([])
})

test('addresses of the public Internet are public, and those of this machine are not', () => {
  for (const address of [
    '1.1.1.1',
    '93.184.216.34',
    '100.63.0.1',
    '172.32.0.1',
    '2606:4700:4700::1111',
    '2a00:1450::1',
  ])
    expect(isPublicAddress(address), address).toBe(true)
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  for (const { address } of own) expect(isPublicAddress(address), address).toBe(false)
})
