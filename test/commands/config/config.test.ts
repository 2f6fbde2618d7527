import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openProxy } from '../../http/harness.ts'
import { createUser } from '../harness.ts'

async function userWith(yaml: string) {
  const user = await createUser()
  delete user.env['COPILOT_PROXY_SERVER_PORT']
  await writeFile(join(user.home, 'config.yaml'), yaml)
  return user
}

describe('config path', () => {
  test('prints where the file is or would be, also of one that is not valid', async () => {
    const user = await userWith('server: 1\n')
    expect(await user.run('config path')).toEqual({ code: 0, stdout: `${user.home}/config.yaml\n`, stderr: '' })
    const { stdout } = await user.run('config path --json --config other.yaml')
    expect(JSON.parse(stdout)).toEqual({ path: join(user.home, 'other.yaml'), exists: false })
  })
})

describe('config check', () => {
  test('accepts a valid file, and no file', async () => {
    const user = await userWith('server: { port: 4242 }\n')
    expect(await user.run('config check')).toMatchObject({ code: 0, stdout: `${user.home}/config.yaml is valid.\n` })
    const other = await createUser()
    expect(await other.run('config check')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('No configuration file at'),
    })
  })

  test('names file, line, key and what was expected, and exits with 2', async () => {
    const user = await userWith('server:\n  prot: 1\nlog:\n  level: loud\n')
    const { code, stdout, stderr } = await user.run('config check')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/config\.yaml:2:3 +server\.prot +unknown key `prot`, did you mean `port`\?/)
    expect(stderr).toMatch(/config\.yaml:4:10 +log\.level +expected one of/)
  })

  test('keeps to one JSON document when it is not valid', async () => {
    const user = await userWith('server: { port: many }\n')
    const { code, stdout, stderr } = await user.run('config check --json')
    expect({ code, stderr }).toEqual({ code: 2, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject({
      valid: false,
      problems: [
        { source: expect.stringMatching(/config\.yaml:1:\d+$/), key: 'server.port', detail: expect.any(String) },
      ],
    })
  })

  test('warns of a setting that no longer exists, and says what replaces it', async () => {
    const user = await userWith('codex:\n  timeouts: { idle-seconds: 5 }\n')
    user.env['COPILOT_PROXY_AGENT_MAX_ACTIONS'] = '5'
    const { code, stdout, stderr } = await user.run('config check')
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${user.home}/config.yaml is valid.\n` })
    expect(stderr).toMatch(/^COPILOT_PROXY_AGENT_MAX_ACTIONS {2}agent\.max-actions {2}.*agent\.max-steps/)
    expect(stderr).toMatch(
      /config\.yaml:2:3 {2}codex\.timeouts {2}this setting no longer exists.*Use copilot\.timeouts/,
    )
    expect(JSON.parse((await user.run('config check --json')).stdout)).toMatchObject({
      valid: true,
      problems: [],
      warnings: [{ key: 'agent.max-actions' }, { key: 'codex.timeouts' }],
    })
    for (const words of ['get codex.timeouts.idle-seconds', 'set codex.timeouts.idle-seconds 1']) {
      const refused = await user.run(`config ${words}`)
      expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('Use copilot.timeouts') })
    }
  })

  test('misses a file that was named', async () => {
    const user = await createUser()
    const { code, stderr } = await user.run('config check --config nowhere.yaml')
    expect(code).toBe(2)
    expect(stderr).toContain('there is no such file')
  })
})

describe('config show', () => {
  test('prints each value with its source, secrets masked', async () => {
    const user = await userWith('server: { api-keys: [example-key-0123456789] }\n')
    user.env['COPILOT_PROXY_LOG_LEVEL'] = 'debug'
    const { code, stdout } = await user.run('config show')
    expect(code).toBe(0)
    expect(stdout).toMatch(/level: debug # COPILOT_PROXY_LOG_LEVEL/)
    expect(stdout).toMatch(/port: 4141 # default/)
    expect(stdout).not.toContain('example-key')
    const asJson = await user.run('config show --json')
    expect(JSON.parse(asJson.stdout).settings.log.level).toBe('debug')
    expect(asJson.stdout).not.toContain('example-key')
  })

  test('refuses an invalid configuration with 2', async () => {
    const user = await userWith('nonsense: 1\n')
    expect(await user.run('config show')).toMatchObject({ code: 2, stdout: '' })
  })
})

describe('the targets of aliases', () => {
  const yaml = 'models:\n  aliases:\n    fast: gpt-4.1\n    old: [gpt-5-mini, gpt-4.11]\n    other: codex/gpt-9\n'

  test('are not checked without a model list, and config check says so', async () => {
    const user = await userWith(yaml)
    user.env['COPILOT_PROXY_SERVER_PORT'] = '2'
    const { code, stderr } = await user.run('config check')
    expect(code).toBe(0)
    expect(stderr).toMatch(/^Note: the models in models\.aliases were not checked/)
    const json = JSON.parse((await user.run('config check --json')).stdout)
    expect(json).toMatchObject({ valid: true, problems: [], alias_targets_checked: false })
  })

  test('are looked up in the list of the running daemon, whatever its own aliases are', async () => {
    const proxy = await openProxy({ file: 'models: { aliases: { gpt-4.11: gpt-4.1, "*": gpt-4.1 } }' })
    await proxy.chat({ model: 'gpt-4.1' })
    const user = await userWith(yaml)
    user.env['COPILOT_PROXY_SERVER_PORT'] = String(proxy.port)
    const { code, stderr } = await user.run('config check')
    expect(code).toBe(2)
    expect(stderr).toBe(
      `${user.home}/config.yaml:4:10  models.aliases.old  no model is named "gpt-4.11", did you mean "gpt-4.1"?\n`,
    )
    const json = JSON.parse((await user.run('config check --json')).stdout)
    // `config set` refuses such a target too, and nothing that it does not change.
    const set = await user.run('config set models.aliases.old gpt-4.11')
    expect(set).toMatchObject({ code: 2, stdout: '' })
    expect(set.stderr).toMatch(/was not changed, .*\n.*models\.aliases\.old {2}no model is named "gpt-4\.11"/)
    expect(await user.run('config set models.aliases.fast gpt-5-mini')).toMatchObject({ code: 0 })
    // Codex has no login, so its list is not known.
    expect(json).toMatchObject({ valid: false, alias_targets_checked: false })
    expect(json.problems).toMatchObject([{ key: 'models.aliases.old' }])
  })
})
