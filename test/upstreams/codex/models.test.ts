import { expect, test } from 'vitest'
import { MODELS } from '../copilot/models.ts'
import type { CodexUpstream } from '../codex.ts'
import { ask, keyHeaders, loginHeaders, promptOf, replyOf, openCodex } from './test-client.ts'
import type { Fields } from './test-client.ts'

function list(
  codex: CodexUpstream,
  plan = 'plus',
  query = '?client_version=0.169.0',
  more: Record<string, string> = {},
) {
  return fetch(`${codex.baseUrl}/models${query}`, { headers: loginHeaders(codex.login({ plan }), more) })
}

async function slugs(response: Response): Promise<readonly unknown[]> {
  const { models }: { models: readonly Fields[] } = JSON.parse(await response.text())
  return models.map(({ slug }) => slug)
}

test('lists what the plan has, hidden models included', async () => {
  const codex = await openCodex()
  const plus = ['gpt-6-sol', 'gpt-6-luna', 'gpt-5.6-luna', 'gpt-5.5', 'gpt-5.3-codex', 'codex-auto-review']
  expect(await slugs(await list(codex))).toEqual(plus)
  expect(await slugs(await list(codex, 'pro'))).toEqual(['gpt-6-astra', ...plus])
  expect(await slugs(await list(codex, 'free'))).toEqual(['gpt-6-luna', 'gpt-5.6-luna', 'gpt-5.5', 'codex-auto-review'])
  expect(await slugs(await list(codex, 'quorum'))).toEqual(plus)
})

test('leaves out models that are newer than the client, and asks for its version', async () => {
  const codex = await openCodex()
  expect(await slugs(await list(codex, 'plus', '?client_version=0.150.0'))).toEqual([
    'gpt-5.6-luna',
    'gpt-5.5',
    'gpt-5.3-codex',
    'codex-auto-review',
  ])
  expect(await replyOf(await list(codex, 'plus', ''))).toMatchObject({ status: 422, body: { detail: [{}] } })
})

test('describes a model in the catalogue’s own words', async () => {
  const codex = await openCodex()
  const { models }: { models: readonly Fields[] } = JSON.parse(await (await list(codex)).text())
  expect(models.find(({ slug }) => slug === 'gpt-6-sol')).toMatchObject({
    display_name: 'GPT-6 Sol',
    visibility: 'list',
    priority: 3,
    context_window: 272_000,
    max_context_window: 872_000,
    default_reasoning_level: 'medium',
    use_responses_lite: true,
    service_tiers: [{ id: 'priority' }],
    minimal_client_version: '0.155.0',
    available_in_plans: expect.arrayContaining(['plus']),
  })
})

test('has one model that the simulated Copilot has too', async () => {
  const codex = await openCodex()
  const both = (await slugs(await list(codex))).filter((slug) => MODELS.find(String(slug)) !== undefined)
  expect(both).toEqual(['gpt-5.3-codex'])
})

test('an ETag identifies the list of a plan, and every answer repeats it', async () => {
  const codex = await openCodex()
  const login = codex.login()
  const etag = (await list(codex)).headers.get('etag') ?? ''
  expect((await list(codex, 'plus', undefined, { 'if-none-match': etag })).status).toBe(304)
  const mirrored = async () =>
    (await ask(codex, promptOf('Hi'), loginHeaders(login))).headers.get('x-models-etag') ?? ''
  expect(await mirrored()).toBe(etag)
  expect((await list(codex, 'pro')).headers.get('etag')).not.toBe(etag)
})

test.for(['gpt-6-astra', 'no-such-model'])('does not serve %s to a plan that lacks it', async (model) => {
  const codex = await openCodex()
  expect(await replyOf(await ask(codex, promptOf('Hi', { model })))).toEqual({
    status: 400,
    body: { detail: `The '${model}' model is not supported when using Codex with a ChatGPT account.` },
  })
})

test('the key API has a list of its own', async () => {
  const codex = await openCodex()
  const response = await fetch(`${codex.apiBaseUrl}/models`, { headers: keyHeaders(codex) })
  const { object, data }: { object: string; data: readonly Fields[] } = JSON.parse(await response.text())
  expect(object).toBe('list')
  expect(data.map(({ id }) => id)).toEqual(expect.arrayContaining(['gpt-5.5', 'gpt-6-astra', 'gpt-4.1']))
  expect(data[0]).toMatchObject({ object: 'model', owned_by: 'system', created: expect.any(Number) })
})
