import { readFileSync } from 'node:fs'
import { join } from 'node:path'

// What must agree before a release is published. The workflow passes the tag and its own repository:
// TAG=v1.2.3 REPOSITORY=owner/name node release/check-release.ts

const read = (path: string): string => readFileSync(join(import.meta.dirname, '..', path), 'utf8')
const { version, repository } = JSON.parse(read('package.json')) as { version: string; repository: { url: string } }
const { TAG: tag, REPOSITORY: address } = process.env

const failures = [
  tag !== `v${version}` && `The tag is ${tag}, and package.json has version ${version}. Tag v${version}.`,
  repository.url !== `git+https://github.com/${address}.git` &&
    `package.json names the repository ${repository.url}. Run: npm run release:address ${address}`,
  !read('CHANGELOG.md').includes(`\n## ${version}`) &&
    `CHANGELOG.md has no heading "## ${version}". Rename "## Unreleased".`,
].filter((failure) => failure !== false)

for (const failure of failures) console.error(failure)
process.exitCode = failures.length === 0 ? 0 : 1
