import { spawn } from 'node:child_process'
import { pbkdf2 } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import {
  type FSWatcher,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  watch,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { formatConfigError } from '../../src/config/problem.ts'
import { type ConfigWatch, watchConfig, type WatchOptions } from '../../src/config/watch.ts'
import { loaded } from './loading.ts'

// Every wait ends with the event waited for; on a busy machine the system takes its time to tell of a change.
vi.setConfig({ testTimeout: 60_000 })

let folder: string
let path: string
const watches: ConfigWatch[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'copilot-proxy-'))
  path = join(folder, 'config.yaml')
})

afterEach(() => {
  for (const open of watches.splice(0)) open.close()
  rmSync(folder, { recursive: true })
})

/** `follow` reports ports relative to this one, as numbers from 1. */
const firstPort = 8000

function withPort(port: number): string {
  return `server:\n  port: ${firstPort + port}\n`
}

const portFlag = { name: '--port', key: 'server.port', text: '8099' } as const

/** What an editor does: the new text under another name, then put in place of the old one. */
function replaceFile(file: string, text: string): void {
  writeFileSync(`${file}.new`, text)
  renameSync(`${file}.new`, file)
}

type Received = number | string

/** Watches `path`. `next` waits for the next report: the port of new settings, or the text of a fault. */
function follow(options: Partial<WatchOptions> = {}) {
  const received: Received[] = []
  const arrival = new EventEmitter()
  const tell = (news: Received) => {
    received.push(news)
    arrival.emit('news')
  }
  const open = watchConfig({
    path,
    env: {},
    flags: [],
    current: loaded().config,
    onChange: (config) => tell(config.server.port - firstPort),
    onInvalid: (error) => tell(formatConfigError(error).replaceAll(`${folder}/`, '')),
    settleMs: 5,
    ...options,
  })
  watches.push(open)
  const next = async (): Promise<Received | undefined> => {
    if (received.length === 0) await once(arrival, 'news')
    return received.shift()
  }
  return { next, received, close: open.close }
}

describe('reports a change', () => {
  test('when the file is written in place', async () => {
    writeFileSync(path, withPort(1))
    const { next } = follow({ current: loaded({ file: withPort(1) }).config })
    writeFileSync(path, withPort(2))
    expect(await next()).toBe(2)
    writeFileSync(path, withPort(3))
    expect(await next()).toBe(3)
  })

  test('when the file is replaced, again and again', async () => {
    writeFileSync(path, withPort(1))
    const { next } = follow()
    expect(await next()).toBe(1)
    for (const port of [2, 3, 4]) {
      replaceFile(path, withPort(port))
      expect(await next()).toBe(port)
    }
  })

  test('when it happened before the watch began', async () => {
    writeFileSync(path, withPort(5))
    expect(await follow().next()).toBe(5)
  })

  test('when the file appears', async () => {
    const { next } = follow()
    replaceFile(path, withPort(6))
    expect(await next()).toBe(6)
  })

  test('when its folder, and the folder above, appear first', async () => {
    path = join(folder, 'a', 'b', 'config.yaml')
    const { next } = follow()
    mkdirSync(dirname(path), { recursive: true })
    replaceFile(path, withPort(7))
    expect(await next()).toBe(7)
    replaceFile(path, withPort(8))
    expect(await next()).toBe(8)
  })

  test('when its folder is deleted and made again', async () => {
    path = join(folder, 'a', 'config.yaml')
    mkdirSync(dirname(path))
    writeFileSync(path, withPort(1))
    const { next } = follow()
    expect(await next()).toBe(1)
    rmSync(dirname(path), { recursive: true })
    expect(await next()).toBe('a/config.yaml  cannot be read: there is no such file')
    mkdirSync(dirname(path))
    replaceFile(path, withPort(2))
    expect(await next()).toBe(2)
  })

  test('when the file is a symbolic link: to its target, of the link itself, and of a target that appears', async () => {
    for (const name of ['one', 'two', 'three']) mkdirSync(join(folder, name))
    const target = (name: string) => join(folder, name, 'settings.yaml')
    writeFileSync(target('one'), withPort(1))
    mkdirSync(join(folder, 'home'))
    path = join(folder, 'home', 'config.yaml')
    symlinkSync(target('one'), path)
    const { next } = follow()
    expect(await next()).toBe(1)

    replaceFile(target('one'), withPort(2))
    expect(await next()).toBe(2)

    writeFileSync(target('two'), withPort(3))
    symlinkSync(target('two'), `${path}.new`)
    renameSync(`${path}.new`, path)
    expect(await next()).toBe(3)

    symlinkSync(target('three'), `${path}.new`)
    renameSync(`${path}.new`, path)
    expect(await next()).toContain('there is no such file')
    replaceFile(target('three'), withPort(4))
    expect(await next()).toBe(4)
  })

  test('when a symbolic link to a folder along the way is replaced beside it', async () => {
    for (const [name, port] of [
      ['v1', 1],
      ['v2', 2],
    ] as const) {
      mkdirSync(join(folder, name))
      writeFileSync(join(folder, name, 'config.yaml'), withPort(port))
    }
    symlinkSync('v1', join(folder, 'data'))
    symlinkSync('data/config.yaml', path)
    const { next } = follow()
    expect(await next()).toBe(1)
    symlinkSync('v2', join(folder, 'data.new'))
    renameSync(join(folder, 'data.new'), join(folder, 'data'))
    expect(await next()).toBe(2)
  })
})

