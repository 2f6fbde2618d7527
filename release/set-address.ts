import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

// Writes the address of the repository, which `repository` of package.json states, there and into the pages that name it:
// npm run release:address OWNER/NAME

const root = join(import.meta.dirname, '..')
const [, , address = ''] = process.argv
if (!/^[\w-]+\/[\w.-]+$/.test(address)) {
  console.error('Name the repository on GitHub: npm run release:address OWNER/NAME')
  process.exit(2)
}

const { repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { repository: { url: string } }
const before = repository.url.replaceAll(/^git\+https:\/\/github\.com\/|\.git$/g, '')
for (const file of [
  'package.json',
  'README.md',
  'release/acp-registry/agent.json',
  ...globSync('docs/*.md', { cwd: root }),
]) {
  const text = readFileSync(join(root, file), 'utf8')
  if (!text.includes(before)) continue
  writeFileSync(join(root, file), text.replaceAll(before, address))
  console.log(`${file}: ${address}`)
}
