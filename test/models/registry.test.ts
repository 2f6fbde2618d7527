import { fc } from '../fast-check.ts'
import { describe, expect, test } from 'vitest'
import { withLongContext } from '../../src/models/catalogue.ts'
import { createModelRegistry, type ModelNaming } from '../../src/models/registry.ts'
import { codexSeedClientId, codexSeeds, copilotSeeds, seedClientId } from '../../src/models/seeds.ts'
import { codexModel, codexModels, liveModels, model, tieredFacts } from './samples.ts'

const noNaming: ModelNaming = { aliases: {}, hide: [] }

function registryWith(models = liveModels(), naming: Partial<ModelNaming> = {}) {
  const registry = createModelRegistry({ ...noNaming, ...naming })
  registry.register('record-1', models)
  return registry
}

const idsOf = (registry: ReturnType<typeof createModelRegistry>) => registry.list().map((entry) => entry.id)

const chatOnly = { callerPath: '/chat/completions', setting: 'auto', spoken: ['/chat/completions'] } as const
const embeddings = { callerPath: '/embeddings', setting: 'auto', spoken: ['/embeddings'] } as const

describe('the list', () => {
  test('shows each offered model once: no duplicates, nothing switched off, nothing unserved', () => {
    expect(idsOf(registryWith())).toEqual([
      'claude-opus-4.6-1m',
      'claude-opus-4.6',
      'claude-haiku-4.5',
      'gpt-5.3-codex',
      'gpt-5-mini',
      'gpt-4.1',
      'text-embedding-3-small',
      'bare-model',
    ])
  })

  test.each(['disabled', 'pending', 'requires_consent', 'unconfigured', 'a word of next year'])(
    'a model whose policy is %s is closed: listed apart, and refused with what would open it',
    (policy) => {
      const registry = registryWith([model('gpt-4.1', { policy }), model('gpt-4o', { policy: 'enabled' }), model('o5')])
      expect(idsOf(registry)).toEqual(['gpt-4o', 'o5'])
      expect(registry.listSwitchedOff().map(({ id }) => id)).toEqual(['gpt-4.1'])
      const result = registry.route('gpt-4.1', chatOnly)
      const detail = expect.stringMatching(/^The model "gpt-4\.1" is .*settings\/copilot\/features/)
      expect(result).toMatchObject({ ok: false, error: { kind: 'model_not_found', detail } })
      if (policy !== 'disabled') expect(JSON.stringify(result)).toContain(policy)
    },
  )

  test('of two entries with one id the first counts', () => {
    const result = registryWith().resolve('gpt-4.1')
    expect(result).toMatchObject({ ok: true, value: { model: { name: 'GPT-4.1' } } })
  })

  test('of two entries with one id a switched-off one gives way', () => {
    const registry = registryWith([model('gpt-4.1', { policy: 'disabled' }), model('gpt-4.1', { name: 'second' })])
    expect(registry.resolve('gpt-4.1')).toMatchObject({ ok: true, value: { model: { name: 'second' } } })
  })

  test('an account without a single picker-enabled model is shown what its policy enables', () => {
    const registry = registryWith([
      model('gpt-4.1', { pickerEnabled: false, policy: 'enabled' }),
      model('gpt-4o', { pickerEnabled: false }),
      model('text-embedding-3-small', { pickerEnabled: false }),
    ])
    expect(idsOf(registry)).toEqual(['gpt-4.1', 'text-embedding-3-small'])
  })

  test('and all that is not switched off when its policy enables none', () => {
    const registry = registryWith([
      model('gpt-4.1', { pickerEnabled: false, policy: 'disabled' }),
      model('gpt-4o', { pickerEnabled: false }),
    ])
    expect(idsOf(registry)).toEqual(['gpt-4o'])
  })

  test.each([
    ['an exact name', ['gpt-4.1'], ['gpt-4.1']],
    ['a beginning', ['claude-*'], ['claude-opus-4.6-1m', 'claude-opus-4.6', 'claude-haiku-4.5']],
    ['an end', ['*-1m'], ['claude-opus-4.6-1m']],
    ['a middle', ['*opus*'], ['claude-opus-4.6-1m', 'claude-opus-4.6']],
    ['several parts', ['c*-*-4.*'], ['claude-opus-4.6-1m', 'claude-opus-4.6', 'claude-haiku-4.5']],
    ['a qualified name', ['copilot/gpt-4.1'], ['gpt-4.1']],
    ['parts that would overlap', ['gpt-4*4.1'], []],
    ['a pattern that only begins like a name', ['gpt-4'], []],
    ['a long context mark, which is no model of the list', ['*[1m]'], []],
    ['a point, which is not a wildcard', ['gpt-4?1', 'gpt.4.1'], []],
  ])('hides by %s', (_what, hide, hidden) => {
    const all = idsOf(registryWith())
    expect(idsOf(registryWith(liveModels(), { hide }))).toEqual(all.filter((id) => !hidden.includes(id)))
  })

  test('hides everything by *', () => {
    expect(idsOf(registryWith(liveModels(), { hide: ['*'] }))).toEqual([])
  })

  test('a hidden model answers to its name but is not suggested', () => {
    const registry = registryWith(liveModels(), { hide: ['gpt-4.1'] })
    expect(registry.resolve('gpt-4.1').ok).toBe(true)
    expect(registry.resolve('gpt-4.2')).not.toMatchObject({
      error: { suggestions: expect.arrayContaining(['gpt-4.1']) },
    })
  })
})