describe('reports nothing', () => {
  test('when the file says what is in force already', async () => {
    writeFileSync(path, withPort(1))
    const { next } = follow({ current: loaded({ file: withPort(1) }).config })
    const witness = follow()
    expect(await witness.next()).toBe(1)
    replaceFile(path, withPort(2))
    expect(await next()).toBe(2)
  })

  test('when a flag says otherwise anyway', async () => {
    const { next, received } = follow({ flags: [portFlag], current: loaded({ flags: [portFlag] }).config })
    const witness = follow()
    for (const port of [1, 2]) {
      replaceFile(path, withPort(port))
      expect(await witness.next()).toBe(port)
    }
    replaceFile(path, `${withPort(2)}log: {level: debug}`)
    expect(await next()).toBe(99)
    expect(received).toEqual([])
  })

  test('after it was closed', async () => {
    const { received, close } = follow()
    const witness = follow()
    close()
    replaceFile(path, withPort(1))
    expect(await witness.next()).toBe(1)
    expect(received).toEqual([])
  })
})

describe('a file that is not valid', () => {
  const fault = 'config.yaml:1:16  server.port  expected a whole number from 0 to 65535, got "x"'

  test('is reported once for each error, and the next valid file is compared with the settings in force', async () => {
    writeFileSync(path, withPort(1))
    const { next } = follow()
    expect(await next()).toBe(1)
    replaceFile(path, 'server: {port: x}')
    expect(await next()).toBe(fault)
    // To someone whose port comes from a flag, this file is valid.
    const witness = follow({ flags: [portFlag] })
    expect(await witness.next()).toBe(99)
    replaceFile(path, 'server: {port: x}\nlog: {level: debug}')
    expect(await witness.next()).toBe(99)
    replaceFile(path, 'server: {prot: 1}')
    expect(await next()).toContain('did you mean `port`?')
    replaceFile(path, withPort(1))
    replaceFile(path, withPort(2))
    expect(await next()).toBe(2)
  })

  test('is reported again when it returns after a valid one', async () => {
    const { next } = follow()
    for (const [text, news] of [
      ['server: {port: x}', fault],
      [withPort(1), 1],
      ['server: {port: x}', fault],
    ] as const) {
      replaceFile(path, text)
      expect(await next()).toBe(news)
    }
  })

  test('F04 is reported as valid again, even if it only repeats the settings in force', async () => {
    writeFileSync(path, withPort(1))
    const arrival = new EventEmitter()
    const { next, received } = follow({
      current: loaded({ file: withPort(1) }).config,
      onValid: () => arrival.emit('valid'),
    })
    replaceFile(path, 'server: {port: x}')
    expect(await next()).toBe(fault)
    const valid = once(arrival, 'valid')
    replaceFile(path, withPort(1))
    await valid
    expect(received).toEqual([])
  })

  test('includes one that was there and is gone: the settings stay', async () => {
    writeFileSync(path, withPort(1))
    const { next } = follow()
    expect(await next()).toBe(1)
    unlinkSync(path)
    expect(await next()).toBe('config.yaml  cannot be read: there is no such file')
    replaceFile(path, withPort(2))
    expect(await next()).toBe(2)
  })
})

