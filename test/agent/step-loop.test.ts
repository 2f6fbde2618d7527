import { describe, expect, test } from 'vitest'
import type { ApprovalDecision } from '../../src/api/run.ts'
import type { ApprovalRequest } from '../../src/agent/agent-task.ts'
import type { Answer, LoopEvent, LoopSettings, LoopState, ModelChoice, ToolEnd } from '../../src/agent/loop-state.ts'
import { ruleText, type ConsentRule } from '../../src/workspace/policy/consent-rules.ts'
import { newItems, startLoop, stepLoop } from '../../src/agent/step-loop.ts'
import { userMessage } from '../../src/translate/turn-request.ts'
import type { TurnItem } from '../../src/translate/turn.ts'

const native: ModelChoice = { name: 'first', contextTokens: 100_000, isNative: true, seesImages: true }
const json: ModelChoice = { ...native, isNative: false }

const settings: LoopSettings = {
  mode: 'agent',
  models: [native, { ...native, name: 'second' }],
  maxSteps: 10,
  maxMinutes: 20,
  maxCredits: 0,
  requireApproval: true,
  initiator: 'user',
  overheadTokens: 100,
}

/** Feeds events to the loop. Returns commands as short texts: the type and the distinguishing fields. */
function loop(changes: Partial<LoopSettings> = {}, history: readonly TurnItem[] = [], text = 'Fix it') {
  let state = startLoop({ ...settings, ...changes }, history, userMessage(text))
  return {
    state: (): LoopState => state,
    feed: (...events: readonly LoopEvent[]): readonly string[] => {
      const shown: string[] = []
      for (const event of events) {
        const step = stepLoop(state, event)
        ;({ state } = step)
        for (const command of step.commands) {
          if (command.type === 'emit') {
            const { event: emitted } = command
            if (emitted.type === 'fragment') shown.push(`${emitted.kind}: ${emitted.text}`)
            if (emitted.type === 'compaction') shown.push(`compaction of ${emitted.messages} and ${emitted.calls}`)
            if (emitted.type === 'approval') shown.push(`approval ${emitted.state}`)
          } else if (command.type === 'ask') shown.push(`ask ${command.model.name} as ${command.initiator}`)
          else if (command.type === 'call') shown.push(`call ${command.call.name}`)
          else if (command.type === 'settle_approval') shown.push(command.isAllowed ? 'allow' : 'deny')
          else if (command.type === 'remember') shown.push(`remember ${command.rules.map(ruleText).join(', ')}`)
          else if (command.type === 'end') shown.push(`end ${command.ending.outcome}`)
          else shown.push(command.type)
        }
      }
      return shown
    },
  }
}

const begin: LoopEvent = { type: 'begin' }

function calls(...names: readonly string[]): LoopEvent {
  const items = names.map((name, at): TurnItem => {
    const [tool = '', args = '{}'] = name.split(' ')
    return { type: 'tool_call', kind: 'function', id: `${name}-${at}`, name: tool, arguments: args, path: '' }
  })
  return answered({ items })
}

function says(text: string, more: Partial<Answer> = {}): LoopEvent {
  const item: TurnItem = { type: 'message', role: 'assistant', parts: [{ type: 'text', text }], path: '' }
  return answered({ items: [item], text, ...more })
}

function answered(answer: Partial<Answer>): LoopEvent {
  return { type: 'answered', answer: { items: [], text: '', stop: 'end', usage: undefined, model: 'first', ...answer } }
}

function ended(end: Partial<ToolEnd> = {}): LoopEvent {
  const base = { callId: 'x', tool: 'mcp.fs.read', message: 'ok', content: 'content', result: 'content' }
  return {
    type: 'tool_ended',
    end: {
      ...base,
      outcome: 'ok',
      images: [],
      truncated: false,
      durationMs: 1,
      isEffect: false,
      isDenied: false,
      ...end,
    },
  }
}

