import { fc } from '../fast-check.ts'
import { describe, expect, test } from 'vitest'
import { entryFormats, setUpText, undoText } from '../../src/client-settings/client-entries.ts'
import type { FileClientId } from '../../src/client-settings/target.ts'
import { readJsonc } from './read-jsonc.ts'
import { model, target } from './models.ts'

const ids: readonly FileClientId[] = ['claude', 'codex', 'opencode']

function setUp(client: FileClientId, text: string, before = text, key = 'copilot-proxy'): string {
  const next = setUpText(entryFormats[client], text, before, target(client, { key }))
  if (next === undefined) throw new Error(`not understood: ${text}`)
  return next
}

const word = fc.stringMatching(/^[a-z]{1,8}$/)
const lineEnd = fc.constantFrom('\n', '\r\n')

/** A settings file as people and editors write them: comments, odd indents, last commas, either line end. */
const jsonFile = (isPlain: boolean) =>
  fc
    .record({
      value: fc.dictionary(
        fc.oneof(word, fc.constantFrom('env', 'model', 'provider')),
        fc.oneof(
          fc.dictionary(fc.oneof(word, fc.constantFrom('ANTHROPIC_MODEL', 'FOO', 'copilot-proxy')), fc.string()),
        ),
      ),
      enabled: fc.option(fc.array(fc.oneof(word, fc.constant('copilot-proxy')), { maxLength: 3 }), { nil: undefined }),
      indent: fc.constantFrom<string | number>(0, 2, 4, '\t'),
      comment: isPlain ? fc.constant(false) : fc.boolean(),
      lastComma: isPlain ? fc.constant(false) : fc.boolean(),
      end: lineEnd,
      bom: fc.boolean(),
      lastLine: fc.boolean(),
    })
    .map(({ value, enabled, indent, comment, lastComma, end, bom, lastLine }) => {
      let text = JSON.stringify({ ...value, enabled_providers: enabled }, null, indent)
      if (indent !== 0 && lastComma) text = text.replaceAll(/(["}])\n/g, '$1,\n')
      if (indent !== 0 && comment) text = text.replaceAll(/^(\s+"[^]*?)$/gm, '$1 // a remark, "quoted"')
      return (bom ? '\uFEFF' : '') + text.replaceAll('\n', end) + (lastLine ? end : '')
    })

const tomlLine = fc.oneof(
  fc.tuple(word, fc.string()).map(([key, value]) => `${key} = ${JSON.stringify(value)}`),
  word.map((text) => `# ${text}`),
  fc.constant(''),
  word.map((key) => `list_${key} = [\n  "a", # one\n  "]",\n]`),
  word.map((key) => `text_${key} = """\n[model_providers.copilot-proxy]\nmodel = "no"\n"""`),
)
const tomlFile = fc
  .record({
    root: fc.array(tomlLine),
    model: fc.constantFrom('', 'model = "theirs" # mine\n', "model_provider = 'theirs'\n"),
    tables: fc.array(fc.tuple(word, fc.array(tomlLine))),
    end: lineEnd,
    lastLine: fc.boolean(),
  })
  .map(({ root, model: own, tables, end, lastLine }) => {
    const text =
      own +
      [...root, ...tables.flatMap(([name, lines]) => [`[table.${name}]`, ...lines])].map((line) => `${line}\n`).join('')
    return (lastLine ? text : text.trimEnd()).replaceAll('\n', end)
  })

const files: Readonly<Record<FileClientId, fc.Arbitrary<string>>> = {
  // It reads plain JSON only.
  claude: jsonFile(true),
  codex: tomlFile,
  opencode: jsonFile(false),
}

/** A change of somebody else's. */
const laterChange: Readonly<Record<FileClientId, (text: string) => string>> = {
  claude: (text) => text.replace('{', '{"later":1,'),
  codex: (text) => `${text}\n# later\n`,
  opencode: (text) => `${text}\n// later\n`,
}

describe.each(ids)('%s', (client) => {
  const format = entryFormats[client]

  test('setup, then undo: the file is as it was, to the byte', () => {
    fc.assert(
      fc.property(files[client], (text) => {
        const next = setUp(client, text)
        expect(undoText(format, next, text)).toEqual({ kind: 'exact', text })
      }),
    )
  })

  test('a second setup changes nothing', () => {
    fc.assert(
      fc.property(files[client], (text) => {
        const next = setUp(client, text)
        expect(setUp(client, next, text)).toBe(next)
      }),
    )
  })

  test('what setup leaves is well formed, says what is wanted, and keeps all else', () => {
    fc.assert(
      fc.property(files[client], (text) => {
        const next = setUp(client, text)
        expect(format.read(next)).toBeDefined()
        expect(format.areOurs(format.read(next) ?? {}, 'http://127.0.0.1:4141')).toBe(true)
        if (client === 'codex') expect(otherLines(next)).toEqual(otherLines(text))
        else expect(others(readJsonc(next))).toEqual(others(readJsonc(text)))
      }),
    )
  })

  test('undo after another change takes out what setup wrote, and nothing else', () => {
    fc.assert(
      fc.property(files[client], (text) => {
        const next = setUp(client, text)
        const undone = undoText(format, laterChange[client](next), text)
        if (undone.kind !== 'entries') throw new Error(undone.kind)
        expect(undone.text).toContain('later')
        if (client === 'codex') expect(format.read(undone.text)).toEqual(format.read(text))
        else {
          const expected = withoutEmpty(readJsonc(laterChange[client](text)))
          expect(withoutEmpty(readJsonc(undone.text))).toEqual(expected)
        }
      }),
    )
  })

  test('of a file that was not there, undo leaves nothing', () => {
    const next = setUp(client, '')
    expect(undoText(format, next, '')).toEqual({ kind: 'exact', text: '' })
  })

  test('a file that is not understood is left alone', () => {
    const text = client === 'codex' ? 'model = [' : '{"env": '
    expect(setUpText(format, text, text, target(client))).toBeUndefined()
    expect(undoText(format, text, '')).toEqual({ kind: 'by-hand' })
  })
})

const ours = new Set(['$schema', 'model', 'small_model', 'copilot-proxy'])

/** All of a JSON file but what setup has to say. */
function others(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([name]) => !ours.has(name) && !/^(?:ANTHROPIC|CLAUDE_CODE)_/.test(name))
  return withoutEmpty(Object.fromEntries(entries.map(([name, entry]) => [name, others(entry)])))
}

/** All lines of a TOML file but those that setup has to say, and empty ones. */
function otherLines(text: string): readonly string[] {
  const added = /^(?:model|model_provider|name|base_url|wire_api) = |^\[model_providers\.copilot-proxy\]|^$/
  return text.split(/\r?\n/).filter((line) => !added.test(line))
}

/** An object that held nothing goes with the last entry that was put into it. */
function withoutEmpty(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).filter(([, entry]) => JSON.stringify(entry) !== '{}'))
}

test('an entry that another model made necessary goes with it', () => {
  const gpt = target('claude', { models: [model('gpt-5.4', ['responses'])] })
  const first = setUpText(entryFormats.claude, '{}', '{}', gpt) ?? ''
  expect(first).toContain('CLAUDE_CODE_MAX_CONTEXT_TOKENS')
  expect(setUp('claude', first, '{}')).not.toContain('CLAUDE_CODE_MAX_CONTEXT_TOKENS')
})

test.each([
  'model_providers = { theirs = {} }\n',
  'model_providers.copilot-proxy.name = "x"\n',
  '[model_providers]\ncopilot-proxy = { name = "x" }\n',
  '[model_providers.copilot-proxy.headers]\na = "b"\n',
])('a provider that is written in an unusual way is left to the user: %j', (text) => {
  expect(setUpText(entryFormats.codex, text, text, target('codex'))).toBeUndefined()
})
