import { describe, expect, test } from 'vitest'
import { decodeMessage } from '../../src/gateway/messages.ts'
import { callId, startState, step } from '../../src/gateway/protocol.ts'
import type { Action, Bound, ConnectionState, Input, Surroundings } from '../../src/gateway/protocol.ts'

const world: Surroundings = {
  providerId: 'p-8f3a',
  isToken: (text) => text === 'ptk-right',
  sessions: () => [{ id: 'abc123', label: 'foo', cwd: '/code/foo' }],
  ownerOf: () => (tool) => (tool === 'taken' ? 'the provider "other"' : undefined),
}

const message = (value: object | string): Input => ({
  type: 'received',
  decoded: decodeMessage(typeof value === 'string' ? value : JSON.stringify(value)),
})

const hello = { type: 'hello', name: 'mine', protocolVersion: 2, session: 'abc123' }
const [tool] = [{ name: 'greet', description: 'Say hello', parameters: { type: 'object' } }]

/** Returns the state after all inputs, and the actions of the last one. */
function after(...inputs: readonly Input[]): { readonly state: ConnectionState; readonly actions: readonly Action[] } {
  let state: ConnectionState = startState
  let actions: readonly Action[] = []
  for (const input of inputs) ({ state, actions } = step(state, input, world))
  return { state, actions }
}

const authed = message({ type: 'auth', token: 'ptk-right' })
const greeted = message({ ...hello, tools: [tool] })
const call = (number: number): Input => ({ type: 'call', id: idOf(number), tool: 'greet', args: {} })
const idOf = (number: number) => callId('p-8f3a', number)

function sent(actions: readonly Action[]): readonly unknown[] {
  return actions.flatMap((action) => (action.do === 'send' ? [action.message] : []))
}

function errorOf(actions: readonly Action[]) {
  return sent(actions).find((each): each is { code: string } => (each as { type: string }).type === 'error')
}

const settled = (actions: readonly Action[]) =>
  actions.flatMap((action) => (action.do === 'settle' ? [[action.id, action.outcome]] : []))

const names = (actions: readonly Action[]) => actions.map((action) => action.do)

describe('states', () => {
  test('a provider sends auth and hello, and is bound', () => {
    expect(after(authed)).toEqual({
      state: { at: 'await_hello' },
      actions: [
        { do: 'send', message: { type: 'sessions', active: [{ id: 'abc123', label: 'foo', cwd: '/code/foo' }] } },
      ],
    })
    const { state, actions } = after(authed, greeted)
    expect(state).toMatchObject({ at: 'bound', sessionId: 'abc123', provider: 'mine' })
    expect(names(actions)).toEqual(['bind', 'send', 'send'])
    expect(sent(actions)).toEqual([
      { type: 'hello.ack', protocolVersion: 2, providerId: 'p-8f3a', sessionId: 'abc123' },
      { type: 'session.lifecycle', sessionId: 'abc123', state: 'started' },
    ])
  })

  test('a hello without tools is accepted', () => {
    expect(after(authed, message(hello)).state).toMatchObject({ at: 'bound' })
  })

  const wrong: readonly (readonly [at: string, type: string, before: readonly Input[], given: object])[] = [
    ['AwaitAuth', 'hello', [], hello],
    ['AwaitAuth', 'tool.result', [], { type: 'tool.result', id: 'x', data: 1 }],
    ['AwaitAuth', 'push', [], { type: 'push', level: 'keep', event: 'x' }],
    ['AwaitAuth', 'tools.update', [], { type: 'tools.update', tools: [] }],
    ['AwaitAuth', 'goodbye', [], { type: 'goodbye' }],
    ['AwaitHello', 'auth', [authed], { type: 'auth', token: 'ptk-right' }],
    ['AwaitHello', 'tool.result', [authed], { type: 'tool.result', id: 'x', data: 1 }],
    ['AwaitHello', 'push', [authed], { type: 'push', level: 'keep', event: 'x' }],
    ['AwaitHello', 'tools.update', [authed], { type: 'tools.update', tools: [] }],
    ['AwaitHello', 'goodbye', [authed], { type: 'goodbye' }],
    ['Bound', 'auth', [authed, greeted], { type: 'auth', token: 'ptk-right' }],
    ['Bound', 'hello', [authed, greeted], hello],
  ]
  test.each(wrong)('in %s a message of type %s gets UNKNOWN_TYPE and changes nothing', (_at, type, before, given) => {
    const { state } = after(...before)
    const taken = step(state, message(given), world)
    expect(taken.state).toBe(state)
    expect(sent(taken.actions)).toMatchObject([{ code: 'UNKNOWN_TYPE', replyTo: type }])
  })

  test('an unknown type is refused by name, and the connection stays', () => {
    const { state, actions } = after(authed, greeted, message({ type: 'tool.progress', id: 'x' }))
    expect(state.at).toBe('bound')
    expect(sent(actions)).toMatchObject([
      { code: 'UNKNOWN_TYPE', replyTo: 'tool.progress', providerId: 'p-8f3a', sessionId: 'abc123' },
    ])
  })

  test('unknown fields are ignored in every message', () => {
    const odd = { extra: { deep: [1] }, __proto: 1 }
    const bound = [
      message({ type: 'auth', token: 'ptk-right', ...odd }),
      message({ ...hello, tools: [{ ...tool, ...odd }], ...odd }),
    ]
    expect(after(...bound).state.at).toBe('bound')
    const state = after(...bound, call(1)).state
    expect(names(step(state, message({ type: 'push', level: 'keep', event: 'x', ...odd }), world).actions)).toEqual([
      'push',
    ])
    expect(names(step(state, message({ type: 'tools.update', tools: [], ...odd }), world).actions)).toEqual([
      'replace_tools',
    ])
    expect(names(step(state, message({ type: 'tool.result', id: idOf(1), data: 1, ...odd }), world).actions)).toEqual([
      'settle',
    ])
    expect(step(state, message({ type: 'goodbye', ...odd }), world).state.at).toBe('disconnected')
  })

  test('inputs after the end have no effect', () => {
    const { state } = after(authed, greeted, message({ type: 'goodbye', reason: 'shutting down' }))
    expect(state).toEqual({ at: 'disconnected' })
    for (const input of [authed, greeted, call(1), { type: 'closed' } as const]) {
      expect(step(state, input, world)).toEqual({ state, actions: [] })
    }
  })
})