describe('long context tiers', () => {
  const tiers = { contextWindow: 200_000, longContext: { contextWindow: 936_000, maxPromptTokens: 936_000 } }
  const both = [
    model('gpt-5.4', tiers),
    model('claude-sonnet-4.6', tiers),
    model('gpt-4.1', { contextWindow: 128_000 }),
  ]

  test.each([
    ['gpt-5.4[1m]', 'gpt-5.4'],
    ['gpt-5.4-long-context', 'gpt-5.4'],
    ['copilot/gpt-5.4[1m]', 'gpt-5.4'],
    ['claude-sonnet-4-6[1m]', 'claude-sonnet-4.6'],
    ['claude-sonnet-4-6-20260301-long-context', 'claude-sonnet-4.6'],
    ['big', 'gpt-5.4'],
  ])('%s is the long tier of %s, which upstream is asked for', (name, id) => {
    const registry = registryWith(both, { aliases: { big: 'gpt-5.4[1m]' } })
    expect(registry.route(name, chatOnly)).toMatchObject({
      ok: true,
      value: { id: `${id}[1m]`, isLongContext: true, model: { id, contextWindow: 936_000, maxPromptTokens: 936_000 } },
    })
    expect(registry.resolve(id)).toMatchObject({ value: { id, model: { id, contextWindow: 200_000 } } })
  })

  test('a model without one is not swapped for its only tier', () => {
    expect(registryWith(both).resolve('gpt-4.1[1m]')).toMatchObject({
      ok: false,
      error: { suggestions: ['gpt-4.1', 'gpt-5.4'] },
    })
  })

  test('a model that upstream lists under such a name is that model', () => {
    const registry = registryWith([...both, model('gpt-5.4-long-context', { name: 'its own' })])
    expect(registry.resolve('gpt-5.4-long-context')).toMatchObject({ value: { model: { name: 'its own' } } })
    expect(registry.resolve('gpt-5.4[1m]')).toMatchObject({ value: { model: { id: 'gpt-5.4' } } })
  })

  test('the list has each model once; a tier that is hidden by its name still answers to it', () => {
    const longOf = (registry: ReturnType<typeof registryWith>) =>
      withLongContext(registry.list()).flatMap(({ id, isLongContext }) => (isLongContext ? id : []))
    expect(idsOf(registryWith(both))).toEqual(['gpt-5.4', 'claude-sonnet-4.6', 'gpt-4.1'])
    expect(longOf(registryWith(both))).toEqual(['gpt-5.4[1m]', 'claude-sonnet-4.6[1m]'])
    const hidden = registryWith(both, { hide: ['gpt-*[1m]'] })
    expect(longOf(hidden)).toEqual(['claude-sonnet-4.6[1m]'])
    expect(hidden.resolve('gpt-5.4[1m]').ok).toBe(true)
  })
})

