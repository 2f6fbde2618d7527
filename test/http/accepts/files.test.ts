import { expect } from 'vitest'
import type { UpstreamDialectId } from '../../../src/translate/dialect.ts'
import { STRICT } from '../../upstreams/copilot/refusals/rows.ts'
import { imagePart, textPart, turns } from './histories.ts'
import { knownFileFailures } from './known-failures.ts'
import { sentText, testAccepted, tool } from './table.ts'
import type { Accepted, Json, Outcome } from './table.ts'

// Images and documents.

/** The beginning of a PNG with these sides, which is all that upstream reads. */
function png(side: number, mark = 0): string {
  const bytes = Buffer.alloc(48)
  Buffer.from('\x89PNG\r\n\x1A\n\0\0\0\rIHDR', 'latin1').copy(bytes)
  bytes.writeUInt32BE(side, 16)
  bytes.writeUInt32BE(side, 20)
  bytes[40] = mark
  return bytes.toString('base64')
}

const small = png(10)
const large = png(3000)
const huge = png(9000)
const garbage = Buffer.from('this is no image at all, but a text').toString('base64')
const jpeg = '/9j/4AAQSkZJRgABAQAAAQABAAD/2wBD'
const pdf = Buffer.from('%PDF-1.4\n1 0 obj\n').toString('base64')
const address = 'https://x.example/a.png'

const withRow = (...ids: readonly string[]) => ({ refusals: new Set([...STRICT, ...ids]) })

/** What upstream got has the data, and no detail but low and high. */
function checkDetail(outcome: Outcome): void {
  expect(sentText(outcome)).toContain(small)
  expect(sentText(outcome)).not.toMatch(/"detail":"(?!low"|high")/)
}

const codex = 'gpt-5.3-codex'
const shown = (caller: UpstreamDialectId, detail?: string): Json => imagePart(caller, small, 'image/png', detail)

/** A Messages request whose last message is a result with these parts. */
function resultOf(...parts: readonly Json[]): Json {
  return {
    max_tokens: 1000,
    tools: [tool('messages', 'look', { type: 'object', properties: {} })],
    messages: [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'look', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: parts }] },
    ],
  }
}

/** A Responses request whose last item is an output with these parts. */
function outputOf(...parts: readonly Json[]): Json {
  return {
    tools: [tool('responses', 'look', { type: 'object', properties: {} })],
    input: [
      { role: 'user', content: 'go' },
      { type: 'function_call', call_id: 't1', name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: 't1', output: parts },
    ],
  }
}

const details: readonly Accepted[] = (
  [
    { title: 'P10 an image in a message', caller: 'messages', body: turns('messages', [shown('messages')]) },
    { title: 'P10 an image in a result', caller: 'messages', body: resultOf(shown('messages')) },
    { title: 'P10 an image without detail', caller: 'chat', body: turns('chat', [shown('chat')]) },
    { title: 'P10 an image without detail', caller: 'responses', body: turns('responses', [shown('responses')]) },
    { title: 'P10 detail auto', caller: 'chat', body: turns('chat', [shown('chat', 'auto')]) },
    { title: 'P10 detail auto', caller: 'responses', body: turns('responses', [shown('responses', 'auto')]) },
    { title: 'P10 detail original', caller: 'responses', body: turns('responses', [shown('responses', 'original')]) },
    { title: 'P10 detail auto in an output', caller: 'responses', body: outputOf(shown('responses', 'auto')) },
  ] as const
).map(({ title, caller, body }): Accepted => ({ title, caller, body, model: codex, check: checkDetail }))

const keptDetail: Accepted = {
  title: 'P10 detail low stays',
  caller: 'responses',
  model: codex,
  body: turns('responses', [shown('responses', 'low')]),
  check: (outcome) => expect(sentText(outcome)).toContain('"detail":"low"'),
}

const chatFile = { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${pdf}` } }
const responsesFile = { type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${pdf}` }
const document = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: pdf } }

