import { pathToFileURL } from 'node:url'
import type { ContentBlock } from '@agentclientprotocol/sdk'
import { describe, expect, test } from 'vitest'
import { PromptProblem, toMessage } from '../../src/acp/prompt.ts'
import type { PromptMessage } from '../../src/acp/prompt.ts'

const root = '/home/me/shop'
const text = (words: string): ContentBlock => ({ type: 'text', text: words })
const link = (uri: string): ContentBlock => ({ type: 'resource_link', name: 'the name', uri })
const uriOf = (path: string): string => pathToFileURL(path).href

describe('the content of a prompt becomes a message', () => {
  test.each<[string, readonly ContentBlock[], Partial<PromptMessage>]>([
    [
      'with links among the words',
      [text('See '), link(uriOf(`${root}/src/a b.js`)), text(' now')],
      { text: 'See @"src/a b.js" now' },
    ],
    [
      'with a file outside the folder',
      [link(uriOf('/home/me/shopping/a.js'))],
      { text: '[the name](file:///home/me/shopping/a.js)' },
    ],
    ['with an address', [link('https://example.org/x')], { text: '[the name](https://example.org/x)' }],
    [
      'with the selected lines of a file',
      [
        text('Explain '),
        { type: 'resource', resource: { uri: `${uriOf(`${root}/a.js`)}#L3:5`, text: 'code', mimeType: null } },
      ],
      {
        text: 'Explain a.js#L3:5',
        attachments: [{ name: 'a.js#L3:5', mediaType: 'text/plain', text: 'code' }],
      },
    ],
    [
      'with an image alone',
      [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }],
      {
        text: 'See what is attached.',
        attachments: [{ name: 'image-1', mediaType: 'image/png', base64: 'AAAA' }],
      },
    ],
    [
      'with an image of the folder as a resource',
      [text('x'), { type: 'resource', resource: { uri: uriOf(`${root}/a.png`), blob: 'AAAA', mimeType: 'image/png' } }],
      { text: 'xa.png', attachments: [{ name: 'a.png', mediaType: 'image/png', base64: 'AAAA' }] },
    ],
  ])('%s', (_name, prompt, expected) => {
    expect(toMessage(root, prompt)).toMatchObject(expected)
  })
})

test.each<[readonly ContentBlock[], RegExp]>([
  [[], /empty/],
  [[text(' \n')], /empty/],
  [[{ type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }], /Audio/],
  [[{ type: 'image', data: 'AAAA', mimeType: 'image/bmp' }], /PNG, JPEG, GIF or WebP/],
  [[{ type: 'resource', resource: { uri: 'x:y', blob: 'AAAA', mimeType: 'application/zip' } }], /application\/zip/],
])('what cannot be sent is refused in a sentence: %j', (prompt, sentence) => {
  expect(() => toMessage(root, prompt)).toThrow(PromptProblem)
  expect(() => toMessage(root, prompt)).toThrow(sentence)
})