function wanted(more: Partial<ApprovalRequest>, consents?: readonly ConsentRule[]): LoopEvent {
  return { type: 'approval_wanted', request: { approvalId: 'a', tool: 't', callId: 'x', step: 1, ...more }, consents }
}

const write = wanted({ paths: ['a.ts'], diff: 'd' })
const command = wanted({ argv: ['npm', 'test'], cwd: '' })
const decide = (decision: ApprovalDecision | 'expired'): LoopEvent => ({ type: 'approval_decided', decision })

function failed(more: Partial<Extract<LoopEvent, { type: 'ask_failed' }>['failure']> = {}): LoopEvent {
  const base = {
    message: 'Too many.',
    status: 429,
    isModelMissing: false,
    isTooLong: false,
    isRefused: false,
    isBeforeAnswer: true,
  }
  return { type: 'ask_failed', failure: { ...base, ...more } }
}

describe('steps', () => {
  test('a call runs, the model gets its result, and its text ends the run', () => {
    const { feed, state } = loop()
    expect(feed(begin)).toEqual(['step: Step 1 of 10', 'ask first as user'])
    expect(feed(calls('fs_read'))).toEqual(['call fs_read'])
    expect(feed(ended())).toEqual(['step: Step 2 of 10', 'ask first as agent'])
    expect(feed(says('Done'))).toEqual(['end completed'])
    expect(newItems(state()).map(({ type }) => type)).toEqual(['message', 'tool_call', 'tool_result', 'message'])
  })

  test('calls of one answer run one after the other', () => {
    const { feed } = loop()
    expect(feed(begin, calls('a', 'b')).at(-1)).toBe('call a')
    expect(feed(ended())).toEqual(['call b'])
  })

  test('the run ends at its last step, after its calls', () => {
    const { feed } = loop({ maxSteps: 1 })
    expect(feed(begin, calls('a'), ended())).toEqual([
      'step: Step 1 of 1',
      'ask first as user',
      'call a',
      'notice: The run reached its limit of 1 steps.',
      'end max_steps',
    ])
  })

  test('a chat emits no step headers', () => {
    expect(loop({ mode: 'chat' }).feed(begin, says('Hi'))).toEqual(['ask first as user', 'end completed'])
  })

  test('an empty answer is requested once more, then the run fails', () => {
    const { feed } = loop()
    expect(feed(begin, says(' ')).slice(2)).toEqual([
      'notice: The answer of the model could not be used. Trying once more.',
      'ask first as agent',
    ])
    expect(feed(says('')).at(-1)).toBe('end failed')
  })

  test('line breaks inside the texts of arguments are read as what they are', () => {
    const item = { type: 'tool_call', kind: 'function', id: '1', name: 'a', path: '' } as const
    const { state, feed } = loop()
    feed(begin, answered({ items: [{ ...item, arguments: '{"content":"line1\n\tline2"}' }] }))
    expect(state().queue).toEqual([{ id: '1', name: 'a', args: { content: 'line1\n\tline2' }, problem: undefined }])
  })

  test('broken arguments and truncated calls reach the tools with their problem', () => {
    for (const event of [calls('a {"x":'), answered({ ...answerOf(calls('a')), stop: 'max_tokens' })]) {
      const { state, feed } = loop()
      feed(begin, event)
      expect(state().queue[0]?.problem).toBeDefined()
    }
  })
})

describe('a truncated answer', () => {
  const broken = failed({ message: 'Cut.', status: 502, isBeforeAnswer: false })

  test('is requested once more in its step, as none of its calls has run, and then from the next model', () => {
    const { feed } = loop()
    expect(feed(begin, broken).slice(2)).toEqual([
      'notice: first did not finish its answer: Cut. Trying once more.',
      'ask first as user',
    ])
    expect(feed(broken).at(-1)).toBe('ask second as user')
    expect(feed(broken)).toEqual(['notice: The model twice did not finish its answer. Cut.', 'end failed'])
  })

  test('is requested again in a later step too', () => {
    const { feed } = loop()
    expect(feed(begin, broken, calls('a'), ended(), broken).at(-1)).toBe('ask first as agent')
  })

  test('ends the run if another request would not help', () => {
    expect(
      loop()
        .feed(begin, failed({ status: 400, isBeforeAnswer: false }))
        .at(-1),
    ).toBe('end failed')
  })
})