test('upstream’s warning is logged once, when the first request is routed to its model', () => {
  const reported: unknown[] = []
  const registry = createModelRegistry(noNaming, undefined, ({ id }, { message }) => reported.push([id, message]))
  const notices = [
    { level: 'warning', message: 'To be retired.' },
    { level: 'info', message: 'News.' },
  ] as const
  for (let refresh = 1; refresh <= 2; refresh += 1) {
    registry.register('record-1', [model('gpt-4.1', { notices }), model('gpt-4o', { notices })])
    registry.resolve('gpt-4o')
    registry.route('gpt-4.1', chatOnly)
    registry.route('gpt-4.1', chatOnly)
  }
  expect(reported).toEqual([['gpt-4.1', 'To be retired.']])
})

describe('clients', () => {
  test('the seeds are there before any login and contain what most accounts have', () => {
    const registry = createModelRegistry(noNaming)
    registry.register(seedClientId, copilotSeeds)
    expect(idsOf(registry)).toEqual(
      expect.arrayContaining([
        'gpt-5-mini',
        'grok-code-fast-1',
        'gpt-5',
        'gpt-4.1',
        'gpt-4',
        'gpt-4o-mini',
        'gpt-3.5-turbo',
      ]),
    )
    expect(seedClientId).toBe('copilot:models:seed')
  })

  test('seeds move to the record’s id after login and are replaced by its live list', () => {
    const registry = createModelRegistry(noNaming)
    registry.register(seedClientId, copilotSeeds)
    const seeds = idsOf(registry)
    registry.reregister(seedClientId, 'record-1')
    expect(idsOf(registry)).toEqual(seeds)
    registry.unregister(seedClientId)
    expect(idsOf(registry)).toEqual(seeds)
    registry.register('record-1', [model('gpt-live')])
    expect(idsOf(registry)).toEqual(['gpt-live'])
    expect(registry.resolve('gpt-4')).toMatchObject({ ok: false })
  })

  test('moving the seeds to a record that already has a live list keeps the live list', () => {
    const registry = createModelRegistry(noNaming)
    registry.register(seedClientId, copilotSeeds)
    registry.register('record-1', [model('gpt-live')])
    registry.reregister(seedClientId, 'record-1')
    registry.reregister('nobody', 'record-1')
    expect(idsOf(registry)).toEqual(['gpt-live'])
    registry.unregister('record-1')
    expect(idsOf(registry)).toEqual([])
  })

  test('seeds that were never moved give way to a live list too', () => {
    const registry = createModelRegistry(noNaming)
    registry.register(seedClientId, copilotSeeds)
    registry.register('record-1', [model('gpt-live')])
    expect(idsOf(registry)).toEqual(['gpt-live'])
  })
})

describe('providers', () => {
  const both = [
    model('gpt-5.5'),
    model('gpt-4.1'),
    model('gpt-5.5', { provider: 'codex', name: 'Codex one' }),
    model('gpt-6-sol', { provider: 'codex' }),
  ]

  test('a bare id is Copilot’s where Copilot has it, and the other one is listed with its prefix', () => {
    const registry = registryWith(both)
    expect(idsOf(registry)).toEqual(['gpt-5.5', 'gpt-4.1', 'codex/gpt-5.5', 'gpt-6-sol'])
    expect(registry.resolve('gpt-5.5')).toMatchObject({ value: { id: 'gpt-5.5', model: { provider: 'copilot' } } })
    expect(registry.resolve('codex/gpt-5.5')).toMatchObject({ value: { model: { provider: 'codex', id: 'gpt-5.5' } } })
  })

  test('prefixes always work, and never reach the other provider', () => {
    const registry = registryWith(both)
    expect(registry.resolve('copilot/gpt-4.1')).toMatchObject({ value: { id: 'gpt-4.1' } })
    expect(registry.resolve('codex/gpt-6-sol')).toMatchObject({ value: { id: 'gpt-6-sol' } })
    expect(registry.resolve('copilot/gpt-6-sol').ok).toBe(false)
    expect(registry.resolve('codex/gpt-4.1').ok).toBe(false)
  })

  test('a codex model can be hidden by its qualified name, also where it is listed without one', () => {
    expect(idsOf(registryWith(both, { hide: ['codex/*'] }))).toEqual(['gpt-5.5', 'gpt-4.1'])
  })

  test('whatever ids two providers list, names stay unique and no name crosses over', () => {
    const someId = fc.constantFrom('a', 'b', 'codex/a', 'copilot/a', 'codex/codex/a', 'copilot/codex/a', 'x/y')
    const some = fc.array(fc.record({ id: someId, provider: fc.constantFrom('copilot' as const, 'codex' as const) }))
    fc.assert(
      fc.property(some, (models) => {
        const registry = registryWith(models.map(({ id, provider }) => model(id, { provider })))
        const ids = idsOf(registry)
        expect(new Set(ids).size).toBe(ids.length)
        for (const { id, provider } of models) {
          expect(registry.resolve(`${provider}/${id}`)).toMatchObject({ value: { model: { id, provider } } })
        }
        for (const { id, model: listed } of registry.list()) {
          expect(registry.resolve(id)).toEqual({ ok: true, value: { id, model: listed } })
          if (id.startsWith('copilot/')) expect(listed.provider).toBe('copilot')
          if (id.startsWith('codex/')) expect(listed.provider).toBe('codex')
        }
      }),
    )
  })
})

