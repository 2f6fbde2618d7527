import { describe, expect, test } from 'vitest'
import { Fault } from '../../../../src/errors.ts'
import { prepareTurn } from '../../../../src/translate/engine/tool-codec/prepare-turn.ts'
import type { FunctionTool, Turn, TurnTool } from '../../../../src/translate/turn.ts'
import { formatWarning } from '../../../../src/translate/warning.ts'
import { narrow, turn } from '../../turns.ts'

const tool = (name: string, parts: Partial<FunctionTool> = {}): FunctionTool => ({
  type: 'function',
  name,
  parameters: { type: 'object', properties: {} },
  path: 'tools.0',
  ...parts,
})

function prepare(parts: Partial<Turn>, accepts = narrow) {
  const prepared = prepareTurn(turn(parts), accepts)
  return { ...prepared, warnings: prepared.warnings.map(formatWarning) }
}

function nameOf(prepared: { readonly turn: Turn }, at = 0): string {
  const found = prepared.turn.tools[at]
  return found?.type === 'function' || found?.type === 'custom' ? found.name : ''
}

function refusalOf(parts: Partial<Turn>): unknown {
  try {
    prepare(parts)
  } catch (error) {
    if (error instanceof Fault) return error.error
  }
  return undefined
}

describe('names', () => {
  test('of two tools that go by one name say what the one that is offered is', () => {
    const custom: TurnTool = { type: 'custom', name: 'patch', path: 'tools.0' }
    expect(prepare({ tools: [custom, tool('patch')] }).tools.size).toBe(0)
    expect(prepare({ tools: [tool('patch'), custom] }).tools).toEqual(
      new Map([['patch', { name: 'patch', kind: 'custom' }]]),
    )
  })

  test('outside namespaces stay, because rules fit them', () => {
    const prepared = prepare({ tools: [tool('read_file'), tool('a b')] })
    expect([nameOf(prepared, 0), nameOf(prepared, 1)]).toEqual(['read_file', 'a b'])
    expect(prepared.tools.size).toBe(0)
  })

  test('in a namespace carry it, those of the default namespace do not', () => {
    const prepared = prepare({
      tools: [tool('list', { namespace: 'gh' }), tool('exec', { namespace: 'functions' })],
    })
    expect([nameOf(prepared, 0), nameOf(prepared, 1)]).toEqual(['gh__list', 'exec'])
    expect(prepared.tools).toEqual(
      new Map([
        ['gh__list', { name: 'list', namespace: 'gh', kind: 'function' }],
        ['exec', { name: 'exec', namespace: 'functions', kind: 'function' }],
      ]),
    )
  })

  test('used twice: the last tool holds', () => {
    const prepared = prepare({
      tools: [tool('f', { description: 'old', path: 'tools.0' }), tool('f', { path: 'tools.1' })],
    })
    expect(prepared.turn.tools).toHaveLength(1)
    expect(prepared.turn.tools[0]).not.toHaveProperty('description')
    expect(prepared.warnings).toEqual(['duplicate_tool_dropped;tools.0'])
  })
})

describe('freeform tools', () => {
  const patch: TurnTool = {
    type: 'custom',
    name: 'apply_patch',
    description: 'Edit files',
    format: { type: 'grammar', syntax: 'lark', definition: 'start: /.+/' },
    path: 'tools.0',
  }
  const items = [
    { type: 'tool_call', kind: 'custom', id: 'a', name: 'apply_patch', arguments: '*** "Begin"', path: 'input.0' },
    { type: 'tool_result', callId: 'a', content: '', isError: false, path: 'input.1' },
  ] as const

  test('become functions with one text if upstream has none, with the grammar in the description', () => {
    const prepared = prepare({ tools: [patch], items })
    expect(prepared.turn.tools).toEqual([
      {
        type: 'function',
        name: 'apply_patch',
        description: 'Edit files\n\nThe input must match this lark grammar:\nstart: /.+/',
        parameters: { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] },
        path: 'tools.0',
      },
    ])
    expect(prepared.turn.items[0]).toMatchObject({ kind: 'function', arguments: '{"input":"*** \\"Begin\\""}' })
    expect(prepared.tools.get('apply_patch')).toEqual({ name: 'apply_patch', kind: 'custom' })
    expect(prepared.warnings).toEqual(['grammar_not_enforced;tools.0'])
  })

  test('stay what they are where upstream has them', () => {
    const prepared = prepare({ tools: [patch], items }, { ...narrow, customTools: true })
    expect(prepared.turn.tools).toEqual([{ ...patch, namespace: undefined }])
    expect(prepared.turn.items[0]).toBe(items[0])
    expect(prepared.tools.size).toBe(0)
  })
})