const cost = (credits: number) => ({ inputTokens: 10, cachedInputTokens: 0, outputTokens: 1, nanoAiu: credits * 1e9 })

const costly = (credits: number): LoopEvent => answered({ ...answerOf(calls('a')), usage: cost(credits) })

describe('the limit of credits', () => {
  test('ends the run before its next request, with what it has used', () => {
    const { feed } = loop({ maxCredits: 2 })
    expect(feed(begin, costly(0.9), ended(), costly(1.2), ended()).slice(-2)).toEqual([
      'notice: The run reached its limit of 2 AI credits: it has used 2.1.',
      'end max_credits',
    ])
  })

  test('lets a final answer be the end', () => {
    expect(
      loop({ maxCredits: 1 })
        .feed(begin, says('Done.', { usage: cost(3) }))
        .at(-1),
    ).toBe('end completed')
  })

  test('counts the requests for summaries, and holds before a correction too', () => {
    expect(
      loop({ maxCredits: 1 })
        .feed(begin, says('', { usage: cost(3) }))
        .at(-1),
    ).toBe('end max_credits')
  })

  test.each([
    ['0 is no limit', 0, 50],
    ['an answer without credits counts as none', 1, 0],
  ])('%s', (_, maxCredits, credits) => {
    expect(loop({ maxCredits }).feed(begin, costly(credits), ended()).at(-1)).toBe('ask first as agent')
  })
})

describe('the use of the context', () => {
  test('is what upstream counted for the last request and its answer', () => {
    const { state, feed } = loop()
    const usage = { inputTokens: 900, cachedInputTokens: 500, outputTokens: 100 }
    feed(begin, says('Hi', { usage, contextTokens: 8000 }))
    expect(state().context).toEqual({ tokens: 1000, limit: 8000 })
  })

  test('is estimated without a count of upstream', () => {
    const { state, feed } = loop()
    feed(begin, says('Hi', { usage: undefined }))
    expect(state().context).toEqual({ tokens: expect.any(Number), isEstimated: true })
    expect(state().context?.tokens).toBeGreaterThan(settings.overheadTokens)
  })
})

function answerOf(event: LoopEvent): Partial<Answer> {
  return event.type === 'answered' ? event.answer : {}
}

describe('the same call', () => {
  test('ends the run when it has given the same result for the fifth time', () => {
    const { feed } = loop()
    feed(begin)
    for (let count = 1; count < 5; count += 1) expect(feed(calls('a'), ended()).at(-1)).toMatch(/^ask/)
    expect(feed(calls('a'), ended()).at(-1)).toBe('end repeated_call')
  })

  test('counts also with other calls in between that bring nothing new, and several times in one answer', () => {
    expect(
      loop()
        .feed(begin, calls('a', 'b', 'a', 'b', 'a', 'a', 'a', 'a'), ...Array.from({ length: 8 }, () => ended()))
        .at(-1),
    ).toBe('end repeated_call')
  })

  test.each([
    ['gives another result each time', ['a'], (count: number) => ended({ content: `${count}% done` })],
    [
      'has a new result of another call before it',
      ['a', 'b'],
      (count: number) => ended({ content: `${count % 2 || count}` }),
    ],
  ] as const)('does not end the run if it %s', (_what, names, endOf) => {
    const { feed } = loop({ maxSteps: 100 })
    feed(begin)
    for (let count = 1; count <= 20; count += 1) {
      expect(feed(calls(names[(count + 1) % names.length] ?? ''), endOf(count)).at(-1)).toMatch(/^ask/)
    }
  })

  test('does not count as repeated after a change, except the changing call itself', () => {
    const { feed } = loop({ maxSteps: 100 })
    feed(begin)
    const edited = (id: number) => ended({ tool: 'mcp.edit.applyPatch', content: `The id is ${id}`, isEffect: true })
    for (let count = 1; count < 5; count += 1) {
      expect(feed(calls('test'), ended(), calls('edit'), edited(count))).toContain('call edit')
    }
    expect(feed(calls('test'), ended())).toContain('call test')
    expect(feed(calls('edit'), edited(5)).at(-1)).toBe('end repeated_call')
  })
})

