import type { Flag } from '../config/load.ts'
import type { ServeFlags } from './flags.ts'

/** The options of `serve` that stand for settings. */
export function toConfigFlags(flags: ServeFlags): readonly Flag[] {
  const options = [
    { name: '--port', key: 'server.port', text: flags.port },
    { name: '--host', key: 'server.host', text: flags.host },
    { name: '--log-level', key: 'log.level', text: flags.logLevel },
    { name: '--log-format', key: 'log.format', text: flags.logFormat },
  ] as const
  return options.flatMap(({ name, key, text }) => (text === undefined ? [] : [{ name, key, text }]))
}
