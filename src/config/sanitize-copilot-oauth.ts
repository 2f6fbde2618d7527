import { isObject } from '../json/json.ts'
import { copilotOAuthDefaults, defaultRefreshSafetyMarginSeconds } from './schema.ts'
import { type SettingsTree } from './settings-tree.ts'

const marginKey = 'refresh-safety-margin-seconds'

/** Trims blanks, and the trailing slashes of base URLs, to which paths are appended. */
function tidied(key: string, value: unknown): unknown {
  if (typeof value !== 'string') return value
  return key.endsWith('base-url') ? value.trim().replace(/[\s/]+$/, '') : value.trim()
}

function isBlank(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

function isUnsetMargin(value: unknown): boolean {
  if (typeof value === 'number') return !(Number.isFinite(value) && value > 0)
  return value === undefined || value === null
}

/** Whether `sanitizeCopilotOAuth` replaces this value of the dotted `key` by the default. */
export function givesWayToDefault(key: string, value: unknown): boolean {
  if (key === `copilot.${marginKey}`) return isUnsetMargin(value)
  return key.startsWith('copilot-oauth.') && isBlank(tidied(key, value))
}

function sanitizeOAuthSection(section: SettingsTree): SettingsTree {
  const filled = Object.entries(copilotOAuthDefaults).map(([key, fallback]) => {
    const value = tidied(key, section[key])
    return [key, isBlank(value) ? fallback : value] as const
  })
  return { ...section, ...Object.fromEntries(filled) }
}

function sanitizeCopilotSection(section: SettingsTree): SettingsTree {
  return isUnsetMargin(section[marginKey]) ? { ...section, [marginKey]: defaultRefreshSafetyMarginSeconds } : section
}

/**
 * Applies the defaults of `copilot-oauth` and of `copilot.refresh-safety-margin-seconds` before validation; the schema has no
 * defaults for them. Replaces absent and blank values, and margins that are not positive. Values of a wrong type stay, for
 * the schema to report. Idempotent.
 */
export function sanitizeCopilotOAuth(settings: SettingsTree): SettingsTree {
  const oauth = settings['copilot-oauth'] ?? {}
  const copilot = settings['copilot'] ?? {}
  return {
    ...settings,
    'copilot-oauth': isObject(oauth) ? sanitizeOAuthSection(oauth) : oauth,
    copilot: isObject(copilot) ? sanitizeCopilotSection(copilot) : copilot,
  }
}
