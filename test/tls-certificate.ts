import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { isIP } from 'node:net'

/** What a TLS server is given. Both PEM. */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

/** Signs certificates. Clients have to trust `cert`. */
export interface Authority extends Certificate {
  readonly name: string
}

export interface CertificateOptions {
  /** DNS names and IP addresses that it is good for. Default: localhost, 127.0.0.1 and ::1. */
  readonly hosts?: readonly string[]
  /** Signed by its own key when there is none. */
  readonly authority?: Authority
  /** Default: yesterday to a month from now. */
  readonly notBefore?: Date
  readonly notAfter?: Date
}

const dayMs = 24 * 3600_000

/** An authority with a fresh key: a root, or below `issuer`. */
export function createAuthority(name = 'Test authority', issuer?: Authority): Authority {
  const keys = newKeys()
  const cert = build(
    { subject: name, issuer: issuer?.name ?? name, hosts: [], isAuthority: true, ...defaultDates() },
    keys,
    issuer?.key ?? keys.privateKey,
  )
  return { name, cert, key: toPem(keys.privateKey) }
}

/** A server's certificate with a fresh key: self-signed, or signed by `authority`. */
export function createCertificate({
  hosts = ['localhost', '127.0.0.1', '::1'],
  authority,
  ...dates
}: CertificateOptions = {}): Certificate {
  const keys = newKeys()
  const subject = hosts[0] ?? 'nobody'
  const details = {
    subject,
    issuer: authority?.name ?? subject,
    hosts,
    isAuthority: false,
    ...defaultDates(),
    ...dates,
  }
  return { cert: build(details, keys, authority?.key ?? keys.privateKey), key: toPem(keys.privateKey) }
}

interface KeyPair {
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

interface Details {
  readonly subject: string
  readonly issuer: string
  readonly hosts: readonly string[]
  readonly isAuthority: boolean
  readonly notBefore: Date
  readonly notAfter: Date
}

function newKeys(): KeyPair {
  return generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
}

function toPem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

function defaultDates(): Pick<Details, 'notBefore' | 'notAfter'> {
  const now = Date.now()
  return { notBefore: new Date(now - dayMs), notAfter: new Date(now + 30 * dayMs) }
}

/** A certificate of version 3, in PEM. Source: RFC 5280 §4.1. */
function build(details: Details, { publicKey }: KeyPair, signingKey: KeyObject | string): string {
  const content = sequence(
    explicit(0, integer(Buffer.from([2]))),
    // Positive, so its first bit is clear.
    integer(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    ecdsaWithSha256,
    nameOf(details.issuer),
    sequence(time(details.notBefore), time(details.notAfter)),
    nameOf(details.subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    explicit(3, sequence(...extensions(details))),
  )
  const whole = sequence(content, ecdsaWithSha256, bitString(sign('sha256', content, signingKey)))
  const lines = whole.toString('base64').match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}

function extensions({ isAuthority, hosts }: Details): readonly Buffer[] {
  const basicConstraints = extension('2.5.29.19', sequence(...(isAuthority ? [der(0x01, Buffer.from([0xff]))] : [])))
  if (hosts.length === 0) return [basicConstraints]
  return [basicConstraints, extension('2.5.29.17', sequence(...hosts.map(generalName)))]
}

function extension(oid: string, value: Buffer): Buffer {
  return sequence(objectId(oid), der(0x04, value))
}

/** RFC 5280 §4.2.1.6: dNSName is [2], iPAddress is [7]. */
function generalName(host: string): Buffer {
  return isIP(host) === 0 ? der(0x82, Buffer.from(host, 'ascii')) : der(0x87, addressBytes(host))
}

function addressBytes(host: string): Buffer {
  if (host === '::1') return Buffer.concat([Buffer.alloc(15), Buffer.from([1])])
  return Buffer.from(host.split('.').map(Number))
}

function nameOf(commonName: string): Buffer {
  const attribute = sequence(objectId('2.5.4.3'), der(0x0c, Buffer.from(commonName, 'utf8')))
  return sequence(der(0x31, attribute))
}

/** UTCTime, which reaches to 2049. */
function time(date: Date): Buffer {
  const digits = date.toISOString().replaceAll(/[-:T]|\.\d+/g, '')
  return der(0x17, Buffer.from(digits.slice(2), 'ascii'))
}

function integer(bytes: Buffer): Buffer {
  return der(0x02, bytes)
}

function bitString(bytes: Buffer): Buffer {
  return der(0x03, Buffer.concat([Buffer.from([0]), bytes]))
}

function explicit(tag: number, content: Buffer): Buffer {
  return der(0xa0 + tag, content)
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts))
}

function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  return der(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]))
}

function base128(value: number): readonly number[] {
  const digits = [value & 0x7f]
  for (let rest = value >> 7; rest > 0; rest >>= 7) digits.unshift((rest & 0x7f) | 0x80)
  return digits
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content])
  const bytes = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...bytes]), content])
}

const ecdsaWithSha256 = sequence(objectId('1.2.840.10045.4.3.2'))
