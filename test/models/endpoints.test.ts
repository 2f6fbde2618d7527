import { expect, test } from 'vitest'
import { chooseEndpoint } from '../../src/models/endpoints.ts'

const chat = '/chat/completions'
const responses = '/responses'
const messages = '/v1/messages'
const everything = [chat, responses, messages]

const cases = [
  ['the caller’s own dialect first', everything, messages, 'auto', everything, messages],
  ['then chat', [responses, chat], messages, 'auto', everything, chat],
  ['then responses', [messages, responses], chat, 'auto', everything, responses],
  ['then messages', [messages], chat, 'auto', everything, messages],
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
  expect(chooseEndpoint({ endpoints }, { callerPath, setting, spoken })).toBe(expected)
})