/** Returns a run that waits for the result of a call. */
function asking(changes: Partial<LoopSettings> = {}) {
  const running = loop(changes)
  running.feed(begin, calls('edit'))
  return running
}

describe('approvals', () => {
  test('the decision "once" allows one call', () => {
    const { feed } = asking()
    expect(feed(write)).toEqual(['ask_person', 'approval pending'])
    expect(feed(decide('once'))).toEqual(['approval once', 'allow'])
    expect(feed(ended({ isEffect: true }), calls('edit'), write).slice(-2)).toEqual(['ask_person', 'approval pending'])
  })

  test.each([
    ['changes of the same file', write, wanted({ paths: ['a.ts'], diff: 'e' }), wanted({ paths: ['b.ts'], diff: 'e' })],
    ['changes, but no command', write, write, command],
    ['the same command', command, command, wanted({ argv: ['npm', 'test'], cwd: 'sub' })],
    [
      'the same tool of a provider',
      wanted({ args: {} }),
      wanted({ args: { x: 1 } }),
      wanted({ tool: 'other', args: {} }),
    ],
    [
      'what passes the same closed gates',
      wanted({ paths: ['a.ts'], closed: ['read-only', 'no policy'] }),
      wanted({ paths: ['a.ts'], closed: ['no policy'] }),
      wanted({ paths: ['a.ts'], closed: ['no policy', 'distrusted'] }),
    ],
    [
      'a command, but not if a gate has closed since',
      command,
      command,
      wanted({ argv: ['npm', 'test'], closed: ['read-only'] }),
    ],
  ])('run allows %s for the rest of the run, and nothing else', (_, first, same, other) => {
    const { feed } = asking()
    feed(first, decide('run'))
    expect(feed(same)).toEqual(['allow'])
    expect(feed(other)).toEqual(['ask_person', 'approval pending'])
  })

  test.each<readonly [string, Partial<ApprovalRequest>, string]>([
    ['the paths of an edit', { paths: ['a.ts', 'b c.ts'], diff: 'd' }, "edit a.ts, edit 'b c.ts'"],
    ['a command at the root', { argv: ['npm', 'test'], cwd: '' }, 'run npm test'],
    ['a command and its folder', { argv: ['sh', 'a b'], cwd: 'x' }, "run sh 'a b' (in x)"],
    [
      'a tool of a program',
      { tool: 'mcp.hub.add', provider: 'hub', identity: 'i', args: {}, isAfterSecret: false },
      'call mcp.hub.add of hub',
    ],
  ])('"always" stores %s, and asks no more for exactly that', (_, request, rules) => {
    const { feed, state } = asking()
    feed(wanted(request, []))
    const { always = [] } = state().pending ?? {}
    expect(always.map(ruleText).join(', ')).toBe(rules)
    expect(feed(decide('always'))).toEqual(['approval always', `remember ${rules}`, 'allow'])
    // The loop keeps no grant: whoever takes the rule back is asked again at the next call.
    expect(feed(wanted(request, []))).toEqual(['ask_person', 'approval pending'])
    feed(decide('refuse'))
    expect(feed(wanted({ ...request, closed: ['read-only'] }, always))).toEqual(['allow'])
    expect(asking({ requireApproval: false }).feed(wanted({ ...request, closed: ['read-only'] }, always))).toEqual([
      'deny',
    ])
    const others: readonly Partial<ApprovalRequest>[] = [
      { ...request, ...(request.paths && { paths: [...request.paths, 'other.ts'] }) },
      { ...request, ...(request.argv && { argv: [...request.argv, '-x'] }) },
      { ...request, ...(request.argv && { cwd: 'other' }) },
      { ...request, ...(request.provider && { provider: 'other' }) },
      { ...request, ...(request.provider && { identity: 'other' }) },
    ].filter((other) => JSON.stringify(other) !== JSON.stringify(request))
    for (const other of others) {
      expect(feed(wanted(other, always))).toEqual(['ask_person', 'approval pending'])
      feed(decide('refuse'))
    }
  })

  test.each<readonly [string, Partial<ApprovalRequest>]>([
    ['a file that other programs obey', { paths: ['.vscode/tasks.json'], diff: 'd' }],
    ['a file that is removed', { paths: ['a'], files: [{ path: 'a', change: 'deleted', added: 0, removed: 1 }] }],
    [
      'a file that becomes executable',
      { paths: ['a'], files: [{ path: 'a', change: 'modified', executable: true, added: 0, removed: 0 }] },
    ],
    ['more files than a person reads', { paths: Array.from({ length: 21 }, (_, at) => `${at}.ts`), diff: 'd' }],
    ['a secret', { reads: ['.env'] }],
    ['a command beyond the sandbox', { argv: ['npm', 'i'], cwd: '', widening: 'network' }],
    ['a tool after a secret was read', { args: {}, provider: 'hub', identity: 'i', isAfterSecret: true }],
    ['a tool whose program is unknown', { args: {} }],
  ])('"always" is not offered for %s, and would count as "once"', (_, request) => {
    const { feed, state } = asking()
    feed(wanted(request, []))
    expect(state().pending).not.toHaveProperty('always')
    expect(feed(decide('always'))).toEqual(['approval once', 'allow'])
  })

  test('a run that a program began neither uses the rules of a person nor makes one', () => {
    const { feed, state } = asking({ initiator: 'agent' })
    expect(feed(wanted({ argv: ['npm', 'test'], cwd: '' }, [{ run: ['npm', 'test'], in: '' }]))).toEqual([
      'ask_person',
      'approval pending',
    ])
    expect(state().pending).not.toHaveProperty('always')
  })

  test('"always" is not offered where nothing can be stored', () => {
    const { feed, state } = asking()
    feed(write)
    expect(state().pending).not.toHaveProperty('always')
  })

  test('asks nobody if approvals are switched off', () => {
    expect(asking({ requireApproval: false }).feed(write)).toEqual(['allow'])
    expect(asking({ requireApproval: false }).feed(wanted({ paths: ['a.ts'], closed: ['read-only'] }))).toEqual([
      'deny',
    ])
  })

  test('three refusals in a row end the run', () => {
    const { feed } = asking()
    const refusal = [write, decide('refuse'), ended({ outcome: 'approval_refused' })]
    expect(feed(...refusal)).toContain('deny')
    feed(calls('edit'), ...refusal)
    expect(feed(calls('other'), ...refusal).slice(-2)).toEqual([
      'notice: 3 approvals in a row were refused.',
      'end refused',
    ])
  })

  test('an approval resets the count of refusals', () => {
    const { feed } = asking()
    const refusal = [write, decide('refuse'), ended({ outcome: 'approval_refused' })]
    feed(...refusal, calls('b'), ...refusal, calls('c'), write, decide('once'), ended({ isEffect: true }), calls('d'))
    expect(feed(...refusal)).not.toContain('end refused')
  })

  test('expires if the call or the run ends first', () => {
    expect(asking().feed(write, ended({ outcome: 'timed_out' }))).toContain('approval expired')
    const cancelled = asking()
    cancelled.feed(write, { type: 'stop', ending: { outcome: 'cancelled', reason: 'Cancelled.' } })
    expect(cancelled.feed(decide('once'))).toEqual(['approval once', 'deny'])
  })
})