describe('P24 a file that is emptied changes nothing', () => {
  const fault = 'config.yaml  has no settings; to use the defaults, write {} into it'

  test.each([
    ['cut to nothing', ''],
    ['left with blank lines', '\n \n'],
    ['left with comments', '# server:\n#   port: 1\n'],
    ['left with the mark of a document', '---\n'],
  ])('%s', async (_what, text) => {
    writeFileSync(path, withPort(1))
    const { next } = follow({ current: loaded({ file: withPort(1) }).config })
    writeFileSync(path, text)
    expect(await next()).toBe(fault)
    replaceFile(path, withPort(2))
    expect(await next()).toBe(2)
    writeFileSync(path, text)
    expect(await next()).toBe(fault)
  })

  test('but one that says so goes back to the defaults', async () => {
    const { next } = follow({ current: loaded({ file: withPort(1) }).config })
    replaceFile(path, '{}\n')
    expect(await next()).toBe(loaded().config.server.port - firstPort)
  })

  test('and one that held nothing to begin with is valid', async () => {
    writeFileSync(path, '# nothing yet\n')
    const { next, received } = follow()
    const witness = follow({ current: loaded({ file: withPort(1) }).config })
    expect(await witness.next()).toBe(fault)
    replaceFile(path, '')
    replaceFile(path, withPort(2))
    expect(await next()).toBe(2)
    expect(received).toEqual([])
  })
})

/** As `watch` on Linux when the user's inotify watches are used up. */
function outOfWatches(): never {
  throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
}

describe('where folders cannot be watched, the file is looked at from time to time', () => {
  test('because there are no watches left', async () => {
    const { next } = follow({ watchFolder: outOfWatches, pollMs: 10 })
    replaceFile(path, withPort(1))
    expect(await next()).toBe(1)
    replaceFile(path, withPort(22))
    expect(await next()).toBe(22)
  })

  test('because a watch failed later', async () => {
    const opened: FSWatcher[] = []
    const watchFolder: WatchOptions['watchFolder'] = (watched, options) => {
      const watcher = watch(watched, options)
      opened.push(watcher)
      return watcher
    }
    writeFileSync(path, withPort(1))
    const { next } = follow({ watchFolder, pollMs: 10 })
    expect(await next()).toBe(1)
    // Keeps the threads that ask for files busy, so that nobody has looked again before the file changes.
    const derive = promisify(pbkdf2)
    const busy = Array.from({ length: 16 }, () => derive('', '', 50_000, 64, 'sha512'))
    opened[0]?.close()
    opened[0]?.emit('error', new Error('the network is gone'))
    replaceFile(path, withPort(22))
    await Promise.all(busy)
    expect(await next()).toBe(22)
  })
})

test('a changed file with a setting that no longer exists is taken over and named', async () => {
  const warnings: string[] = []
  const { next } = follow({ onWarnings: (found) => warnings.push(...found.map(({ key }) => key)) })
  replaceFile(path, `codex: { client-id: x }\n${withPort(7)}`)
  expect(await next()).toBe(7)
  expect(warnings).toEqual(['codex.client-id'])
})

test('a watch does not keep the process alive', async () => {
  const script = `
    import { watchConfig } from ${JSON.stringify(new URL('../../src/config/watch.ts', import.meta.url).href)}
    import { loadConfig } from ${JSON.stringify(new URL('../../src/config/load.ts', import.meta.url).href)}
    const { value: current } = loadConfig({ file: undefined, env: {}, flags: [] })
    const options = { env: {}, flags: [], current, onChange: () => {}, onInvalid: () => {} }
    watchConfig({ ...options, path: ${JSON.stringify(path)} })
    watchConfig({ ...options, path: ${JSON.stringify(path)}, watchFolder: () => { throw new Error('none') } })`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: 'inherit' })
  const [code] = await once(child, 'exit')
  expect(code).toBe(0)
})
