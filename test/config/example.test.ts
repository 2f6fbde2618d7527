import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { configSchema } from '../../src/config/schema.ts'
import { valueAt } from '../../src/json/value-at.ts'
import { settingLeaves, valuePaths } from '../../src/config/settings-tree.ts'
import { loaded } from './loading.ts'

const example = readFileSync(new URL('../../config.example.yaml', import.meta.url), 'utf8')

test('the example file says what is in force without a file', () => {
  expect(loaded({ file: example }).config).toEqual(loaded().config)
})

test('the example file writes out every setting and every default header', () => {
  const { sources } = loaded({ file: example })
  const unsaid = Object.entries(sources).filter(
    ([key, { kind }]) => kind !== 'file' && key !== 'copilot-oauth.client-id',
  )
  expect(unsaid).toEqual([])
  expect(valueAt(parse(example), ['copilot-oauth', 'client-id'])).toBe('')
})

test('the example file writes out nothing else', () => {
  const written = valuePaths(parse(example), settingLeaves(configSchema)).map((path) => path.join('.'))
  expect(written).toEqual(Object.keys(loaded().sources))
})