function bothWith(naming: Partial<ModelNaming> = {}) {
  const registry = registryWith([model('gpt-5.5'), model('gpt-4.1')], naming)
  registry.register('account-1', codexModels())
  return registry
}

describe('Copilot and Codex side by side', () => {
  test('what Codex hides is not listed or suggested, and answers to its name', () => {
    const registry = bothWith()
    expect(idsOf(registry)).toEqual([
      'gpt-5.5',
      'gpt-4.1',
      'gpt-6.1-sol',
      'gpt-6-sol',
      'codex/gpt-5.5',
      'bare-model',
      'odd-model',
    ])
    expect(registry.resolve('codex-auto-review')).toMatchObject({ value: { model: { provider: 'codex' } } })
    expect(registry.resolve('codex-auto-revieu')).toMatchObject({ ok: false, error: { suggestions: [] } })
  })

  test('and stays unlisted where Codex hides everything', () => {
    const registry = registryWith([codexModel('hidden', { pickerEnabled: false })])
    expect(idsOf(registry)).toEqual([])
    expect(registry.resolve('hidden').ok).toBe(true)
  })

  test('Copilot’s come first, whichever list arrived first', () => {
    const registry = createModelRegistry(noNaming)
    registry.register('account-1', [codexModel('gpt-6-sol')])
    registry.register('record-1', [model('gpt-4.1')])
    expect(idsOf(registry)).toEqual(['gpt-4.1', 'gpt-6-sol'])
  })

  test('an id that Copilot has as a seed alone is qualified too', () => {
    const registry = createModelRegistry(noNaming)
    registry.register(seedClientId, copilotSeeds)
    registry.register('account-1', [codexModel('gpt-5'), codexModel('gpt-6-sol')])
    expect(idsOf(registry)).toEqual(expect.arrayContaining(['gpt-5', 'codex/gpt-5', 'gpt-6-sol']))
    expect(registry.resolve('gpt-5')).toMatchObject({ value: { model: { provider: 'copilot', source: 'seed' } } })
  })

  test('a bare id changes hands with Copilot’s list, and the prefixed name never does', () => {
    const registry = createModelRegistry(noNaming)
    registry.register('record-1', [model('gpt-4.1')])
    registry.register('account-1', [codexModel('gpt-6-sol')])
    expect(registry.resolve('gpt-6-sol')).toMatchObject({ value: { id: 'gpt-6-sol', model: { provider: 'codex' } } })

    registry.register('record-1', [model('gpt-4.1'), model('gpt-6-sol')])
    expect(idsOf(registry)).toEqual(['gpt-4.1', 'gpt-6-sol', 'codex/gpt-6-sol'])
    expect(registry.resolve('gpt-6-sol')).toMatchObject({ value: { model: { provider: 'copilot' } } })
    expect(registry.resolve('codex/gpt-6-sol')).toMatchObject({
      value: { id: 'codex/gpt-6-sol', model: { provider: 'codex' } },
    })

    registry.register('record-1', [model('gpt-4.1')])
    expect(registry.resolve('gpt-6-sol')).toMatchObject({ value: { model: { provider: 'codex' } } })
  })

  test('an id that is switched off at Copilot is not answered by Codex, but Codex’s is the first suggestion', () => {
    const registry = registryWith([model('gpt-5.5', { policy: 'disabled' }), codexModel('gpt-5.5')])
    expect(idsOf(registry)).toEqual(['codex/gpt-5.5'])
    expect(registry.resolve('gpt-5.5')).toMatchObject({
      ok: false,
      error: { suggestions: ['codex/gpt-5.5'], detail: expect.stringContaining('disabled') },
    })
  })

  test('seeds of one give way to its own live list and not to the other’s', () => {
    const registry = createModelRegistry(noNaming)
    registry.register(seedClientId, copilotSeeds)
    registry.register(codexSeedClientId, codexSeeds)
    registry.register('record-1', [model('gpt-4.1')])
    expect(idsOf(registry)).toEqual(['gpt-4.1', ...codexSeeds.map(({ id }) => id)])
    registry.register('account-1', [codexModel('gpt-6-sol')])
    expect(idsOf(registry)).toEqual(['gpt-4.1', 'gpt-6-sol'])
  })

  test('without a Codex login nothing of Codex is left', () => {
    const registry = bothWith()
    registry.unregister('account-1')
    expect(registry.list().filter((entry) => entry.model.provider === 'codex')).toEqual([])
    for (const { id } of codexModels()) expect(registry.resolve(`codex/${id}`).ok).toBe(false)
  })

  test.each([
    ['codex/*', ['gpt-6.1-sol', 'gpt-6-sol', 'codex/gpt-5.5', 'bare-model', 'odd-model']],
    ['copilot/*', ['gpt-5.5', 'gpt-4.1']],
    ['gpt-5.5', ['gpt-5.5']],
    ['codex/gpt-5.5', ['codex/gpt-5.5']],
    ['*/gpt-5.5', ['gpt-5.5', 'codex/gpt-5.5']],
    ['gpt-6*', ['gpt-6.1-sol', 'gpt-6-sol']],
    ['Codex/*', []],
  ])('%s hides %j', (pattern, hidden) => {
    const shown = idsOf(bothWith()).filter((id) => !hidden.includes(id))
    expect(idsOf(bothWith({ hide: [pattern] }))).toEqual(shown)
  })

  test.each([
    ['codex/gpt-5.5', 'codex'],
    ['codex/gpt-6-sol', 'codex'],
    ['gpt-6-sol', 'codex'],
    ['copilot/gpt-5.5', 'copilot'],
    ['gpt-5.5', 'copilot'],
    ['Codex/GPT-5.5', 'codex'],
    ['openai/gpt-5.5', 'copilot'],
  ])('an alias to %s is %s’s', (target, provider) => {
    expect(bothWith({ aliases: { fast: target } }).resolve('fast')).toMatchObject({ value: { model: { provider } } })
  })

  test.each(['codex//gpt-5.5', 'codex/codex/gpt-5.5', 'somebody/gpt-5.5'])(
    '%s is nobody’s name, and both models are suggested',
    (name) => {
      expect(bothWith().resolve(name)).toMatchObject({
        ok: false,
        error: { suggestions: expect.arrayContaining(['gpt-5.5', 'codex/gpt-5.5']) },
      })
    },
  )
})

