import { fc } from '../fast-check.ts'
import { describe, expect, test } from 'vitest'
import { sanitizeCopilotOAuth } from '../../src/config/sanitize-copilot-oauth.ts'
import { configSchema, copilotOAuthDefaults } from '../../src/config/schema.ts'
import { settingLeaves } from '../../src/config/settings-tree.ts'
import { loaded, refused } from './loading.ts'

describe('copilot-oauth', () => {
  test('has all its defaults when it is absent', () => {
    expect(sanitizeCopilotOAuth({})['copilot-oauth']).toEqual(copilotOAuthDefaults)
  })

  test.each(Object.entries(copilotOAuthDefaults))(
    '%s has its default when it is absent, null or blank',
    (key, fallback) => {
      for (const blank of [undefined, null, '', ' \t\n']) {
        const { 'copilot-oauth': section } = sanitizeCopilotOAuth({ 'copilot-oauth': { [key]: blank } })
        expect(section).toHaveProperty([key], fallback)
      }
    },
  )

  test('keeps what is set, without blanks around it and without trailing slashes of base URLs', () => {
    const { config } = loaded({
      file: `copilot-oauth:
  github-base-url: https://example.ghe.com///
  github-api-base-url: " https://api.example.ghe.com/ "
  token-url: https://example.ghe.com/token/
  github-client-id: " Iv1.example "`,
    })
    expect(config.copilotOauth).toMatchObject({
      githubBaseUrl: 'https://example.ghe.com',
      githubApiBaseUrl: 'https://api.example.ghe.com',
      tokenUrl: 'https://example.ghe.com/token/',
      githubClientId: 'Iv1.example',
      githubScope: 'read:user',
    })
  })

  test('without a client id offers the device login only', () => {
    expect(loaded({ file: 'copilot-oauth: {client-id: " "}' }).config.copilotOauth.clientId).toBe('')
  })

  test('a value of a wrong type is a fault at its line, not a reason for the default', () => {
    expect(refused({ file: 'copilot-oauth:\n  scope: 5\n  redirect-port: "1"' })).toBe(
      'config.yaml:2:10  copilot-oauth.scope  expected text (put numbers in quotes), got 5\n' +
        'config.yaml:3:18  copilot-oauth.redirect-port  expected a whole number from 0 to 65535, got "1"',
    )
    expect(refused({ file: 'copilot-oauth: text' })).toContain('copilot-oauth  expected KEY: VALUE pairs')
  })
})

describe('copilot.refresh-safety-margin-seconds', () => {
  test.each(['', 'copilot:', 'copilot: {}', 'copilot: {refresh-safety-margin-seconds: }'])('is 60 with %j', (file) => {
    expect(loaded({ file }).config.copilot.refreshSafetyMarginSeconds).toBe(60)
  })

  test.each(['0', '-0', '-1', '.nan', '-.inf', '.inf'])('is 60 instead of %s', (value) => {
    const { config, sources } = loaded({ file: `copilot: {refresh-safety-margin-seconds: ${value}}` })
    expect(config.copilot.refreshSafetyMarginSeconds).toBe(60)
    expect(sources['copilot.refresh-safety-margin-seconds']).toEqual({ kind: 'default' })
  })

  test.each(['0.5', '300'])('stays %s', (value) => {
    const { config } = loaded({ file: `copilot: {refresh-safety-margin-seconds: ${value}}` })
    expect(config.copilot.refreshSafetyMarginSeconds).toBe(Number(value))
  })

  test.each(['"90"', '""', 'true', '[90]'])('of the wrong type %s is a fault at its line', (value) => {
    expect(refused({ file: `copilot:\n  refresh-safety-margin-seconds: ${value}` })).toContain(
      'config.yaml:2:34  copilot.refresh-safety-margin-seconds  expected a number above 0',
    )
  })
})

const oddValue = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom(' https://a.example// / ', '/', ' / ', '\t', Number.NaN, Infinity, -0, undefined),
)
const settings = fc.record(
  {
    'copilot-oauth': fc.oneof(
      oddValue,
      fc.dictionary(fc.constantFrom(...Object.keys(copilotOAuthDefaults), 'other'), oddValue),
    ),
    copilot: fc.oneof(oddValue, fc.dictionary(fc.constantFrom('refresh-safety-margin-seconds', 'other'), oddValue)),
    other: oddValue,
  },
  { requiredKeys: [] },
)

function deepFrozen(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(deepFrozen)
  return value
}

test('applying it twice changes nothing, and neither application changes its input', () => {
  fc.assert(
    fc.property(settings, (tree) => {
      deepFrozen(tree)
      const once = sanitizeCopilotOAuth(tree)
      deepFrozen(once)
      expect(sanitizeCopilotOAuth(once)).toEqual(once)
    }),
  )
})

test('settings that passed the schema are left as they are', () => {
  fc.assert(
    fc.property(settings, (tree) => {
      const parsed = configSchema.safeParse(sanitizeCopilotOAuth(tree))
      if (parsed.success) expect(sanitizeCopilotOAuth(parsed.data)).toEqual(parsed.data)
    }),
  )
  const { data } = configSchema.safeParse(sanitizeCopilotOAuth({}))
  expect(data && sanitizeCopilotOAuth(data)).toEqual(data)
})

test('leaves the other settings alone', () => {
  const tree = { server: { port: 1 }, copilot: { initiator: 'history' }, nonsense: 5 }
  expect(sanitizeCopilotOAuth(tree)).toMatchObject(tree)
})

test('fills in every key of its section', () => {
  const keys = settingLeaves(configSchema).flatMap(({ path }) => (path[0] === 'copilot-oauth' ? [path[1]] : []))
  expect(Object.keys(copilotOAuthDefaults)).toEqual(keys)
})