describe('fatal errors', () => {
  test.each([{ token: 'ptk-wrong' }, { token: 7 }, {}])('the token of auth %j ends with AUTH_FAILED', (given) => {
    const { state, actions } = after(message({ type: 'auth', ...given }))
    expect(state.at).toBe('disconnected')
    expect(names(actions)).toEqual(['send', 'close'])
    expect(sent(actions)).toMatchObject([{ code: 'AUTH_FAILED', replyTo: 'auth' }])
  })

  test.each([1, 3, '2', null, undefined])('protocolVersion %s ends with UNSUPPORTED_VERSION', (protocolVersion) => {
    const { state, actions } = after(authed, message({ ...hello, protocolVersion }))
    expect(state.at).toBe('disconnected')
    expect(names(actions)).toEqual(['send', 'close'])
    expect(sent(actions)).toMatchObject([{ code: 'UNSUPPORTED_VERSION', replyTo: 'hello', providerId: 'p-8f3a' }])
  })
})

describe('errors that a provider can recover from', () => {
  test('after INVALID_SESSION, another hello is accepted', () => {
    const refused = after(authed, message({ ...hello, session: 'def456' }))
    expect(sent(refused.actions)).toEqual([
      {
        type: 'error',
        code: 'INVALID_SESSION',
        message: 'Session "def456" does not exist.',
        replyTo: 'hello',
        providerId: 'p-8f3a',
      },
    ])
    expect(step(refused.state, greeted, world).state.at).toBe('bound')
  })

  test('after TOOL_CONFLICT, a hello with another name is accepted', () => {
    const refused = after(authed, message({ ...hello, tools: [{ ...tool, name: 'taken' }] }))
    expect(sent(refused.actions)).toMatchObject([{ code: 'TOOL_CONFLICT', replyTo: 'hello' }])
    expect(refused.state).toEqual({ at: 'await_hello' })
    expect(step(refused.state, greeted, world).state.at).toBe('bound')
  })

  test('more than 100 tools get PAYLOAD_TOO_LARGE, 100 are accepted', () => {
    const many = Array.from({ length: 101 }, (_, index) => ({ ...tool, name: `t${index}` }))
    const refused = after(authed, message({ ...hello, tools: many }))
    expect(sent(refused.actions)).toMatchObject([{ code: 'PAYLOAD_TOO_LARGE', replyTo: 'hello' }])
    expect(step(refused.state, message({ ...hello, tools: many.slice(1) }), world).state.at).toBe('bound')
  })

  test.each(['name', 'session'])('a hello without %s gets INVALID_JSON', (field) => {
    const { state, actions } = after(authed, message({ ...hello, [field]: undefined }))
    expect(state.at).toBe('await_hello')
    expect(sent(actions)).toMatchObject([{ code: 'INVALID_JSON', replyTo: 'hello' }])
  })

  test.each(['no json', '', '[]', '"text"', 'null', '{}', '{"type":1}', '['.repeat(5000)])(
    'the text %.20j gets INVALID_JSON in every state',
    (text) => {
      for (const before of [[], [authed], [authed, greeted]]) {
        const { state } = after(...before)
        const taken = step(state, message(text), world)
        expect(taken.state).toBe(state)
        expect(errorOf(taken.actions)?.code).toBe('INVALID_JSON')
      }
    },
  )

  test('before authentication an error does not name the provider', () => {
    expect(errorOf(after(message('no json')).actions)).not.toHaveProperty('providerId')
  })
})