describe('a provider without a login', () => {
  const nobody = { detail: 'Nobody is logged in to Codex', fix: 'Run: copilot-proxy login codex' }
  const absent = (naming: Partial<ModelNaming> = {}) => {
    const registry = createModelRegistry({ ...noNaming, ...naming }, (provider) =>
      provider === 'codex' ? nobody : undefined,
    )
    registry.register('record-1', [model('gpt-5.5')])
    return registry
  }

  test('is said to be one when its models are asked for by its prefix', () => {
    expect(absent().resolve('codex/gpt-5.5')).toEqual({
      ok: false,
      error: {
        kind: 'model_not_found',
        model: 'codex/gpt-5.5',
        suggestions: ['gpt-5.5'],
        detail:
          'The model "codex/gpt-5.5" is not available. Nobody is logged in to Codex. Run: copilot-proxy login codex',
      },
    })
  })

  test('is named for an alias of it', () => {
    expect(absent({ aliases: { fast: 'codex/gpt-6-sol' } }).resolve('fast')).toMatchObject({
      error: {
        detail:
          'The alias "fast" names the model "codex/gpt-6-sol", which is not available. Nobody is logged in to Codex. ' +
          'Run: copilot-proxy login codex',
      },
    })
  })

  test.each(['gpt-6-sol', 'copilot/gpt-6-sol', 'codex'])('is no matter to who asks for %s', (name) => {
    const result = absent().resolve(name)
    expect(result).toMatchObject({ ok: false, error: { kind: 'model_not_found', model: name } })
    expect(result).not.toHaveProperty('error.detail')
  })

  test('is no reason where the provider has models, whatever it says of its login', () => {
    const registry = absent()
    registry.register('account-1', [codexModel('gpt-6-sol')])
    expect(registry.resolve('codex/gpt-7')).not.toHaveProperty('error.detail')
  })

  test('is the reason for a route too', () => {
    expect(absent().route('codex/gpt-5.5', chatOnly)).toMatchObject({
      error: { kind: 'model_not_found', detail: expect.stringContaining('copilot-proxy login codex') },
    })
  })
})

