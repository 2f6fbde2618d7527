import { visible } from '../../terminal/visible.ts'
import type { DaemonRecord } from './daemon-record.ts'

export function runningText(record: DaemonRecord): string {
  return (
    `copilot-proxy ${visible(record.version)} already runs in the background at ${visible(record.url)}, ` +
    `process ${record.pid}${record.flags.demo ? ', with simulated answers (--demo)' : ''}.`
  )
}

/** The part of a JSON document that is about a background daemon. */
export function daemonDocument({ pid, url, version, started_at, starter }: DaemonRecord): object {
  return { pid, url, version, started_at, starter }
}