describe('tools.update', () => {
  test('replaces the list without an answer', () => {
    const { actions } = after(authed, greeted, message({ type: 'tools.update', tools: [{ ...tool, name: 'b' }] }))
    expect(actions).toMatchObject([{ do: 'replace_tools', tools: [{ name: 'b' }] }])
  })

  test.each([
    ['TOOL_CONFLICT', { tools: [{ ...tool, name: 'taken' }] }],
    ['PAYLOAD_TOO_LARGE', { tools: Array.from({ length: 101 }, (_, index) => ({ ...tool, name: `t${index}` })) }],
    ['INVALID_JSON', {}],
    ['INVALID_JSON', { tools: [{ name: 'x' }] }],
    ['INVALID_SESSION', { tools: [], sessionId: 'def456' }],
  ])('that is refused with %s keeps the list', (code, given) => {
    const { state, actions } = after(authed, greeted, message({ type: 'tools.update', ...given }))
    expect(state.at).toBe('bound')
    expect(names(actions)).toEqual(['send'])
    expect(sent(actions)).toMatchObject([{ code, replyTo: 'tools.update' }])
  })

  test('accepts the sessionId of its own session', () => {
    const { actions } = after(authed, greeted, message({ type: 'tools.update', tools: [], sessionId: 'abc123' }))
    expect(names(actions)).toEqual(['replace_tools'])
  })

  test('does not end calls of removed tools', () => {
    const { state } = after(authed, greeted, call(1), message({ type: 'tools.update', tools: [] }))
    const { actions } = step(state, message({ type: 'tool.result', id: idOf(1), data: 'late' }), world)
    expect(settled(actions)).toEqual([[idOf(1), { ok: true, data: 'late' }]])
  })
})

describe('push', () => {
  const push = { type: 'push', level: 'inject', event: 'Page asks for help', stream: 'detour', metadata: { a: 1 } }

  test.each(['keep', 'surface', 'inject'])('with level %s is passed on', (level) => {
    const { actions } = after(authed, greeted, message({ ...push, level }))
    expect(actions).toMatchObject([
      { do: 'push', sessionId: 'abc123', provider: 'mine', push: { level, event: 'Page asks for help' } },
    ])
  })

  test.each([
    { level: undefined },
    { level: 'shout' },
    { event: undefined },
    { event: '' },
    { stream: 7 },
    { stream: 'a\nb' },
    { metadata: [] },
    { metadata: 'x' },
  ])('with %j is refused', (change) => {
    const { actions } = after(authed, greeted, message({ ...push, ...change }))
    expect(names(actions)).toEqual(['send'])
    expect(sent(actions)).toMatchObject([{ code: 'INVALID_JSON', replyTo: 'push' }])
  })

  test('for another session is refused, for its own one accepted', () => {
    expect(errorOf(after(authed, greeted, message({ ...push, sessionId: 'def456' })).actions)?.code).toBe(
      'INVALID_SESSION',
    )
    expect(names(after(authed, greeted, message({ ...push, sessionId: 'abc123' })).actions)).toEqual(['push'])
  })
})