describe('resolving', () => {
  test('an unknown name is not found and comes with near misses', () => {
    expect(registryWith().resolve('gpt-5-mni')).toEqual({
      ok: false,
      error: {
        kind: 'model_not_found',
        model: 'gpt-5-mni',
        suggestions: ['gpt-5-mini', 'gpt-4.1', 'gpt-5.3-codex'],
      },
    })
  })

  test('a dashed and dated Claude name finds the dotted model', () => {
    expect(registryWith().resolve('claude-haiku-4-5-20251001')).toMatchObject({ value: { id: 'claude-haiku-4.5' } })
    expect(registryWith().resolve('claude-opus-4-6[1m]')).toMatchObject({ value: { id: 'claude-opus-4.6-1m' } })
    expect(registryWith().resolve('claude-haiku-4-5[1m]')).toMatchObject({
      ok: false,
      error: { suggestions: expect.arrayContaining(['claude-haiku-4.5']) },
    })
  })

  test('a model that is switched off says so and how to switch it on', () => {
    const result = registryWith().resolve('claude-sonnet-4-6')
    expect(result).toMatchObject({
      ok: false,
      error: {
        kind: 'model_not_found',
        model: 'claude-sonnet-4-6',
        detail: expect.stringMatching(/"claude-sonnet-4\.6" is disabled.*github\.com\/settings\/copilot\/features/),
      },
    })
  })

  test('an alias to a missing model names both', () => {
    expect(registryWith(liveModels(), { aliases: { small: 'gpt-5-mni' } }).resolve('small')).toEqual({
      ok: false,
      error: {
        kind: 'model_not_found',
        model: 'small',
        suggestions: expect.arrayContaining(['gpt-5-mini']),
        detail: 'The alias "small" names the model "gpt-5-mni", which is not available.',
      },
    })
  })

  test('aliases and hidden names can change while it runs', () => {
    const registry = registryWith()
    expect(registry.resolve('small').ok).toBe(false)
    registry.setNaming({ aliases: { small: 'gpt-5-mini' }, hide: ['claude-*'] })
    expect(registry.resolve('small')).toMatchObject({ value: { id: 'small', aliasOf: 'gpt-5-mini' } })
    expect(idsOf(registry).filter((id) => id.startsWith('claude-'))).toEqual([])
  })

  test.each(['constructor', '__proto__', 'toString', 'hasOwnProperty', ''])('%j is just an unknown name', (name) => {
    expect(registryWith().resolve(name)).toMatchObject({ ok: false, error: { kind: 'model_not_found' } })
  })

  test('any string resolves to a model or to an error that lists only visible models', () => {
    const registry = registryWith(liveModels(), { aliases: { a: 'b' }, hide: ['gpt-4.1'] })
    const visible = idsOf(registry)
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.constantFrom('a', 'gpt-4.1', 'claude-sonnet-4.6')), (name) => {
        const result = registry.resolve(name)
        if (result.ok) return
        expect(result.error.kind).toBe('model_not_found')
        if (result.error.kind === 'model_not_found') {
          for (const id of result.error.suggestions) expect(visible).toContain(id)
        }
      }),
    )
  })
})

