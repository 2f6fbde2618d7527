import { readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { Fault, type ProxyError } from '../../src/errors.ts'
import type { Logger, LogMethod } from '../../src/logging/logger.ts'
import type { CopilotRecord } from '../../src/auth/copilot/wire.ts'

/** Parsed JSON of test/fixtures/auth/<name>.json. */
export function fixture(name: string): Record<string, unknown> {
  return JSON.parse(readFileSync(new URL(`../fixtures/auth/${name}.json`, import.meta.url), 'utf8'))
}

/** msw replaces the global fetch after modules have loaded, so it is looked up at each call. */
export const lateFetch: typeof globalThis.fetch = (...args) => fetch(...args)

export interface RecordingLog extends Logger {
  /** Every line, level first, fields as JSON. */
  readonly lines: string[]
}

export function recordingLog(): RecordingLog {
  const lines: string[] = []
  const method =
    (level: string): LogMethod =>
    (fields: unknown, message?: string) => {
      const text = typeof fields === 'string' ? fields : `${message ?? ''} ${JSON.stringify(fields, errorsAsText)}`
      lines.push(`${level} ${text}`)
    }
  return { lines, debug: method('debug'), info: method('info'), warn: method('warn'), error: method('error') }
}

function errorsAsText(_key: string, value: unknown): unknown {
  return value instanceof Error ? String(value) : value
}

/** Both clocks by hand; `advance` moves them together, `jumpWallClock` one alone, as sleep or a clock set by hand does. */
export interface ManualClock {
  readonly now: () => number
  readonly monotonicMs: () => number
  readonly advance: (ms: number) => void
  readonly jumpWallClock: (ms: number) => void
}

export function manualClock(startMs = Date.UTC(2026, 10, 20)): ManualClock {
  let wallMs = startMs
  let monotonicMs = 1_000
  return {
    now: () => wallMs,
    monotonicMs: () => monotonicMs,
    advance: (ms) => {
      wallMs += ms
      monotonicMs += ms
    },
    jumpWallClock: (ms) => {
      wallMs += ms
    },
  }
}

export function exampleRecord(
  metadata: Partial<CopilotRecord['metadata']> = {},
  rest: Partial<Omit<CopilotRecord, 'metadata'>> = {},
): CopilotRecord {
  return {
    id: 'copilot-octocat',
    provider: 'copilot',
    label: 'octocat',
    attributes: {},
    ...rest,
    metadata: { github_access_token: 'ghu_example', login: 'octocat', logged_in_at: 1_700_000_000, ...metadata },
  }
}

/** A server on a free loopback port. */
export async function listen(
  listener: RequestListener,
): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('not a TCP server')
  return {
    url: `http://127.0.0.1:${address.port}`,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** The error of the Fault with which this fails. */
export async function faultOf(work: Promise<unknown>): Promise<ProxyError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (error instanceof Fault) return error.error
  throw new Error('no Fault', { cause: error })
}