describe('calls', () => {
  test('are sent with an id of their own and the session', () => {
    const { state, actions } = after(authed, greeted, call(1))
    expect(sent(actions)).toEqual([{ type: 'tool.call', id: idOf(1), sessionId: 'abc123', tool: 'greet', args: {} }])
    expect((state as Bound).pending).toEqual(new Set([idOf(1)]))
  })

  test('H06 the first result counts, later ones are dropped without an error', () => {
    const first = after(authed, greeted, call(1), message({ type: 'tool.result', id: idOf(1), data: 'one' }))
    expect(settled(first.actions)).toEqual([[idOf(1), { ok: true, data: 'one' }]])
    for (const late of [{ data: 'two' }, { error: 'no' }, { data: 1, error: 'no' }, {}]) {
      const second = step(first.state, message({ type: 'tool.result', id: idOf(1), ...late }), world)
      expect(second.actions).toEqual([{ do: 'drop' }])
      expect(second.state).toBe(first.state)
    }
  })

  test.each(['NOT_FOUND', 'TIMEOUT', 'CANCELLED', 'INTERNAL'])(
    'an error with errorCode %s fails the call',
    (errorCode) => {
      const { actions } = after(
        authed,
        greeted,
        call(1),
        message({ type: 'tool.result', id: idOf(1), error: 'Not found', errorCode }),
      )
      expect(settled(actions)).toEqual([[idOf(1), { ok: false, errorCode, message: 'Not found' }]])
    },
  )

  test('an error without a code counts as INTERNAL', () => {
    const { actions } = after(authed, greeted, call(1), message({ type: 'tool.result', id: idOf(1), error: 'x' }))
    expect(settled(actions)).toMatchObject([[idOf(1), { errorCode: 'INTERNAL' }]])
  })

  test.each([null, 0, false, '', [1], { a: 1 }])('the data %j is a result', (data) => {
    const { actions } = after(authed, greeted, call(1), message({ type: 'tool.result', id: idOf(1), data }))
    expect(settled(actions)).toEqual([[idOf(1), { ok: true, data }]])
  })

  test.each([{ data: 1, error: 'both' }, {}, { error: 7 }, { data: 1, errorCode: 7 }])(
    'an invalid result %j fails its call, and no other one',
    (given) => {
      const { state, actions } = after(
        authed,
        greeted,
        call(1),
        call(2),
        message({ type: 'tool.result', id: idOf(1), ...given }),
      )
      expect(settled(actions)).toMatchObject([[idOf(1), { ok: false, errorCode: 'INVALID_JSON' }]])
      expect(sent(actions)).toMatchObject([{ code: 'INVALID_JSON', replyTo: 'tool.result' }])
      expect((state as Bound).pending).toEqual(new Set([idOf(2)]))
    },
  )

  test.each(['timeout', 'cancelled'] as const)(
    'H06 a cancel for %s ends a call, and its late results are dropped',
    (reason) => {
      const cancelled = after(authed, greeted, call(1), { type: 'cancel', id: idOf(1), reason })
      expect(cancelled.actions).toEqual([
        { do: 'send', message: { type: 'tool.cancel', id: idOf(1), sessionId: 'abc123', reason } },
      ])
      for (const late of [{ error: 'Cancelled', errorCode: 'CANCELLED' }, { data: 'late' }]) {
        expect(step(cancelled.state, message({ type: 'tool.result', id: idOf(1), ...late }), world).actions).toEqual([
          { do: 'drop' },
        ])
      }
    },
  )

  test('a call that has ended is not cancelled', () => {
    const { actions } = after(authed, greeted, call(1), message({ type: 'tool.result', id: idOf(1), data: 1 }), {
      type: 'cancel',
      id: idOf(1),
      reason: 'timeout',
    })
    expect(actions).toEqual([])
  })

  test.each(['call-p-8f3a-2', 'call-p-8f3a-0', 'call-p-8f3a-01', 'call-p-0000-1', 'nonsense', ''])(
    'H07 a result for the unknown call %j is ignored, and the provider is warned',
    (id) => {
      const before = after(authed, greeted, call(1))
      const { state, actions } = step(before.state, message({ type: 'tool.result', id, data: 1 }), world)
      expect(state).toBe(before.state)
      expect(names(actions)).toEqual(['drop', 'send'])
      expect(sent(actions)).toMatchObject([{ code: 'INVALID_JSON', replyTo: 'tool.result' }])
    },
  )
})

