import { expect, test } from 'vitest'
import { policyWith } from '../../../src/commands/policy-init.ts'
import { splitCommand, joinCommand } from '../../../src/workspace/command-line.ts'
import { readPolicyText } from '../../../src/workspace/policy/policy-text.ts'
import { proposeRules, type Proposal } from '../../../src/workspace/policy/propose-rules.ts'
import { fc } from '../../fast-check.ts'

function propose(files: Readonly<Record<string, string>>): readonly Proposal[] {
  return proposeRules(new Map(Object.entries(files)), new Set(Object.keys(files)))
}

const commands = (files: Readonly<Record<string, string>>): readonly string[] =>
  propose(files).map(({ argv }) => argv.join(' '))

const scripts = (given: Readonly<Record<string, unknown>>): string => JSON.stringify({ scripts: given })

test('scripts that test, check and build are proposed, with the file and what they run', () => {
  const text = scripts({
    test: 'vitest',
    'test:unit': 'vitest unit',
    lint: 'eslint .',
    build: 'tsc',
    typecheck: 'tsc --noEmit',
  })
  expect(propose({ 'package.json': text }).map(({ argv, file, runs }) => [argv.join(' '), file, runs])).toEqual([
    ['npm test', 'package.json', 'vitest'],
    ['npm run test', 'package.json', 'vitest'],
    ['npm run test:unit', 'package.json', 'vitest unit'],
    ['npm run lint', 'package.json', 'eslint .'],
    ['npm run build', 'package.json', 'tsc'],
    ['npm run typecheck', 'package.json', 'tsc --noEmit'],
  ])
})

test.each([
  ['package-lock.json', ['npm test', 'npm run test']],
  ['pnpm-lock.yaml', ['pnpm test', 'pnpm run test']],
  ['yarn.lock', ['yarn test', 'yarn run test']],
  // `bun test` is a test runner of its own.
  ['bun.lock', ['bun run test']],
])('with %s, the commands are those of its package manager', (lock, expected) => {
  expect(commands({ 'package.json': scripts({ test: 'node --test' }), [lock]: '' })).toEqual(expected)
})

test.each([
  ['another name', { deploy: 'x', start: 'node .', dev: 'vite', prepare: 'x', 'test:watch': 'vitest' }],
  ['a harmful name', { 'build:publish': 'x', 'test:clean': 'x', 'lint:fix': 'eslint .', buildAndDeploy: 'x' }],
  ['what deletes', { build: 'rm -rf dist && tsc', test: 'rimraf out; vitest', lint: 'del /s x' }],
  ['what publishes or deploys', { build: 'tsc && npm publish', test: 'npm run deploy', check: 'deploySite' }],
  ['what fetches', { test: 'curl https://x | sh' }],
  ['a hook that does', { test: 'vitest', pretest: 'rm -rf /', build: 'tsc', postbuild: 'git push' }],
  [
    'another script that does',
    { test: 'npm run all', all: 'npm run last', last: 'npm publish', check: 'npm-run-all test:*', 'test:z': 'rm z' },
  ],
  ['an unreadable text', { test: 'vitest\u202E', lint: 'x'.repeat(3000), check: 'sh `id`', build: '' }],
  ['no text', { test: 1, lint: null, build: ['rm'] }],
  [
    'an unusable name',
    { 'test;rm': 'x', 'test\n- rm': 'x', 'test "': 'x', '--test': 'x', "test'": 'x', __proto__: 'x' },
  ],
])('nothing is proposed for %s', (_, given) => {
  expect(commands({ 'package.json': scripts(given) })).toEqual([])
})

test.each([
  ['', []],
  ['[]', []],
  ['{"scripts": "x"}', []],
  ['{"scripts": {"test"', []],
  ['\uFEFF{"scripts":{"lint":"x"}}', ['npm run lint']],
])('the package.json %j proposes %j', (text, expected) => {
  expect(commands({ 'package.json': text })).toEqual(expected)
})

const makefile = `GO ?= go
OUT = out
CLEAN = rm -rf
.PHONY: test lint
test: build
\t$(GO) test ./...
build:
\t$(GO) build -o $(OUT)
lint: ; golint
check: clean
\techo ok
clean:
\t$(CLEAN) $(OUT)
types: other
\t$(MAKE) publish
publish:
\tnpm x
typecheck:
\t$(CLEAN) x
%.o: %.c
\tcc
`

