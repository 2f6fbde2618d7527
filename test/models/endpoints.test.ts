import { expect, test } from 'vitest'
import { chooseEndpoint } from '../../src/models/endpoints.ts'
import { model } from './samples.ts'

const chat = '/chat/completions'
const responses = '/responses'
const messages = '/v1/messages'
const everything = [chat, responses, messages]

const cases = [
  ['the caller’s own dialect first', everything, messages, 'auto', everything, messages],
  ['then responses', [chat, messages, responses], '/other', 'auto', everything, responses],
  ['then messages', [chat, messages], responses, 'auto', everything, messages],
  ['then chat', [chat], messages, 'auto', everything, chat],
  ['chat first when it is forced', everything, messages, 'chat', everything, chat],
  [
    'the caller’s own dialect when chat is forced but the model has none',
    [messages, responses],
    messages,
    'chat',
    everything,
    messages,
  ],
  [
    'nothing when only chat is spoken and the model has none',
    [responses, 'ws:/responses'],
    chat,
    'auto',
    [chat],
    undefined,
  ],
  ['nothing for a WebSocket-only model', ['ws:/responses'], responses, 'auto', everything, undefined],
  ['nothing for an embeddings model asked to chat', ['/embeddings'], chat, 'auto', everything, undefined],
  [
    'embeddings for an embeddings caller, whatever is forced',
    ['/embeddings'],
    '/embeddings',
    'chat',
    ['/embeddings'],
    '/embeddings',
  ],
  ['nothing for a chat model asked for embeddings', everything, '/embeddings', 'auto', ['/embeddings'], undefined],
] as const

test.each(cases)('chooses %s', (_title, endpoints, callerPath, setting, spoken, expected) => {
  expect(chooseEndpoint(model('m', { endpoints }), { callerPath, setting, spoken })).toBe(expected)
})

const few = { hasDocument: false, toolCount: 128 }
const many = { hasDocument: false, toolCount: 129 }
const document = { hasDocument: true, toolCount: 0 }

test.each([
  ['another route for a document', document, chat, [chat, messages], messages],
  ['another route for too many tools', many, responses, [responses, chat, messages], messages],
  ['the caller’s own route for as many tools as it takes', few, responses, [responses, messages], responses],
  ['the caller’s own route for a document that it takes', document, responses, everything, responses],
  ['the usual route if none can carry the request', many, chat, [chat, responses], chat],
])('chooses %s', (_title, needs, callerPath, endpoints, expected) => {
  const ask = { callerPath, setting: 'auto', spoken: everything, needs } as const
  expect(chooseEndpoint(model('m', { endpoints }), ask)).toBe(expected)
})

test.each([
  ['a request without a document goes to chat', undefined, everything, chat],
  ['a document goes where it is taken', document, everything, responses],
  ['a document goes to chat if the model has nothing else', document, [chat], chat],
])('if chat is preferred, %s', (_, needs, endpoints, expected) => {
  const ask = { callerPath: messages, setting: 'chat', spoken: everything, needs } as const
  expect(chooseEndpoint(model('m', { endpoints: endpoints.filter((path) => path !== messages) }), ask)).toBe(expected)
})

test('does not count the tools of a model with tool search', () => {
  const ask = { callerPath: chat, setting: 'auto', spoken: everything, needs: many } as const
  expect(chooseEndpoint(model('m', { endpoints: everything, supports: { toolSearch: true } }), ask)).toBe(chat)
})

test('counts the tools of a Claude whose tool search is part of Messages', () => {
  const ask = { callerPath: chat, setting: 'auto', spoken: everything, needs: many } as const
  const claude = model('claude-sonnet-4.5', { endpoints: [chat, messages], supports: { toolSearch: true } })
  expect(chooseEndpoint(claude, ask)).toBe(messages)
})
