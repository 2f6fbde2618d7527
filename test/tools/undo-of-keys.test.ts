import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openProxy } from '../http/harness.ts'
import { connect } from '../rpc/support.ts'
import { makeFolder } from './session.ts'

const keys = { alice: 'key-of-alice-0123456789', bob: 'key-of-bob-0123456789' }

const patchOf = (name: string, before: string, after: string): string =>
  `--- a/${name}\n+++ b/${name}\n@@ -1 +1 @@\n-${before}\n+${after}\n`

test('a key undoes its own changes and no others; the owner undoes all', async () => {
  const folder = await makeFolder({
    'a.txt': 'one\n',
    'b.txt': 'one\n',
    '.agent-policy.yaml': 'writes: { allow: ["**"] }\n',
  })
  const { daemon } = await openProxy({
    file: JSON.stringify({
      server: { 'api-keys': Object.entries(keys).map(([name, key]) => `${name}:sha256:${hash('sha256', key)}`) },
      workspaces: [folder],
      workspace: { 'read-only': false },
    }),
  })
  const open = (token: string) =>
    connect(`${daemon.url.replace('http', 'ws')}/rpc`, { headers: { authorization: `Bearer ${token}` } })
  const [alice, bob, owner] = [await open(keys.alice), await open(keys.bob), await open(daemon.ownerToken)]
  const textOf = (name: string) => readFile(join(folder, name), 'utf8')

  const unifiedDiff = patchOf('a.txt', 'one', 'of alice')
  const { result: made } = (await alice.ask('mcp.edit.applyPatch', { unifiedDiff })) as { result: { id: string } }
  const noSuchId = { error: { message: expect.stringContaining(`There is no change "${made.id}"`) } }
  expect(await bob.ask('mcp.edit.undo', { id: made.id })).toMatchObject(noSuchId)
  expect(await bob.ask('mcp.edit.undo', {})).toMatchObject({ error: { message: 'There is no change to undo.' } })
  expect(await textOf('a.txt')).toBe('of alice\n')

  await bob.ask('mcp.edit.applyPatch', { unifiedDiff: patchOf('b.txt', 'one', 'of bob') })
  expect(await alice.ask('mcp.edit.undo', {})).toMatchObject({ result: { files: [{ path: 'a.txt' }] } })
  expect([await textOf('a.txt'), await textOf('b.txt')]).toEqual(['one\n', 'of bob\n'])

  expect(await owner.ask('mcp.edit.undo', {})).toMatchObject({ result: { files: [{ path: 'b.txt' }] } })
  expect(await textOf('b.txt')).toBe('one\n')
  expect(await bob.ask('mcp.edit.undo', {})).toMatchObject({ error: { message: 'There is no change to undo.' } })
})
