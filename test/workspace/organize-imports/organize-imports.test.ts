import { describe, expect, it } from 'vitest'
import { createRewriting, organizeImports } from '../rewriting.ts'
import { failureOf } from '../tree.ts'

async function organized(path: string, text: string): Promise<string> {
  const { folder, context, read } = await createRewriting({ [path]: text })
  await organizeImports(folder, { path }, context)
  return read(path)
}

describe('organizeImports of JavaScript and TypeScript', () => {
  it('sorts, merges and removes imports', async () => {
    const before = [
      `import { z, b as c } from './z.ts'`,
      `import a, { unused } from 'b'`,
      `import * as fs from 'node:fs'`,
      `import type { T } from 'b'`,
      `import { y, type U } from './z.ts'`,
      `import gone from 'gone'`,
      '',
      'export const x: T & U = [z, c, a, fs, y]',
      '',
    ].join('\n')
    expect(await organized('a.ts', before)).toBe(
      [
        `import a from 'b'`,
        `import type { T } from 'b'`,
        `import * as fs from 'node:fs'`,
        `import { b as c, type U, y, z } from './z.ts'`,
        '',
        'export const x: T & U = [z, c, a, fs, y]',
        '',
      ].join('\n'),
    )
  })

  it.each([
    ['a side effect', `import { b } from 'b'\nimport './polyfill'\nimport { a } from 'a'\na(b)\n`],
    ['an empty line', `import { b } from 'b'\n\nimport { a } from 'a'\na(b)\n`],
    ['a comment', `import { b } from 'b'\n// of a\nimport { a } from 'a'\na(b)\n`],
    ['a comment after it', `import { b } from 'b' // of b\nimport { a } from 'a'\na(b)\n`],
    ['attributes', `import b from 'b.json' with { type: 'json' }\nimport { a } from 'a'\na(b)\n`],
    ['an import by require', `import b = require('b')\nimport { a } from 'a'\na(b)\n`],
    ['a statement', `import { b } from 'b'\nb()\nimport { a } from 'a'\na(b)\n`],
    ['two on a line', `import { b } from 'b'; import { a } from 'a'\na(b)\n`],
  ])('moves no import past %s', async (_what, text) => {
    expect(await organized('a.ts', text)).toBe(text)
  })

  it.each([
    ['named in a comment', `import { a } from 'a'\n/** {@link a} */\n`],
    ['used by JSX', `import React from 'react'\nexport const x = <b />\n`],
    ['written with an escape', `import { a } from 'a'\n\\u0061()\n`],
    ['exported', `import { a } from 'a'\nexport { a }\n`],
    ['of the name $', `import $ from 'jquery'\n$('x')\n`],
  ])('keeps an import that is %s', async (_what, text) => {
    expect(await organized('a.tsx', text)).toBe(text)
  })

  it('keeps line ends, semicolons and quotes, and breaks a long line', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `aLongName${index + 10}`)
    const [first = '', ...others] = names
    const use = `use(${names.join(', ')});\r\n`
    const text = `\uFEFFimport { ${others.join(', ')} } from "a";\r\nimport { ${first} } from "a";\r\n${use}`
    expect(await organized('a.mjs', text)).toBe(
      `\uFEFFimport {\r\n${names.map((name) => `  ${name},\r\n`).join('')}} from "a";\r\n${use}`,
    )
  })

  it('removes the lines of a group that is not used', async () => {
    expect(await organized('a.ts', `import { a } from 'a'\nimport b from 'b'\n\nrun()\n`)).toBe('run()\n')
  })

  it('authorises the write with its diff', async () => {
    const { folder, context, intents } = await createRewriting({ 'a.ts': `import { a } from 'a'\nrun()\n` })
    expect(await organizeImports(folder, { path: 'a.ts' }, context)).toMatchObject({ ok: true, changed: true })
    expect(intents).toEqual([{ writes: ['a.ts'], diff: expect.stringContaining(`-import { a } from 'a'`) }])
  })

  it('leaves a file with a syntax error unchanged', async () => {
    const { folder, context } = await createRewriting({ 'a.ts': `import { a } from 'a'\nlet = (\n` })
    expect(await failureOf(organizeImports(folder, { path: 'a.ts' }, context))).toEqual({
      kind: 'failed',
      detail: 'Imports of "a.ts" cannot be organised: It has a syntax error.',
    })
  })
})

describe('organizeImports with a program of the workspace', () => {
  const ruffWords = ['check', '--select=I,F401', '--fix', '--exit-zero', '--quiet', '-', '--stdin-filename']

  it.each([
    ['a.py', { 'pyproject.toml': '[tool.ruff]\n' }, ['ruff', ...ruffWords]],
    ['--fix.py', { 'pyproject.toml': '[tool.isort]\n' }, ['isort', '--quiet', '-', '--filename']],
    [
      'a.ts',
      { 'biome.jsonc': '', 'node_modules/.bin/biome': '' },
      [
        'node_modules/.bin/biome',
        'check',
        '--write',
        '--formatter-enabled=false',
        '--linter-enabled=false',
        '--stdin-file-path',
      ],
    ],
  ])('organises %s in a workspace with %j', async (path, files, words) => {
    const { folder, context, intents, read } = await createRewriting({ ...files, [path]: 'old' })
    const runs: (readonly string[])[] = []
    const run: typeof context.run = (argv) => {
      runs.push(argv)
      return Promise.resolve({ exitCode: 0, stdout: 'new', stderr: '', truncated: false })
    }
    await organizeImports(folder, { path }, { ...context, run })
    const argv = [...words, `./${path}`]
    expect(intents[0]).toEqual({ argv, policyArgv: words, cwd: '' })
    expect(runs).toEqual([argv])
    expect(await read(path)).toBe('new')
  })

  it.each([
    ['a.py', 'The workspace has no organiser of Python imports. Add [tool.ruff] or [tool.isort] to pyproject.toml.'],
    ['a.go', 'Imports of "a.go" cannot be organised. Supported languages: JavaScript, TypeScript, Python.'],
  ])('says why it cannot organise %s', async (path, detail) => {
    const { folder, context } = await createRewriting({ [path]: 'x' })
    expect(await failureOf(organizeImports(folder, { path }, context))).toEqual({ kind: 'failed', detail })
  })
})
