import { access, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { ToolError } from '../../../src/workspace/tool-error.ts'
import { createRewriting, formatFile } from '../rewriting.ts'
import { failureOf } from '../tree.ts'

const prettier = dirname(fileURLToPath(import.meta.resolve('prettier')))

/** Gives a workspace the real prettier. */
async function installPrettier(root: string): Promise<void> {
  await mkdir(join(root, 'node_modules/.bin'), { recursive: true })
  await writeFile(
    join(root, 'node_modules/.bin/prettier'),
    `require(${JSON.stringify(`${prettier}/bin/prettier.cjs`)})`,
  )
}

const canRead = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

const refuse = () => Promise.reject(new ToolError({ kind: 'denied', detail: 'No.' }))

describe('formatFile', () => {
  it('formats with the bundled prettier when the workspace names no formatter', async () => {
    const { folder, context, intents, runs, read } = await createRewriting({ 'src/a.ts': 'const a   = {b:1}\n' })
    expect(await formatFile(folder, { path: 'src/a.ts' }, context)).toEqual({
      ok: true,
      changed: true,
      id: expect.any(String),
    })
    expect(await read('src/a.ts')).toBe('const a = { b: 1 };\n')
    expect(runs).toEqual([])
    expect(intents).toEqual([{ writes: ['src/a.ts'], diff: expect.stringContaining('+const a = { b: 1 };') }])
  })

  it('asks nobody and writes nothing for a file that is formatted already', async () => {
    const { folder, context, intents } = await createRewriting({ 'a.json': '{ "a": 1 }\n' })
    expect(await formatFile(folder, { path: 'a.json' }, context)).toEqual({ ok: true, changed: false })
    expect(intents).toEqual([])
  })

  it('writes nothing when the write is refused', async () => {
    const { folder, context, read } = await createRewriting({ 'a.ts': 'a  = 1' })
    expect(await failureOf(formatFile(folder, { path: 'a.ts' }, { ...context, authorize: refuse }))).toMatchObject({
      kind: 'denied',
    })
    expect(await read('a.ts')).toBe('a  = 1')
  })

  it('writes nothing when the file changes while an approval is pending', async () => {
    const { folder, context, root, read } = await createRewriting({ 'a.ts': 'a  = 1' })
    const authorize = () => writeFile(join(root, 'a.ts'), 'b')
    expect(await failureOf(formatFile(folder, { path: 'a.ts' }, { ...context, authorize }))).toMatchObject({
      kind: 'conflict',
    })
    expect(await read('a.ts')).toBe('b')
  })

  it('keeps line ends and a byte order mark', async () => {
    const { folder, context, read } = await createRewriting({ 'a.ts': '\uFEFFlet a  = 1\r\nlet b\r\n' })
    await formatFile(folder, { path: 'a.ts' }, context)
    expect(await read('a.ts')).toBe('\uFEFFlet a = 1;\r\nlet b;\r\n')
  })

  it('reads .editorconfig files up to the root one', async () => {
    const { folder, context, read } = await createRewriting({
      '.editorconfig': '[*]\nindent_size = 8\n',
      'a/.editorconfig': 'root = true\n[*.{ts,js}]\nindent_style = tab\n[other.ts]\nindent_style = space\n',
      'a/b/x.ts': 'if (a) {\nb()\n}\n',
      'y.ts': 'if (a) {\nb()\n}\n',
    })
    await formatFile(folder, { path: 'a/b/x.ts' }, context)
    await formatFile(folder, { path: 'y.ts' }, context)
    expect(await read('a/b/x.ts')).toBe('if (a) {\n\tb();\n}\n')
    expect(await read('y.ts')).toBe('if (a) {\n        b();\n}\n')
  })

  it.each([
    ['[*]', 'a.json', true],
    ['[*.json]', 'x/a.json', true],
    ['[/*.json]', 'x/a.json', false],
    ['[/*.json]', 'a.json', true],
    ['[x/**.json]', 'x/a.json', true],
    ['[{a,b}.json]', 'a.json', true],
    ['[a{1..12}.json]', 'a11.json', true],
    ['[a{1..12}.json]', 'a13.json', false],
    ['[[!b].json]', 'a.json', true],
    ['[a.json', 'a.json', false],
    ['[{a.json]', 'a.json', false],
  ])('reads the section %s of .editorconfig for %s: %s', async (section, path, applies) => {
    const { folder, context, read } = await createRewriting({
      '.editorconfig': `; comment\n root = true\r\n\t${section} \n indent_size : 8 # comment\n`,
      [path]: '{\n"a":1}',
    })
    await formatFile(folder, { path }, context)
    expect(await read(path)).toBe(`{\n${' '.repeat(applies ? 8 : 2)}"a": 1\n}\n`)
  })

  it.each([
    ['.prettierrc', '{ "semi": false }'],
    ['prettier.config.cjs', 'module.exports = { semi: false }'],
    ['package.json', '{ "devDependencies": { "prettier": "3" }, "prettier": { "semi": false } }'],
  ])('runs the prettier of the workspace that %s names', async (name, config) => {
    const { folder, context, root, intents, runs, read } = await createRewriting({
      [name]: config,
      'a/b.ts': 'let a  = 1;',
    })
    await installPrettier(root)
    await formatFile(folder, { path: 'a/b.ts' }, context)
    expect(await read('a/b.ts')).toBe('let a = 1\n')
    const policyArgv = ['node_modules/.bin/prettier', '--stdin-filepath']
    const argv = [...policyArgv, './a/b.ts']
    expect(runs).toEqual([argv])
    expect(intents[0]).toEqual({ argv, policyArgv, cwd: '' })
    expect(intents[1]).toMatchObject({ writes: ['a/b.ts'] })
  })

  it('runs nothing when the command is refused', async () => {
    const { folder, context, root, runs } = await createRewriting({ '.prettierrc': '{}', 'b.ts': 'let a  = 1;' })
    await installPrettier(root)
    expect(await failureOf(formatFile(folder, { path: 'b.ts' }, { ...context, authorize: refuse }))).toMatchObject({
      kind: 'denied',
    })
    expect(runs).toEqual([])
  })

  it.each([
    ['a.go', {}, ['gofmt']],
    ['a.rs', { 'Cargo.toml': 'edition = "2024"\n' }, ['rustfmt', '--emit=stdout', '--edition=2024']],
    ['a.py', { 'pyproject.toml': '[tool.ruff.lint]\n' }, ['ruff', 'format', '-', '--stdin-filename', './a.py']],
    ['a.py', { 'pyproject.toml': '[tool.black]\n' }, ['black', '--quiet', '-', '--stdin-filename', './a.py']],
    [
      'a.py',
      { 'ruff.toml': '', '.venv/bin/ruff': '' },
      ['.venv/bin/ruff', 'format', '-', '--stdin-filename', './a.py'],
    ],
    [
      'a.ts',
      { 'biome.json': '{}', 'node_modules/.bin/biome': '' },
      ['node_modules/.bin/biome', 'format', '--stdin-file-path', './a.ts'],
    ],
  ])('formats %s in a workspace with %j by its program', async (path, files, argv) => {
    const { folder, context, read } = await createRewriting({ ...files, [path]: 'old' })
    const runs: (readonly string[])[] = []
    const run: typeof context.run = (words, { stdin }) => {
      runs.push(words)
      return Promise.resolve({ exitCode: 0, stdout: `${stdin} new`, stderr: '', truncated: false })
    }
    await formatFile(folder, { path }, { ...context, run })
    expect(runs).toEqual([argv])
    expect(await read(path)).toBe('old new')
  })

  it.each([
    [
      { exitCode: 2, stdout: 'x', stderr: 'line 1: bad\n', truncated: false },
      'gofmt failed with exit code 2: line 1: bad',
    ],
    [
      { exitCode: 0, stdout: 'x', stderr: '', truncated: true },
      'The output of gofmt is too large. The file was not changed.',
    ],
    [{ exitCode: 0, stdout: '', stderr: '', truncated: false }, 'gofmt gave no output. The file was not changed.'],
  ])('leaves the file as it is when the program ends with %j', async (end, detail) => {
    const { folder, context, read } = await createRewriting({ 'a.go': 'old' })
    const run = () => Promise.resolve(end)
    expect(await failureOf(formatFile(folder, { path: 'a.go' }, { ...context, run }))).toEqual({
      kind: 'failed',
      detail,
    })
    expect(await read('a.go')).toBe('old')
  })

  it.each([
    ['a.c', {}, 'There is no formatter for "a.c".'],
    ['a.py', {}, 'The workspace has no formatter for Python.'],
    ['a.ts', { 'a.ts': 'let = (' }, '"a.ts" cannot be formatted: '],
    ['a.ts', { '.prettierrc': '{}' }, '.prettierrc names prettier, but node_modules/.bin/prettier is missing.'],
  ])('says why it cannot format %s with %j', async (path, files, detail) => {
    const { folder, context } = await createRewriting({ [path]: 'x', ...files })
    expect(await failureOf(formatFile(folder, { path }, context))).toMatchObject({
      kind: 'failed',
      detail: expect.stringContaining(detail),
    })
  })

  it('runs no code of the workspace in the bundled prettier', async () => {
    const { folder, context, root, outside } = await createRewriting({ 'sub/a.ts': 'a  = 1' })
    const canary = join(outside, 'canary')
    const code = `require('node:fs').writeFileSync(${JSON.stringify(canary)}, '')`
    await writeFile(join(dirname(root), 'prettier.config.cjs'), code)
    await formatFile(folder, { path: 'sub/a.ts' }, context)
    expect(await canRead(canary)).toBe(false)
  })

  it('G33: does not read malicious names as options', async () => {
    const names = ['--config=canary.cjs', '--plugin=canary.cjs', ';touch canary', '$(touch canary)', '-w', '--']
    const canary = `require('node:fs').writeFileSync('canary', '')`
    const files = Object.fromEntries(names.map((name) => [`${name}.ts`, 'let a  = 1']))
    const { folder, context, root, read } = await createRewriting({
      ...files,
      'package.json': '{ "prettier": {} }',
      'canary.cjs': canary,
      'canary.cjs.ts': canary,
    })
    await installPrettier(root)
    for (const name of names) {
      const runs: (readonly string[])[] = []
      const run: typeof context.run = (argv, options) => {
        runs.push(argv)
        // Start the real prettier once, to see how it interprets the argument.
        if (name === '--config=canary.cjs') return context.run(argv, options)
        return Promise.resolve({ exitCode: 0, stdout: 'let a = 1;\n', stderr: '', truncated: false })
      }
      await formatFile(folder, { path: `${name}.ts` }, { ...context, run })
      expect(runs).toEqual([['node_modules/.bin/prettier', '--stdin-filepath', `./${name}.ts`]])
      expect(await read(`${name}.ts`)).toBe('let a = 1;\n')
    }
    expect(await canRead(join(root, 'canary'))).toBe(false)
  })

  it('G33: the bundled prettier does not read a malicious name as an option', async () => {
    const path = '--config=canary.js.ts'
    const { folder, context, read } = await createRewriting({ [path]: 'let a  = 1' })
    await formatFile(folder, { path }, context)
    expect(await read(path)).toBe('let a = 1;\n')
  })

  it('G02: refuses a path outside the root', async () => {
    const { folder, context } = await createRewriting({})
    expect(await failureOf(formatFile(folder, { path: '../outside/a.ts' }, context))).toMatchObject({ kind: 'denied' })
  })
})