describe('a stop', () => {
  const stop: LoopEvent = { type: 'stop', ending: { outcome: 'cancelled', reason: 'Cancelled.' } }

  test('aborts the running command and ends the run when that has ended', () => {
    const { feed, state } = loop()
    feed(begin, calls('a', 'b'))
    expect(feed(stop)).toEqual(['abort'])
    expect(feed(ended({ outcome: 'cancelled' }))).toEqual(['notice: Cancelled.', 'end cancelled'])
    // Each call needs a result, so that a later run can use the history.
    expect(newItems(state()).filter(({ type }) => type === 'tool_result')).toHaveLength(2)
    expect(feed(begin, says('x'))).toEqual([])
  })

  test('takes precedence over an answer at the same time, and over a later stop', () => {
    const { feed } = loop()
    feed(begin, stop, { type: 'stop', ending: { outcome: 'max_minutes', reason: 'Time.' } })
    expect(feed(calls('a')).at(-1)).toBe('end cancelled')
  })

  test('ends the run at once before the first request', () => {
    expect(loop().feed(stop)).toEqual(['notice: Cancelled.', 'end cancelled'])
  })
})

describe('a failed request', () => {
  test.each([
    ['429', failed()],
    ['402', failed({ status: 402 })],
    ['500', failed({ status: 502 })],
    ['a missing model', failed({ status: 404, isModelMissing: true })],
  ])('with %s, the next model takes over with a notice and the same initiator', (_, failure) => {
    const { feed } = loop()
    expect(feed(begin, failure).slice(2)).toEqual([
      'notice: first did not answer: Too many. Switching to second.',
      'ask second as user',
    ])
    expect(feed(calls('a'), ended()).at(-1)).toBe('ask second as agent')
    expect(feed(failure).at(-1)).toBe('end failed')
  })

  test.each([['another status', failed({ status: 400 })]])('with %s ends the run', (_, failure) => {
    expect(loop().feed(begin, failure).at(-1)).toBe('end failed')
  })
})

