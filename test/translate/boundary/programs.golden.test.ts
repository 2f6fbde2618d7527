import { expect, test } from 'vitest'
import type { JsonObject } from '../../../src/json/json.ts'
import type { Turn, TurnItem } from '../../../src/translate/turn.ts'
import { createTurn, userMessage } from '../../../src/translate/turn-request.ts'
import { answerTo } from './answers.ts'
import { openBoundary } from './ask.ts'
import { modelsOf, pathOf, upstreamIds } from './models.ts'
import { changesBetween, groupEqual, parseExactly, printed } from './print.ts'

// What each upstream gets for a Turn of a program inside the daemon, such as the agent, and the events that the program gets.

const { askAsProgram } = openBoundary()

const png = { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'iVBORw0KGgo=' } } as const

const call = (id: string, name: string, json: string): TurnItem => ({
  type: 'tool_call',
  kind: 'function',
  id,
  name,
  arguments: json,
  path: '',
})

const result = (callId: string, content: string | readonly (typeof png)[], isError = false): TurnItem => ({
  type: 'tool_result',
  callId,
  content,
  isError,
  path: '',
})

const properties: JsonObject = { path: { type: 'string' }, lines: { type: 'array' } }

const turns: Readonly<Record<string, Turn>> = {
  'first-message': createTurn(
    [
      { type: 'message', role: 'system', parts: [{ type: 'text', text: 'You are an agent.' }], path: '' },
      { type: 'message', role: 'user', parts: [png, { type: 'text', text: 'Look' }], path: '' },
    ],
    { sessionId: 'session-1', stop: ['END'] },
  ),
  'tool-round': createTurn(
    [
      userMessage('Read a.txt'),
      {
        type: 'reasoning',
        text: 'I have to read it',
        opaque: { vendor: 'openai', family: 'gpt-5', form: 'encrypted_content', id: 'rs_1', value: 'RU5D' },
        path: '',
      },
      call('call.1', 'files.read', '{"path":"a.txt"}'),
      call('call.2', 'files.read', '{"path":"b.t'),
      result('call.1', [png]),
      result('call.2', 'no such file', true),
      userMessage('Go on'),
    ],
    {
      tools: [{ type: 'function', name: 'files.read', parameters: { type: 'object', properties }, path: '' }],
      maxOutputTokens: 100_000,
      reasoning: { effort: 'xhigh' },
    },
  ),
}

const cases = Object.entries(turns).flatMap(([name, turn]) =>
  upstreamIds.map((upstream) => [`${name} to ${upstream}`, name, turn, upstream] as const),
)

test.each(cases)('%s', async (_, name, turn, upstream) => {
  const results: (readonly [string, unknown])[] = []
  for (const model of modelsOf[upstream]) {
    const respond = ({ body }: { readonly body: string | Buffer }) =>
      answerTo(pathOf[upstream], String(body), 'one END two')
    const { calls, warnings, events } = await askAsProgram(turn, { upstream, model, respond })
    const [sent, ...others] = calls
    if (sent === undefined) throw new Error('nothing was sent')
    expect(others).toEqual([])
    const shown = JSON.stringify({ headers: sent.headers, body: parseExactly(String(sent.body)), warnings, events })
    results.push([model.id, JSON.parse(shown.replaceAll(model.id, '(the model)'))])
  }
  const [first, ...others] = groupEqual(results)
  const groups = others.map(({ names: models, value }) => ({ models, fromFirst: changesBetween(first?.value, value) }))
  await expect(printed([{ models: first?.names, outcome: first?.value }, ...groups])).toMatchFileSnapshot(
    `../../golden/programs/${name}-${upstream}.json`,
  )
})

test('an image of a tool result that upstream refuses leaves the request of a program, and a prompt keeps its own', async () => {
  for (const upstream of upstreamIds) {
    const [model] = modelsOf[upstream]
    if (model === undefined) throw new Error('no model')
    const refusal = { kind: 'upstream_status', status: 400, message: 'Could not process image' } as const
    const asked = (turn: Turn) =>
      askAsProgram(turn, {
        upstream,
        model,
        respond: ({ body }, attempt) =>
          attempt === 1 ? refusal : answerTo(pathOf[upstream], String(body), 'one and two'),
      })
    const shot = [userMessage('look'), call('c1', 'shot', '{}'), result('c1', [png])]
    const { calls, warnings } = await asked(createTurn(shot))
    expect(calls.map(({ body }) => String(body).includes(png.source.data))).toEqual([true, false])
    expect(warnings.filter((warning) => warning.startsWith('refused_upstream'))).toHaveLength(1)
    const prompt: TurnItem = { type: 'message', role: 'user', parts: [png], path: '' }
    await expect(asked(createTurn([prompt]))).rejects.toThrow('upstream_status')
  }
})