const documents: readonly Accepted[] = [
  {
    title: 'P11 a PDF to a model that takes it on another route',
    caller: 'chat',
    model: 'claude-sonnet-4.5',
    body: turns('chat', [chatFile, textPart('chat', 'q')]),
    check: (outcome) => expect(sentText(outcome)).toContain(pdf),
  },
  {
    title: 'P11 a PDF to a model that takes it on another route',
    caller: 'responses',
    model: 'claude-sonnet-4.5',
    body: turns('responses', [responsesFile, textPart('responses', 'q')]),
    check: (outcome) => expect(sentText(outcome)).toContain(pdf),
  },
  {
    title: 'P11 an earlier PDF to a model that takes none',
    caller: 'messages',
    model: 'gemini-3-pro-preview',
    body: turns('messages', [document, textPart('messages', 'q')], 'a', 'go on'),
    check: (outcome) => {
      expect(sentText(outcome)).not.toContain(pdf)
      expect(outcome.warnings).not.toBe('')
    },
  },
  {
    title: 'P11 an earlier PDF in a result, to a model that takes none',
    caller: 'messages',
    model: 'gpt-4.1',
    body: resultOf(textPart('messages', 'the file'), document),
    check: (outcome) => {
      expect(sentText(outcome)).toContain('the file')
      expect(outcome.warnings).not.toBe('')
    },
  },
  {
    title: 'P11 a new PDF to a model that takes none is refused by its place',
    caller: 'messages',
    model: 'gemini-3-pro-preview',
    body: turns('messages', [textPart('messages', 'q'), document]),
    status: 400,
    check: ({ error }) => expect(error).toMatch(/messages[.[]0\]?[.]content[.[]1/),
  },
]

const textFile = { type: 'file', file: { filename: 'a.txt', file_data: 'data:text/plain;base64,TWFyaWdvbGQ=' } }

const otherDocuments: readonly Accepted[] = [
  ...(
    [
      ['chat', chatFile],
      ['responses', responsesFile],
    ] as const
  ).map(([caller, file]): Accepted => ({
    title: 'P11 an earlier PDF to a model that takes none',
    caller,
    model: 'gpt-4.1',
    body: turns(caller, [file, textPart(caller, 'look at this')], 'a', 'go on'),
    check: (outcome) => {
      expect(sentText(outcome)).not.toContain(pdf)
      expect(sentText(outcome)).toContain('look at this')
      expect(outcome.warnings).toContain('dropped')
    },
  })),
  {
    title: 'P11 a PDF stays on a route that takes it',
    caller: 'responses',
    model: codex,
    body: turns('responses', [responsesFile, textPart('responses', 'q')]),
    check: (outcome) => {
      expect(sentText(outcome)).toContain(pdf)
      expect(outcome.route).toBe('/responses')
    },
  },
  {
    title: 'P11 a text file is sent as text',
    caller: 'chat',
    model: 'gpt-4.1',
    body: turns('chat', [textFile, textPart('chat', 'q')]),
    check: (outcome) => {
      expect(sentText(outcome)).toContain('Marigold')
      expect(outcome.route).toBe('/chat/completions')
    },
  },
]

const chatAddress = { type: 'image_url', image_url: { url: address } }
const addressed = { type: 'image', source: { type: 'url', url: address } }

function checkAddressGone(outcome: Outcome): void {
  expect(sentText(outcome)).not.toContain(`"${address}"`)
  expect(sentText(outcome)).toContain('look at this')
  expect(outcome.warnings).not.toBe('')
}

const addresses: readonly Accepted[] = [
  ...(['gpt-4.1', 'claude-sonnet-4.5', 'gemini-3-pro-preview'] as const).map((model): Accepted => ({
    title: 'P13 an earlier image by address',
    caller: 'chat',
    model,
    body: turns('chat', [textPart('chat', 'look at this'), chatAddress], 'a', 'go on'),
    check: checkAddressGone,
  })),
  ...(['gpt-4.1', 'claude-opus-4.7'] as const).map((model): Accepted => ({
    title: 'P13 an earlier image by address',
    caller: 'messages',
    model,
    body: turns('messages', [textPart('messages', 'look at this'), addressed], 'a', 'go on'),
    check: checkAddressGone,
  })),
  {
    title: 'P13 an earlier image by address',
    caller: 'responses',
    model: codex,
    body: turns(
      'responses',
      [textPart('responses', 'look at this'), { type: 'input_image', image_url: address }],
      'a',
      'b',
    ),
    check: checkAddressGone,
  },
  {
    title: 'P13 a new image by address is refused by its place, before upstream',
    caller: 'chat',
    model: 'gpt-4.1',
    body: turns('chat', [textPart('chat', 'look at this'), chatAddress]),
    status: 400,
    check: ({ error, requests }) => {
      expect(error).toContain('messages[0].content[1]')
      expect(requests).toBe(0)
    },
  },
]

const mark = { cache_control: { type: 'ephemeral' } }

const marks: readonly Accepted[] = [
  {
    title: 'P14 a cache mark in a result',
    parts: [
      {
        type: 'tool_result',
        tool_use_id: 't1',
        content: [textPart('messages', 'a'), { ...textPart('messages', 'b'), ...mark }],
      },
    ],
  },
  {
    title: 'P14 cache marks in a result and on it',
    parts: [
      {
        type: 'tool_result',
        tool_use_id: 't1',
        content: [{ ...textPart('messages', 'a'), ...mark }, textPart('messages', 'b')],
        ...mark,
      },
    ],
  },
].map(({ title, parts }): Accepted => ({
  title,
  caller: 'messages',
  model: 'claude-sonnet-4.5',
  body: {
    max_tokens: 1000,
    tools: [tool('messages', 'look', { type: 'object', properties: {} })],
    messages: [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'look', input: {} }] },
      { role: 'user', content: parts },
    ],
  },
  check: (outcome) => expect(sentText(outcome)).toMatch(/"text":"a".*"text":"b"/),
}))