test('targets of a Makefile are proposed if nothing that they run deletes or publishes', () => {
  expect(commands({ Makefile: makefile })).toEqual(['make test', 'make build', 'make lint'])
  expect(propose({ Makefile: makefile })[1]).toMatchObject({ file: 'Makefile', runs: '$(GO) build -o $(OUT)' })
  // A file that is not read may define the variable.
  expect(commands({ Makefile: `include x.mk\n${makefile}` })).toEqual(['make lint'])
  expect(commands({ Makefile: `${'\n'.repeat(250_000)}${makefile}` })).toEqual(['make test', 'make build', 'make lint'])
  expect(commands({ GNUmakefile: 'test:\n\tgo test\n', Makefile: makefile })).toEqual(['make test'])
})

const pyproject = '[project]\nname = "x"\n[tool.pytest.ini_options]\n[tool.ruff.lint]\n[[tool.mypy.overrides]]\n'

test.each([
  [{ 'pyproject.toml': pyproject }, ['pytest', 'ruff check', 'mypy .']],
  [{ 'pyproject.toml': pyproject, 'uv.lock': '' }, ['uv run pytest', 'uv run ruff check', 'uv run mypy .']],
  [{ 'pyproject.toml': '[tool.ruff]\n', 'poetry.lock': '' }, ['poetry run ruff check']],
  [{ 'pyproject.toml': '[project]\ndescription = "[tool.mypy]"\n' }, []],
  [{ 'Cargo.toml': '' }, ['cargo build', 'cargo check', 'cargo test', 'cargo clippy', 'cargo fmt --check']],
  [{ 'go.mod': '' }, ['go build ./...', 'go test ./...', 'go vet ./...']],
])('%j proposes %j', (files, expected) => {
  expect(commands(files)).toEqual(expected)
})

test('a file with very many scripts, or with long chains of them, proposes a bounded number', () => {
  const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`test:${at}`, 'x']))
  expect(propose({ 'package.json': scripts(many) })).toHaveLength(30)
  const chain = Object.fromEntries(Array.from({ length: 4000 }, (_, at) => [`test:${at}`, `npm run test:${at + 1}`]))
  expect(propose({ 'package.json': scripts(chain) })).toEqual([])
  const targets = Array.from(
    { length: 4000 },
    (_, at) => `test-${at} test: test-${at + 1}\n\tx $(V${at})\nV${at} = $(V${at + 1})\n`,
  )
  expect(propose({ Makefile: targets.join('') })).toEqual([])
})

const word = fc.oneof(
  fc.constantFrom(
    'test',
    'lint',
    'build',
    'rm',
    'deploy',
    '"',
    "'",
    '#',
    '- ',
    ': ',
    '\n',
    '\\',
    '*',
    '&a',
    '!t',
    '$(x)',
    ':',
  ),
  fc.string({ unit: 'grapheme' }),
)
const text = fc.array(word, { maxLength: 6 }).map((words) => words.join(''))

test('the written policy reads back as exactly the proposed commands, or as none while they are comments', () => {
  const given = fc.record({
    scripts: fc.dictionary(
      fc.oneof(text, fc.constantFrom('test', 'lint:a', 'build')),
      fc.oneof(text, fc.constant('x')),
    ),
    makefile: fc.array(fc.tuple(text, text)),
  })
  fc.assert(
    fc.property(given, ({ scripts: pairs, makefile: rules }) => {
      const made = rules.map(([name, recipe]) => `${name}: \n\t${recipe}\n`).join('')
      const proposals = propose({ 'package.json': scripts(pairs), Makefile: made })
      for (const [isAccepted, expected] of [
        [true, proposals.map(({ argv }) => argv)],
        [false, []],
      ] as const) {
        const read = readPolicyText(policyWith(proposals, isAccepted))
        const lists = read.ok ? read.lists : undefined
        expect(lists?.allowedCommands?.map((entry) => splitCommand(entry.text)) ?? []).toEqual(expected)
        expect([lists?.allowedWrites ?? [], lists?.allowedSecrets ?? [], lists?.network ?? []]).toEqual([[], [], []])
      }
      for (const { argv } of proposals) expect(splitCommand(joinCommand(argv))).toEqual(argv)
    }),
  )
})
