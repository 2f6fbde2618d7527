import { loadConfig } from './load.ts'
import { configSchema } from './schema.ts'
import type { SettingKey } from './schema.ts'
import { camelKey, settingLeaves } from './settings-tree.ts'
import { valueAt } from '../json/value-at.ts'

/** The settings that people change most. */
const shown: readonly SettingKey[] = [
  'server.host',
  'server.port',
  'server.api-keys',
  'server.allowed-hosts',
  'log.level',
  'log.bodies',
  'copilot.initiator',
  'codex.enabled',
  'models.aliases',
  'models.hide',
]

const head = `# Configuration of copilot-proxy. Remove the # before a setting and change its value.
#   copilot-proxy config show    prints all settings
#   copilot-proxy config check   checks this file
`

/** Characters. */
const width = 100

/** The text of a new configuration file: settings with their descriptions and defaults, commented out. */
export function initialConfigText(): string {
  const defaults = loadConfig({ file: undefined, env: {}, flags: [] })
  const sections = new Map<string, string[]>()
  for (const { key, path, description } of settingLeaves(configSchema)) {
    const [section = '', name = ''] = path
    if (!defaults.ok || !shown.some((each) => each === key)) continue
    const value = JSON.stringify(valueAt(defaults.value, path.map(camelKey))).replaceAll(/^"([\w.-]+)"$/g, '$1')
    const lines = wrapped(description, width - 4).map((line) => `  # ${line}\n`)
    sections.set(section, [...(sections.get(section) ?? []), `${lines.join('')}  #${name}: ${value}\n`])
  }
  return [head, ...[...sections].map(([section, settings]) => `${section}:\n${settings.join('')}`)].join('\n')
}

function wrapped(text: string, columns: number): readonly string[] {
  return text.match(new RegExp(`.{1,${columns}}(?:\\s|$)`, 'g'))?.map((line) => line.trimEnd()) ?? []
}
