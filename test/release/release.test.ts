import { execFile } from 'node:child_process'
import { chmod, cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { makeFolder } from '../tools/session.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

function run(file: string, args: readonly string[], env: Record<string, string> = {}): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(file, args, { env: { PATH: process.env['PATH'], ...env } }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr })
    })
  })
}

type Changes = Record<string, (text: string) => string>

/** A copy of what the scripts of a release read, with changes to the text of files. */
async function copyProject(changes: Changes = {}): Promise<string> {
  const dir = await makeFolder()
  for (const path of ['package.json', 'README.md', 'CHANGELOG.md', 'docs', 'release']) {
    await cp(join(root, path), join(dir, path), { recursive: true })
  }
  for (const [path, change] of Object.entries(changes)) {
    await writeFile(join(dir, path), change(await readFile(join(dir, path), 'utf8')))
  }
  return dir
}

function setAddress(dir: string, address: string): Promise<Outcome> {
  return run(process.execPath, [join(dir, 'release/set-address.ts'), address])
}

describe('npm run release:address', () => {
  test('writes the address into package.json and the pages that name it, and can change it again', async () => {
    const dir = await copyProject()
    const read = (path: string): Promise<string> => readFile(join(dir, path), 'utf8')
    for (const address of ['someone/copilot-proxy', 'team-1/proxy.js']) {
      expect(await setAddress(dir, address)).toMatchObject({ code: 0, stderr: '' })
      expect(JSON.parse(await read('package.json'))).toMatchObject({
        repository: { url: `git+https://github.com/${address}.git` },
      })
      expect(await read('docs/installing.md')).toContain(`git clone https://github.com/${address}.git`)
    }
  })

  test.each(['', 'someone', 'https://github.com/someone/copilot-proxy'])('refuses "%s"', async (address) => {
    const { code, stderr } = await setAddress(root, address)
    expect([code, stderr]).toEqual([2, expect.stringContaining('npm run release:address OWNER/NAME')])
  })
})

async function check(changes: Changes, env: Record<string, string>): Promise<Outcome> {
  return run(process.execPath, [join(await copyProject(changes), 'release/check-release.ts')], env)
}

describe('the check of a release', () => {
  const ready = {
    'package.json': (text: string) => text.replace(/"version": ".*"/, '"version": "1.2.3"').replace('OWNER', 'someone'),
    'CHANGELOG.md': (text: string) => text.replace('## Unreleased', '## 1.2.3'),
  }
  test('passes when tag, version, repository and changelog agree', async () => {
    const env = { TAG: 'v1.2.3', REPOSITORY: 'someone/copilot-proxy' }
    expect(await check(ready, env)).toEqual({ code: 0, stdout: '', stderr: '' })
  })

  test('names everything that does not agree', async () => {
    const unready = { 'CHANGELOG.md': (text: string) => text.replaceAll(/^## \d.*$/gm, '') }
    const { code, stderr } = await check(unready, { TAG: 'v1.2.3', REPOSITORY: 'someone/copilot-proxy' })
    expect(code).toBe(1)
    expect(stderr).toMatch(/The tag is v1\.2\.3, and package\.json has version \d/)
    expect(stderr).toContain('npm run release:address someone/copilot-proxy')
    expect(stderr).toContain('CHANGELOG.md has no heading "## ')
  })
})

/** Runs the script with a `docker` that prints its arguments. */
async function pushImage(tag: string): Promise<readonly string[]> {
  const dir = await makeFolder()
  await writeFile(join(dir, 'docker'), '#!/bin/sh\necho "$@"\n')
  await chmod(join(dir, 'docker'), 0o755)
  const env = {
    PATH: `${dir}:${process.env['PATH']}`,
    TAG: tag,
    REPOSITORY: 'Someone/copilot-proxy',
    REVISION: 'abc123',
  }
  const { code, stdout, stderr } = await run(join(root, 'release/push-image'), [], env)
  expect([code, stderr]).toEqual([0, ''])
  return stdout.trimEnd().split('\n')
}
function tagsOf(line = ''): readonly (string | undefined)[] {
  return Array.from(line.matchAll(/--tag (\S+)/g), ([, name]) => name)
}

describe('the image of a release', () => {
  test('is built for two architectures, with its address, provenance and SBOM', async () => {
    const line = (await pushImage('v1.2.3')).at(-1)
    expect(line).toMatch(/^buildx build --push --platform linux\/amd64,linux\/arm64 /)
    for (const part of [
      '--provenance mode=max',
      '--sbom true',
      '--build-arg SOURCE=https://github.com/Someone/copilot-proxy',
      '--build-arg REVISION=abc123',
      '--annotation index:org.opencontainers.image.source=https://github.com/Someone/copilot-proxy',
    ]) {
      expect(line).toContain(part)
    }
  })

  test.each([
    ['v1.2.3', ['1.2.3', '1.2', '1', 'latest']],
    ['v0.4.5', ['0.4.5', '0.4', 'latest']],
    ['v1.2.3-rc.1', ['1.2.3-rc.1']],
  ])('%s has the tags %j', async (tag, names) => {
    const line = (await pushImage(tag)).at(-1)
    expect(tagsOf(line)).toEqual(names.map((name) => `ghcr.io/someone/copilot-proxy:${name}`))
  })
})
