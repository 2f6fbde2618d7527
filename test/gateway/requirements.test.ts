import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { requirements } from './requirements.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const document = readFileSync(`${here}../fixtures/gateway/provider-interface-core-profile.md`, 'utf8')

/** Returns the sentences, list items and table rows of a page, without its headings and code. */
function sentencesOf(page: string): readonly string[] {
  const blocks = page.replaceAll(/^```.*?^```[^\n]*\n/gms, '').split(/\n\s*\n/)
  return blocks.flatMap((block) => {
    const lines = block
      .trim()
      .split('\n')
      .map((line) => line.trim())
    const [first = ''] = lines
    if (first === '' || first.startsWith('#') || first === '---') return []
    // Skip the header of a table and the line after it.
    if (first.startsWith('|')) return lines.slice(2)
    const items: string[] = []
    for (const line of lines) {
      const item = /^(?:- |\d+\. |> )(.*)$/.exec(line)?.[1]
      if (item !== undefined || items.length === 0) items.push(item ?? line)
      else items.push(`${items.pop()} ${line}`)
    }
    return items.flatMap((item) => item.split(/(?<=\.) +(?=[A-Z`*])/))
  })
}

test('the table has every sentence of the document, in its order', () => {
  expect(requirements.map(({ sentence }) => sentence)).toEqual(sentencesOf(document))
})

test('ids are unique', () => {
  expect(new Set(requirements.map(({ id }) => id)).size).toBe(requirements.length)
})

test('every sentence has tests that exist, or a reason', () => {
  const code = readdirSync(here)
    .filter((name) => name.endsWith('.test.ts') && name !== 'requirements.test.ts')
    .map((name) => readFileSync(here + name, 'utf8'))
    .join('\n')
  const missing = requirements.flatMap(({ id, tests = [], reason }) => {
    if (tests.length === 0) return reason === undefined ? [id] : []
    return tests.filter((title) => !code.includes(`'${title}'`)).map((title) => `${id}: ${title}`)
  })
  expect(missing).toEqual([])
})

test('the cases H01 to H15 of hostile providers have tests', () => {
  const code = readdirSync(here)
    .map((name) => (name.endsWith('.test.ts') ? readFileSync(here + name, 'utf8') : ''))
    .join('\n')
  const ids = Array.from({ length: 15 }, (_, index) => `H${String(index + 1).padStart(2, '0')}`)
  expect(ids.filter((id) => !code.includes(`'${id} `))).toEqual([])
})