const declared: readonly Accepted[] = (
  [
    ['chat', 'claude-opus-4.7'],
    ['chat', 'claude-sonnet-4.5'],
    ['chat', 'claude-sonnet-4'],
    ['responses', 'claude-sonnet-4.5'],
  ] as const
).flatMap(([caller, model]): readonly Accepted[] => [
  {
    title: 'P16 an earlier JPEG that is called a PNG',
    caller,
    model,
    body: turns(caller, [textPart(caller, 'look'), imagePart(caller, jpeg)], 'a', 'go on'),
    check: (outcome) => expect(sentText(outcome)).toContain(jpeg),
  },
  {
    title: 'P16 a new JPEG that is called a PNG',
    caller,
    model,
    body: turns(caller, [textPart(caller, 'look'), imagePart(caller, jpeg)]),
    check: (outcome) => expect(sentText(outcome)).toContain(jpeg),
  },
])

/** The refused image has left the request, and the words around it have not. */
function checkImageGone(data: string): (outcome: Outcome) => void {
  return (outcome) => {
    expect(sentText(outcome)).not.toContain(data)
    expect(sentText(outcome)).toContain('look at this')
    expect(outcome.warnings).not.toBe('')
  }
}

const routes = [
  ['messages', 'claude-sonnet-4.5'],
  ['responses', codex],
  ['chat', 'gpt-4.1'],
  ['chat', 'claude-sonnet-4.5'],
  ['chat', 'gemini-3-pro-preview'],
] as const

const refusals = [
  { what: 'with too many pixels', data: huge, host: undefined },
  { what: 'that is none', data: garbage, host: withRow('P19 no image, Claude', 'P19 no image, GPT') },
  { what: 'where vision is switched off', data: small, host: withRow('P19 no vision') },
] as const

const earlier: readonly Accepted[] = refusals.flatMap(({ what, data, host }) =>
  routes.map(([caller, model]): Accepted => ({
    title: `P19 an earlier image ${what}`,
    caller,
    model,
    host,
    body: turns(caller, [textPart(caller, 'look at this'), imagePart(caller, data)], 'a', 'go on'),
    check: checkImageGone(data),
  })),
)

const refused: readonly Accepted[] = refusals.flatMap(({ what, data, host }) => [
  {
    title: `P19 an image ${what}, in a result`,
    caller: 'messages',
    model: 'claude-sonnet-4.5',
    host,
    body: resultOf(textPart('messages', 'look at this'), imagePart('messages', data)),
    check: checkImageGone(data),
  },
  {
    title: `P19 an image ${what}, in an output`,
    caller: 'responses',
    model: codex,
    host,
    body: outputOf(textPart('responses', 'look at this'), imagePart('responses', data)),
    check: checkImageGone(data),
  },
  {
    title: `P19 a new image ${what} is refused in upstream’s words`,
    caller: 'chat',
    model: 'gpt-4.1',
    host,
    body: turns('chat', [textPart('chat', 'look at this'), imagePart('chat', data)]),
    status: 400,
    check: ({ error }) => expect(error).toMatch(/image|vision/),
  },
])

const otherImages: readonly Accepted[] = [
  {
    title: 'P19 an image of a prompt without an answer',
    caller: 'chat',
    model: 'gpt-4.1',
    body: {
      messages: [
        { role: 'user', content: [textPart('chat', 'look at this'), imagePart('chat', huge)] },
        { role: 'user', content: 'go on' },
      ],
    },
    check: checkImageGone(huge),
  },
  {
    title: 'P19 the image that upstream names goes, and the others stay',
    caller: 'messages',
    model: 'claude-sonnet-4.5',
    body: turns(
      'messages',
      [textPart('messages', 'look at this'), imagePart('messages', large), imagePart('messages', png(11, 1))],
      'a',
      [textPart('messages', 'and this'), imagePart('messages', png(12, 2))],
    ),
    check: (outcome) => {
      checkImageGone(large)(outcome)
      expect(sentText(outcome)).toContain(png(12, 2))
    },
  },
  {
    title: 'P19 images that upstream takes stay',
    caller: 'messages',
    model: 'claude-sonnet-4.5',
    body: turns('messages', [textPart('messages', 'look at this'), imagePart('messages', small)], 'a', 'go on'),
    check: ({ requests, ...outcome }) => {
      expect(requests).toBe(1)
      expect(JSON.stringify(outcome.sent)).toContain(small)
    },
  },
]

testAccepted(
  [
    ...details,
    keptDetail,
    ...documents,
    ...otherDocuments,
    ...addresses,
    ...marks,
    ...declared,
    ...earlier,
    ...refused,
    ...otherImages,
  ],
  knownFileFailures,
)