describe('messages that may be any result', () => {
  const ambiguous = [
    ['malformed JSON', 'no json', 'INVALID_JSON'],
    ['a result without an id', '{"type":"tool.result","data":1}', 'INVALID_JSON'],
    ['an invalid result of an unknown call', '{"type":"tool.result","id":"x"}', 'INVALID_JSON'],
    [
      'an oversized result',
      JSON.stringify({ type: 'tool.result', id: idOf(1), data: 'x'.repeat(5 * 2 ** 20) }),
      'PAYLOAD_TOO_LARGE',
    ],
    [
      'an oversized message',
      JSON.stringify({ type: 'push', level: 'keep', event: 'x'.repeat(2 * 2 ** 20) }),
      'PAYLOAD_TOO_LARGE',
    ],
  ] as const

  test.each(ambiguous)('%s with no pending call is answered', (_name, text, code) => {
    const { state, actions } = after(authed, greeted, message(text))
    expect(state.at).toBe('bound')
    expect(names(actions)).toEqual(['send'])
    expect(errorOf(actions)?.code).toBe(code)
  })

  test.each(ambiguous)('%s with one pending call fails that call at once', (_name, text, code) => {
    const { state, actions } = after(authed, greeted, call(1), message(text))
    expect((state as Bound).pending).toEqual(new Set())
    expect(settled(actions)).toMatchObject([[idOf(1), { ok: false, errorCode: code }]])
    expect(errorOf(actions)?.code).toBe(code)
  })

  test.each(ambiguous)('%s with several pending calls ends the connection', (_name, text, code) => {
    const { state, actions } = after(authed, greeted, call(1), call(2), message(text))
    expect(state).toEqual({ at: 'disconnected' })
    expect(names(actions)).toEqual(['unbind', 'settle', 'settle', 'send', 'close'])
    expect(settled(actions)).toMatchObject([
      [idOf(1), { errorCode: 'DISCONNECTED' }],
      [idOf(2), { errorCode: 'DISCONNECTED' }],
    ])
    expect(errorOf(actions)?.code).toBe(code)
  })
})

describe('the end', () => {
  test('removes the tools and fails all pending calls, after goodbye or a lost connection', () => {
    for (const input of [message({ type: 'goodbye' }), { type: 'closed' } as const]) {
      const { state, actions } = after(authed, greeted, call(1), call(2), input)
      expect(state.at).toBe('disconnected')
      expect(names(actions).slice(0, 3)).toEqual(['unbind', 'settle', 'settle'])
      expect(settled(actions)).toMatchObject([
        [idOf(1), { errorCode: 'DISCONNECTED' }],
        [idOf(2), { errorCode: 'DISCONNECTED' }],
      ])
    }
  })

  test('is announced with a deadline only to a bound provider', () => {
    const bound = after(authed, greeted, { type: 'shutdown', deadlineMs: 10_000 })
    expect(bound.state.at).toBe('bound')
    expect(sent(bound.actions)).toEqual([
      { type: 'session.lifecycle', sessionId: 'abc123', state: 'shutdown.pending', deadline: 10_000 },
    ])
    expect(names(after(authed, { type: 'shutdown', deadlineMs: 10_000 }).actions)).toEqual(['close'])
  })

  test('a provider gets lifecycle messages of runs', () => {
    expect(sent(after(authed, greeted, { type: 'lifecycle', state: 'idle' }).actions)).toEqual([
      { type: 'session.lifecycle', sessionId: 'abc123', state: 'idle' },
    ])
    expect(after(authed, { type: 'lifecycle', state: 'idle' }).actions).toEqual([])
  })

  test('no auth in time ends with AUTH_FAILED, an authenticated provider may wait', () => {
    expect(errorOf(after({ type: 'auth_overdue' }).actions)?.code).toBe('AUTH_FAILED')
    expect(after({ type: 'auth_overdue' }).state.at).toBe('disconnected')
    expect(after(authed, { type: 'auth_overdue' }).state.at).toBe('await_hello')
  })
})
