import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { codeTools } from '../../src/tools/code-tools.ts'
import { failureOf, openTools, policyOf } from './session.ts'

const prettierWords = 'node_modules/.bin/prettier --stdin-filepath'

async function openCodeTools(files: Readonly<Record<string, string>>, command = prettierWords) {
  const policy = policyOf(
    (path) => path.endsWith('.ts'),
    (argv) => argv.join(' ') === command,
  )
  const opened = await openTools(codeTools, { policy })
  const { root } = opened.session.folder
  for (const [path, text] of Object.entries(files)) await writeFile(join(root, path), text)
  const program = fileURLToPath(new URL('bin/prettier.cjs', import.meta.resolve('prettier')))
  await mkdir(join(root, 'node_modules/.bin'), { recursive: true })
  const script = `#!${execPath}\nrequire(${JSON.stringify(program)})\n`
  await writeFile(join(root, 'node_modules/.bin/prettier'), script, { mode: 0o755 })
  return { ...opened, read: (path: string) => readFile(join(root, path), 'utf8') }
}

describe('codeTools', () => {
  it('list symbols', async () => {
    const { call } = await openCodeTools({ 'a.ts': 'class A {}\n' })
    expect(await call('mcp.symbols.list', { path: 'a.ts' })).toMatchObject({
      symbols: [{ name: 'A', kind: 'class' }],
      truncated: false,
    })
  })

  it('format by the prettier of the workspace if the policy allows its fixed words', async () => {
    const { call, read } = await openCodeTools({ '.prettierrc': 'semi: false', 'a.ts': 'let a  = 1;' })
    expect(await call('mcp.format.apply', { path: 'a.ts' })).toEqual({ ok: true, changed: true })
    expect(await read('a.ts')).toBe('let a = 1\n')
  })

  it('run no formatter that the policy does not allow', async () => {
    const { call, read } = await openCodeTools({ '.prettierrc': '', 'a.ts': 'let a  = 1;' }, 'other')
    expect(await failureOf(call('mcp.format.apply', { path: 'a.ts' }))).toMatchObject({ kind: 'denied' })
    expect(await read('a.ts')).toBe('let a  = 1;')
  })

  it('write no file that the policy does not allow', async () => {
    const { call, read } = await openCodeTools({ 'a.js': `import a from 'a'\n` })
    expect(await failureOf(call('mcp.format.apply', { path: 'a.js' }))).toMatchObject({ kind: 'denied' })
    expect(await failureOf(call('mcp.imports.organize', { path: 'a.js' }))).toMatchObject({ kind: 'denied' })
    expect(await read('a.js')).toBe(`import a from 'a'\n`)
  })

  it('organise imports', async () => {
    const { call, read } = await openCodeTools({ 'a.ts': `import b from 'b'\nimport a from 'a'\n\na(b)\n` })
    expect(await call('mcp.imports.organize', { path: 'a.ts' })).toEqual({ ok: true, changed: true })
    expect(await read('a.ts')).toBe(`import a from 'a'\nimport b from 'b'\n\na(b)\n`)
  })
})
