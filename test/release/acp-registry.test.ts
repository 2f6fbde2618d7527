import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const read = async (path: string) => JSON.parse(await readFile(join(root, path), 'utf8'))

// The schema is agent.schema.json of github.com/agentclientprotocol/registry (Apache-2.0), of 2026-02-07.
test('the entry for the ACP registry fits its schema, and is about this version', async () => {
  const entry = await read('release/acp-registry/agent.json')
  const ajv = new Ajv({ validateFormats: false })
  const isValid = ajv.compile(await read('test/fixtures/acp-registry/agent.schema.json'))
  expect(isValid(entry), JSON.stringify(isValid.errors)).toBe(true)
  expect(isValid({ ...entry, id: 'Copilot Proxy' })).toBe(false)
  const { name, version, license, repository } = await read('package.json')
  expect(entry).toMatchObject({ id: name, version, license, repository: repository.url.replace(/^git\+|\.git$/g, '') })
  expect(entry.distribution.npx).toEqual({ package: `${name}@${version}`, args: ['acp'] })
})
