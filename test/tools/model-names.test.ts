import fc from 'fast-check'
import { expect, test } from 'vitest'
import { nameForModels } from '../../src/tools/model-names.ts'
import type { Tool } from '../../src/tools/tool.ts'

function toolsNamed(...names: readonly string[]): readonly Tool[] {
  return names.map((name) => ({ name, description: '', parameters: {}, effect: 'read', run: async () => ({}) }))
}

test.each([
  ['mcp.fs.read', 'fs_read'],
  ['mcp.edit.applyPatch', 'edit_applyPatch'],
  ['jira.search/issues now', 'jira_search_issues_now'],
  ['größe🙂', 'gr__e_'],
  ['mcp.', 'mcp_'],
  ['x'.repeat(200), 'x'.repeat(40)],
])('%s is %s', (name, expected) => {
  expect([...nameForModels(toolsNamed(name)).keys()]).toEqual([expected])
})

test('the later of two equal names gets a number', () => {
  const named = nameForModels(toolsNamed('mcp.fs.read', 'fs_read', 'fs.read'))
  expect([...named].map(([name, tool]) => [name, tool.name])).toEqual([
    ['fs_read', 'mcp.fs.read'],
    ['fs_read_2', 'fs_read'],
    ['fs_read_3', 'fs.read'],
  ])
})

test('model APIs accept every name', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ minLength: 1, unit: 'binary' })), (names) => {
      const named = [...nameForModels(toolsNamed(...names)).keys()]
      expect(named).toHaveLength(names.length)
      for (const name of named) expect(name).toMatch(/^[A-Za-z0-9_-]{1,44}$/)
    }),
  )
})