describe('the JSON protocol', () => {
  const action = '{"actions":[{"tool":"listFiles"},{"tool":"readFiles","files":["a"]}],"commentary":"Look"}'

  test('runs actions in order and returns their results in one message', () => {
    const { feed, state } = loop({ models: [json] })
    expect(feed(begin, says(action)).slice(2)).toEqual(['commentary: Look', 'call listFiles'])
    expect(feed(ended({ content: 'one' }), ended({ content: 'two' }))).toEqual([
      'call readFiles',
      'step: Step 2 of 10',
      'ask first as agent',
    ])
    expect(newItems(state()).at(-1)).toEqual(userMessage('one\n\ntwo'))
    expect(feed(says('{"finalSummary":"Yes","done":true}'))).toEqual(['answer: Yes', 'end completed'])
  })

  test('requests another answer instead of an unusable one, and states the forms', () => {
    const { feed, state } = loop({ models: [json] })
    feed(begin, says('I did it.'))
    expect(JSON.stringify(newItems(state()).at(-1))).toContain('finalSummary')
    expect(feed(says(action))).toContain('call listFiles')
    feed(ended(), ended())
    expect(feed(says('{"actions":[],"done":false}')).at(-1)).toBe('ask first as agent')
    expect(feed(says('{')).at(-1)).toBe('end failed')
  })
})

function saying(text: string): TurnItem {
  return { type: 'message', role: 'assistant', parts: [{ type: 'text', text }], path: '' }
}

function long(word: string): TurnItem[] {
  return [userMessage(`${word} `.repeat(20_000)), saying(word)]
}