describe('routing', () => {
  test('a chat model asked by a chat caller takes the chat path', () => {
    expect(registryWith().route('gpt-5-mini', chatOnly)).toMatchObject({
      ok: true,
      value: { id: 'gpt-5-mini', path: '/chat/completions', model: { provider: 'copilot' } },
    })
  })

  test('an embeddings model asked for embeddings takes the embeddings path', () => {
    expect(registryWith().route('text-embedding-3-small', embeddings)).toMatchObject({ value: { path: '/embeddings' } })
  })

  test('a responses-only model is refused while only chat is spoken, with models that work', () => {
    expect(registryWith().route('gpt-5.3-codex', chatOnly)).toEqual({
      ok: false,
      error: {
        kind: 'invalid_request',
        path: 'model',
        code: 'unsupported_api_for_model',
        detail:
          'The model "gpt-5.3-codex" is only available at /responses, which this request cannot use. ' +
          'Models for this request: gpt-5-mini, gpt-4.1.',
      },
    })
  })

  test.each([
    ['text-embedding-3-small', chatOnly, /supports embeddings only\. Use \/v1\/embeddings\./],
    ['gpt-41-copilot', chatOnly, /completes code only\. Use \/v1\/completions/],
    ['gpt-4.1', embeddings, /does not support embeddings\. Models for this request: text-embedding-3-small\./],
  ])('%s is refused with its reason', (name, ask, detail) => {
    expect(registryWith().route(name, ask)).toMatchObject({
      ok: false,
      error: { kind: 'invalid_request', path: 'model', detail: expect.stringMatching(detail) },
    })
  })

  test.each(['/chat/completions', '/responses', '/v1/messages'] as const)(
    'a Codex model is reached through /responses by callers of %s, also where Copilot is to be asked by chat',
    (callerPath) => {
      const spoken = ['/chat/completions', '/responses', '/v1/messages']
      for (const setting of ['auto', 'chat'] as const) {
        expect(
          registryWith([codexModel('gpt-6-sol')]).route('gpt-6-sol', { callerPath, setting, spoken }),
        ).toMatchObject({ ok: true, value: { id: 'gpt-6-sol', path: '/responses', model: { provider: 'codex' } } })
      }
    },
  )

  test('a Codex model never makes embeddings, whatever it is called', () => {
    const registry = registryWith([model('text-embedding-3-small', { type: 'embeddings', endpoints: ['/embeddings'] })])
    registry.register('account-1', [codexModel('text-embedding-3-small'), codexModel('gpt-6-sol')])
    expect(registry.route('text-embedding-3-small', embeddings)).toMatchObject({
      value: { model: { provider: 'copilot' } },
    })
    expect(registry.route('codex/text-embedding-3-small', embeddings)).toMatchObject({
      ok: false,
      error: {
        detail: expect.stringMatching(
          /does not support embeddings\. Models for this request: text-embedding-3-small\./,
        ),
      },
    })
    expect(registry.route('gpt-6-sol', embeddings).ok).toBe(false)
  })

  test('a model with no endpoint at all is refused, also when nothing else is offered', () => {
    const result = registryWith([model('lonely', { endpoints: ['ws:/responses'] })]).route('lonely', chatOnly)
    expect(result).toMatchObject({ error: { detail: 'The model "lonely" has no endpoint that this request can use.' } })
  })

  test('near misses of an unknown name are models the caller could really use', () => {
    const result = registryWith().route('gpt-5.3', chatOnly)
    expect(result).toMatchObject({ error: { kind: 'model_not_found', suggestions: ['gpt-4.1', 'gpt-5-mini'] } })
  })

  test('a name of any length gives a message of bounded length', () => {
    const aliases = { ['x'.repeat(10_000)]: 'nothing' }
    const result = registryWith(liveModels(), { aliases }).resolve('x'.repeat(10_000))
    expect(result.ok || (result.error.kind === 'model_not_found' && (result.error.detail ?? '').length)).toBeLessThan(
      300,
    )
  })
})

const aliasRows = (registry: ReturnType<typeof registryWith>) =>
  registry.list().flatMap(({ id, aliasOf, fallbacks }) => (aliasOf === undefined ? [] : [{ id, aliasOf, fallbacks }]))

