import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import { build } from 'rolldown'
import config, { toPlugins } from '../rolldown.config.ts'

// Builds dist-sea/copilot-proxy: this Node.js with the program inside (nodejs.org/api/single-executable-applications.html).
// Node 24 has no --build-sea; postject puts the program into the copy of Node.

const root = join(import.meta.dirname, '..')
const out = join(root, 'dist-sea')
const program = join(out, process.platform === 'win32' ? 'copilot-proxy.exe' : 'copilot-proxy')
const isMac = process.platform === 'darwin'

function nodeLicence(): string {
  const [file] = globSync('node_modules/node/node_modules/node-*/LICENSE', { cwd: root })
  if (file === undefined) throw new Error('The licence of Node.js is not in node_modules/node. Run: npm ci')
  return readFileSync(join(root, file), 'utf8')
}

const version = process.versions.node
const node = {
  component: {
    type: 'platform',
    'bom-ref': `pkg:generic/node@${version}`,
    name: 'node',
    version,
    licenses: [{ license: { id: 'MIT' } }],
    purl: `pkg:generic/node@${version}`,
  },
  title: `Node.js ${version} (MIT, and the licences of its parts)`,
  licence: nodeLicence(),
} as const

rmSync(out, { recursive: true, force: true })
mkdirSync(out)
const work = join(out, 'work')
mkdirSync(work)

// The embedded script of Node 24 is one CommonJS file.
await build({
  ...config,
  cwd: root,
  input: 'bin/copilot-proxy.cjs',
  plugins: [
    { name: 'sources', resolveId: (id) => (id === '../dist/main.cjs' ? join(root, 'src/main.ts') : undefined) },
    ...toPlugins([node]),
  ],
  output: { file: join(work, 'program.cjs'), format: 'cjs', codeSplitting: false, minify: config.output.minify },
})
for (const file of ['sbom.json', 'THIRD_PARTY_LICENSES.txt']) copyFileSync(join(work, file), join(out, file))
copyFileSync(join(root, 'LICENSE'), join(out, 'LICENSE.txt'))

const blob = join(work, 'program.blob')
const seaConfig = join(work, 'sea.json')
const settings = {
  main: join(work, 'program.cjs'),
  output: blob,
  disableExperimentalSEAWarning: true,
  // A third less time to start.
  useCodeCache: true,
}
writeFileSync(seaConfig, JSON.stringify(settings))
execFileSync(process.execPath, [`--experimental-sea-config=${seaConfig}`], { stdio: 'pipe' })

copyFileSync(process.execPath, program)
chmodSync(program, 0o755)
// The signature of Node.js does not fit the changed file, and macOS starts no program without one.
if (isMac) execFileSync('codesign', ['--remove-signature', program])
const postject = fileURLToPath(import.meta.resolve('postject/dist/cli.js'))
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'
const segment = isMac ? ['--macho-segment-name', 'NODE_SEA'] : []
execFileSync(process.execPath, [postject, program, 'NODE_SEA_BLOB', blob, '--sentinel-fuse', fuse, ...segment], {
  // It warns of each section that it does not know.
  stdio: 'pipe',
})
if (isMac) execFileSync('codesign', ['--sign', '-', program])

rmSync(work, { recursive: true })
