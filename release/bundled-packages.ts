import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Plugin } from 'rolldown'

const root = join(import.meta.dirname, '..')

interface Manifest {
  readonly name: string
  readonly version: string
  readonly license: string
  readonly author?: string | { readonly name: string }
}

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly integrity?: string } | undefined>>
}

function readLock(): LockFile {
  return JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
}

/** A component of a CycloneDX document. */
interface Component {
  readonly type: 'library' | 'platform'
  readonly 'bom-ref': string
  readonly name: string
  readonly version: string
  readonly purl: string
  readonly licenses: readonly object[]
  readonly hashes?: readonly object[]
}

/** Something in the output that is no package, as the Node.js of the single-file program. */
export interface Part {
  readonly component: Component
  readonly title: string
  readonly licence: string
}

/**
 * Writes two files about the packages that the bundle has code of: `sbom.json` (CycloneDX 1.6) with their versions and
 * licences, and `THIRD_PARTY_LICENSES.txt`, because the licences require their text to go with the code.
 */
export function bundledPackages(parts: readonly Part[]): Plugin {
  return {
    name: 'bundled-packages',
    generateBundle(_options, bundle) {
      const dirs = new Set<string>()
      for (const file of Object.values(bundle)) {
        if (file.type !== 'chunk') continue
        for (const id of file.moduleIds) {
          const dir = /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id.replaceAll('\\', '/'))?.[1]
          if (dir !== undefined) dirs.add(dir)
        }
      }
      const all = [...[...dirs].toSorted().map(toPart), ...parts]
      const licences = all.map(({ title, licence }) => `${title}\n\n${licence}`).join(`\n${'-'.repeat(80)}\n\n`)
      this.emitFile({ type: 'asset', fileName: 'THIRD_PARTY_LICENSES.txt', source: licences })
      const sbom = `${JSON.stringify(describeBundle(all.map(({ component }) => component)), undefined, 2)}\n`
      this.emitFile({ type: 'asset', fileName: 'sbom.json', source: sbom })
    },
  }
}

/** Without a serial number and a time, so that the same sources give the same file. */
function describeBundle(components: readonly Component[]): object {
  // Two copies of a version are one component.
  const unique = [...new Map(components.map((component) => [component['bom-ref'], component])).values()]
  const program = { ...toComponent(readManifest(root), undefined), type: 'application' }
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: program },
    components: unique,
    dependencies: [{ ref: program['bom-ref'], dependsOn: unique.map((component) => component['bom-ref']) }],
  }
}

/** @param dir the folder of a package */
function toPart(dir: string): Part {
  const manifest = readManifest(dir)
  const integrity = readLock().packages[relative(root, dir).replaceAll('\\', '/')]?.integrity
  return {
    component: toComponent(manifest, integrity),
    title: `${manifest.name} ${manifest.version} (${manifest.license})`,
    licence: licenceOf(dir, manifest),
  }
}

/** @param integrity of the package's archive, as in the lock file */
function toComponent({ name, version, license }: Manifest, integrity: string | undefined): Component {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  const [algorithm, digest] = integrity?.split('-') ?? []
  const isHashed = algorithm === 'sha512' && digest !== undefined
  return {
    type: 'library',
    'bom-ref': purl,
    name,
    version,
    licenses: [{ license: { id: license } }],
    purl,
    ...(isHashed && { hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }] }),
  }
}

function readManifest(dir: string): Manifest {
  return JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'))
}

function licenceOf(dir: string, { name: packageName, license, author = '' }: Manifest): string {
  const file = readdirSync(dir).find((name) => /^(?:licen[cs]e|copying)/i.test(name))
  if (file !== undefined) return readFileSync(join(dir, file), 'utf8')
  if (license !== 'MIT') throw new Error(`${packageName} has no file with its licence, ${license}`)
  const holder = typeof author === 'string' ? author : author.name
  return `Copyright (c) ${holder}\n\n${mitTerms()}`
}

/** The text of the MIT licence without its title and copyright line, from this project's own. */
function mitTerms(): string {
  const text = readFileSync(join(root, 'LICENSE'), 'utf8')
  return text.slice(text.indexOf('Permission is hereby granted'))
}
