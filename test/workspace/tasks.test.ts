import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it, test } from 'vitest'
import { openFolder } from '../../src/workspace/open-folder.ts'
import { findTask } from '../../src/workspace/tasks.ts'
import { createTree, failureOf } from './tree.ts'

async function createWorkspace(files: Readonly<Record<string, string>>): Promise<{
  readonly find: (name: string, args?: readonly string[]) => ReturnType<typeof findTask>
}> {
  const { root } = await createTree()
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
  }
  const folder = await openFolder(root)
  return { find: (name, args) => findTask(folder, name, args) }
}

const npm = JSON.stringify({ scripts: { test: 'vitest && rm x', 'build:all': 'tsc', both: 'x' } })
const make = `VERSION := 1
CC ?= gcc
.PHONY: all
all: build
build test-unit: main.c
\tgcc main.c
%.o: %.c
$(BIN): x
both::
lint:
# comment: x
A ::= b
`
const editor = `{
  // written by an editor
  "version": "2.0.0",
  "tasks": [
    { "label": "check", "type": "shell", "command": "npx tsc --noEmit", "args": ["-p", "my dir"] },
    { "label": "serve", "type": "process", "command": "node", "args": ["a b.js", ";"], "options": { "cwd": "\${workspaceFolder}/app" } },
    { "type": "npm", "script": "dev", "path": "app" },
    { "label": "chain", "type": "shell", "command": "npm test && rm -rf x" },
    { "label": "glob", "type": "shell", "command": "ls", "args": ["*.ts"] },
    { "label": "spaced", "type": "shell", "command": "ls", "args": ["a 'b"] },
    { "label": "quoted", "type": "shell", "command": "ls", "args": [{ "value": "x", "quoting": "weak" }] },
    { "label": "file", "type": "process", "command": "node", "args": ["\${file}"] },
    { "label": "all", "dependsOn": ["check"] },
    { "label": "env", "type": "process", "command": "x", "options": { "env": { "NODE_OPTIONS": "-r x" } } },
    { "label": "shell", "type": "shell", "command": "x", "options": { "shell": { "executable": "bash" } } },
    { "label": "gulp", "type": "gulp", "task": "x" },
    { "label": "empty", "type": "shell" },
    { "label": "outside", "type": "process", "command": "x", "options": { "cwd": ".." } },
  ],
}
`

test.each([
  ['test', [], ['npm', 'run', 'test'], 'package.json'],
  ['build:all', ['--a', 'b c'], ['npm', 'run', 'build:all', '--', '--a', 'b c'], 'package.json'],
  ['both', [], ['npm', 'run', 'both'], 'package.json'],
  ['all', [], ['make', 'all'], 'Makefile'],
  ['test-unit', ['V=1'], ['make', 'test-unit', 'V=1'], 'Makefile'],
  ['lint', [], ['make', 'lint'], 'Makefile'],
  ['check', ['-w'], ['npx', 'tsc', '--noEmit', '-p', 'my dir', '-w'], '.vscode/tasks.json'],
])('finds %s %j', async (name, args, argv, file) => {
  const { find } = await createWorkspace({ 'package.json': npm, Makefile: make, '.vscode/tasks.json': editor })
  expect(await find(name, args)).toEqual({ argv, cwd: '', file })
})

test('uses the folder of an entry', async () => {
  const { find } = await createWorkspace({ '.vscode/tasks.json': editor })
  expect(await find('serve')).toMatchObject({ argv: ['node', 'a b.js', ';'], cwd: 'app' })
  expect(await find('npm: dev')).toMatchObject({ argv: ['npm', 'run', 'dev'], cwd: 'app' })
  expect(await failureOf(find('outside'))).toMatchObject({ kind: 'denied' })
})

describe('a task that needs a shell or an editor is refused', () => {
  it.each([
    ['chain', 'contains "&"'],
    ['glob', 'contains "*"'],
    ['spaced', 'which only a shell understands'],
    ['quoted', 'has an argument with quoting rules'],
    ['file', 'which only an editor can fill in'],
    ['all', 'depends on other tasks'],
    ['env', 'sets variables'],
    ['shell', 'names a shell'],
    ['gulp', 'is of a type that needs an editor'],
    ['empty', 'has no command'],
  ])('%s', async (name, reason) => {
    const { find } = await createWorkspace({ '.vscode/tasks.json': editor })
    await expect(find(name)).rejects.toThrow(reason)
  })
})

test('lists the existing tasks', async () => {
  const { find } = await createWorkspace({ 'package.json': npm, Makefile: make })
  expect(await failureOf(find('deploy'))).toEqual({
    kind: 'failed',
    detail: 'There is no task "deploy". Tasks: "test", "build:all", "both", "all", "build", "test-unit", "lint".',
  })
  const empty = await createWorkspace({})
  await expect(empty.find('constructor')).rejects.toThrow(
    'There is no task "constructor". The workspace has no npm scripts, make targets or .vscode/tasks.json.',
  )
})

test.each(['package.json', '.vscode/tasks.json'])('names a broken %s', async (path) => {
  for (const text of ['{', '[]', '{"scripts": 1, "tasks": 1}']) {
    const { find } = await createWorkspace({ [path]: text })
    await expect(find('x')).rejects.toThrow(`"${path}" is invalid, so its tasks are unknown.`)
  }
})
