import { expect, test } from 'vitest'
import { PathsError, resolvePaths, resolveStateDir } from '../../src/config/paths.ts'

const byDefault = {
  configFile: '/home/ada/.config/copilot-proxy/config.yaml',
  dataDir: '/home/ada/.local/share/copilot-proxy',
  authDir: '/home/ada/.local/share/copilot-proxy/auth',
}

test.each([
  ['nothing set', {}, byDefault],
  ['empty variables', { XDG_CONFIG_HOME: '', XDG_DATA_HOME: '', COPILOT_PROXY_HOME: '' }, byDefault],
  ['relative XDG folders, which are ignored', { XDG_CONFIG_HOME: 'etc', XDG_DATA_HOME: './share' }, byDefault],
  [
    'XDG folders',
    { XDG_CONFIG_HOME: '/etc/ada', XDG_DATA_HOME: '/var/ada' },
    {
      configFile: '/etc/ada/copilot-proxy/config.yaml',
      dataDir: '/var/ada/copilot-proxy',
      authDir: '/var/ada/copilot-proxy/auth',
    },
  ],
  [
    'a folder for everything, which wins over XDG',
    { COPILOT_PROXY_HOME: '/srv/proxy', XDG_CONFIG_HOME: '/etc/ada', XDG_DATA_HOME: '/var/ada' },
    { configFile: '/srv/proxy/config.yaml', dataDir: '/srv/proxy', authDir: '/srv/proxy/auth' },
  ],
])('files with %s', (_, env, paths) => {
  expect(resolvePaths(env, () => '/home/ada')).toEqual(paths)
})

test('files on Windows', () => {
  expect(resolvePaths({ XDG_CONFIG_HOME: 'D:\\settings' }, () => 'C:\\Users\\ada', 'win32')).toEqual({
    configFile: 'D:\\settings\\copilot-proxy\\config.yaml',
    dataDir: 'C:\\Users\\ada\\.local\\share\\copilot-proxy',
    authDir: 'C:\\Users\\ada\\.local\\share\\copilot-proxy\\auth',
  })
})

test.each([
  ['nothing set', {}, '/home/ada/.local/state/copilot-proxy'],
  ['a relative XDG folder, which is ignored', { XDG_STATE_HOME: 'state' }, '/home/ada/.local/state/copilot-proxy'],
  ['an XDG folder', { XDG_STATE_HOME: '/var/ada' }, '/var/ada/copilot-proxy'],
  ['a folder for everything', { COPILOT_PROXY_HOME: '/srv/proxy', XDG_STATE_HOME: '/var/ada' }, '/srv/proxy/state'],
])('state with %s', (_, env, dir) => {
  expect(resolveStateDir(env, () => '/home/ada')).toBe(dir)
})

function nobodysHome(): string {
  throw new Error('no home')
}

test.each([{ COPILOT_PROXY_HOME: '/srv/proxy' }, { XDG_CONFIG_HOME: '/etc/ada', XDG_DATA_HOME: '/var/ada' }])(
  'a user without a home folder needs none with %o',
  (env) => {
    expect(() => resolvePaths(env, nobodysHome)).not.toThrow()
    expect(() => resolvePaths({}, nobodysHome)).toThrow('no home')
  },
)

test.each(['proxy', './proxy', '../proxy', '~/proxy', ' /srv/proxy'])(
  'a folder for everything that depends on the working directory (%s) is refused',
  (COPILOT_PROXY_HOME) => {
    const resolve = () => resolvePaths({ COPILOT_PROXY_HOME }, () => '/home/ada')
    expect(resolve).toThrow(PathsError)
    expect(resolve).toThrow('COPILOT_PROXY_HOME must be an absolute path')
  },
)

test.each([undefined, '', 'ada', '.'])('a home that is %j is none, and the message says what to set', (home) => {
  const resolve = () => resolvePaths({}, () => home)
  expect(resolve).toThrow(PathsError)
  expect(resolve).toThrow('Set HOME or COPILOT_PROXY_HOME')
})
