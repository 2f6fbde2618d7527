import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { snippets } from '../../src/client-settings/snippets.ts'
import type { Snippet } from '../../src/client-settings/snippets.ts'
import { tomlStatements } from '../../src/client-settings/toml.ts'
import { model, target } from './models.ts'

/** Throws where the text is not of its language. */
const parsers: Readonly<Record<Snippet['language'], (text: string) => unknown>> = {
  json: (text) => JSON.parse(text),
  yaml: (text) => parse(text, { strict: true }),
  toml: (text) => {
    const statements = tomlStatements(text)
    if (statements === undefined) throw new Error('not TOML')
    return Object.fromEntries(statements.map(({ path, value }) => [path.join('.'), value]))
  },
  shell: (text) => {
    const { status, stderr } = spawnSync('sh', ['-n'], { input: text, encoding: 'utf8' })
    if (status !== 0) throw new Error(stderr)
    return { text }
  },
}

test.each(Object.entries<Snippet>(snippets))('what is printed for %s is right in its language', (id, snippet) => {
  const text = snippet.text(target(id === 'claude' || id === 'codex' ? id : 'opencode', { key: "it's $HOME" }))
  const parsed = JSON.stringify(parsers[snippet.language](text))
  expect(parsed).toContain('http://127.0.0.1:4141')
  expect(text.endsWith('\n')).toBe(true)
})

test.each(Object.entries<Snippet>(snippets))('golden: %s', async (id, { text }) => {
  const printed = text(target(id === 'claude' || id === 'codex' ? id : 'opencode'))
  await expect(printed).toMatchFileSnapshot(`../golden/snippets/${id}.txt`)
})

/** docs/clients.md sets these up by hand, with settings of its own. */
const inOtherWords: ReadonlySet<string> = new Set(['claude', 'codex', 'opencode', 'curl'])
const page = readFileSync(new URL('../../docs/clients.md', import.meta.url), 'utf8')

// Word for word: the page keeps the formatter off what it would quote in another way.
test.each(Object.entries<Snippet>(snippets).filter(([id]) => !inOtherWords.has(id)))(
  'docs/clients.md has the printed settings of %s, under its name',
  (_id, { name, text }) => {
    const printed = text(target('opencode', { models: [model('gpt-5-mini')] }))
    const [, block] = /^```\w+\n(.*?)^```$/ms.exec(page.slice(page.indexOf(`\n## ${name}\n`))) ?? []
    expect(page).toContain(`\n## ${name}\n`)
    expect(block).toBe(printed)
  },
)

test('nothing in a key is obeyed by the shell', () => {
  const script = `${snippets['openai-sdk'].text(target('opencode', { key: "a'$(echo no)`echo no`" }))}printf %s "$OPENAI_API_KEY"`
  expect(spawnSync('sh', ['-c', script], { encoding: 'utf8' }).stdout).toBe("a'$(echo no)`echo no`")
})