describe('aliases in the list', () => {
  const both = [...liveModels(), codexModel('gpt-6-sol')]

  test('come last, with their model and its fallbacks; patterns, hidden, closed and dead ones are left out', () => {
    const aliases = {
      fast: 'gpt-5-mini',
      best: ['codex/gpt-6-sol', 'gpt-4.1'],
      'any-*': 'gpt-4.1',
      secret: 'gpt-4.1',
      dead: 'gpt-9',
    }
    const registry = registryWith(both, { aliases, hide: ['secret', 'gpt-5-mini'] })
    expect(aliasRows(registry)).toEqual([
      { id: 'fast', aliasOf: 'gpt-5-mini', fallbacks: undefined },
      { id: 'best', aliasOf: 'gpt-6-sol', fallbacks: ['gpt-4.1'] },
    ])
    expect(idsOf(registry).slice(-2)).toEqual(['fast', 'best'])
    expect(registry.fallbacksOf('best')).toEqual(['gpt-4.1'])
    expect(registry.fallbacksOf('fast')).toEqual([])
    const shadowed = registryWith(both, { aliases: { 'copilot/gpt-4.1': ['gpt-5-mini', 'gpt-4'] } })
    expect([aliasRows(shadowed), shadowed.fallbacksOf('copilot/gpt-4.1')]).toEqual([[], []])
    expect(registry.resolve('any-thing')).toMatchObject({ value: { id: 'gpt-4.1' } })
  })

  test('take the name of a model, which is listed under its provider then', () => {
    const aliases = { 'gpt-4.1': 'gpt-5-mini', 'claude-*': 'claude-haiku-4.5' }
    const registry = registryWith(both, { aliases })
    expect(aliasRows(registry)).toMatchObject([{ id: 'gpt-4.1', aliasOf: 'gpt-5-mini' }])
    const ids = idsOf(registry)
    expect(ids).toEqual(expect.arrayContaining(['copilot/gpt-4.1', 'claude-haiku-4.5', 'gpt-5-mini']))
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.filter((id) => id.startsWith('claude-'))).toEqual(['claude-haiku-4.5'])
    expect(registry.resolve('copilot/gpt-4.1')).toMatchObject({ value: { model: { id: 'gpt-4.1' } } })
    expect(registry.resolve('claude-whatever')).toMatchObject({ value: { model: { id: 'claude-haiku-4.5' } } })
  })

  test('have the long context tier of their model', () => {
    const aliases = { big: 'gpt-5.4', long: 'gpt-5.4[1m]' }
    const registry = registryWith([model('gpt-5.4', tieredFacts)], { aliases })
    const rows = withLongContext(registry.list()).map(({ id, aliasOf }) => [id, aliasOf])
    expect(rows).toEqual([
      ['gpt-5.4', undefined],
      ['gpt-5.4[1m]', undefined],
      ['big', 'gpt-5.4'],
      ['big[1m]', 'gpt-5.4[1m]'],
      ['long', 'gpt-5.4[1m]'],
    ])
  })

  test('with targets that a known list does not have are dead', () => {
    const aliases = { a: 'gpt-9', b: ['gpt-4.1', 'codex/gpt-8'], c: 'gpt-5-mini' }
    expect(registryWith(liveModels(), { aliases }).deadTargets()).toEqual([{ alias: 'a', target: 'gpt-9' }])
    expect(registryWith(both, { aliases }).deadTargets()).toEqual([
      { alias: 'a', target: 'gpt-9' },
      { alias: 'b', target: 'codex/gpt-8' },
    ])
    expect(registryWith(copilotSeeds, { aliases }).deadTargets()).toEqual([])
  })
})

test('a dated name is the model that states it as its version, if no other does', () => {
  const version = 'gpt-4.1-2025-04-14'
  const one = registryWith([model('gpt-4.1', { version }), model('gpt-4o', { version: 'gpt-4-turbo' })])
  for (const name of [version, `copilot/${version}`, `openai/${version}`]) {
    expect(one.resolve(name)).toMatchObject({ value: { id: 'gpt-4.1' } })
  }
  expect(one.resolve('gpt-4.1-2026-01-01')).toMatchObject({ ok: false })
  expect(one.resolve('gpt-4-turbo')).toMatchObject({ ok: false })
  const two = registryWith([model('gpt-4.1', { version }), model('gpt-4.1-fast', { version })])
  expect(two.resolve(version)).toMatchObject({ ok: false })
  const own = registryWith([model('gpt-4.1', { version }), model(version)])
  expect(own.resolve(version)).toMatchObject({ value: { id: version } })
})
