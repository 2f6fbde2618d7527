import { hash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createStableNames, nameForModels, namesForClients } from '../../src/tools/model-names.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { openTools } from './session.ts'

function toolsNamed(...names: readonly string[]): readonly Tool[] {
  return names.map((name) => ({ name, description: '', parameters: {}, effect: 'read', run: async () => ({}) }))
}

test.each([
  ['mcp.fs.read', 'fs_read'],
  ['mcp.edit.applyPatch', 'edit_applyPatch'],
  ['jira.search/issues now', 'jira_search_issues_now'],
  ['größe🙂', 'gr__e_'],
  ['mcp.', 'mcp_'],
  ['x'.repeat(200), `${'x'.repeat(31)}_aa20c23e`],
])('%s is %s', (name, expected) => {
  expect([...nameForModels(toolsNamed(name)).keys()]).toEqual([expected])
})

test('the later of two equal names gets a hash', () => {
  const named = nameForModels(toolsNamed('mcp.fs.read', 'fs_read', 'fs.read'))
  expect([...named].map(([name, tool]) => [name, tool.name])).toEqual([
    ['fs_read', 'mcp.fs.read'],
    [expect.stringMatching(/^fs_read_[0-9a-f]{8}$/), 'fs_read'],
    [expect.stringMatching(/^fs_read_[0-9a-f]{8}$/), 'fs.read'],
  ])
})

test('model APIs accept every name', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string({ minLength: 1, unit: 'binary' })), (names) => {
      const named = [...nameForModels(toolsNamed(...names)).keys()]
      expect(named).toHaveLength(names.length)
      for (const name of named) expect(name).toMatch(/^[A-Za-z0-9_-]{1,40}$/)
    }),
  )
})

test('a name stays with its tool when the list changes, and no other tool gets it', async () => {
  const { session } = await openTools([])
  const namesFor = (...names: readonly string[]) =>
    [...namesForClients(session, toolsNamed(...names))].map(([name, tool]) => [tool.name, name])
  const [first] = namesFor('a.b')
  expect(first).toEqual(['a.b', 'a_b'])
  const [other, again] = namesFor('a_b', 'a.b')
  expect(again).toEqual(first)
  expect(other?.[1]).toMatch(/^a_b_[0-9a-f]{8}$/)
  expect(namesFor('a_b')).toEqual([other])
})

test('names of one session do not depend on those of another', async () => {
  for (const names of [['a.b'], ['a_b']]) {
    const { session } = await openTools([])
    expect([...namesForClients(session, toolsNamed(...names)).keys()]).toEqual(['a_b'])
  }
})

test('long names that begin alike are all there, and the same each time', () => {
  const long = Array.from({ length: 50 }, (_, index) => `${'x'.repeat(100)}${index}`)
  const names = [...nameForModels(toolsNamed(...long)).keys()]
  expect(new Set(names).size).toBe(50)
  expect([...nameForModels(toolsNamed(...long.toReversed())).keys()].toReversed()).toEqual(names)
})

test('a tool keeps a place if others have taken its names with a hash', () => {
  const names = createStableNames(64)
  const short = names.take('a', 'x') && names.take('q/x', 'x')
  const again = createStableNames(64)
  const taken = ['x', short, ...[8, 16, 24, 32].map((length) => `x_${hash('sha256', 'q/x').slice(0, length)}`)]
  for (const name of taken) again.take(name, name)
  expect(taken).not.toContain(again.take('q/x', 'x'))
})

test('a program that names thousands of tools takes no name from another one', () => {
  const names = createStableNames(64)
  const first = names.take('first', 'tool')
  const given = Array.from({ length: 20_000 }, (_, index) => names.take(`key ${index}`, 'tool'))
  expect(new Set([first, ...given]).size).toBe(20_001)
  expect(names.take('first', 'other')).toBe('tool')
})