describe('a conversation that is too long', () => {
  const history = [...long('one'), ...long('two'), ...long('three'), ...long('four'), ...long('five')]

  test('is summarised before the request, and the summary replaces the summarised items', () => {
    const { feed, state } = loop({}, history)
    expect(feed(begin).slice(1)).toEqual([
      'notice: The conversation is too long for the model. Its older part is replaced by a summary.',
      'summarise',
    ])
    expect(feed({ type: 'summarised', text: 'They counted.', usage: undefined })).toEqual([
      'compaction of 7 and 0',
      'notice: Left out: 7 messages and 0 calls of tools, about 80049 tokens.',
      'notice: They counted.',
      'ask first as user',
    ])
    const [summary, ...others] = newItems(state())
    expect(summary).toMatchObject({ type: 'compaction', text: expect.stringContaining('They counted.') })
    expect(others.at(-1)).toEqual(userMessage('Fix it'))
    // A later run starts at the summary.
    const later = startLoop(settings, [...history, ...newItems(state())], userMessage('More'))
    expect(later.items[0]).toBe(summary)
  })

  test('continues without a summary if the model gives none', () => {
    const { feed } = loop({}, history)
    feed(begin)
    expect(feed({ type: 'summarised', text: undefined, usage: undefined }).at(-1)).toBe('ask first as user')
  })

  test('is summarised after upstream has refused it as too long', () => {
    const { feed } = loop({}, long('one'))
    feed(begin)
    expect(feed(failed({ status: 400, isTooLong: true })).at(-1)).toBe('summarise')
    feed({ type: 'summarised', text: 'x', usage: undefined })
    expect(feed(failed({ status: 400, isTooLong: true })).at(-1)).toBe('end failed')
  })

  test('keeps the message of the user, also when it is among the oldest', () => {
    const { feed, state } = loop()
    feed(begin)
    for (let step = 0; step < 5 && state().phase !== 'summarising'; step += 1) {
      feed(calls(`a {"n":${step}}`), ended({ content: 'word '.repeat(20_000) }))
    }
    expect(state().phase).toBe('summarising')
    feed({ type: 'summarised', text: 'x', usage: undefined })
    expect(state().items[1]).toEqual(userMessage('Fix it'))
    // Each call still has its result.
    const types = state().items.map(({ type }) => type)
    expect(types.filter((type) => type === 'tool_call')).toHaveLength(
      types.filter((type) => type === 'tool_result').length,
    )
  })

  test.each(['agent', 'chat'] as const)('whose message alone is far too long ends the %s without a request', (mode) => {
    const { feed, state } = loop({ mode }, [], 'word '.repeat(250_000))
    expect(feed(begin).slice(-2)).toEqual([
      expect.stringMatching(/^notice: The message is too long: .* about \d+ tokens, and first reads 100000\.$/),
      'end failed',
    ])
    expect(state().requests).toBe(0)
  })

  test('in a chat, loses its oldest messages in the request, and none in the history', () => {
    const { feed, state } = loop({ mode: 'chat' }, history)
    expect(feed(begin)).toEqual([
      'notice: The conversation is too long for the model: its oldest messages are left out.',
      'compaction of 7 and 0',
      'notice: Left out: 7 messages and 0 calls of tools, about 80049 tokens.',
      'ask first as user',
    ])
    expect(state().items).toHaveLength(history.length + 1)
  })
})

const joined = (text: string): LoopEvent => ({ type: 'joined', message: { id: text, item: userMessage(text) } })
const textsOf = ({ items }: LoopState): readonly string[] =>
  items.map((item) => (item.type === 'message' ? JSON.stringify(item.parts) : item.type))

describe('a message that joins the run', () => {
  test('is read at the next step, after the results, and the user causes that request', () => {
    const { feed, state } = loop()
    feed(begin)
    expect(feed(joined('Use tabs'), joined('and short names'))).toEqual([])
    expect(feed(calls('fs_read'))).toEqual(['call fs_read'])
    expect(feed(ended())).toEqual(['step: Step 2 of 10', 'read', 'ask first as user'])
    expect(textsOf(state()).slice(-3)).toEqual([
      'tool_result',
      expect.stringContaining('Use tabs'),
      expect.stringContaining('short names'),
    ])
    expect(newItems(state())).toHaveLength(5)
    feed(calls('fs_read'))
    expect(feed(ended())).toEqual(['step: Step 3 of 10', 'ask first as agent'])
  })

  test('is read at the first step if it came before', () => {
    expect(loop().feed(joined('Use tabs'), begin)).toEqual(['step: Step 1 of 10', 'read', 'ask first as user'])
  })

  test('is not read by a run that ends first', () => {
    const { feed, state } = loop()
    feed(begin, joined('Use tabs'))
    expect(feed(says('Done'))).toEqual(['end completed'])
    expect(textsOf(state()).join('')).not.toContain('Use tabs')
    const limited = loop({ maxSteps: 1 })
    limited.feed(begin, joined('Use tabs'), calls('fs_read'))
    expect(limited.feed(ended())).toContain('end max_steps')
    expect(textsOf(limited.state()).join('')).not.toContain('Use tabs')
  })
})