describe('tools upstream would have to run', () => {
  const search: TurnTool = { type: 'web_search', onlyThere: [], path: 'tools.1' }
  const computer: TurnTool = { type: 'hosted', wireType: 'computer_20250124', path: 'tools.1' }

  test('are left out with a warning where there are others and the model can do without', () => {
    const prepared = prepare({ tools: [tool('f'), search] })
    expect(prepared.turn.tools).toHaveLength(1)
    expect(prepared.warnings).toEqual(['dropped;tools.1'])
  })

  test.each([
    ['web search alone', { tools: [search] }],
    ['web search that is required', { tools: [tool('f'), search], toolChoice: { type: 'required' } as const }],
    ['a computer', { tools: [tool('f'), computer] }],
  ])('are refused: %s', (_name, parts) => {
    expect(refusalOf(parts)).toMatchObject({ kind: 'invalid_request', path: 'tools[1]', code: 'unsupported_tool' })
  })

  test('are kept where upstream has them', () => {
    expect(prepare({ tools: [search] }, { ...narrow, webSearch: true }).turn.tools).toEqual([search])
  })

  test.each([
    ['as the call of any tool, where there is no other', [search], { type: 'required' }],
    ['as nothing where there are others', [tool('f'), search], { type: 'auto' }],
    ['as what it is where a function has the name', [tool('web_search'), search], { type: 'tool', name: 'web_search' }],
  ])('are required %s', (_title, tools, expected) => {
    const toolChoice = { type: 'tool', name: 'web_search' } as const
    expect(prepare({ tools, toolChoice }, { ...narrow, webSearch: true }).turn.toolChoice).toEqual(expected)
  })
})

describe('the choice of a tool', () => {
  test.each([
    ['leaves the others out for an upstream that knows no such choice', narrow, ['b']],
    ['leaves all of them to an upstream that knows it', { ...narrow, allowedTools: true }, ['a', 'b']],
  ])('among several %s', (_, accepts, offered) => {
    const toolChoice = { type: 'allowed', mode: 'required', tools: [{ name: 'b' }] } as const
    const { turn: prepared } = prepare({ tools: [tool('a'), tool('b')], toolChoice }, accepts)
    expect(prepared.tools).toMatchObject(offered.map((name) => ({ name })))
    expect(prepared.toolChoice).toEqual(toolChoice)
  })

  test('without tools says nothing', () => {
    expect(prepare({ toolChoice: { type: 'auto' } }).turn.toolChoice).toBeUndefined()
  })

  test.each([{ type: 'required' } as const, { type: 'tool', name: 'g' } as const])(
    'that nothing can meet is refused: %j',
    (toolChoice) => {
      expect(refusalOf({ toolChoice })).toMatchObject({ kind: 'invalid_request', path: 'tool_choice' })
    },
  )
})

test('stop texts stay with an upstream that reports them, and are ours to watch otherwise', () => {
  expect(prepare({ stop: ['END'] })).toMatchObject({ stop: ['END'], turn: { stop: [] } })
  expect(prepare({ stop: ['END'] }, { ...narrow, stop: true })).toMatchObject({ stop: [], turn: { stop: ['END'] } })
})

test('the Turn it was given is left alone', () => {
  const given = turn({ tools: [tool('a b')], items: [] })
  const before = structuredClone(given)
  prepareTurn(given, narrow)
  expect(given).toEqual(before)
})
