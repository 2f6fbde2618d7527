import { describe, expect, test } from 'vitest'
import { formatProblems } from '../../src/config/problem.ts'
import { retiredSettings } from '../../src/config/retired-settings.ts'
import { load, loaded, refused } from './loading.ts'

function warned(given: Parameters<typeof load>[0]): string {
  const result = load(given)
  expect(result.ok).toBe(true)
  return result.ok ? formatProblems(result.warnings) : ''
}

describe('a retired setting', () => {
  test.each(retiredSettings)('$key in a file is a warning with its line, and changes nothing', ({ key, instead }) => {
    const path = key.split('.')
    const file = `log: { level: debug }\n${JSON.stringify(
      path.reduceRight<unknown>((inner, step) => ({ [step]: inner }), 'x'),
    )
      .slice(1, -1)
      .replaceAll('":', '": ')}\n`
    expect(warned({ file })).toMatch(/^config\.yaml:2:\d+ {2}\S+ {2}this setting no longer exists and has no effect\. /)
    expect(warned({ file })).toContain(instead)
    expect(loaded({ file }).config).toEqual(loaded({ file: 'log: { level: debug }' }).config)
  })

  test.each(retiredSettings)('$key in the environment is a warning with its variable', ({ key }) => {
    const name = `COPILOT_PROXY_${key.replaceAll(/[.-]/g, '_').toUpperCase()}`
    const text = warned({ env: { [name]: 'x' } })
    expect(text).toContain(`${name}  ${key}  this setting no longer exists`)
    expect(loaded({ env: { [name]: 'x' } }).config).toEqual(loaded().config)
  })

  test('stands for all settings of its section, once', () => {
    const file = 'codex:\n  enabled: false\n  timeouts:\n    connect-seconds: 1\n    idle-seconds: 2\n'
    expect(warned({ file })).toMatch(/^config\.yaml:3:3 {2}codex\.timeouts {2}.* Use copilot\.timeouts[^\n]*$/)
    expect(loaded({ file }).config.codex.enabled).toBe(false)
    expect(warned({ env: { COPILOT_PROXY_CODEX_TIMEOUTS_IDLE_SECONDS: '5' } })).toContain('copilot.timeouts')
  })

  test('with an empty value, and in an inherited table, is a warning too', () => {
    expect(warned({ file: 'codex:\n  client-id:\n' })).toMatch(/^config\.yaml:2:3 {2}codex\.client-id/)
    expect(warned({ file: 'responses:\n' })).toMatch(/^config\.yaml:1:1 {2}responses/)
  })

  test('does not hide other faults, and a similar name stays a fault', () => {
    const file = 'codex:\n  client-id: x\n  client-idd: y\nserver: { port: many }\n'
    expect(refused({ file })).toMatch(/codex\.client-idd {2}unknown key/)
    expect(refused({ file })).toContain('server.port')
    expect(refused({ env: { COPILOT_PROXY_RESPONSE: 'x' } })).toContain('unknown variable')
  })

  test('is no setting that exists', () => {
    const keys = Object.keys(loaded().sources)
    for (const { key } of retiredSettings) {
      expect(keys.filter((each) => each === key || each.startsWith(`${key}.`))).toEqual([])
    }
  })
})