describe('a run that only plans', () => {
  const plan = wanted({ plan: 'Change a.ts.' })
  const planning = () => {
    const run = loop({ mode: 'plan' })
    run.feed(begin, calls('plan_submit'))
    return run
  }

  test('asks for its plan, and is an ordinary run of the agent once a person accepts it', () => {
    const { feed, state } = planning()
    expect(feed(plan)).toEqual(['ask_person', 'approval pending'])
    expect(state().mode).toBe('plan')
    expect(feed(decide('once'))).toEqual(['approval once', 'allow'])
    expect(state().mode).toBe('agent')
    feed(ended({ tool: 'mcp.plan.submit', isEffect: true }), calls('edit'))
    expect(feed(write)).toEqual(['ask_person', 'approval pending'])
  })

  test.each([
    ['refused', decide('refuse'), 'plan'],
    ['not decided', decide('expired'), 'plan'],
    ['accepted', decide('once'), 'agent'],
    ['accepted with a decision that was not offered', decide('run'), 'agent'],
  ])('after a plan that was %s', (_, decision, mode) => {
    const { feed, state } = planning()
    feed(plan, decision)
    expect(state().mode).toBe(mode)
  })

  test.each([
    ['a change', write, 'deny'],
    ['a command', command, 'deny'],
    ['a command beyond the sandbox', wanted({ argv: ['a'], widening: 'network' }), 'deny'],
    ['a secret', wanted({ reads: ['.env'] }), 'ask_person'],
    ['a tool of another program', wanted({ args: {}, identity: 'x' }), 'ask_person'],
  ])('%s gets: %s', (_, request, first) => {
    expect(planning().feed(request)[0]).toBe(first)
  })

  test('asks for the plan also where nothing else is asked for', () => {
    const { feed } = loop({ mode: 'plan', requireApproval: false })
    feed(begin, calls('plan_submit'))
    expect(feed(plan)[0]).toBe('ask_person')
  })

  test('may revise its plan as often as it has steps', () => {
    const { feed, state } = planning()
    for (const at of [1, 2, 3, 4]) {
      expect(feed(plan, decide('refuse')).at(-1)).toBe('deny')
      const refused = ended({ outcome: 'approval_refused', content: `refusal ${at}` })
      expect(feed(refused, calls('plan_submit')).at(-1)).toBe('call plan_submit')
    }
    expect(state().refusals).toBe(0)
  })

  test('a plan is asked for again after it was accepted for a change elsewhere', () => {
    const { feed } = planning()
    feed(wanted({ args: {}, tool: 'x', identity: 'x' }), decide('run'))
    expect(feed(wanted({ tool: 'x', identity: 'x', plan: 'P' }))[0]).toBe('ask_person')
  })

  test.each([
    ['without a plan', [], 'No plan was accepted, so nothing was changed.'],
    ['after a refused plan', [calls('plan_submit'), plan, decide('refuse'), ended()], 'No plan was accepted'],
    [
      'after an accepted plan',
      [calls('plan_submit'), plan, decide('once'), ended({ isEffect: true })],
      'final answer.',
    ],
  ])('its final answer %s says what was changed', (_, events, reason) => {
    const run = loop({ mode: 'plan' })
    run.feed(begin, ...events)
    const { commands } = stepLoop(run.state(), says('Done'))
    expect(commands.at(-1)).toMatchObject({ type: 'end', ending: { outcome: 'completed' } })
    expect(commands.at(-1)).toHaveProperty('ending.reason', expect.stringContaining(reason))
  })
})
