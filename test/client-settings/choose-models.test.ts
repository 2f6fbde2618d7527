import { expect, test } from 'vitest'
import { chooseModels } from '../../src/client-settings/choose-models.ts'
import type { ClientModel, ClientId } from '../../src/client-settings/target.ts'
import { model, models } from './models.ts'

function ids(client: ClientId, list = models, wanted?: string): readonly (string | undefined)[] {
  const chosen = chooseModels(client, list, wanted === undefined ? undefined : model(wanted))
  return [chosen?.main.id, chosen?.small.id, chosen?.opus.id, chosen?.sonnet.id]
}

test.each<[ClientId, readonly string[]]>([
  ['claude', ['claude-sonnet-5', 'claude-haiku-4.5', 'claude-opus-4.8', 'claude-sonnet-5']],
  ['codex', ['gpt-5.3-codex', 'gpt-5-mini', 'claude-opus-4.8', 'claude-sonnet-5']],
  ['opencode', ['claude-sonnet-5', 'claude-haiku-4.5', 'claude-opus-4.8', 'claude-sonnet-5']],
])('%s gets the newest of the models that suit it', (client, expected) => {
  expect(ids(client)).toEqual(expected)
})

test('versions are compared as numbers, and previews and variants are not picked', () => {
  const list = ['claude-sonnet-4.9', 'claude-sonnet-4.10', 'claude-sonnet-6-preview', 'claude-sonnet-5.1-fast'].map(
    (id) => model(id, ['messages']),
  )
  expect(ids('claude', list)[0]).toBe('claude-sonnet-4.10')
})

test('a model that is served untranslated goes before a newer one that is not', () => {
  const list = [model('gpt-5.4', ['chat']), model('gpt-5.2', ['responses'])]
  expect(ids('codex', list)[0]).toBe('gpt-5.2')
})

function responses(id: string): ClientModel {
  return model(id, ['responses'])
}

test('of two as new, the codex variant is for Codex CLI; a newer one without goes before it', () => {
  expect(ids('codex', [responses('gpt-5.3'), responses('gpt-5.3-codex')])[0]).toBe('gpt-5.3-codex')
  expect(ids('codex', [responses('gpt-5.4'), responses('gpt-5.3-codex')])[0]).toBe('gpt-5.4')
  expect(ids('codex', [responses('gpt-5'), responses('codex/gpt-5.3-codex')])[0]).toBe('codex/gpt-5.3-codex')
})

test('a list without any of the models that suit gives its first one, for every role', () => {
  expect(ids('claude', [model('gemini-3-pro-preview')])).toEqual(Array(4).fill('gemini-3-pro-preview'))
  expect(chooseModels('claude', [])).toBeUndefined()
})

test('where none of the models suits, Copilot chooses, if it can', () => {
  const list = [model('grok-code-fast-1'), model('auto')]
  expect(ids('claude', list)).toEqual(['auto', 'auto', 'auto', 'auto'])
  expect(ids('codex', [...models, model('auto')])[0]).toBe('gpt-5.3-codex')
  expect(ids('claude', [...models, model('auto')], 'auto')).toEqual([
    'auto',
    'claude-haiku-4.5',
    'claude-opus-4.8',
    'claude-sonnet-5',
  ])
})

test('a model that calls no tools is picked where there is no other', () => {
  const mute = model('claude-sonnet-6', ['messages'], { tools: false })
  expect(ids('claude', [mute, ...models])[0]).toBe('claude-sonnet-5')
  expect(ids('claude', [mute])[0]).toBe('claude-sonnet-6')
})

test('a model that the user names is the main one', () => {
  expect(ids('claude', models, 'gpt-4.1')).toEqual([
    'gpt-4.1',
    'claude-haiku-4.5',
    'claude-opus-4.8',
    'claude-sonnet-5',
  ])
})
