import { describe, expect, test } from 'vitest'
import { createLog } from '../../src/logging/create-log.ts'
import type { LogOptions } from '../../src/logging/create-log.ts'
import { Fault } from '../../src/errors.ts'
import { formatLogLine } from '../../src/logging/pretty-log.ts'

function recordedLog(options: Partial<LogOptions> = {}) {
  const lines: string[] = []
  const createSink: LogOptions['createSink'] = (finish) => ({
    write: (line) => void lines.push(finish(line)),
    flush: () => Promise.resolve(),
  })
  return { lines, log: createLog({ level: 'info', format: 'json', colors: false, createSink, ...options }) }
}

describe('log', () => {
  test('is one JSON object a line with level, time and message', () => {
    const { log, lines } = recordedLog()
    log.info({ port: 4141 }, 'listening')
    expect(lines).toHaveLength(1)
    expect(lines[0]?.endsWith('}\n')).toBe(true)
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      level: 'info',
      time: expect.any(Number),
      port: 4141,
      msg: 'listening',
    })
  })

  test('follows a change of level', () => {
    const { log, lines } = recordedLog()
    log.debug('no')
    log.setLevel('debug')
    log.debug('yes')
    log.setLevel('silent')
    log.error('no')
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['yes'])
  })

  test.each(['json', 'pretty'] as const)('holds no secret, neither by name nor by shape (%s)', (format) => {
    const { log, lines } = recordedLog({ format, level: 'debug', colors: true })
    const secret = 'example0123456789'
    log.info({ headers: { authorization: secret }, github_access_token: secret }, `sent Bearer ${secret}`)
    log.error({ err: new Error(`upstream said ghu_${secret}`, { cause: { token: secret } }) }, 'failed')
    log.debug(`tid=${secret};exp=1:${secret}`)
    expect(lines).toHaveLength(3)
    expect(lines.join('')).not.toContain(secret)
  })

  test('keeps the reason of a failure', () => {
    const { log, lines } = recordedLog()
    log.warn({ err: new Error('outer', { cause: new Error('inner') }) }, 'failed')
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ err: { message: 'outer', cause: { message: 'inner' } } })
  })
})

const format = (fields: object) => formatLogLine(`${JSON.stringify(fields)}\n`, { colors: false })

describe('stacks', () => {
  const failed = new Fault({ kind: 'upstream_unreachable', detail: 'x' }, { cause: new Error('socket closed') })

  test.each(['json', 'pretty'] as const)('are left out of ordinary lines (%s)', (kind) => {
    const { log, lines } = recordedLog({ format: kind })
    log.warn({ error: failed.error, cause: failed.cause }, 'stream ended in an error event')
    log.warn({ err: failed }, 'failed')
    expect(lines.join('')).toContain('socket closed')
    expect(lines.join('')).not.toMatch(/stack|create-log\.test/)
  })

  test.each(['json', 'pretty'] as const)('are kept at debug level, but for those of a Fault (%s)', (kind) => {
    const { log, lines } = recordedLog({ format: kind })
    log.setLevel('debug')
    log.warn({ err: failed }, 'failed')
    const [line = ''] = lines
    expect(line).toContain('create-log.test.ts')
    const { log: other, lines: otherLines } = recordedLog({ format: kind, level: 'debug' })
    other.warn({ err: new Fault({ kind: 'shutting_down' }) }, 'failed')
    expect(otherLines.join('')).not.toContain('create-log.test.ts')
  })

  test('of a defect are kept: they are its report', () => {
    const { log, lines } = recordedLog({ format: 'pretty' })
    log.error({ error: { kind: 'internal' }, cause: new TypeError('ghu_example is not a function') }, 'request failed')
    expect(lines.join('')).toMatch(/\[redacted\] is not a function.*\n {4}at .*create-log\.test\.ts/)
  })
})

describe('pretty log line', () => {
  test('is time, level, message and fields', () => {
    const line = format({
      level: 'info',
      time: new Date(2026, 10, 20, 4, 5, 6, 7).getTime(),
      msg: 'ready',
      port: 4141,
      url: 'http://a:1/',
      note: 'two words',
      list: ['x'],
    })
    expect(line).toBe('04:05:06.007  INFO ready port=4141 url=http://a:1/ note="two words" list=["x"]\n')
  })

  test('puts a stack below, without its first line', () => {
    const line = format({
      level: 'error',
      msg: 'failed',
      err: { message: 'boom', stack: 'Error: boom\n    at a (b.ts:1)\n    at c' },
    })
    expect(line).toBe('ERROR failed err={"message":"boom"}\n    at a (b.ts:1)\n    at c\n')
  })

  test('shows control characters instead of obeying them', () => {
    const line = format({ level: 'info', msg: 'a\u001B[2Jb\nfake line', value: '\u202Ereversed' })
    expect(line).toBe(' INFO a\\u001b[2Jb\\u000afake line value="\\u202ereversed"\n')
  })

  test('has colours only when asked', () => {
    const text = `${JSON.stringify({ level: 'error', msg: 'x', a: 1 })}\n`
    expect(formatLogLine(text, { colors: true })).toContain('\u001B[31m')
    expect(formatLogLine(text, { colors: false })).not.toContain('\u001B')
  })

  test('passes on what is not a JSON object', () => {
    expect(formatLogLine('plain\n', { colors: false })).toBe('plain\n')
    expect(formatLogLine('[1]\n', { colors: false })).toBe('[1]\n')
  })
})
